from cuvet.rules.rule import SourceRule


class SourceMemberUninitialized(SourceRule):
    """
    checks: A function or constructor creates a member (a stream, an event, memory), another gives it no value, and the destructor ends it.
    why: If the member was not created, the destructor ends whatever value is in memory: an error, the end of another object, or a crash.
    instead: Initialise the member at its declaration (``cudaEvent_t event = nullptr;``), and end it only if it has another value.
    limits: Silent about members that the destructor checks, and about an end under a condition that the constructors do not decide.
    """

    code = "CV887"
    severity = "warning"
    summary = "a destructor ends a member that a constructor left without a value"
    help = "give the member a value where it is declared, and end it only if it was made"
    evidence = """
    measured: cudaEventQuery of what was never an event crashes the process (event_garbage)
    documented: a member without an initializer has an indeterminate value (cppreference, Default-initialization)
    reported: an event was made for some senders only, and destroyed for all
      (https://github.com/NVIDIA/stdexec/commit/795d23ac21af80923ee8a16942a39a15c476ea02)
    """
    VALID = """
## a flag tells [cuda]
class Timer {
  public:
    Timer() : made_(true) { cudaEventCreate(&event_); }
    explicit Timer(int) : made_(false) {}
    Timer(const Timer &) = delete;
    ~Timer() {
        if (made_)
            cudaEventDestroy(event_);
    }
  private:
    bool made_;
    cudaEvent_t event_;
};

## made by a function of the class [cuda]
class Timer {
  public:
    Timer() { cudaEventCreate(&event_); }
    explicit Timer(int flags) { create(flags); }
    Timer(const Timer &) = delete;
    ~Timer() { cudaEventDestroy(event_); }
  private:
    void create(int flags) { cudaEventCreateWithFlags(&event_, flags); }
    cudaEvent_t event_;
};
"""
    INVALID = """
## made later, ended always [cuda]
class Solver {
  public:
    explicit Solver(int n) : n_(n) { cublasCreate(&handle_); }
    Solver(const Solver &) = delete;
    ~Solver() {
        cudaFree(workspace_);  // warning: [source-member-uninitialized]
        cublasDestroy(handle_);
    }
    void analyse() {
        if (n_ > 0)
            cudaMalloc(&workspace_, n_);
    }
  private:
    int n_;
    double *workspace_;
    cublasHandle_t handle_;
};

## left out by one constructor [cuda]
class Timer {
  public:
    Timer() { cudaEventCreate(&event_); }
    explicit Timer(int queue) : queue_(queue) {}
    Timer(const Timer &) = delete;
    ~Timer() { cudaEventDestroy(event_); }  // warning: [source-member-uninitialized]
  private:
    int queue_;
    cudaEvent_t event_;
};

## another member tells nothing [cuda]
class Timer {
  public:
    explicit Timer(float *data) : data_(data) { cudaEventCreate(&event_); }
    Timer(float *data, int queue) : data_(data), queue_(queue) {}
    Timer(const Timer &) = delete;
    ~Timer() {
        if (data_)
            cudaEventDestroy(event_);  // warning: [source-member-uninitialized]
    }
  private:
    float *data_;
    int queue_;
    cudaEvent_t event_;
};
"""
