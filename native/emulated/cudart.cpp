// The emulated CUDA runtime library, compiled once per major version. Its functions ask the device process, which
// answers with driver calls made through the shim. Kept here: what needs no device, and what a program's static
// constructors register.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <initializer_list>
#include <mutex>
#include <vector>

#include "backend.h"

#define CUDART_API extern "C" __attribute__((visibility("default")))

namespace {

struct ErrorText {
    uint32_t number;
    const char* name;
    const char* text;
};

// A struct passed by value: its members are integers and pointers only, so its size and alignment say how.
template <size_t Size, size_t Alignment>
struct Bytes {
    alignas(Alignment) uint8_t bytes[Size];
};

template <class Integer>
uint64_t word(Integer value) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
}
inline uint64_t word(uint32_t value) { return value; }
inline uint64_t bits(float value) {
    uint32_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    return pattern;
}

constexpr uint32_t INSUFFICIENT_DRIVER = 35;  // cudaErrorInsufficientDriver

using Emulate = uint64_t (*)(uint32_t, const uint64_t*, uint32_t, const cuvet::Blob*, uint16_t);

Emulate find_shim() {
    if (void* driver = dlopen("libcuda.so.1", RTLD_NOW))
        if (void* found = dlsym(driver, "cuvet_emulate_runtime")) return reinterpret_cast<Emulate>(found);
    fputs("cuvet: the emulated libcudart was loaded without cuvet's libcuda.so.1: start the program with `cuvet run`\n",
          stderr);
    return nullptr;
}

Emulate shim() {
    static Emulate found = find_shim();
    return found;
}

#include "generated/protocol.inc"

// What a program's static constructors tell the runtime: sent to the device process before the first call that follows.
struct Registered {
    Registration what;
    std::array<uint64_t, 4> words;
};

struct Registry {
    std::mutex mutex;
    std::vector<Registered> all;
    size_t sent = 0;
    pid_t sender = 0;
    std::atomic<bool> complete{true};
};

Registry& registry() {
    static Registry* all = new Registry;  // never destroyed: calls come from exit handlers too
    return *all;
}

void add(Registration what, std::array<uint64_t, 4> words) {
    Registry& known = registry();
    std::lock_guard<std::mutex> lock(known.mutex);
    known.all.push_back({what, words});
    known.complete = false;
}

constexpr uint16_t flags(int signature, int per_thread) {
    return static_cast<uint16_t>(per_thread | signature << 1 | CUDART_MAJOR << 8);
}

void send_registrations(Emulate emulate) {
    Registry& known = registry();
    if (known.complete && known.sender == getpid()) return;
    std::lock_guard<std::mutex> lock(known.mutex);
    if (known.sender != getpid()) known.sent = 0;
    known.sender = getpid();
    while (known.sent < known.all.size()) {
        const Registered& next = known.all[known.sent++];
        emulate(static_cast<uint32_t>(next.what), next.words.data(), static_cast<uint32_t>(next.words.size()), nullptr,
                flags(0, 0));
    }
    known.complete = true;
}

uint32_t ask(uint32_t id, std::initializer_list<uint64_t> words, std::initializer_list<cuvet::Blob> structs,
             int signature, int per_thread) {
    const Emulate emulate = shim();
    if (!emulate) return INSUFFICIENT_DRIVER;
    send_registrations(emulate);
    return static_cast<uint32_t>(
        emulate(id, words.begin(), static_cast<uint32_t>(words.size()), structs.begin(), flags(signature, per_thread)));
}

}  // namespace

#if CUDART_MAJOR == 12
#include "emulated/generated/cudart_12.inc"
#else
#include "emulated/generated/cudart_13.inc"
#endif

namespace {

const ErrorText* find_error(uint32_t number) {
    for (const ErrorText& error : errors)
        if (error.number == number) return &error;
    return nullptr;
}

struct Configuration {
    Bytes<12, 4> grid;
    Bytes<12, 4> block;
    uint64_t shared_bytes;
    uint64_t stream;
};

thread_local std::vector<Configuration> configurations;

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

CUDART_API const char* cudaGetErrorName(uint32_t error) {
    const ErrorText* found = find_error(error);
    return found ? found->name : "unrecognized error code";
}

CUDART_API const char* cudaGetErrorString(uint32_t error) {
    const ErrorText* found = find_error(error);
    return found ? found->text : "unrecognized error code";
}

struct ChannelFormat {
    int x, y, z, w, kind;
};

CUDART_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

CUDART_API void** __cudaRegisterFatBinary(void* wrapper) {
    void** handle = new void*(wrapper);
    add(Registration::BINARY, {address(handle), address(wrapper)});
    return handle;
}

CUDART_API void __cudaRegisterFatBinaryEnd(void**) {}

// At exit the driver is going away, so there is nothing to unload; the handle stays valid for late callers.
CUDART_API void __cudaUnregisterFatBinary(void**) {}

CUDART_API void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*, void*,
                                       void*, void*, int*) {
    add(Registration::FUNCTION, {address(handle), address(host), address(name)});
}

CUDART_API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t size, int, int) {
    add(Registration::VARIABLE, {address(handle), address(host), address(name), size});
}

CUDART_API void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int, size_t size, int,
                                         int) {
    add(Registration::MANAGED_VARIABLE, {address(handle), address(pointer), address(name), size});
}

CUDART_API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

CUDART_API char __cudaInitModule(void**) {
    if (Emulate emulate = shim()) send_registrations(emulate);
    return 1;
}

CUDART_API unsigned __cudaPushCallConfiguration(Bytes<12, 4> grid, Bytes<12, 4> block, size_t shared_bytes,
                                                void* stream) {
    configurations.push_back({grid, block, shared_bytes, address(stream)});
    return 0;
}

CUDART_API uint32_t __cudaPopCallConfiguration(void* grid, void* block, size_t* shared_bytes, void* stream) {
    constexpr uint32_t MISSING_CONFIGURATION = 52;  // cudaErrorMissingConfiguration
    if (configurations.empty()) return MISSING_CONFIGURATION;
    Configuration last = configurations.back();
    configurations.pop_back();
    memcpy(grid, &last.grid, sizeof last.grid);
    memcpy(block, &last.block, sizeof last.block);
    *shared_bytes = last.shared_bytes;
    memcpy(stream, &last.stream, sizeof last.stream);
    return 0;
}
