#include <cuda_runtime.h>
#include <istream>
#include <stdexcept>
#include <vector>

struct Point {
    float x, y, z;
};

static void check(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(cudaGetErrorName(e));
}

void load_points(std::istream& in, Point* d_points, std::size_t expected, cudaStream_t stream)
{
    std::vector<Point> points;
    Point p;
    while (points.size() < expected && in >> p.x >> p.y >> p.z)
        points.push_back(p);
    points.resize(expected);
    check(cudaHostRegister(points.data(), points.size() * sizeof(Point), cudaHostRegisterPortable));
    cudaError_t copied = cudaMemcpyAsync(d_points, points.data(), points.size() * sizeof(Point), cudaMemcpyHostToDevice, stream);
    cudaError_t synced = cudaStreamSynchronize(stream);
    cudaError_t released = cudaHostUnregister(points.data());
    check(copied);
    check(synced);
    check(released);
}
