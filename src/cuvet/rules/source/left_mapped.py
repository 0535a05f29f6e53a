from cuvet.rules.rule import SourceRule


class SourceLeftMapped(SourceRule):
    """
    checks: A function maps resources of a graphics API, unmaps them at its end, and returns in between without unmapping them.
      A return by a macro of the file, if a call fails, is a note.
    why: The graphics API must not use a resource while it is mapped, and mapping it again fails. So every later frame fails.
    instead: Unmap the resources on every way out, or let an object do it whose destructor unmaps them.
    limits: Silent if what stands between is named as if it unmaps, restores or guards something, and about a return because the mapping
      itself failed.
    """

    code = "CV891"
    severity = "note"
    summary = "a function returns while resources of a graphics API are mapped"
    help = "unmap the resources before the function returns"
    evidence = """
    documented: the graphics API from which resources were registered should not access any resources while they are mapped by CUDA; if an
      application does so, the results are undefined (CUDA Runtime API, Graphics Interoperability, cudaGraphicsMapResources)
    documented: if any of resources is presently mapped for access by CUDA, then CUDA_ERROR_ALREADY_MAPPED is returned (CUDA Driver API,
      Graphics Interoperability, cuGraphicsMapResources)
    """
    VALID = """
## unmapped before each return [cuda]
bool draw(cudaGraphicsResource_t vertices, float time, cudaStream_t stream) {
    float4 *mapped;
    size_t bytes;
    if (cudaGraphicsMapResources(1, &vertices, stream) != cudaSuccess)
        return false;
    CHECK(cudaGraphicsResourceGetMappedPointer((void **)&mapped, &bytes, vertices));
    if (bytes == 0) {
        CHECK(cudaGraphicsUnmapResources(1, &vertices, stream));
        return false;
    }
    move(mapped, bytes, time, stream);
    CHECK(cudaGraphicsUnmapResources(1, &vertices, stream));
    return true;
}

## the mapping failed [cuda]
bool draw(cudaGraphicsResource_t vertices, float time, cudaStream_t stream) {
    cudaError_t status = cudaGraphicsMapResources(1, &vertices, stream);
    if (status != cudaSuccess)
        return false;
    move(vertices, time, stream);
    return cudaGraphicsUnmapResources(1, &vertices, stream) == cudaSuccess;
}

## an object unmaps [cuda]
bool draw(cudaGraphicsResource_t vertices, float time, cudaStream_t stream) {
    CHECK(cudaGraphicsMapResources(1, &vertices, stream));
    Unmapper unmapper(vertices, stream);
    if (time < 0)
        return false;
    move(vertices, time, stream);
    CHECK(cudaGraphicsUnmapResources(1, &vertices, stream));
    return true;
}

## another resource [cuda]
bool draw(cudaGraphicsResource_t vertices, cudaGraphicsResource_t colors, float time, cudaStream_t stream) {
    CHECK(cudaGraphicsMapResources(1, &vertices, stream));
    if (time < 0)
        return keep(vertices, colors);
    move(vertices, time, stream);
    CHECK(cudaGraphicsUnmapResources(1, &colors, stream));
    return true;
}

## mapped and unmapped under a condition [cuda]
bool draw(cudaGraphicsResource_t vertices, bool shared, float time, cudaStream_t stream) {
    if (shared)
        CHECK(cudaGraphicsMapResources(1, &vertices, stream));
    if (!shared && time < 0)
        return false;
    move(vertices, time, stream);
    if (shared)
        CHECK(cudaGraphicsUnmapResources(1, &vertices, stream));
    return true;
}

## the return of a lambda [cuda]
bool draw(cudaGraphicsResource_t vertices, const std::vector<Node> &nodes, cudaStream_t stream) {
    CHECK(cudaGraphicsMapResources(1, &vertices, stream));
    auto last = std::max_element(nodes.begin(), nodes.end(), [] (auto &a, auto &b) { return a.at < b.at; });
    move(vertices, last->at, stream);
    CHECK(cudaGraphicsUnmapResources(1, &vertices, stream));
    return true;
}
"""
    INVALID = """
## too small [cuda]
bool draw(cudaGraphicsResource_t vertices, size_t count, float time, cudaStream_t stream) {
    if (cudaGraphicsMapResources(1, &vertices, stream) != cudaSuccess)  // note: [source-left-mapped]
        return false;
    float4 *mapped;
    size_t bytes;
    CHECK(cudaGraphicsResourceGetMappedPointer((void **)&mapped, &bytes, vertices));
    if (bytes < count * sizeof(float4))
        return false;
    move(mapped, count, time, stream);
    return cudaGraphicsUnmapResources(1, &vertices, stream) == cudaSuccess;
}

## unmapped behind a label [cuda]
int draw(CUgraphicsResource vertices, CUdeviceptr *mapped, CUstream stream) {
    size_t bytes;
    int result = -1;
    if (cuGraphicsMapResources(1, &vertices, stream) != CUDA_SUCCESS)  // note: [source-left-mapped]
        return -1;
    if (cuGraphicsResourceGetMappedPointer(mapped, &bytes, vertices) != CUDA_SUCCESS)
        return -1;
    if (bytes == 0)
        goto unmap;
    result = move(*mapped, bytes, stream);
unmap:
    cuGraphicsUnmapResources(1, &vertices, stream);
    return result;
}

## a macro that returns [cuda]
#define OR_FALSE(call) if ((call) != cudaSuccess) return false

bool draw(cudaGraphicsResource_t vertices, float4 **mapped, cudaStream_t stream) {
    size_t bytes;
    OR_FALSE(cudaGraphicsMapResources(1, &vertices, stream));  // note: [source-left-mapped]
    OR_FALSE(cudaGraphicsResourceGetMappedPointer((void **)mapped, &bytes, vertices));
    move(*mapped, bytes, stream);
    OR_FALSE(cudaGraphicsUnmapResources(1, &vertices, stream));
    return true;
}
"""
