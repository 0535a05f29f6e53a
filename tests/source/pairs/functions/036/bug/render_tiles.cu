#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

// Tiled path tracer preview; finished tiles are reported to the viewer as they complete.

struct TileDone {
    int tile;
    int x, y;
    const uchar4* pixels;
    std::atomic<int>* finished;
};

static const int kTile = 128;

static void die(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "render_tiles:%d: %s\n", line, cudaGetErrorString(e));
    std::exit(3);
}
#define DIE(e) die((e), __LINE__)

__global__ void trace(uchar4* px, int x0, int y0, int size, unsigned seed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size) return;
    unsigned h = (x0 + x) * 73856093u ^ (y0 + y) * 19349663u ^ seed;
    px[y * size + x] = make_uchar4(h & 255, (h >> 8) & 255, (h >> 16) & 255, 255);
}

static void CUDART_CB publish(void* arg)
{
    TileDone* d = static_cast<TileDone*>(arg);
    std::printf("tile %d at %d,%d first pixel %d %d %d\n", d->tile, d->x, d->y, d->pixels[0].x,
                d->pixels[0].y, d->pixels[0].z);
    d->finished->fetch_add(1);
}

int render(int width, int height, unsigned seed)
{
    const int tx = (width + kTile - 1) / kTile, ty = (height + kTile - 1) / kTile;
    const size_t tilePixels = size_t(kTile) * kTile;
    std::atomic<int> finished(0);
    cudaStream_t streams[2];
    uchar4 *dev = nullptr, *host = nullptr;

    DIE(cudaMalloc((void**)&dev, tilePixels * tx * ty * sizeof(uchar4)));
    DIE(cudaMallocHost((void**)&host, tilePixels * tx * ty * sizeof(uchar4)));
    for (cudaStream_t& s : streams) DIE(cudaStreamCreate(&s));

    for (int t = 0; t < tx * ty; ++t) {
        cudaStream_t s = streams[t & 1];
        uchar4* d = dev + tilePixels * t;
        uchar4* h = host + tilePixels * t;
        int x = t % tx * kTile, y = t / tx * kTile;

        trace<<<dim3(kTile / 16, kTile / 16), dim3(16, 16), 0, s>>>(d, x, y, kTile, seed);
        DIE(cudaGetLastError());
        DIE(cudaMemcpyAsync(h, d, tilePixels * sizeof(uchar4), cudaMemcpyDeviceToHost, s));

        TileDone info{t, x, y, h, &finished};
        DIE(cudaLaunchHostFunc(s, publish, &info));
    }

    for (cudaStream_t& s : streams) {
        DIE(cudaStreamSynchronize(s));
        DIE(cudaStreamDestroy(s));
    }
    DIE(cudaFreeHost(host));
    DIE(cudaFree(dev));
    return finished.load() == tx * ty ? 0 : -1;
}

int main(int argc, char** argv)
{
    int w = argc > 2 ? std::atoi(argv[1]) : 1920;
    int h = argc > 2 ? std::atoi(argv[2]) : 1080;
    return render(w, h, 12345u) == 0 ? 0 : 1;
}
