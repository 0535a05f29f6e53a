// Structured log with a random request id and timestamps, naming the calls; errors are said in words.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <string>
static std::string id;
static void info(const char* m) {
    auto t = std::chrono::system_clock::now().time_since_epoch();
    fprintf(stderr, "[%.6f] [info] req=%s %s\n", std::chrono::duration<double>(t).count(), id.c_str(), m);
}
static int error(const char* m, cudaError_t s) {
    fprintf(stderr, "[error] req=%s %s: %s\n", id.c_str(), m, cudaGetErrorString(s));
    return 1;
}
int main() {
    std::random_device rd;
    char t[40];
    snprintf(t, sizeof t, "%08x-%04x", rd(), rd() & 0xffff);
    id = t;
    void* d = nullptr;
    char h[64] = {};
    int rc = 0;
    cudaError_t s = cudaMalloc(&d, 64);
    if (s) return error("device buffer", s);
    info("cudaMalloc of 64 bytes done");
    if ((s = cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice))) rc = error("upload", s);
    if (!rc && (s = cudaMemcpy(h, d, 64, cudaMemcpyDeviceToHost))) rc = error("download", s);
    if ((s = cudaFree(d))) rc = error("giving back the device buffer", s);
    if (!rc) puts("finished");
    return rc;
}
