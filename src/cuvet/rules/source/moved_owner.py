from cuvet.rules.rule import SourceRule


class SourceMovedOwner(SourceRule):
    """
    checks: A move constructor takes a handle or a pointer over, and leaves it in the object that is moved from. The destructor ends it.
      The move constructor that the compiler writes does so with every handle and pointer.
    why: Both objects have the same handle. The first that is destroyed ends it; the other one has an ended handle, and ends it again.
    instead: Set the member of the other object to NULL, or use ``std::exchange``.
    limits: Only where the file shows the move constructor and the destructor. Of one that the compiler writes, only where the destructor
      asks for nothing but what it ends. Silent if the body of the constructor mentions the other
      object at all.
    """

    code = "CV879"
    severity = "warning"
    summary = "a move leaves the handle in the object that is moved from"
    help = "set the handle of the other object to NULL in the move constructor, for example with std::exchange"
    evidence = """
    documented: a trivial move constructor copies the object as if by std::memmove (cppreference, Move constructors)
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    """
    VALID = """
## set to NULL [cuda]
class Stream {
  public:
    Stream(Stream &&other) noexcept : stream_(other.stream_) { other.stream_ = nullptr; }
    ~Stream() { if (stream_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};

## exchanged [cuda]
class Stream {
  public:
    Stream(Stream &&other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
    ~Stream() { if (stream_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};

## an owner that is told [cuda]
class Stream {
  public:
    Stream(Stream &&other) noexcept : stream_(other.stream_), owns_(other.owns_) { other.owns_ = false; }
    ~Stream() { if (owns_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
    bool owns_ = true;
};

## swapped [cuda]
class Stream {
  public:
    Stream(Stream &&other) noexcept { std::swap(stream_, other.stream_); }
    ~Stream() { if (stream_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};

## two handles, and an owner that is told [cuda]
class Span {
  public:
    Span(Span &&other) noexcept : first_(other.first_), last_(other.last_), owner_(std::exchange(other.owner_, false)) {}
    ~Span() {
        if (!owner_) return;
        cudaEventDestroy(first_);
        cudaEventDestroy(last_);
    }
  private:
    cudaEvent_t first_;
    cudaEvent_t last_;
    bool owner_ = true;
};

## the compiler moves a smart pointer, which the destructor asks for [cuda]
class Span {
  public:
    Span(Span &&) noexcept = default;
    ~Span() { if (owner_) cudaEventDestroy(first_); }
  private:
    cudaEvent_t first_;
    std::unique_ptr<int> owner_;
};

## the compiler moves an owner that is a class [cuda]
class Span {
  public:
    Span(Span &&) noexcept = default;
    ~Span() { cudaEventSynchronize(first_.get()); }
  private:
    Event first_;
};

## a view, which ends nothing [cuda]
class View {
  public:
    View(View &&other) noexcept : stream_(other.stream_), event_(other.event_) {}
    ~View() { CHECK(cudaStreamSynchronize(stream_)); }
  private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t event_ = nullptr;
};

## the base tells which of the two ends it [cuda]
class Event : Owner {
  public:
    Event(Event &&from) noexcept : Owner(std::move(from)), event_(from.event_) {}
    ~Event() { if (owns()) cudaEventDestroy(event_); }
  private:
    cudaEvent_t event_ = nullptr;
};

## the destructor asks for more than the member [cuda]
class Event {
  public:
    Event(Event &&from) noexcept : event_(from.event_), token_(std::move(from.token_)) {}
    ~Event() { if (is_last()) cudaEventDestroy(event_); }
  private:
    bool is_last() const { return token_.use_count() == 1; }
    cudaEvent_t event_ = nullptr;
    std::shared_ptr<int> token_;
};
"""
    INVALID = """
## a stream [cuda]
class Stream {
  public:
    Stream(Stream &&other) noexcept : stream_(other.stream_) {}  // warning: [source-moved-owner]
    ~Stream() { if (stream_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};

## memory, moved as if it had a move [cuda]
struct Buffer {
    Buffer(Buffer &&other)
        : bytes(other.bytes), data(std::move(other.data))  // warning: [source-moved-owner]
    {
    }
    ~Buffer() { cudaFree(data); }
    size_t bytes;
    float *data;
};

## two handles, of which the destructor asks for each [cuda]
class Span {
  public:
    Span(Span &&other) noexcept : first_(other.first_), last_(other.last_) {}  // warning: [source-moved-owner]
    Span(const Span &) = delete;
    ~Span() {
        if (first_) cudaEventDestroy(first_);
        if (last_) cudaEventDestroy(last_);
    }
  private:
    cudaEvent_t first_ = nullptr;
    cudaEvent_t last_ = nullptr;
};

## moved as the compiler does it [cuda]
class Span {
  public:
    Span(Span &&) = default;  // warning: [source-moved-owner]
    Span(const Span &) = delete;
    ~Span() { close(); }
  private:
    void close() { if (first_ != nullptr) CHECK(cudaEventDestroy(first_)); }
    cudaEvent_t first_ = nullptr;
};
"""
