#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::fprintf(stderr, "[%d] %s\n", (int)getpid(), cudaGetErrorString(e)); std::exit(1); } } while (0)

static int work(int device, size_t bytes)
{
    void* buffer = nullptr;
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(&buffer, bytes));
    CHECK(cudaMemset(buffer, 0, bytes));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(buffer));
    return 0;
}

int main(int argc, char** argv)
{
    int devices = argc > 1 ? std::atoi(argv[1]) : 1;
    for (int d = 0; d < devices; ++d) {
        pid_t pid = fork();
        if (pid < 0) {
            std::perror("fork");
            return 1;
        }
        if (pid == 0)
            return work(d, size_t(64) << 20);
    }
    int status = 0;
    int bad = 0;
    while (wait(&status) > 0)
        bad |= status;
    return bad ? 1 : 0;
}
