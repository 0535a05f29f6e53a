// What a launch leaves in the flight recorder beside its slot, so that it can be named when its kernel has failed:
// where it was made, and what the kernel was given. See docs/decisions/0010-launches-leave-their-arguments.md.
#pragma once

#include <cstdint>

#include "recorder.h"

namespace cuvet {

// Call `number` of the thread launches `function`; its slot is not filled yet. `parameters` is the array of pointers to
// arguments, `extra` the packed alternative to it; 0 for none.
void note_launch(Thread* thread, uint64_t number, uint64_t function, uint64_t stream, uint64_t parameters,
                 uint64_t extra);

// A call ended so: if this shows that a context was lost, stores what was launched before.
void tell_launches(Thread* thread, uint32_t status, uint64_t number);

// After fork: nothing of this is in the new file.
void forget_launches();

}  // namespace cuvet
