#include <nccl.h>
#include <cuda_runtime.h>
#include <vector>

struct Shard {
    float* gradients;
    size_t count;
    cudaStream_t stream;
};

ncclResult_t all_reduce(const std::vector<Shard>& shards, const std::vector<ncclComm_t>& comms)
{
    ncclResult_t result = ncclGroupStart();
    if (result != ncclSuccess)
        return result;
    ncclResult_t first = ncclSuccess;
    for (size_t i = 0; i < shards.size(); ++i) {
        const Shard& shard = shards[i];
        if (shard.gradients == nullptr)
            return ncclInvalidArgument;
        result = ncclAllReduce(shard.gradients, shard.gradients, shard.count, ncclFloat, ncclSum, comms[i], shard.stream);
        if (first == ncclSuccess)
            first = result;
    }
    result = ncclGroupEnd();
    return first != ncclSuccess ? first : result;
}
