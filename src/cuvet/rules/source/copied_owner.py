from cuvet.rules.rule import SourceRule


class SourceCopiedOwner(SourceRule):
    """
    checks: A class creates a member in its constructor and ends it in its destructor. The compiler writes its copies. A launch that is
      given such an object makes one.
    why: A copy has the same handle. The first object that is destroyed ends it; the other one uses it and ends it again.
    instead: Delete the copy constructor and copy assignment (and write the moves), or hold the handle in a smart pointer with a deleter.
    limits: A note, because it is not known whether the class is ever copied; a warning where ``push_back`` copies a local object of it,
      or a launch does. Silent about classes with members that cannot be copied, or with bases.
    """

    code = "CV857"
    severity = "note"
    summary = "a class that owns a handle can be copied"
    help = "delete the copy constructor and the copy assignment, or hold the handle in an owner"
    evidence = """
    documented: if a class has a user-declared destructor, it almost surely needs a copy constructor and a copy
      assignment (cppreference, The rule of three/five/zero; C++ Core Guidelines, C.21)
    documented: a temporary copy of a kernel argument that is passed by value is destroyed at the end of the launch, when the kernel has not
      necessarily run (NVIDIA CUDA C++ Guidelines for Robust and Safety-Critical Programming, CUDA 1.8)
    reported: a hash table was given to a kernel by value, whose copy freed its memory
      (https://github.com/owensgroup/SlabHash/commit/36822557)
    reported: a class that destroyed its pool in the destructor had defaulted copies
      (https://github.com/rapidsai/rmm/commit/12384bcbab9171f95092b65bd66bbc91fc9e39ff)
    """
    VALID = """
## copies deleted [cuda]
class Timer {
  public:
    Timer() { cudaEventCreate(&event_); }
    ~Timer() { cudaEventDestroy(event_); }
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;
  private:
    cudaEvent_t event_;
};

## a member cannot be copied [cuda]
class Timer {
  public:
    Timer() { cudaEventCreate(&event_); }
    ~Timer() { cudaEventDestroy(event_); }
  private:
    std::mutex lock_;
    cudaEvent_t event_;
};

## a library's handle that is lent [cuda]
class Solver {
  public:
    explicit Solver(cublasHandle_t handle) : handle_(handle) {}
    ~Solver() { CHECK(cublasSetStream(handle_, nullptr)); }
  private:
    cublasHandle_t handle_;
};

## a kernel is given what the owner converts to [cuda]
class Values {
  public:
    Values() { CHECK(cudaMalloc(&values_, 4096)); }
    Values(const Values &) = delete;
    ~Values() { CHECK(cudaFree(values_)); }
    operator float *() const { return values_; }
  private:
    float *values_;
};
__global__ void scale(float *values) { values[threadIdx.x] *= 2; }
void run() {
    Values values;
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
}

## a kernel is given a view [cuda]
struct View { float *values; };
class Values {
  public:
    Values() { CHECK(cudaMalloc(&values_, 4096)); }
    Values(const Values &) = delete;
    ~Values() { CHECK(cudaFree(values_)); }
    View view() const { return {values_}; }
  private:
    float *values_;
};
__global__ void scale(View view) { view.values[threadIdx.x] *= 2; }
void run() {
    Values values;
    scale<<<1, 256>>>(values.view());
    CHECK(cudaGetLastError());
}

## C#: variables of a class are references [c#]
class Timer {
    CUevent happened;
    public Timer() { Check(cuEventCreate(ref happened, 0)); }
    ~Timer() { cuEventDestroy_v2(happened); }
}
"""
    INVALID = """
## copies written by the compiler [cuda]
class Timer {
  public:
    Timer() { cudaEventCreate(&event_); }
    ~Timer() { cudaEventDestroy(event_); }  // note: [source-copied-owner]
  private:
    cudaEvent_t event_;
};

## a library's handle [cuda]
class Solver {
  public:
    Solver() { CHECK(cublasCreate(&handle_)); }
    ~Solver() { CHECK(cublasDestroy(handle_)); }  // note: [source-copied-owner]
  private:
    cublasHandle_t handle_;
};

## copies that the class asks the compiler for [cuda]
class Resource : public Base {
  public:
    Resource() { CHECK(cudaMemPoolCreate(&pool_, &properties)); }
    Resource(Resource const &) = default;
    Resource &operator=(Resource const &) = default;
    ~Resource() { CHECK(cudaMemPoolDestroy(handle())); }  // note: [source-copied-owner]
    cudaMemPool_t handle() const { return pool_; }
  private:
    cudaMemPool_t pool_{};
};

## a launch copies it [cuda]
class Values {
  public:
    Values() { CHECK(cudaMalloc(&values_, 4096)); }
    ~Values() { cudaFree(values_); }  // note: [source-copied-owner]
    __device__ float &at(int i) { return values_[i]; }
  private:
    float *values_;
};
__global__ void scale(int n, Values values) { values.at(threadIdx.x) *= n; }
void run() {
    Values values;
    scale<<<1, 256>>>(2, values);  // warning: [source-copied-owner]
    CHECK(cudaGetLastError());
}

## a launch copies the object whose function it is [cuda]
class Values {
  public:
    Values() { CHECK(cudaMalloc(&values_, 4096)); }
    ~Values() { cudaFree(values_); }  // note: [source-copied-owner]
    void scale();
    float *values_;
};
__global__ void scale_all(Values values) { values.values_[threadIdx.x] *= 2; }
void Values::scale() {
    scale_all<<<1, 256>>>(*this);  // warning: [source-copied-owner]
    CHECK(cudaGetLastError());
}
"""
