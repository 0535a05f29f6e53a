from cuvet.rules.rule import SourceRule


class SourceMemberOverwritten(SourceRule):
    """
    checks: A function that can be called again creates a member, or a variable of the file, again. It neither ends the existing object nor
      checks whether there is one. It can be called again if its name says so, if it creates a larger one where a size that is kept is too
      small, or if it ends two others that it creates after that. Or a move assignment sets a member, which the destructor ends, to that of
      the other object, and does not end what the member held (a warning).
    why: From the second call on, the previous object is lost until the process exits.
    instead: Create the member in the constructor, or end it before it is created again.
    limits: Silent about functions whose names say that they are called once (``init``, ``create``, ``setup``), unless what they do says
      that they are called again.
    """

    code = "CV856"
    severity = "note"
    summary = "a function creates a member again without ending the previous one"
    help = "end the member before it is made again, or make it once"
    evidence = """
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    reported: each call of apply allocated a buffer over the one of the call before
      (https://github.com/ginkgo-project/ginkgo/commit/be45420ad820370a8574065609021239dd6cb875)
    reported: a function freed most of its buffers before it allocated them again
      (https://github.com/espressomd/espresso/commit/55a54378)
    documented: move assignment operators typically transfer the resources held by the argument, rather than make copies of them
      (cppreference, Move assignment operator)
    documented: the destructor is called when the lifetime of an object ends (cppreference, Destructors)
    """
    VALID = """
## made if it is not there [cuda]
class Product {
  public:
    ~Product() { cudaFree(buffer_); }
    Product(const Product &) = delete;
    void apply(int n) {
        if (buffer_ == nullptr)
            cudaMalloc(&buffer_, n);
        multiply<<<1, n>>>(buffer_);
    }
  private:
    float *buffer_ = nullptr;
};

## freed first [cuda]
class Product {
  public:
    ~Product() { cudaFree(buffer_); }
    Product(const Product &) = delete;
    void apply(int n) {
        cudaFree(buffer_);
        cudaMalloc(&buffer_, n);
        multiply<<<1, n>>>(buffer_);
    }
  private:
    float *buffer_ = nullptr;
};

## a larger one is made after the one before was freed [cuda]
class Workspace {
  public:
    ~Workspace() { drop(); }
    Workspace(const Workspace &) = delete;
    void *reserve(size_t wanted) {
        if (wanted > size_) {
            drop();
            CHECK(cudaMalloc(&block_, wanted));
            size_ = wanted;
        }
        return block_;
    }
  private:
    void drop() { cudaFree(block_); block_ = nullptr; size_ = 0; }
    void *block_ = nullptr;
    size_t size_ = 0;
};

## a larger one is made after the one before was freed, unless it is large enough [cuda]
class Workspace {
  public:
    ~Workspace() { cudaFree(block_); }
    Workspace(const Workspace &) = delete;
    void *reserve(size_t wanted) {
        if (wanted <= size_)
            return block_;
        CHECK(cudaFree(block_));
        CHECK(cudaMalloc(&block_, wanted));
        size_ = wanted;
        return block_;
    }
  private:
    void *block_ = nullptr;
    size_t size_ = 0;
};

## whoever gets the block frees it, and the object only counts [cuda]
class Blocks {
  public:
    ~Blocks() { report(); }
    Blocks(const Blocks &) = delete;
    void *next(size_t wanted) {
        if (wanted > largest_) {
            CHECK(cudaMalloc(&block_, wanted));
            largest_ = wanted;
        }
        return block_;
    }
    void drop() { cudaFree(block_); block_ = nullptr; largest_ = 0; }
  private:
    void report() { printf("%zu", largest_); }
    void *block_ = nullptr;
    size_t largest_ = 0;
};

## moved: what it held is freed first [cuda]
class Frame {
  public:
    ~Frame() { cudaFree(pixels_); }
    Frame &operator=(Frame &&from) noexcept {
        if (&from == this) return *this;
        CHECK(cudaFree(pixels_));
        pixels_ = std::exchange(from.pixels_, nullptr);
        return *this;
    }
  private:
    unsigned char *pixels_ = nullptr;
};

## moved: exchanged, so the other object ends it [cuda]
class Frame {
  public:
    ~Frame() { cudaFree(pixels_); }
    Frame &operator=(Frame &&from) noexcept {
        std::swap(pixels_, from.pixels_);
        return *this;
    }
  private:
    unsigned char *pixels_ = nullptr;
};

## moved: the other object gets what it held [cuda]
class Frame {
  public:
    ~Frame() { cudaFree(pixels_); }
    Frame &operator=(Frame &&from) noexcept {
        pixels_ = std::exchange(from.pixels_, pixels_);
        return *this;
    }
  private:
    unsigned char *pixels_ = nullptr;
};

## moved: a function of the object ends all that it holds [cuda]
class Frame {
  public:
    ~Frame() { drop(); }
    Frame &operator=(Frame &&from) noexcept {
        drop();
        pixels_ = from.pixels_;
        from.pixels_ = nullptr;
        return *this;
    }
  private:
    void drop() { cudaFree(pixels_); pixels_ = nullptr; }
    unsigned char *pixels_ = nullptr;
};

## moved: a view, which ends nothing [cuda]
class View {
  public:
    ~View() { CHECK(cudaStreamSynchronize(stream_)); }
    View &operator=(View &&from) noexcept {
        stream_ = from.stream_;
        return *this;
    }
  private:
    cudaStream_t stream_ = nullptr;
};

## moved: what it held goes to a local variable, which ends it [cuda]
class Event {
  public:
    Event(Event &&from) noexcept : event_(std::exchange(from.event_, nullptr)) {}
    ~Event() { if (event_) cudaEventDestroy(event_); }
    Event &operator=(Event &&from) noexcept {
        auto old = std::move(*this);
        event_ = std::exchange(from.event_, nullptr);
        return *this;
    }
  private:
    cudaEvent_t event_ = nullptr;
};
"""
    INVALID = """
## a larger one is made unless it is large enough [cuda]
class Workspace {
  public:
    ~Workspace() { cudaFree(block_); }
    Workspace(const Workspace &) = delete;
    void *reserve(size_t wanted) {
        if (wanted <= size_)
            return block_;
        const size_t rounded = (wanted + 511) / 512 * 512;
        CHECK(cudaMalloc(&block_, rounded));  // note: [source-member-overwritten]
        size_ = rounded;
        return block_;
    }
  private:
    void *block_ = nullptr;
    size_t size_ = 0;
};

## made each time [cuda]
class Product {
  public:
    ~Product() { cudaFree(buffer_); }
    Product(const Product &) = delete;
    void apply(int n) {
        cudaMalloc(&buffer_, n);  // note: [source-member-overwritten]
        multiply<<<1, n>>>(buffer_);
    }
  private:
    float *buffer_ = nullptr;
};

## made larger, and returned, though a function that the destructor calls frees it [cuda]
class Workspace {
  public:
    ~Workspace() { drop(); }
    Workspace(const Workspace &) = delete;
    void *reserve(size_t wanted) {
        if (wanted > size_) {
            CHECK(cudaMalloc(&block_, wanted));  // note: [source-member-overwritten]
            size_ = wanted;
        }
        return block_;
    }
  private:
    void drop() { cudaFree(block_); block_ = nullptr; size_ = 0; }
    void *block_ = nullptr;
    size_t size_ = 0;
};

## the move assignment frees nothing [cuda]
class Frame {
  public:
    ~Frame() { cudaFree(pixels_); }
    Frame(const Frame &) = delete;
    Frame &operator=(Frame &&from) noexcept {
        if (&from != this) {
            width_ = from.width_;
            pixels_ = from.pixels_;  // warning: [source-member-overwritten]
            from.pixels_ = nullptr;
        }
        return *this;
    }
  private:
    int width_ = 0;
    unsigned char *pixels_ = nullptr;
};

## the move assignment, written outside, destroys nothing; another function does [cuda]
class Mark {
  public:
    ~Mark() { close(); }
    Mark(const Mark &) = delete;
    Mark &operator=(Mark &&from);
  private:
    void close() { if (event_) cudaEventDestroy(event_); }
    cudaEvent_t event_ = nullptr;
};
Mark &Mark::operator=(Mark &&from) {
    event_ = std::exchange(from.event_, nullptr);  // warning: [source-member-overwritten]
    return *this;
}
"""
