// The life of the process: the first CUDA call, fork, a fault, threads that end, exit.
#pragma once

#include "recorder.h"

namespace cuvet {

enum class Mode : int { UNKNOWN, REAL, EMULATED, NO_DRIVER };

// Prepares everything at the process's first CUDA call.
void start();
extern std::atomic<Mode> mode;
inline bool is_emulated() { return mode.load(std::memory_order_relaxed) == Mode::EMULATED; }
extern bool record_everything;
extern bool record_accesses;  // what calls access, and what orders that, too

// Whether all calls of it are stored, since accesses are looked at.
inline bool is_stored_work(const EntryPoint& entry_point) { return record_accesses && entry_point.flags & WORK; }

// Which calls have a stack. CREATED: those that make objects, fail, or name what is not alive.
enum class Stacks { ALL, CREATED, NONE };
extern Stacks stacks_wanted;

// First CUDA call of this thread: its recorder, or one that is busy for ever if nothing is recorded.
Thread* start_thread();

// Stored, if the process is recorded.
void note(NoteCode code, const char* text);

// cuInit succeeded.
void driver_initialised();

}  // namespace cuvet
