#include <cudnn.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define DNN(x)                                                                   \
    do {                                                                         \
        cudnnStatus_t s = (x);                                                   \
        if (s != CUDNN_STATUS_SUCCESS) {                                         \
            std::fprintf(stderr, "%s: %s\n", #x, cudnnGetErrorString(s));        \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

struct Layer {
    int channels;
    int height;
    int width;
};

size_t total_bytes(const std::vector<Layer>& layers, int batch)
{
    size_t total = 0;
    for (const Layer& layer : layers) {
        cudnnTensorDescriptor_t descriptor;
        size_t bytes = 0;
        DNN(cudnnCreateTensorDescriptor(&descriptor));
        DNN(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, batch, layer.channels,
                                       layer.height, layer.width));
        DNN(cudnnGetTensorSizeInBytes(descriptor, &bytes));
        total += bytes;
    }
    return total;
}
