from cuvet.rules.rule import SourceRule


class SourceSizeOfPointer(SourceRule):
    """
    checks: Memory is set or copied with ``sizeof`` of the pointer to it.
    why: That is the size of a pointer. Only its first bytes are set or copied.
    instead: Multiply the number of elements by the size of one.
    limits: Only of pointers that the function declares, to elements that have another size than a pointer.
    """

    code = "CV876"
    severity = "warning"
    summary = "the size of a pointer is given for that of the memory"
    help = "multiply the number of elements by the size of one"
    evidence = """
    documented: cudaMemset: count is the size in bytes to set (CUDA Runtime API, Memory Management, cudaMemset)
    documented: cudaMemcpy: count is the size in bytes to copy (CUDA Runtime API, Memory Management, cudaMemcpy)
    """
    VALID = """
## an array [cuda]
void fetch(const int *values) {
    int host[64];
    CHECK(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost));
}

## one element [cuda]
void clear(int *values) {
    CHECK(cudaMemset(values, 0, sizeof(*values)));
    CHECK(cudaMemset(values, 0, sizeof *values));
}

## the pointer itself is copied [cuda]
void store(int **table, int *values) {
    CHECK(cudaMemcpy(table, &values, sizeof(values), cudaMemcpyHostToDevice));
}

## a pointer to one pointer [cuda]
void store(int **table, int **values) {
    CHECK(cudaMemcpy(table, values, sizeof(values), cudaMemcpyHostToDevice));
}

## one element of the same size [cuda]
void clear(double *values) {
    CHECK(cudaMemset(values, 0, sizeof(values)));
}
"""
    INVALID = """
## set [cuda]
void clear(int n) {
    int *values = nullptr;
    CHECK(cudaMalloc(&values, n * sizeof(int)));
    CHECK(cudaMemset(values, 0, sizeof(values)));  // warning: [source-size-of-pointer]
    CHECK(cudaFree(values));
}

## copied [cuda]
void fetch(const char *values, char *host) {
    CHECK(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost));  // warning: [source-size-of-pointer]
}
"""
