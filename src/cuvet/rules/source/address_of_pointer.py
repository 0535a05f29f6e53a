from cuvet.rules.rule import SourceRule


class SourceAddressOfPointer(SourceRule):
    """
    checks: A function that registers, unregisters, frees or sets memory gets the address of a pointer.
    why: These functions take ``void *``, so the compiler accepts both. The wrong page is registered, freed or set.
    instead: Pass the pointer without ``&``.
    limits: Only variables that are declared, or get a pointer, in the same function. Silent if a size is ``sizeof`` a pointer.
    """

    code = "CV894"
    severity = "warning"
    summary = "a call gets the address of a pointer instead of the pointer"
    help = "leave out the &"
    evidence = """
    documented: page-locks the range of ptr and size (CUDA Runtime API, Memory Management, cudaHostRegister)
    documented: devPtr is a pointer to device memory (CUDA Runtime API, Memory Management, cudaMemset)
    reported: cudawrappers registered the address of a member, and unregistered the memory
      (https://github.com/nlesc-recruit/cudawrappers/commit/8900ce6cea57a1b002ce25bc3436e96b351425bf)
    """
    VALID = """
## the pointer [cuda]
void pin(void *memory, size_t size) {
    CHECK(cudaHostRegister(memory, size, cudaHostRegisterDefault));
}

## a variable, an array and a pointer that are meant themselves [cuda]
void pin(float *other) {
    static double result;
    static char text[4096];
    CHECK(cudaHostRegister(&result, sizeof(double), cudaHostRegisterDefault));
    CHECK(cudaHostRegister(&text, sizeof(text), cudaHostRegisterDefault));
    CHECK(cudaHostRegister(&other, sizeof(other), cudaHostRegisterDefault));
    run(&result, text, &other);
    CHECK(cudaHostUnregister(&result));
    CHECK(cudaHostUnregister(&text));
}

## a pointer that is set itself [cuda]
void clear(float *values, size_t size, cudaStream_t stream) {
    CHECK(cudaMemset(values, 0, size));
    CHECK(cudaMemsetAsync(&values, 0, sizeof(float *), stream));
    CHECK(cudaMemset(&values[4], 0, size));
}
"""
    INVALID = """
## registered [cuda]
void pin(void *memory, size_t size) {
    CHECK(cudaHostRegister(&memory, size, cudaHostRegisterDefault));  // warning: [source-address-of-pointer]
}

## a member that is set to a pointer [cuda]
Memory::Memory(void *pointer, size_t size) : _size(size) {
    _memory = pointer;
    CHECK(cuMemHostRegister(&_memory, size, 0));  // warning: [source-address-of-pointer]
}

## freed [cuda]
void release(float *values) {
    CHECK(cudaFree(&values));  // warning: [source-address-of-pointer]
}

## set to zero [cuda]
void count(int *found) {
    int *counter;
    CHECK(cudaMalloc(&counter, sizeof(int)));  // warning: [source-leak]
    CHECK(cudaMemset(&counter, 0, sizeof(int)));  // warning: [source-address-of-pointer]
    CHECK(cudaMemcpy(found, counter, sizeof(int), cudaMemcpyDeviceToHost));
}
"""
