// What is known of the handles of libraries beside their lives: their stream and workspace, and which thread is inside
// a call with them; and the calls of libraries that need no closer look.
#pragma once

#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

struct Handle;
struct Object;

#if defined(__x86_64__)
constexpr int INTEGER_REGISTERS = 6;
#elif defined(__aarch64__)
constexpr int INTEGER_REGISTERS = 8;
#endif

// The arguments of an entry point that is QUICK.
struct Arguments {
    const uint64_t* registers;
    const uint64_t* stack;

    uint64_t operator[](uint8_t parameter) const {
        return parameter < INTEGER_REGISTERS ? registers[parameter] : stack[parameter - INTEGER_REGISTERS];
    }
};

// A call of a QUICK entry point that leaves no trace if it succeeds: it names only what lives, and the recording need
// not tell of what it makes or ends.
class QuietCall {
  public:
    // False: it is to be a Call. `untold`: what it creates need not be stored. `place`: of the thread's last call.
    bool enter(Thread* thread, const EntryPoint& entry_point, const Arguments& arguments, bool untold, Place* place);
    void succeed(const Thread* thread, const EntryPoint& entry_point, const Arguments& arguments) const;
    // It is to be a Call now.
    void fail() const;

  private:
    bool is_sound(Thread* thread, const Role& role, uint64_t word);
    void remember(const Thread* thread, const EntryPoint& entry_point, const Arguments& arguments, uint64_t seen,
                  Place* place) const;

    Handle* handle_;  // that it uses; null: none, or nothing is known of it
    Object* ended_;
    uint64_t state_;     // of it, before
    bool is_exclusive_;  // the handle
    bool is_lasting_;    // what it names lives as long as `changes` stays
};

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

// A new object stands in its place.
void forget_settings(const Object* object);

// Some device memory was freed.
void memory_has_died();

}  // namespace cuvet
