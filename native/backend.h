// Who answers the calls of driver and libraries: the real driver, or the emulated device.
//
// The shim's wrappers check and record a call, then either enter the real driver or ask cuvet_emulate. The emulated
// backend (emulated/backend.cpp) implements cuvet_emulate and may use the other functions; it records nothing itself
// but what the device tells the user.
#pragma once

#include <cstdint>

#include "entry_points.h"

namespace cuvet {

// A struct passed by value. `parameter` is its position in the entry point's newest signature.
struct Blob {
    uint16_t parameter;
    uint32_t bytes;
    const void* data;  // null ends the list
};

}  // namespace cuvet

// Answers one call; returns its status. `words` has entry_point.parameter_count words (pointers as addresses,
// integers sign-extended, floats by their bits, 0 for structs by value); `structs` the structs by value, ended by a
// null `data`. `per_thread`: a _ptds or _ptsz symbol was called; stream words are already 2 instead of 0 then.
// `own_question`: the shim asks, no wrapper. Called on the thread that made the call, from any number of threads; may
// call wrappers (cuvet_driver_wrapper) while it runs.
extern "C" uint64_t cuvet_emulate(const cuvet::EntryPoint& entry_point, const uint64_t* words,
                                  const cuvet::Blob* structs, bool per_thread, bool own_question);

// From now on wrappers may answer calls of this process without asking: none is foreseen any more.
extern "C" void cuvet_emulate_carefully();

// Address of the shim's wrapper with the newest signature of driver entry point `id`; null if there is none.
extern "C" void* cuvet_driver_wrapper(uint32_t id);

// Address of the shim's wrapper for an exported symbol (cuMemFree_v2) or, if there is none of that name, for the newest
// signature of the canonical name (cuMemFree); null if unknown.
extern "C" void* cuvet_driver_symbol(const char* name);

// dlopen that does not pass the shim's hook.
extern "C" void* cuvet_real_dlopen(const char* path, int mode);
