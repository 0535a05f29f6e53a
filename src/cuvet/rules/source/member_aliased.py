from cuvet.rules.rule import SourceRule


class SourceMemberAliased(SourceRule):
    """
    checks: A member is set to another member of the same object, and a function ends both unconditionally in one build of the program.
    why: Both are one object, which is ended twice.
    instead: End the one that was created. Set the other to NULL, or end it only in the build that created it.
    limits: Only members that are set and ended without conditions.
    """

    code = "CV888"
    severity = "warning"
    summary = "two members are one object, and a function ends both"
    help = "end the member that was made, and not its alias"
    evidence = """
    measured: a second free returns cudaErrorInvalidValue (free_twice)
    documented: cudaFreeHost: the memory must have been returned by a previous call (CUDA Runtime API, cudaFreeHost)
    reported: without a library two buffers were those of the other direction, and all four were freed
      (https://github.com/lattice/quda/commit/0c61a45f39c9fe7d4ab0bf8fc6de52a0a6dadf9e)
    """
    VALID = """
## only one of the two is freed [cuda]
class Faces {
  public:
    Faces(int n) {
        cudaMallocHost(&forward_, n);
        backward_ = forward_;
    }
    Faces(const Faces &) = delete;
    ~Faces() { cudaFreeHost(forward_); }
  private:
    void *forward_;
    void *backward_;
};

## freed in the build in which it was made [cuda]
class Faces {
  public:
    Faces(int n) {
        cudaMallocHost(&forward_, n);
#ifdef MESSAGES
        cudaMallocHost(&backward_, n);
#else
        backward_ = forward_;
#endif
    }
    Faces(const Faces &) = delete;
    ~Faces() {
#ifdef MESSAGES
        cudaFreeHost(backward_);
#endif
        cudaFreeHost(forward_);
    }
  private:
    void *forward_;
    void *backward_;
};

## freed only if it is another [cuda]
class Faces {
  public:
    Faces(int n) {
        cudaMallocHost(&forward_, n);
        backward_ = forward_;
    }
    Faces(const Faces &) = delete;
    ~Faces() {
        if (backward_ != forward_)
            cudaFreeHost(backward_);
        cudaFreeHost(forward_);
    }
  private:
    void *forward_;
    void *backward_;
};
"""
    INVALID = """
## both freed [cuda]
class Faces {
  public:
    Faces(int n) {
        cudaMallocHost(&forward_, n);
#ifdef MESSAGES
        cudaMallocHost(&backward_, n);
#else
        backward_ = forward_;
#endif
    }
    Faces(const Faces &) = delete;
    ~Faces() {
        cudaFreeHost(forward_);
        cudaFreeHost(backward_);  // warning: [source-member-aliased]
    }
  private:
    void *forward_;
    void *backward_;
};
"""
