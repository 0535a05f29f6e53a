from cuvet.rules.rule import SourceRule


class SourceFreedWhileRegistered(SourceRule):
    """
    checks: Registered memory is freed (``free``, ``delete``) or unmapped (``munmap``, ``shmdt``, ``UnmapViewOfFile``, ``VirtualFree``),
      or belongs to a vector that grows and may move it (a note for members of a class).
    why: The registration stays. When the heap uses the addresses again, registering them fails, and copies use the old pages.
    instead: Call ``cudaHostUnregister`` before the memory is freed.
    limits: Only along the paths of one function, and members of a class that the function which lets them grow registers anew. Silent
      about vectors that are cleared or made smaller before, or with a capacity that what they grow by may depend on.
    """

    code = "CV859"
    summary = "host memory is freed before it is unregistered"
    help = "call cudaHostUnregister before the memory is freed"
    evidence = """
    measured: registering the addresses fails when they were mapped again (register_freed_then_again)
    documented: push_back and insert cause reallocation if the new size is greater than the old capacity, which invalidates all pointers
      to the elements (C++ standard, vector.modifiers)
    documented: makes the memory pageable again (CUDA Driver API, Memory Management, cuMemHostUnregister)
    """
    VALID = """
## unregistered first [cuda]
void send(int n) {
    char *buffer = (char *)malloc(n);
    cudaHostRegister(buffer, n, cudaHostRegisterDefault);
    upload(buffer, n);
    cudaHostUnregister(buffer);
    free(buffer);
}

## freed where a helper says that it was not registered [cuda]
int report(cudaError_t error);

int send(size_t n) {
    void *buffer = malloc(n);
    if (report(cudaHostRegister(buffer, n, cudaHostRegisterDefault))) {
        free(buffer);
        return 1;
    }
    upload(buffer, n);
    int failed = report(cudaHostUnregister(buffer));
    free(buffer);
    return failed;
}

## unmapped after it [cuda]
void send(int file, size_t n) {
    void *buffer = mmap(nullptr, n, PROT_READ, MAP_SHARED, file, 0);
    cudaHostRegister(buffer, n, cudaHostRegisterReadOnly);
    upload(buffer, n);
    cudaHostUnregister(buffer);
    munmap(buffer, n);
}

## a member that is unregistered before it grows [c++]
class Samples {
public:
    explicit Samples(size_t n) : values_(n) { lock(); }
    ~Samples() { unlock(); }
    void add(float value) {
        unlock();
        values_.push_back(value);
        lock();
    }

private:
    void lock() { CHECK(cudaHostRegister(values_.data(), values_.size() * sizeof(float), 0)); }
    void unlock() { cudaHostUnregister(values_.data()); }
    std::vector<float> values_;
};

## a member that gets its size once [c++]
class Samples {
public:
    ~Samples() { cudaHostUnregister(values_.data()); }
    void open(size_t n) {
        values_.resize(n);
        CHECK(cudaHostRegister(values_.data(), n * sizeof(float), 0));
    }

private:
    std::vector<float> values_;
};

## a function that is not there comes first [c++]
class Samples {
public:
    explicit Samples(size_t n) : values_(n) { lock(); }
    ~Samples() { close(); }
    void close();
    void grow(size_t n) {
        close();
        values_.resize(n);
        lock();
    }

private:
    void lock() { CHECK(cudaHostRegister(values_.data(), values_.size() * sizeof(float), 0)); }
    void unlock() { cudaHostUnregister(values_.data()); }
    std::vector<float> values_;
};

## registered by the function that the constructor calls [cuda]
class Staging {
  public:
    explicit Staging(size_t count) { prepare(count); }
    ~Staging() { CHECK(cudaHostUnregister(values_.data())); }
  private:
    void prepare(size_t count) {
        values_.resize(count);
        CHECK(cudaHostRegister(values_.data(), count * sizeof(float), 0));
    }
    std::vector<float> values_;
};

## only if there is nothing yet [cuda]
class Staging {
  public:
    Staging() = default;
    void open(size_t count) {
        if (values_.size() > 0)
            return;
        values_.resize(count);
        CHECK(cudaHostRegister(values_.data(), count * sizeof(float), 0));
    }
    ~Staging() { if (!values_.empty()) CHECK(cudaHostUnregister(values_.data())); }
  private:
    std::vector<float> values_;
};
"""
    INVALID = """
## freed while registered [cuda]
void send(int n) {
    char *buffer = (char *)malloc(n);
    cudaHostRegister(buffer, n, cudaHostRegisterDefault);
    upload(buffer, n);
    free(buffer);  // error: [source-freed-while-registered]
}

## freed where a helper says that another call failed [cuda]
int report(cudaError_t error);

int send(void *device, size_t n, cudaStream_t stream) {
    void *buffer = malloc(n);
    CHECK(cudaHostRegister(buffer, n, cudaHostRegisterDefault));
    if (report(cudaMemcpyAsync(device, buffer, n, cudaMemcpyHostToDevice, stream))) {
        free(buffer);  // error: [source-freed-while-registered]
        return 1;
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaHostUnregister(buffer));
    free(buffer);
    return 0;
}

## unmapped while registered [cuda]
void send(int file, size_t n) {
    void *buffer = mmap(nullptr, n, PROT_READ, MAP_SHARED, file, 0);
    cudaHostRegister(buffer, n, cudaHostRegisterReadOnly);
    upload(buffer, n);
    munmap(buffer, n);  // error: [source-freed-while-registered]
}

## a member that grows and is registered anew [c++]
class Samples {
public:
    explicit Samples(size_t n) : values_(n) { lock(); }
    ~Samples() { unlock(); }
    void add(float value) {
        values_.push_back(value);  // note: [source-freed-while-registered]
        lock();
    }

private:
    void lock() { CHECK(cudaHostRegister(values_.data(), values_.size() * sizeof(float), 0)); }
    void unlock() { cudaHostUnregister(values_.data()); }
    std::vector<float> values_;
};

## unregistered at its new place [c++]
class Samples {
public:
    ~Samples() { cudaHostUnregister(&values_[0]); }
    void set_size(size_t n) {
        values_.resize(n);  // note: [source-freed-while-registered]
        cudaHostUnregister(&values_[0]);
        CHECK(cudaHostRegister(&values_[0], n * sizeof(float), 0));
    }

private:
    std::vector<float> values_;
};

## grown where it is too small [c++]
class Samples {
public:
    ~Samples() { cudaHostUnregister(values_.data()); }
    float *at_least(size_t n) {
        if (values_.size() < n) {
            values_.resize(n);  // note: [source-freed-while-registered]
            CHECK(cudaHostRegister(values_.data(), n * sizeof(float), 0));
        }
        return values_.data();
    }

private:
    std::vector<float> values_;
};
"""
