// Faults that are injected (cuvet inject): calls that are not made, and are answered with a status instead.
//
// Which call fails is said by its site: a number that is the same in every run of a program, of the stack by files,
// offsets and lines of Python, not by addresses. docs/inject.md says what the statuses are.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

constexpr uint64_t ANY_SITE = 0;

struct Injection {
    uint32_t status;  // ASK: none
    bool later;       // the call is made, and its work ends with the status
};

extern std::atomic<bool> is_injecting;

// Whether the environment asks for it: every call is stored with its stack.
inline bool injects() { return is_injecting.load(std::memory_order_relaxed); }

// CUVET_INJECT: empty for none yet, or faults separated by commas, each SITE:ENTRY_POINT:FIRST:LAST:STATUS:LATER. SITE
// in hexadecimal, 0 for any; which of its calls fail, from 1, LAST 0 for all that follow. In place of SITE:ENTRY_POINT,
// =NAME stands for a function of the runtime, wherever it is called.
void start_injecting();

// A stack that is new to the recording.
void note_site(uint32_t stack, uint64_t site);

// Of a call that is about to be made.
Injection injection_of(const EntryPoint& entry_point, uint32_t stack);

}  // namespace cuvet
