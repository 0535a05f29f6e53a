// Each launch is waited for before the program goes on (cuvet run --narrow): the launch after which a context is lost
// has done it. See docs/faults.md.
#pragma once

#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

extern bool narrows;

// Whether the environment asks for it, and for the first launch on.
bool wants_narrowing_from_the_first();
void start_narrowing();
// In a forked child.
void forget_narrowing();

// Whether the work of this call, which is about to be made, is to be waited for. What was enqueued on the stream before
// is done then, without an error.
bool is_to_be_awaited(Thread* thread, const EntryPoint& entry_point, uint64_t stream);

// Waits for what the stream was given, and tells with what status it ended; NOT_READY if that takes too long, or cannot
// be known. Then no launch is waited for any more.
uint32_t await_work(Thread* thread, uint64_t stream);

}  // namespace cuvet
