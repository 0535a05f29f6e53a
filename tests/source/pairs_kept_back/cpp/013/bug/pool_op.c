#include <cudnn.h>
#include <stdio.h>

enum op_status { OP_OK = 0, OP_EINVAL = -1, OP_ECUDNN = -2 };

typedef struct tensor {
    void *data;
    int   dtype;        /* 0 = f32, 1 = f16 */
    int   n, c, h, w;
} tensor;

static enum op_status set_desc(cudnnTensorDescriptor_t d, const tensor *t)
{
    cudnnDataType_t ty;

    switch (t->dtype) {
    case 0: ty = CUDNN_DATA_FLOAT; break;
    case 1: ty = CUDNN_DATA_HALF; break;
    default:
        fprintf(stderr, "pool: dtype %d unsupported\n", t->dtype);
        return OP_EINVAL;
    }
    if (cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, ty, t->n, t->c, t->h, t->w)
        != CUDNN_STATUS_SUCCESS)
        return OP_ECUDNN;
    return OP_OK;
}

/* y = maxpool(x); k x k window, given stride, no padding */
enum op_status op_maxpool(cudnnHandle_t h, const tensor *x, const tensor *y, int k, int stride)
{
    cudnnTensorDescriptor_t xd = NULL, yd = NULL;
    cudnnPoolingDescriptor_t pd = NULL;
    const float one = 1.0f, zero = 0.0f;
    enum op_status st = OP_ECUDNN;
    int on, oc, oh, ow;

    if (cudnnCreateTensorDescriptor(&xd) != CUDNN_STATUS_SUCCESS)
        return OP_ECUDNN;
    if (cudnnCreateTensorDescriptor(&yd) != CUDNN_STATUS_SUCCESS)
        goto free_x;
    if (cudnnCreatePoolingDescriptor(&pd) != CUDNN_STATUS_SUCCESS)
        goto free_y;

    if ((st = set_desc(xd, x)) != OP_OK || (st = set_desc(yd, y)) != OP_OK)
        return st;

    st = OP_ECUDNN;
    if (cudnnSetPooling2dDescriptor(pd, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN,
                                    k, k, 0, 0, stride, stride) != CUDNN_STATUS_SUCCESS)
        goto free_p;
    if (cudnnGetPooling2dForwardOutputDim(pd, xd, &on, &oc, &oh, &ow) != CUDNN_STATUS_SUCCESS)
        goto free_p;
    if (on != y->n || oc != y->c || oh != y->h || ow != y->w) {
        fprintf(stderr, "pool: output is %dx%d, expected %dx%d\n", y->h, y->w, oh, ow);
        st = OP_EINVAL;
        goto free_p;
    }
    if (cudnnPoolingForward(h, pd, &one, xd, x->data, &zero, yd, y->data) == CUDNN_STATUS_SUCCESS)
        st = OP_OK;

free_p:
    cudnnDestroyPoolingDescriptor(pd);
free_y:
    cudnnDestroyTensorDescriptor(yd);
free_x:
    cudnnDestroyTensorDescriptor(xd);
    return st;
}
