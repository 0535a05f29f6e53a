from cuvet.rules.rule import SourceRule


class SourceDeviceOfThread(SourceRule):
    """
    checks: The constructor of a thread_local object creates a stream, an event, memory or a library handle. The program queries or switches
      devices, but neither the class nor the function around the object mentions devices. Or an object makes its device current in one
      function, and starts a thread that runs another one, which allocates or creates something and never makes a device current.
    why: Each thread has a current device of its own, at first device 0. The objects belong to the device that is current when the thread
      first gets there. After a switch, the thread uses an event in streams of another device, or destroys a handle while the wrong
      device is current.
    instead: Make the device current at the start of each thread. Keep one object per device, or store the device in the constructor and
      make it current in the destructor.
    limits: Does not know whether a thread ever uses two devices. Of threads that objects start, silent if the function calls something
      that is not there, or is named as if it might make a device current.
    """

    code = "CV886"
    severity = "note"
    summary = "what a thread makes is on whatever device is current there, not on the one that is meant"
    help = "make the device current in the thread that makes the objects, or keep one object for each device"
    evidence = """
    measured: cudaEventRecord in another device's stream: cudaErrorInvalidResourceHandle (stream_of_other_device)
    documented: cudaSetDevice sets the current device of the calling host thread (CUDA Runtime API, Device Management, cudaSetDevice)
    documented: if no call to cudaSetDevice is made, the current device is device 0 (CUDA C++ Programming Guide, Multi-Device System,
      Device Selection)
    documented: the cuDNN handle is tied to the current CUDA device (context); each device needs a handle of its own
      (NVIDIA cuDNN 8.9.7 API Reference, cudnnCreate)
    reported: one event of each thread was recorded in streams of other devices
      (https://github.com/rapidsai/rmm/commit/2ff1bd0aca76afda5daaa2f01faa76fa4cb2612d)
    reported: a handle of each thread was destroyed while another device was current
      (https://github.com/OpenNMT/CTranslate2/commit/c3fa0dbd0aa4a1d976366a75293f1ea662e36271)
    """
    VALID = """
## one for each device [cuda]
struct Event {
    Event() { CHECK(cudaEventCreate(&handle)); }
    Event(const Event &) = delete;
    cudaEvent_t handle;
};
cudaEvent_t shared() {
    int device = 0;
    CHECK(cudaGetDevice(&device));
    thread_local std::vector<std::unique_ptr<Event>> events(16);
    if (!events[device])
        events[device] = std::make_unique<Event>();
    return events[device]->handle;
}

## a program of one device [cuda]
struct Event {
    Event() { CHECK(cudaEventCreate(&handle)); }
    Event(const Event &) = delete;
    cudaEvent_t handle;
};
cudaEvent_t shared() {
    thread_local Event event;
    return event.handle;
}

## the thread makes the device current [cuda]
class Lane {
public:
    explicit Lane(int device) : device_(device) {
        CHECK(cudaSetDevice(device_));
        CHECK(cudaMalloc(&memory_, 4096));
        runner_ = std::thread([this] { run(); });
    }
    ~Lane() {
        runner_.join();
        cudaFree(memory_);
    }

private:
    void run() {
        CHECK(cudaSetDevice(device_));
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMemsetAsync(memory_, 0, 4096, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
    int device_;
    void *memory_ = nullptr;
    std::thread runner_;
};

## a function that is not there may do it [cuda]
class Lane {
public:
    explicit Lane(int device) : device_(device) {
        CHECK(cudaSetDevice(device_));
        runner_ = std::thread(&Lane::run, this);
    }
    ~Lane() { runner_.join(); }

private:
    void enter();
    void run() {
        enter();
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaStreamDestroy(stream));
    }
    int device_;
    std::thread runner_;
};
"""
    INVALID = """
## one for each thread [cuda]
struct Event {
    Event() { CHECK(cudaEventCreate(&handle)); }
    Event(const Event &) = delete;
    cudaEvent_t handle;
};
cudaEvent_t shared() {
    thread_local Event event;  // note: [source-device-of-thread]
    return event.handle;
}
void use(int device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaEventRecord(shared(), 0));
}

## held by a pointer [cuda]
struct Event {
    Event() { CHECK(cudaEventCreate(&handle)); }
    Event(const Event &) = delete;
    cudaEvent_t handle;
};
cudaEvent_t shared() {
    thread_local auto event = std::make_shared<Event>();  // note: [source-device-of-thread]
    return event->handle;
}
void use(int device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaEventRecord(shared(), 0));
}

## a thread of an object with a device [cuda]
class Lane {
public:
    explicit Lane(int device) : device_(device) {
        CHECK(cudaSetDevice(device_));
        CHECK(cudaMalloc(&memory_, 4096));
        runner_ = std::thread([this] { run(); });
    }
    ~Lane() {
        runner_.join();
        cudaFree(memory_);
    }

private:
    void run() {
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));  // note: [source-device-of-thread]
        CHECK(cudaMemsetAsync(memory_, 0, 4096, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
    int device_;
    void *memory_ = nullptr;
    std::thread runner_;
};
"""
