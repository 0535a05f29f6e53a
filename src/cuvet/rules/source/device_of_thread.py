from cuvet.rules.rule import SourceRule


class SourceDeviceOfThread(SourceRule):
    """
    checks: The constructor of a thread_local object creates a stream, an event, memory or a library handle. The program queries or switches
      devices, but neither the class nor the function around the object mentions devices.
    why: The objects belong to the device that is current when the thread first gets there. After a switch, the thread uses an event in
      streams of another device, or destroys a handle while the wrong device is current.
    instead: Keep one object per device, or store the device in the constructor and make it current in the destructor.
    limits: Does not know whether a thread ever uses two devices.
    """

    code = "CV886"
    severity = "note"
    summary = "a thread_local object stays on whatever device was current at its first use"
    help = "keep one object for each device, or remember the device and make it current when the object goes"
    evidence = """
    measured: cudaEventRecord in another device's stream: cudaErrorInvalidResourceHandle (stream_of_other_device)
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
"""
