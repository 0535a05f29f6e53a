// What the compiler's code and the containers call. libstdc++'s own, linked in, would bring its exceptions, locales and
// unwinder along, and need the C library of the machine that built them. A program's own libstdc++ is never called.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <new>

extern "C" int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library);

extern "C" int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
    return __cxa_thread_atexit_impl(destroy, object, library);
}

// The guard of a static variable: its first byte says that the variable is initialized, as the compiler's code expects;
// the second that a thread has begun.
extern "C" int __cxa_guard_acquire(uint8_t* guard) {
    if (__atomic_exchange_n(&guard[1], 1, __ATOMIC_ACQ_REL) == 0) return 1;
    while (__atomic_load_n(&guard[0], __ATOMIC_ACQUIRE) == 0) sched_yield();
    return 0;
}

extern "C" void __cxa_guard_release(uint8_t* guard) { __atomic_store_n(&guard[0], 1, __ATOMIC_RELEASE); }

void* operator new(size_t bytes) {
    void* memory = malloc(bytes);
    if (!memory) abort();
    return memory;
}

void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

namespace std {

void __throw_bad_alloc() { abort(); }
void __throw_bad_array_new_length() { abort(); }
void __throw_length_error(const char*) { abort(); }
void __throw_system_error(int) { abort(); }

}  // namespace std
