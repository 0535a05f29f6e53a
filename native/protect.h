// Calls that are certain to kill or to corrupt the process are not made (cuvet run --protect): docs/protect.md.
//
// What the driver dies of stands in the generated tables (Deadly), which come from the outcomes of the rules. Here is
// only when it is certain that a handle names what has ended: the shim saw the object made and ended, saw that call
// return success, has not seen the value again, and knows of no object of this kind that was made unseen.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

constexpr uint32_t ASK = ~0u;          // no status
constexpr int REFUSED_EXIT_CODE = 86;  // of --protect=abort

extern std::atomic<bool> is_protecting;

// Whether some call may be answered in the driver's place: under --protect, or with injected faults.
extern std::atomic<bool> may_refuse;
inline bool refuses() { return may_refuse.load(std::memory_order_relaxed); }

// Whether the environment asks for it, and nothing speaks against it.
inline bool protects() { return is_protecting.load(std::memory_order_relaxed); }

// What is not followed is not certain: nothing is refused before this, and without a recording.
void start_protecting();
// In a child that was forked after cuInit: the driver answers no call. Of a process one of whose threads is not
// followed.
void stop_protecting();

// An object of this kind was made unseen.
void note_unseen(Kind kind);

// Of a call that names something that is not alive, or whose image is `endless` (explain_crash): the status to answer
// in the driver's place, ASK if it is to be asked.
uint32_t refusal_of(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool endless);

// What is done when a refused call has been stored: the flag of its record that says so, 0 if it returns.
uint16_t flag_after_refusal();
// … does it: stops in a debugger, or ends the process.
void end_if_asked();

}  // namespace cuvet
