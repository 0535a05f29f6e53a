// Where a call was made: native return addresses, and the frames of the thread's Python code if it runs any.
#pragma once

#include <cstdint>

#include "recorder.h"

namespace cuvet {

// Opens the unwinder; takes the loader's lock. Without it no stacks are stored.
void find_unwinder();

// Stores the calling thread's stack, unless it is stored already, and the modules that it may run through. 0 if that is
// impossible.
uint32_t capture_stack(Thread* thread);

// Path of the file whose code called the shim on this thread; empty if unknown.
const char* calling_file();

// Stores the modules that were loaded since the last time.
void record_new_modules(Thread* thread);

// Tells whether a CUDA driver other than ours is loaded, and its path (at most `bytes`).
bool driver_past_shim(char* path, uint64_t bytes);

// After fork: nothing of this is in the new file.
void forget_stacks();

}  // namespace cuvet
