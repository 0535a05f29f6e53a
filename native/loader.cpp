#include "loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <cstddef>

#include "backend.h"
#include "libraries.h"
#include "liveness.h"
#include "loaded.h"
#include "unwind.h"

namespace cuvet {

namespace {

#if defined(__x86_64__)
constexpr char FIRST_GLIBC[] = "GLIBC_2.2.5";
#elif defined(__aarch64__)
constexpr char FIRST_GLIBC[] = "GLIBC_2.17";
#endif

std::atomic<uint64_t> unload_count{1};

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

// The real function behind one of ours. Made by the compiler, not by code: the guard of a variable would be held while
// the loader's lock is waited for.
template <class Function>
class Real {
  public:
    constexpr explicit Real(const char* name) : name_(name) {}
    Function get() {
        Function known = function_.load(std::memory_order_relaxed);
        if (!known) {
            known = reinterpret_cast<Function>(dlvsym(RTLD_NEXT, name_, FIRST_GLIBC));
            function_.store(known, std::memory_order_relaxed);
        }
        return known;
    }

  private:
    const char* name_;
    std::atomic<Function> function_{nullptr};
};
Real<void* (*)(const char*, int)> next_dlopen{"dlopen"};
Real<void* (*)(void*, const char*)> next_dlsym{"dlsym"};
Real<int (*)(void*)> next_dlclose{"dlclose"};

}  // namespace

void* real_dlopen(const char* path, int mode) { return next_dlopen.get()(path, mode); }

// Not by a jump: RTLD_NEXT means what comes after the caller, which is the shim.
void* real_dlsym(void* library, const char* name) {
    void* volatile found = next_dlsym.get()(library, name);
    return found;
}

int real_dlclose(void* library) { return next_dlclose.get()(library); }

const void* own_code() { return &__ehdr_start; }

uint64_t own_bias() { return reinterpret_cast<uint64_t>(&__ehdr_start); }

uint64_t unloads() { return unload_count.load(std::memory_order_acquire); }

}  // namespace cuvet

extern "C" void* cuvet_real_dlopen(const char* path, int mode) { return cuvet::real_dlopen(path, mode); }

// Where a dlopen of `path` shall lead: to the shim for the CUDA driver, by whatever path; to the emulated library
// beside it, if there is no GPU to be used; to `path` itself for all else.
extern "C" __attribute__((visibility("hidden"), used)) const char* cuvet_redirect(const char* path) {
    cuvet::next_dlopen.get();
    if (!path) return path;
    const char* name = cuvet::base_name(path);
    if (strcmp(name, "libcuda.so.1") == 0 || strcmp(name, "libcuda.so") == 0) return cuvet::own_path();
    const char* runtime = getenv("CUVET_DEVICE_SOCKET") ? cuvet::own_runtime(name) : nullptr;
    return runtime ? runtime : path;
}

extern "C" __attribute__((visibility("hidden"), used)) void* cuvet_dlopen_target() {
    return reinterpret_cast<void*>(cuvet::next_dlopen.get());
}

// What dlsym does with `name`: the caller gets `function`, or enters it in our place.
struct Asked {
    void* function;
    uint64_t answered;
};
static_assert(sizeof(Asked) == 16 && offsetof(Asked, answered) == 8);  // it comes in two registers

extern "C" __attribute__((visibility("hidden"), used)) Asked cuvet_dlsym(void* library, const char* name,
                                                                         const void* caller) {
    void* function;
    if (name && cuvet::answer_dlsym(library, name, caller, &function)) return {function, 1};
    return {reinterpret_cast<void*>(cuvet::next_dlsym.get()), 0};
}

extern "C" __attribute__((visibility("default"))) int dlclose(void* library) {
    cuvet::code_may_be_unmapped();
    const int status = cuvet::real_dlclose(library);
    cuvet::code_was_unmapped();
    cuvet::unload_count.fetch_add(1, std::memory_order_release);
    cuvet::note_change();
    return status;
}

// dlopen looks at its return address to find the caller's RPATH and namespace, and dlsym to find what comes after the
// caller: so the hooks jump to them instead of calling them.
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

    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    movq (%rsp), %rdx
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call cuvet_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rdx, %rdx
    jnz 1f
    jmp *%rax
1:  ret
    .cfi_endproc
    .size dlsym, .-dlsym
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

    .globl dlsym
    .type dlsym, %function
dlsym:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    stp x0, x1, [sp, #16]
    mov x2, x30
    bl cuvet_dlsym
    cbnz x1, 1f
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_remember_state
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
1:  .cfi_restore_state
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size dlsym, .-dlsym
)");
#endif
