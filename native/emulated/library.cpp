// An emulated library of CUDA (cuDNN, cuBLAS, …), compiled once per file name: what it exports leads to the shim, whose
// functions ask the device process. Kept here: what needs neither handle nor device.
#include <dlfcn.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#define LIBRARY_API extern "C" __attribute__((visibility("default")))

namespace {

struct Status {
    int number;
    const char* name;
};

constexpr uint32_t NOT_FOUND = 1;  // an error to every library

// An include of LIBRARY takes the lines of the macros that are defined before it, and undefines them.
#define VERSION(major, minor, patch, number, runtime) \
    constexpr int version[] = {major, minor, patch};  \
    constexpr int version_number = number;            \
    constexpr size_t runtime_version = runtime;
#include LIBRARY

#define STATUS(number, name) {number, name},
constexpr Status statuses[] = {
#include LIBRARY
};

#define FORWARD(name) #name,
constexpr const char* forwarded[] = {
#include LIBRARY
};

[[maybe_unused]] const char* name_of(int status) {
    for (const Status& each : statuses)
        if (each.number == status) return each.name;
    return "unknown status";
}

uint32_t answer_not_found() { return NOT_FOUND; }

}  // namespace

// Where the forwarded functions go on.
extern "C" {
__attribute__((visibility("hidden"))) void* cuvet_targets[sizeof forwarded / sizeof *forwarded];
}
static_assert(sizeof *cuvet_targets == 8);  // as the assembly below counts

namespace {

__attribute__((constructor)) void find_targets() {
    using Find = void* (*)(const char*);
    void* shim = dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = shim ? reinterpret_cast<Find>(dlsym(shim, "cuvet_library_function")) : nullptr;
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        void* found = find ? find(forwarded[i]) : nullptr;
        cuvet_targets[i] = found ? found : reinterpret_cast<void*>(&answer_not_found);
    }
}

}  // namespace

// A constant that calls are given: where it stands tells which it is.
#define DATA(name)                \
    LIBRARY_API const void* name; \
    const void* name = &name;
#define NOTHING(name) \
    LIBRARY_API uint64_t name() { return 0; }
#define NO_TEXT(name) \
    LIBRARY_API const char* name() { return ""; }
#define PROPERTY(name)                                         \
    LIBRARY_API uint32_t name(uint32_t property, int* value) { \
        if (property > 2 || !value) return NOT_FOUND;          \
        *value = version[property];                            \
        return 0;                                              \
    }
#define STATUS_NAME(name) \
    LIBRARY_API const char* name(int status) { return name_of(status); }
#define RUNTIME_NUMBER(name) \
    LIBRARY_API size_t name() { return runtime_version; }
#define VERSION_AT(name)                    \
    LIBRARY_API uint32_t name(int* value) { \
        if (!value) return NOT_FOUND;       \
        *value = version_number;            \
        return 0;                           \
    }
#define VERSION_NUMBER(name) \
    LIBRARY_API size_t name() { return version_number; }
#include LIBRARY

#if defined(__x86_64__)
#define JUMP "endbr64\njmp *cuvet_targets + place(%rip)\n"
#elif defined(__aarch64__)
#define JUMP "hint #34\nadrp x16, cuvet_targets + place\nldr x16, [x16, :lo12:cuvet_targets + place]\nbr x16\n"
#endif
#define FORWARD(name) ".globl " #name "\n.type " #name ", %function\n" #name ":\n" JUMP ".set place, place + 8\n"
asm(".text\n.set place, 0\n.cfi_startproc\n"
#include LIBRARY
    ".cfi_endproc\n");
