from cuvet.rules.rule import SourceRule


class SourceMemberLeak(SourceRule):
    """
    checks: A class creates a member (a stream, an event, memory) and never ends it, although it has a destructor or ends other members, or
      creates it in a constructor. Or a function creates several objects, a function that sounds like an end ends one, and nothing ends
      another that is in a variable of the file.
    why: After the object is destroyed, nothing can end the member: it stays until the process exits.
    instead: End the member where the others are ended, or make it an owner that ends itself.
    limits: All functions of the class that could end the member must be visible. It is a note if another function that is not visible
      sounds like an end, but the destructor is visible, or if the class has no destructor, and a constructor creates the member, or if all
      that the function ends is of other kinds. Silent if the member is passed to an unseen function whose name says that it ends things,
      and if an object of the class lasts as long as the program. Modules end with their context, and contexts with the process, so they
      count only where others are ended.
    """

    code = "CV855"
    severity = "warning"
    summary = "a class makes a member and never ends it"
    help = "end the member where the others are ended"
    evidence = """
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    reported: a buffer of the model was left out when the model was freed
      (https://github.com/karpathy/llm.c/commit/39f976f0134308b198594ecccb24a19a8b4e7da8)
    reported: two texture objects of a field were never destroyed
      (https://github.com/lattice/quda/commit/43ef3df1c06e479936c4d545f2d775d93664248e)
    """
    VALID = """
## ended by a function that is not seen [cuda]
class Worker {
  public:
    Worker();
    ~Worker();
  private:
    cudaStream_t stream_;
    float *buffer_;
};
Worker::Worker() {
    cudaStreamCreate(&stream_);
    cudaMalloc(&buffer_, 1024);
}

## C#: disposed [c#]
sealed class Worker : IDisposable {
    CUstream stream;
    CUdeviceptr buffer;
    public Worker() {
        Check(cuStreamCreate(ref stream, 0));
        Check(cuMemAlloc_v2(ref buffer, 1024));
    }
    public void Dispose() {
        Check(cuStreamDestroy_v2(stream));
        Check(cuMemFree_v2(buffer));
    }
}

## no destructor, and an object that lasts as long as the program [cuda]
struct Timer {
    cudaEvent_t start;
    Timer() { CHECK(cudaEventCreate(&start)); }
};
static Timer timer;

## no destructor, and another function ends the member [cuda]
struct Plan {
    cufftHandle handle;
    explicit Plan(int n) { CHECK(cufftPlan1d(&handle, n, CUFFT_C2C, 1)); }
};
void destroy(Plan *plan) {
    CHECK(cufftDestroy(plan->handle));
    delete plan;
}

## a member of a struct within, whose type is not seen, that goes elsewhere with it [cuda]
void model_create(Model *model, int n) {
    CHECK(cudaMalloc(&model->device.nodes, n));
    CHECK(cudaMalloc(&model->device.elements, n));
    keep_device(&model->device);
}
void model_destroy(Model *model) {
    CHECK(cudaFree(model->device.nodes));
}

## others are left out, too, which something else may end [cuda]
void solver_init(Solver *solver) {
    CHECK_BLAS(cublasCreate(&solver->blas));
    CHECK_SPARSE(cusparseCreate(&solver->sparse));
    CHECK_SPARSE(cusparseCreateMatDescr(&solver->matrix));
}
void solver_free(Solver *solver) {
    CHECK_BLAS(cublasDestroy(solver->blas));
}
"""
    INVALID = """
## destructor [cuda]
class Worker {
  public:
    Worker() {
        cudaStreamCreate(&stream_);
        cudaMalloc(&buffer_, 1024);  // warning: [source-member-leak]
    }
    Worker(const Worker &) = delete;
    ~Worker() { cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_;
    float *buffer_;
};

## no destructor [cuda]
class Timer : public Measure {
  public:
    Timer() { CHECK(cudaEventCreate(&start_)); }  // note: [source-member-leak]
    void begin() { CHECK(cudaEventRecord(start_)); }
  private:
    cudaEvent_t start_;
};

## struct [cuda]
struct Model {
    float *weights;
    float *gradients;
};
void model_allocate(Model *model, int n) {
    cudaMalloc(&model->weights, n);
    cudaMalloc(&model->gradients, n);  // warning: [source-member-leak]
}
void model_free(Model *model) {
    cudaFree(model->weights);
}

## struct within another, whose type is not seen [cuda]
void model_create(Model *model, int n) {
    CHECK(cudaMalloc(&model->device.nodes, n));
    CHECK(cudaMalloc(&model->device.elements, n));  // warning: [source-member-leak]
    model->device.count = n;
}
void model_destroy(Model *model) {
    CHECK(cudaFree(model->device.nodes));
    delete model;
}

## all others are ended, of whatever kind [cuda]
void solver_init(Solver *solver) {
    CHECK_BLAS(cublasCreate(&solver->blas));
    CHECK_SPARSE(cusparseCreate(&solver->sparse));
    CHECK_SPARSE(cusparseCreateMatDescr(&solver->matrix));  // note: [source-member-leak]
}
void solver_free(Solver *solver) {
    CHECK_BLAS(cublasDestroy(solver->blas));
    CHECK_SPARSE(cusparseDestroy(solver->sparse));
    free(solver);
}

## variable of the file [cuda]
static float *values;
static int *flag;
void fluid_init(int n) {
    cudaMalloc(&values, n);
    cudaMalloc(&flag, sizeof(int));  // warning: [source-member-leak]
}
void fluid_free() {
    cudaFree(values);
}

## C#: forgotten by Dispose [c#]
sealed class Worker : IDisposable {
    CUstream stream;
    CUdeviceptr buffer;
    public Worker() {
        Check(cuStreamCreate(ref stream, 0));
        Check(cuMemAlloc_v2(ref buffer, 1024));  // warning: [source-member-leak]
    }
    public void Dispose() {
        Check(cuStreamDestroy_v2(stream));
    }
}

## Python: forgotten by close [python cudart]
def check(result):
    if result[0] != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else None

class Worker:
    def __init__(self):
        self.stream = check(cudart.cudaStreamCreate())
        self.buffer = check(cudart.cudaMalloc(1024))  # warning: [source-member-leak]

    def close(self):
        check(cudart.cudaStreamDestroy(self.stream))
"""
