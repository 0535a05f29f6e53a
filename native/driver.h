// The real driver: where it is, and its entry points.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry_points.h"
#include "hot.h"

namespace cuvet {

// The real driver's functions, by index into `symbols`; null where it has none. Filled by open_driver().
extern std::atomic<void*> real_functions[];
extern bool quiet_calls_pass;
void let_quiet_calls_pass(bool unseen);

uint32_t answer_not_supported();

// The real driver's function, or answer_not_supported.
inline void* real_function(uint32_t symbol) {
    void* function = real_functions[symbol].load(std::memory_order_relaxed);
    return function ? function : reinterpret_cast<void*>(&answer_not_supported);
}

// Asks the backend, real or emulated, past the wrappers: nothing is checked or recorded. For functions of at most four
// words.
HOT uint32_t ask_driver(uint32_t symbol, uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0);

template <class Value>
uint64_t address_of(Value& value) {
    return reinterpret_cast<uint64_t>(&value);
}

// Opens $CUVET_DRIVER, or the first libcuda.so.1 on the system's own path that is not the shim. False if there is none.
// Several threads may do so at once: they find the same. The loader's lock is taken, so no other may be held.
bool open_driver();
const char* driver_path();

// Whether the library loaded at this bias is the shim or the driver that the shim opened.
bool is_our_driver(uint64_t load_bias);

// The wrapper that an emulated driver answers for a name: cuGetProcAddress's rules for versions and the per-thread
// default stream.
void* wrapper_for(const char* name, uint32_t version, bool per_thread);

// A function of the real driver that the catalog does not know; null if it has none of that name.
void* undeclared_function(const char* name);

// Replaces what the driver answered to cuGetProcAddress by our wrapper, if we have one and it could ever store a call.
void replace_answer(const char* name, void** answer);

}  // namespace cuvet
