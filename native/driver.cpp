#include "driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "backend.h"
#include "process.h"
#include "table.h"

namespace cuvet {

namespace {

constexpr uint32_t NOT_SUPPORTED = 801;

using Dlopen = void* (*)(const char*, int);

struct Wrapper {
    std::atomic<void*> address;
};

Table<Wrapper> wrappers;  // by address of the real function
char path_of_driver[PATH_MAX];
std::atomic<uint64_t> bias_of_driver;
std::atomic<void*> driver_library;

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

uint64_t own_bias() { return reinterpret_cast<uint64_t>(&__ehdr_start); }

// Threads that ask first at the same time write the same bytes.
const char* own_path() {
    static char path[PATH_MAX];
    static std::atomic<bool> known;
    if (known.load(std::memory_order_acquire)) return path;
    Dl_info info;
    char found[PATH_MAX];
    if (!dladdr(&__ehdr_start, &info) || !info.dli_fname || !realpath(info.dli_fname, found)) return "";
    strcpy(path, found);
    known.store(true, std::memory_order_release);
    return path;
}

const char* const RUNTIMES[] = {"libcudart.so.12", "libcudart.so.13"};

// The emulated runtime beside the shim; null if the name is none of a runtime.
const char* own_runtime(const char* name) {
    static char paths[2][PATH_MAX];
    for (int i = 0; i < 2; i++) {
        if (strcmp(name, RUNTIMES[i]) != 0) continue;
        const char* shim = own_path();
        const size_t directory = static_cast<size_t>(base_name(shim) - shim);
        if (directory + strlen(name) >= PATH_MAX) return nullptr;
        memcpy(paths[i], shim, directory);
        strcpy(paths[i] + directory, name);
        return paths[i];
    }
    return nullptr;
}

Dlopen real_dlopen() {
    static std::atomic<Dlopen> function;  // not `const`: its guard would be held while the loader's lock is waited for
    Dlopen known = function.load(std::memory_order_relaxed);
    if (!known) function.store(known = reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen")), std::memory_order_relaxed);
    return known;
}

void* try_driver(const char* path) {
    void* library = real_dlopen()(path, RTLD_NOW | RTLD_LOCAL);
    link_map* map = nullptr;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map->l_addr == own_bias()) return nullptr;
    bias_of_driver = map->l_addr;
    if (!realpath(map->l_name, path_of_driver)) strncpy(path_of_driver, map->l_name, sizeof path_of_driver - 1);
    return library;
}

void* find_driver() {
    if (const char* path = getenv("CUVET_DRIVER")) return try_driver(path);
    static const char* const places[] = {
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",          "/usr/local/nvidia/lib64/libcuda.so.1",    "/usr/lib/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
    };
    for (const char* place : places)
        if (void* library = try_driver(place)) return library;
    return nullptr;
}

uint64_t key_of(const void* function) { return reinterpret_cast<uint64_t>(function); }

const Symbol* symbol_named(const char* name) {
    for (uint32_t i = 0; i < symbol_count; i++)
        if (strcmp(symbols[i].name, name) == 0) return &symbols[i];
    return nullptr;
}

// A function that the driver hands out but does not export.
void* bind_unexported(const char* name, void* function) {
    const Symbol* symbol = symbol_named(name);
    if (!symbol || real_functions[symbol - symbols].load(std::memory_order_relaxed)) return nullptr;
    for (uint32_t i = 0; i < symbol_count; i++)  // with one signature only: nothing tells which of several this is
        if (symbols[i].entry_point->id == symbol->entry_point->id && symbols[i].entry_point != symbol->entry_point)
            return nullptr;
    real_functions[symbol - symbols].store(function, std::memory_order_relaxed);
    return symbol->wrapper;
}

}  // namespace

bool open_driver() {
    if (driver_library) return true;
    void* library = find_driver();
    if (!library) return false;
    for (uint32_t i = 0; i < symbol_count; i++) {
        void* function = dlsym(library, symbols[i].name);
        if (!function) continue;
        real_functions[i].store(function, std::memory_order_relaxed);
        if (Wrapper* wrapper = wrappers.insert(key_of(function))) wrapper->address.store(symbols[i].wrapper);
    }
    driver_library = library;
    return true;
}

uint32_t ask_driver(uint32_t symbol, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    if (mode.load(std::memory_order_relaxed) == Mode::EMULATED) {
        const uint64_t words[] = {a, b, c, d};
        const Blob none = {0, 0, nullptr};
        return static_cast<uint32_t>(cuvet_emulate(*symbols[symbol].entry_point, words, &none, false));
    }
    const auto function =
        reinterpret_cast<uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t)>(real_functions[symbol].load());
    return function ? function(a, b, c, d) : NOT_SUPPORTED;
}

const char* driver_path() { return path_of_driver; }

bool is_our_driver(uint64_t load_bias) {
    return load_bias == own_bias() || (driver_library && load_bias == bias_of_driver);
}

void* wrapper_of(const void* real_function) {
    const Wrapper* wrapper = real_function ? wrappers.find(key_of(real_function)) : nullptr;
    return wrapper ? wrapper->address.load(std::memory_order_relaxed) : nullptr;
}

void* undeclared_function(const char* name) { return driver_library ? dlsym(driver_library, name) : nullptr; }

void replace_answer(const char* name, void** answer) {
    if (!name || !answer || !*answer) return;
    void* wrapper = wrapper_of(*answer);
    if (!wrapper) wrapper = bind_unexported(name, *answer);
    if (wrapper) *answer = wrapper;
}

void* wrapper_for(const char* name, uint32_t version, bool per_thread) {
    const Symbol* best = nullptr;
    for (uint32_t i = 0; i < symbol_count; i++) {
        const Symbol& symbol = symbols[i];
        if (strcmp(symbol.entry_point->name, name) != 0 || symbol.version > version) continue;
        if (symbol.per_thread && !per_thread) continue;
        const bool better = !best || symbol.per_thread > best->per_thread ||
                            (symbol.per_thread == best->per_thread && symbol.version > best->version);
        if (better) best = &symbol;
    }
    return best ? best->wrapper : nullptr;
}

}  // namespace cuvet

extern "C" void* cuvet_real_dlopen(const char* path, int mode) { return cuvet::real_dlopen()(path, mode); }

extern "C" void* cuvet_driver_symbol(const char* name) {
    if (const cuvet::Symbol* symbol = cuvet::symbol_named(name)) return symbol->wrapper;
    return cuvet::wrapper_for(name, ~0u, false);
}

extern "C" void* cuvet_driver_wrapper(uint32_t id) {
    return id < cuvet::entry_point_count ? cuvet::wrapper_for(cuvet::entry_point_names[id], ~0u, false) : nullptr;
}

// Where a dlopen of `path` shall lead: to the shim for the CUDA driver, by whatever path; to the emulated runtime
// beside it for the CUDA runtime, if there is no GPU to be used; to `path` itself for all else.
extern "C" __attribute__((visibility("hidden"), used)) const char* cuvet_redirect(const char* path) {
    cuvet::real_dlopen();
    if (!path) return path;
    const char* name = cuvet::base_name(path);
    if (strcmp(name, "libcuda.so.1") == 0 || strcmp(name, "libcuda.so") == 0) return cuvet::own_path();
    const char* runtime = getenv("CUVET_DEVICE_SOCKET") ? cuvet::own_runtime(name) : nullptr;
    return runtime ? runtime : path;
}

extern "C" __attribute__((visibility("hidden"), used)) void* cuvet_dlopen_target() {
    return reinterpret_cast<void*>(cuvet::real_dlopen());
}

// dlopen looks at its return address to find the caller's RPATH and namespace: so the hook jumps to it instead of
// calling it.
#if defined(__x86_64__)
asm(R"(
    .text
    .globl dlopen
    .type dlopen, @function
dlopen:
    .cfi_startproc
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    call cuvet_redirect
    pushq %rax
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call cuvet_dlopen_target
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size dlopen, .-dlopen
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl dlopen
    .type dlopen, %function
dlopen:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    str x1, [sp, #16]
    bl cuvet_redirect
    str x0, [sp, #24]
    bl cuvet_dlopen_target
    mov x16, x0
    ldr x0, [sp, #24]
    ldr x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size dlopen, .-dlopen
)");
#endif
