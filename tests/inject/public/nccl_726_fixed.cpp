// NVIDIA/nccl#726: "Error using NCCL on the Summit supercomputer", a double free when ncclInit failed.
// The same with the fix.
// Fix 2401f4a91855b2ac78c5bad3e6657913b7124121, parent 99c28f2e75d4d051bf3b27f2c61e206518a154e8.
// src/init.cc, ncclCommInitAll.
//
// This is not the code of NCCL: the same calls, the same labels and the same owners, written anew. A communicator has
// its abort flag alone; warnings are written as with NCCL_DEBUG=WARN. Main does what all_reduce_perf of nccl-tests
// does.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

enum ncclResult_t { ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInvalidUsage };

#define WARN(...) (std::fprintf(stderr, "NCCL WARN "), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define CUDACHECKGOTO(cmd, res, label)                          \
    do {                                                        \
        cudaError_t err = cmd;                                  \
        if (err != cudaSuccess) {                               \
            WARN("Cuda failure '%s'", cudaGetErrorString(err)); \
            res = ncclUnhandledCudaError;                       \
            goto label;                                         \
        }                                                       \
    } while (false)
#define NCCLCHECKGOTO(call, res, label)     \
    do {                                    \
        res = call;                         \
        if (res != ncclSuccess) goto label; \
    } while (false)

struct ncclComm {
    uint32_t* abortFlag;
    int rank;
    char channels[4096];
};

ncclResult_t groupError = ncclSuccess;

ncclResult_t ncclGroupStart() {
    groupError = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return groupError; }

ncclResult_t ncclGroupErrCheck(ncclResult_t ret) {
    if (ret != ncclSuccess) groupError = ret;
    return ret;
}

ncclResult_t ncclCommInitRankDev(ncclComm** newcomm, int rank) {
    ncclResult_t res = ncclSuccess;
    ncclComm* comm = static_cast<ncclComm*>(std::calloc(1, sizeof(ncclComm)));
    if (comm == nullptr) return ncclGroupErrCheck(ncclSystemError);
    CUDACHECKGOTO(cudaHostAlloc(reinterpret_cast<void**>(&comm->abortFlag), sizeof(uint32_t), cudaHostAllocMapped), res,
                  fail);
    *comm->abortFlag = 0;
    comm->rank = rank;
    *newcomm = comm;
    return ncclGroupErrCheck(ncclSuccess);
fail:
    std::free(comm);
    return ncclGroupErrCheck(res);
}

ncclResult_t ncclCommInitAll(ncclComm** comms, int ndev, const int* devlist) {
    ncclResult_t ret = ncclSuccess;
    int totalnDev = 0;
    int* gpuFlags = nullptr;
    CUDACHECKGOTO(cudaGetDeviceCount(&totalnDev), ret, fail);
    if (devlist) {
        gpuFlags = static_cast<int*>(std::calloc(totalnDev, sizeof(int)));
        for (int i = 0; i < ndev; ++i) {
            if (devlist[i] < 0 || devlist[i] >= totalnDev || gpuFlags[devlist[i]] != 0) {
                ret = ncclInvalidUsage;
                goto fail;
            }
            gpuFlags[devlist[i]] = 1;
        }
        std::free(gpuFlags);
        gpuFlags = nullptr;
    }
    NCCLCHECKGOTO(ncclGroupStart(), ret, fail);
    for (int i = 0; i < ndev; i++) ncclCommInitRankDev(comms + i, i);
    NCCLCHECKGOTO(ncclGroupEnd(), ret, fail);
fail:
    std::free(gpuFlags);
    return ret;
}

void ncclCommDestroy(ncclComm* comm) {
    cudaError_t err = cudaFreeHost(comm->abortFlag);
    if (err != cudaSuccess) WARN("cudaFreeHost: Cuda failure '%s'", cudaGetErrorString(err));
    std::free(comm);
}

}  // namespace

int main() {
    const int gpus[] = {0};
    ncclComm* comms[1] = {};
    ncclResult_t res = ncclCommInitAll(comms, 1, gpus);
    if (res != ncclSuccess) {
        std::fprintf(stderr, "Test NCCL failure: result %d\n", res);
        return 1;
    }
    std::printf("rank %d of 1\n", comms[0]->rank);
    ncclCommDestroy(comms[0]);
    return 0;
}
