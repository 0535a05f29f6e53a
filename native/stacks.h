// Where a call was made: native return addresses, and the frames of the thread's Python code if it runs any.
#pragma once

#include <cstdint>

#include "hot.h"
#include "recorder.h"

namespace cuvet {

// Opens the unwinder; takes the loader's lock. Without it no stacks are stored.
void find_unwinder();

// Stores the calling thread's stack, unless it is stored already, and the modules that it may run through. 0 if that is
// impossible.
HOT uint32_t capture_stack(Thread* thread);

// Path of the file whose code called the shim on this thread; empty if unknown.
const char* calling_file();

// The innermost frames of a stack, and where on it the return addresses are, so that it can be told cheaply whether the
// same stack is there again.
struct Trail {
    static constexpr int MOST = 10, PYTHON = 12;
    static constexpr uint64_t UNIT = 8;
    // A frame has not always the same size (alloca): what is compared may lie behind it, but never behind the stack.
    static constexpr uint64_t MOST_STEP = 4096 / UNIT;

    uint64_t python;         // python_position(PYTHON)
    uint32_t returns[MOST];  // low halves
    uint16_t offsets[MOST];  // from a frame of the shim, in units
    uint8_t count;
};

// Stores the innermost frames of the calling thread's stack, as far as they can be compared later, and says in `trail`
// how. `frame` is a frame address of the caller. 0 if that is impossible.
uint32_t capture_trail(Thread* thread, uint64_t frame, Trail* trail);

// Whether the thread's stack is the one that the trail was made of. Return addresses are compared outward: where one is
// the same, the next stands where it stood.
READS_STACKS inline bool leads_here(const Trail& trail, uint64_t frame, uint64_t python) {
    for (int i = 0; i < trail.count; i++)
        if (__builtin_expect(
                *reinterpret_cast<const uint32_t*>(frame + trail.offsets[i] * Trail::UNIT) != trail.returns[i], 0))
            return false;
    return __builtin_expect(trail.python == python, 1);
}

// The runtime's function through which the driver was called on this thread, without a version; false if there is none.
bool runtime_function(char* name, uint64_t bytes);

// Stores the modules that were loaded since the last time.
void record_new_modules(Thread* thread);

// Tells whether a CUDA driver other than ours is loaded, and its path (at most `bytes`).
bool driver_past_shim(char* path, uint64_t bytes);

// After fork: nothing of this is in the new file.
void forget_stacks();

}  // namespace cuvet
