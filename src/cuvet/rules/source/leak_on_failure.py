from cuvet.rules.rule import SourceRule


class SourceLeakOnFailure(SourceRule):
    """
    checks: When a CUDA call fails, the function returns, or frees the struct on the heap that holds them, without ending what it
      created before. Or a constructor throws after it created members that the destructor ends.
    why: A caller that continues, or tries again with less, has lost that memory.
    instead: Use an owner whose destructor ends the object, or one place at the end of the function that all paths reach. In a constructor,
      catch the exception, or have each member be an owner.
    limits: A note, because after many errors the process can only exit, which frees everything. Of contexts only where the same function
      destroys them on another way out. Of constructors only where the program shows that the check throws.
    """

    code = "CV853"
    severity = "note"
    summary = "an object is lost when a later call fails"
    help = "end the object before returning, or give it to an owner whose destructor does"
    evidence = """
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    documented: if an exception is thrown from a constructor, destructors are called for all members and base classes that were fully
      constructed (cppreference, Throwing exceptions, Stack unwinding)
    documented: if a constructor throws an exception, the destructor of the object is not run (ISO C++ FAQ, Exceptions and Error Handling,
      https://isocpp.org/wiki/faq/exceptions#selfcleaning-members)
    """
    VALID = """
## freed before returning [cuda]
int make(float **out, int n) {
    float *first, *second;
    if (cudaMalloc(&first, n) != cudaSuccess) return 1;
    if (cudaMalloc(&second, n) != cudaSuccess) {
        cudaFree(first);
        return 1;
    }
    join<<<1, 1>>>(first, second);
    cudaFree(second);
    cudaFree(first);
    return 0;
}

## freed after the one error that is expected [cuda]
int make(int n, int *got) {
    float *first, *second;
    CHECK(cudaMalloc(&first, n));
    cudaError_t status = cudaMalloc(&second, n);
    if (status == cudaErrorMemoryAllocation) {
        CHECK(cudaFree(first));
        return 1;
    }
    CHECK(status);
    join<<<1, 1>>>(first, second);
    CHECK(cudaFree(second));
    CHECK(cudaFree(first));
    return 0;
}

## what was not made, as the error says [cuda]
int make(int n) {
    float *values;
    cudaError_t status = cudaMalloc(&values, n);
    if (status == cudaErrorMemoryAllocation)
        return 1;
    CHECK(status);
    join<<<1, 1>>>(values, values);
    CHECK(cudaFree(values));
    return 0;
}

## the process ends [cuda]
int make(int n) {
    float *first, *second;
    cudaMalloc(&first, n);
    if (cudaMalloc(&second, n) != cudaSuccess) {
        fprintf(stderr, "no memory");
        exit(1);
    }
    join<<<1, 1>>>(first, second);
    cudaFree(second);
    cudaFree(first);
    return 0;
}

## a struct on the heap, of which each step undoes the ones before [c++]
struct port { cudaStream_t line; void *block; };
int port_open(struct port **to, size_t bytes) {
    struct port *it = (struct port *)malloc(sizeof *it);
    if (!it) return 1;
    if (cudaStreamCreate(&it->line) != cudaSuccess) goto no_line;
    if (cudaMalloc(&it->block, bytes) != cudaSuccess) goto no_block;
    *to = it;
    return 0;
no_block:
    cudaStreamDestroy(it->line);
no_line:
    free(it);
    return 2;
}

## a struct on the heap, which a function of the program undoes [c++]
struct port { cudaStream_t line; void *block; };
int port_open(struct port **to, size_t bytes) {
    struct port *it = (struct port *)calloc(1, sizeof *it);
    if (cudaStreamCreate(&it->line) != cudaSuccess) goto failed;
    if (cudaMalloc(&it->block, bytes) != cudaSuccess) goto failed;
    *to = it;
    return 0;
failed:
    port_undo(it);
    free(it);
    return 2;
}

## a struct on the heap, whose stream was put into a list, or is known by another pointer [c++]
struct port { cudaStream_t line; void *block; struct link link; };
int port_open(struct port **to, size_t bytes) {
    struct port *it = (struct port *)calloc(1, sizeof *it);
    if (cudaStreamCreate(&it->line) != cudaSuccess) goto failed;
    lines[count++] = it->line;
    if (cudaMalloc(&it->block, bytes) != cudaSuccess) goto failed;
    *to = it;
    return 0;
failed:
    free(it);
    return 2;
}
int port_copy(struct port *to, size_t bytes) {
    struct port *it = (struct port *)calloc(1, sizeof *it);
    if (cudaStreamCreate(&it->line) != cudaSuccess) goto done;
    *to = *it;
    if (cudaMalloc(&it->block, bytes) != cudaSuccess) goto done;
    *to = *it;
done:
    free(it);
    return 0;
}
int port_link(struct link *all, size_t bytes) {
    struct port *it = (struct port *)calloc(1, sizeof *it);
    if (cudaStreamCreate(&it->line) != cudaSuccess) goto done;
    link_to(all, &it->link);
    if (cudaMalloc(&it->block, bytes) != cudaSuccess) goto done;
    return 0;
done:
    free(it);
    return 1;
}

## a constructor that ends the process [cuda]
void require(cudaError_t status) {
    if (status != cudaSuccess) abort();
}
class Lane {
  public:
    Lane() {
        require(cudaStreamCreate(&stream_));
        require(cudaEventCreate(&done_));
    }
    Lane(const Lane &) = delete;
    ~Lane() {
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }
  private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t done_ = nullptr;
};

## a constructor that catches what it throws [cuda]
void require(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error("CUDA");
}
class Lane {
  public:
    Lane() {
        try {
            require(cudaStreamCreate(&stream_));
            require(cudaEventCreate(&done_));
        } catch (...) {
            close();
            throw;
        }
    }
    Lane(const Lane &) = delete;
    ~Lane() { close(); }
  private:
    void close() {
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }
    cudaStream_t stream_ = nullptr;
    cudaEvent_t done_ = nullptr;
};

## another constructor has run, so the destructor does as well [cuda]
void require(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error("CUDA");
}
class Lane {
  public:
    Lane() = default;
    explicit Lane(unsigned flags) : Lane() {
        require(cudaStreamCreateWithFlags(&stream_, flags));
        require(cudaEventCreate(&done_));
    }
    Lane(const Lane &) = delete;
    ~Lane() {
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }
  private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t done_ = nullptr;
};

## nothing is made before the call that may fail [cuda]
void require(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error("CUDA");
}
class Lane {
  public:
    explicit Lane(int device) {
        require(cudaSetDevice(device));
        require(cudaStreamCreate(&stream_));
    }
    Lane(const Lane &) = delete;
    ~Lane() { cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};
"""
    INVALID = """
## the second allocation fails [cuda]
int make(int n) {
    float *first, *second;
    if (cudaMalloc(&first, n) != cudaSuccess) return 1;  // note: [source-leak-on-failure]
    if (cudaMalloc(&second, n) != cudaSuccess) return 1;
    join<<<1, 1>>>(first, second);
    cudaFree(second);
    cudaFree(first);
    return 0;
}

## the next turn after the one error that is expected [cuda]
void time(int *best, cudaStream_t stream) {
    for (int threads = 64; threads <= 4096; threads *= 2) {
        cudaEvent_t done;
        CHECK(cudaEventCreate(&done));  // note: [source-leak-on-failure]
        join<<<1, threads, 0, stream>>>(best, threads);
        cudaError_t status = cudaGetLastError();
        if (status == cudaErrorInvalidConfiguration)
            continue;
        CHECK(status);
        CHECK(cudaEventRecord(done, stream));
        CHECK(cudaEventSynchronize(done));
        CHECK(cudaEventDestroy(done));
    }
}

## Python: the second allocation fails [python cudart]
def make(n):
    error, first = cudart.cudaMalloc(n)  # note: [source-leak-on-failure]
    if error != cudart.cudaError_t.cudaSuccess:
        return None
    error, second = cudart.cudaMalloc(n)
    if error != cudart.cudaError_t.cudaSuccess:
        return None
    join(int(first), int(second))
    error, = cudart.cudaFree(second)
    error, = cudart.cudaFree(first)

## C#: the second of two fails [c# method]
bool Run(int size) {
    CUdeviceptr front = new CUdeviceptr(), back = new CUdeviceptr();
    if (MemoryManagement.cuMemAlloc_v2(ref front, size) != CUResult.Success) return false;  // note: [source-leak-on-failure]
    if (MemoryManagement.cuMemAlloc_v2(ref back, size) != CUResult.Success) return false;
    Launch(front, back);
    Check(MemoryManagement.cuMemFree_v2(front));
    Check(MemoryManagement.cuMemFree_v2(back));
    return true;
}

## a struct on the heap is freed, and what it holds is forgotten [c++]
struct port { cudaStream_t line; void *block; };
int port_open(struct port **to, size_t bytes) {
    struct port *it = (struct port *)malloc(sizeof *it);
    if (!it) return 1;
    if (cudaStreamCreate(&it->line) != cudaSuccess) {  // note: [source-leak-on-failure]
        free(it);
        return 2;
    }
    if (cudaMalloc(&it->block, bytes) != cudaSuccess) {
        free(it);
        return 3;
    }
    *to = it;
    return 0;
}

## a constructor throws, and the destructor does not run [cuda]
void require(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error("CUDA");
}
class Lane {
  public:
    Lane() {
        require(cudaStreamCreate(&stream_));  // note: [source-leak-on-failure]
        require(cudaEventCreate(&done_));
    }
    Lane(const Lane &) = delete;
    ~Lane() { close(); }
  private:
    void close() {
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }
    cudaStream_t stream_ = nullptr;
    cudaEvent_t done_ = nullptr;
};

## a macro gives the status to a function that throws [cuda]
inline void fail_if(cudaError_t status, int line) {
    if (status != cudaSuccess) throw std::runtime_error(std::to_string(line));
}
#define TRY(call) fail_if((call), __LINE__)
class Pair {
  public:
    explicit Pair(size_t bytes);
    Pair(const Pair &) = delete;
    ~Pair() {
        cudaFree(first);
        cudaFree(second);
    }
    void *first, *second;
};
Pair::Pair(size_t bytes) {
    TRY(cudaMalloc(&first, bytes));  // note: [source-leak-on-failure]
    TRY(cudaMalloc(&second, bytes));
}
"""
