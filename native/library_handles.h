// What is known of the handles of libraries beside their lives: their stream and workspace, and which thread is inside
// a call with them.
#pragma once

#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

// What a call's handles tell at its entry.
struct Entry {
    bool suspect;     // a handle's stream or workspace is gone, or it belongs to another context than the current one
    bool sets;        // the call gives a handle another stream or workspace than it has
    bool untold;      // it destroys what was made unseen
    Overlap overlap;  // its thread is 0 if there is none
};

Entry enter_with_handles(Thread* thread, const EntryPoint& entry_point, const uint64_t* words);
// `stored`: the recording tells of the call.
void leave_with_handles(const Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool success,
                        bool stored);

// A new object has this handle.
void forget_settings(Kind kind, uint64_t word);

// Some device memory was freed.
void memory_has_died();

}  // namespace cuvet
