from cuvet.rules.rule import SourceRule


class SourceGroupMissing(SourceRule):
    """
    checks: A loop of one thread calls NCCL for one communicator after the other, or makes one rank after the other, and no group is open.
    why: A call may wait until all ranks have called. The first one of the loop then waits for those that come after it.
    instead: Call ``ncclGroupStart`` before the loop and ``ncclGroupEnd`` behind it.
    limits: Only where the rank or the communicator is that of the loop's turn, and the program makes all communicators at once or the loop
      changes the device. A note if functions of other files may open the group.
    """

    code = "CV893"
    severity = "note"
    summary = "one thread calls NCCL for several devices outside a group"
    help = "call ncclGroupStart before the loop and ncclGroupEnd behind it"
    evidence = """
    documented: a single thread that manages multiple devices must use group semantics: every NCCL call may have to block, waiting for
      the other ranks, so that a simple loop could block on the first call (NVIDIA NCCL documentation, Group Calls, Management Of
      Multiple GPUs From One Thread)
    documented: calls to NCCL until ncclGroupEnd do not block due to inter-CPU synchronization; with ncclCommInitRank, ncclGroupEnd waits
      for all communicators to be initialized (NVIDIA NCCL documentation, Group Calls, ncclGroupStart, ncclGroupEnd)
    """
    VALID = """
## in a group [c++]
void sum(std::vector<ncclComm_t> &comms, std::vector<float *> &values, size_t n, std::vector<cudaStream_t> &streams) {
    NCCL_CHECK(ncclCommInitAll(comms.data(), comms.size(), nullptr));
    NCCL_CHECK(ncclGroupStart());
    for (size_t i = 0; i < comms.size(); i++)
        NCCL_CHECK(ncclAllReduce(values[i], values[i], n, ncclFloat, ncclSum, comms[i], streams[i]));
    NCCL_CHECK(ncclGroupEnd());
}

## the caller opens the group [c++]
static void sum_layer(Layer &layer, const std::vector<ncclComm_t> &comms, const std::vector<cudaStream_t> &streams) {
    for (size_t i = 0; i < comms.size(); i++) {
        CHECK(cudaSetDevice(i));
        NCCL_CHECK(ncclAllReduce(layer.at(i), layer.at(i), layer.n, ncclFloat, ncclSum, comms[i], streams[i]));
    }
}
void sum(std::vector<Layer> &layers, const std::vector<ncclComm_t> &comms, const std::vector<cudaStream_t> &streams) {
    NCCL_CHECK(ncclGroupStart());
    for (Layer &each : layers)
        sum_layer(each, comms, streams);
    NCCL_CHECK(ncclGroupEnd());
}

## one communicator, many buffers [c++]
void sum(std::vector<Layer> &layers, ncclComm_t comm, cudaStream_t stream) {
    for (Layer &each : layers)
        NCCL_CHECK(ncclAllReduce(each.grads, each.grads, each.n, ncclFloat, ncclSum, comm, stream));
}

## a thread for each rank [c++]
void connect(std::vector<ncclComm_t> &comms, int n) {
    ncclUniqueId id;
    NCCL_CHECK(ncclGetUniqueId(&id));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < n; rank++)
        threads.emplace_back([&, rank] {
            CHECK(cudaSetDevice(rank));
            NCCL_CHECK(ncclCommInitRank(&comms[rank], n, id, rank));
        });
    for (auto &each : threads)
        each.join();
}

## one communicator of its own for each device [c++]
void connect(std::vector<ncclComm_t> &comms) {
    for (size_t i = 0; i < comms.size(); i++) {
        ncclUniqueId id;
        NCCL_CHECK(ncclGetUniqueId(&id));
        CHECK(cudaSetDevice(i));
        NCCL_CHECK(ncclCommInitRank(&comms[i], 1, id, 0));
    }
}
"""
    INVALID = """
## one rank after the other [c++]
void connect(std::vector<ncclComm_t> &comms, const std::vector<int> &devices) {
    ncclUniqueId id;
    NCCL_CHECK(ncclGetUniqueId(&id));
    for (int i = 0; i < (int)devices.size(); i++) {
        CHECK(cudaSetDevice(devices[i]));
        NCCL_CHECK(ncclCommInitRank(&comms[i], devices.size(), id, i));  // note: [source-group-missing]
    }
}

## one communicator after the other [c++]
int main() {
    Part parts[8];
    ncclComm_t comms[8];
    NCCL_CHECK(ncclCommInitAll(comms, 8, nullptr));
    for (int i = 0; i < 8; i++)
        parts[i].open(i, comms[i]);
    for (Part &part : parts)
        NCCL_CHECK(ncclBroadcast(part.from, part.to, part.n, ncclFloat, 0, part.comm, part.stream));  // note: [source-group-missing]
}

## a function that another file may call in a group [c++]
void Ring::reduce(size_t n) {
    for (int i = 0; i < count; i++) {
        CHECK(cudaSetDevice(i));
        NCCL_CHECK(ncclReduce(from[i], to[i], n, ncclFloat, ncclSum, 0, comms[i], streams[i]));  // note: [source-group-missing]
    }
}
"""
