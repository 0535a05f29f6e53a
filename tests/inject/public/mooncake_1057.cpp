// kvcache-ai/Mooncake#1057: "handling cudaMemcpy errors in tcp_transport.cpp".
// Fix ea225e92e93668e1b37b80aa0c3e3f1d52b68ab5, parent 3a6cd2903ee26f645fd9475a91c892dfb6112e35.
// mooncake-transfer-engine/src/transport/tcp_transport/tcp_transport.cpp, Session::writeBody and Session::readBody.
//
// This is not the code of Mooncake: the same calls in the same order, written anew. The connection became a pair of
// sockets in one process, and what asio calls back became a plain call.

#include <cuda_runtime_api.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace {

constexpr size_t BUFFER_SIZE = 4096;
enum class TransferStatus { PENDING, COMPLETED, FAILED };

bool isCudaMemory(void* addr) {
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, addr) != cudaSuccess) return false;
    return attributes.type == cudaMemoryTypeDevice;
}

struct Session {
    int socket;
    char* local_buffer;
    size_t size;
    size_t total_transferred_bytes = 0;
    TransferStatus status = TransferStatus::PENDING;

    Session(int socket, void* buffer, size_t size)
        : socket(socket), local_buffer(static_cast<char*>(buffer)), size(size) {}

    void fail(const char* what) {
        std::fprintf(stderr, "Session::%s\n", what);
        status = TransferStatus::FAILED;
    }

    void writeBody() {
        const size_t buffer_size = std::min(BUFFER_SIZE, size - total_transferred_bytes);
        if (buffer_size == 0) {
            status = TransferStatus::COMPLETED;
            return;
        }
        char* source = local_buffer + total_transferred_bytes;
        std::unique_ptr<char[]> dram_buffer;
        if (isCudaMemory(local_buffer)) {
            dram_buffer.reset(new char[buffer_size]());
            cudaMemcpy(dram_buffer.get(), source, buffer_size, cudaMemcpyDefault);
            source = dram_buffer.get();
        }
        const ssize_t written = write(socket, source, buffer_size);
        if (written <= 0) return fail("writeBody: write failed");
        total_transferred_bytes += static_cast<size_t>(written);
    }

    void readBody() {
        const size_t buffer_size = std::min(BUFFER_SIZE, size - total_transferred_bytes);
        if (buffer_size == 0) {
            status = TransferStatus::COMPLETED;
            return;
        }
        char* destination = local_buffer + total_transferred_bytes;
        const bool is_cuda_memory = isCudaMemory(local_buffer);
        std::unique_ptr<char[]> dram_buffer(is_cuda_memory ? new char[buffer_size] : nullptr);
        const ssize_t got = read(socket, is_cuda_memory ? dram_buffer.get() : destination, buffer_size);
        if (got <= 0) return fail("readBody: read failed");
        if (is_cuda_memory) cudaMemcpy(destination, dram_buffer.get(), static_cast<size_t>(got), cudaMemcpyDefault);
        total_transferred_bytes += static_cast<size_t>(got);
    }
};

bool transfer(void* source, void* target, size_t size) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return false;
    Session sender(sockets[0], source, size), receiver(sockets[1], target, size);
    while (receiver.status == TransferStatus::PENDING && sender.status != TransferStatus::FAILED) {
        sender.writeBody();
        if (sender.status != TransferStatus::FAILED) receiver.readBody();
    }
    close(sockets[0]);
    close(sockets[1]);
    return receiver.status == TransferStatus::COMPLETED && sender.status == TransferStatus::COMPLETED;
}

bool succeeded(const char* call, cudaError_t status) {
    if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
    return status == cudaSuccess;
}

}  // namespace

int main() {
    constexpr size_t SIZE = 3 * BUFFER_SIZE;
    void *source = nullptr, *target = nullptr;
    bool well =
        succeeded("cudaMalloc", cudaMalloc(&source, SIZE)) && succeeded("cudaMalloc", cudaMalloc(&target, SIZE));
    well = well && succeeded("cudaMemset", cudaMemset(source, 7, SIZE)) && transfer(source, target, SIZE);
    if (target) well = succeeded("cudaFree", cudaFree(target)) && well;
    if (source) well = succeeded("cudaFree", cudaFree(source)) && well;
    if (well) std::puts("COMPLETED");
    return well ? 0 : 1;
}
