from cuvet.rules.rule import SourceRule


class SourceGroupLeftOpen(SourceRule):
    """
    checks: A function starts a group of NCCL calls, and returns or throws before the place where it ends the group.
    why: The calls of the group may not have been enqueued, and later NCCL calls of the thread belong to it.
    instead: Check before ``ncclGroupStart``, or call ``ncclGroupEnd`` on every way out.
    limits: Silent about returns because an NCCL call failed, and about groups that another function ends.
    """

    code = "CV890"
    severity = "warning"
    summary = "a function returns while a group of NCCL calls is open"
    help = "call ncclGroupEnd on every way out"
    evidence = """
    documented: communication of a group is enqueued when ncclGroupEnd returns, and calls inside of the group can return before
      that (NVIDIA NCCL documentation, Group Calls)
    documented: group primitives define the behavior of the current thread (NVIDIA NCCL documentation, Group Calls)
    """
    VALID = """
## ended on every way [c++]
ncclResult_t reduce(float *values, size_t n, ncclComm_t comm, cudaStream_t stream) {
    if (values == nullptr)
        return ncclInvalidArgument;
    ncclResult_t result = ncclGroupStart();
    if (result != ncclSuccess)
        return result;
    result = ncclAllReduce(values, values, n, ncclFloat, ncclSum, comm, stream);
    if (result != ncclSuccess)
        return result;
    return ncclGroupEnd();
}

## ended before it returns [c++]
ncclResult_t reduce(float *values, size_t n, ncclComm_t comm, cudaStream_t stream) {
    NCCL_CHECK(ncclGroupStart());
    if (values == nullptr) {
        NCCL_CHECK(ncclGroupEnd());
        return ncclInvalidArgument;
    }
    NCCL_CHECK(ncclAllReduce(values, values, n, ncclFloat, ncclSum, comm, stream));
    return ncclGroupEnd();
}

## a return of a function within it [c++]
ncclResult_t reduce(std::vector<Part> &parts, ncclComm_t comm, cudaStream_t stream) {
    NCCL_CHECK(ncclGroupStart());
    std::sort(parts.begin(), parts.end(), [] (const Part &a, const Part &b) { return a.at < b.at; });
    for (auto &each : parts)
        NCCL_CHECK(ncclAllReduce(each.values, each.values, each.n, ncclFloat, ncclSum, comm, stream));
    return ncclGroupEnd();
}
"""
    INVALID = """
## nothing to send [c++]
ncclResult_t reduce(float *values, size_t n, ncclComm_t comm, cudaStream_t stream) {
    NCCL_CHECK(ncclGroupStart());
    if (values == nullptr)
        return ncclInvalidArgument;  // warning: [source-group-left-open]
    NCCL_CHECK(ncclAllReduce(values, values, n, ncclFloat, ncclSum, comm, stream));
    return ncclGroupEnd();
}

## thrown [c++]
void reduce(float *values, size_t n, ncclComm_t comm, cudaStream_t stream) {
    NCCL_CHECK(ncclGroupStart());
    if (n > kMost)
        throw std::length_error("too many");  // warning: [source-group-left-open]
    NCCL_CHECK(ncclAllReduce(values, values, n, ncclFloat, ncclSum, comm, stream));
    NCCL_CHECK(ncclGroupEnd());
}
"""
