// Objects that the program has ended, kept so that the driver does not issue their handles again (cuvet run
// --quarantine): a call with a stale handle then names the object that has ended, and no other.
//
// A stream, an event or a graph is not destroyed until it is the oldest of too many. Memory is freed at once, since
// what that waits for is the driver's, and its address is taken by an allocation of the same size: the driver gives the
// address just freed (measured: 199 of 200 times). What is really destroyed is so within a call of the program that
// destroys or makes something of the same kind in the same context, so that it meets no other captures, threads and
// current contexts than the program's own call. Nothing is destroyed at exit: the driver ends it all.
#pragma once

#include <cstdint>

#include "entry_points.h"

namespace cuvet {

struct Object;

extern bool quarantines;

// Whether the environment asks for it. `emulated`: the emulated device has one of its own.
void start_quarantine(bool emulated);
// In a forked child, which has nothing of its parent's.
void forget_quarantine();

// An object was made; it may be kept when it ends.
void note_made(Object* object, const EntryPoint& entry_point, Kind kind, const uint64_t* words);
// A call that can hinder that objects are kept, before the driver is asked.
void note_hindrance(const EntryPoint& entry_point, const uint64_t* words);
// A context is lost: the driver refuses to destroy what is in it, and the program shall see that.
void stop_keeping();
// Around a call that may end a context.
void context_may_end();
void context_has_ended();

struct Kept {
    uint64_t handle;  // 0: none
    Object* object;
    Object* context;
    uint64_t context_handle;
    uint32_t generation;  // of the object, since it is kept
    uint32_t context_generation;
    uint64_t bytes;  // of memory
};

// A call that ends an object, whose death is noted. `keeps`: it may be kept.
class Ending {
  public:
    Ending(Kind kind, uint64_t handle, bool keeps);
    // Whether the driver is not to be asked, and what the call returns then: the object is kept from now on, or it is
    // kept already and was ended before.
    bool is_answered(uint32_t* status);
    // The driver has ended it.
    void succeed() const;

  private:
    int queue_;
    Kept kept_;  // what is to be kept, if it has a handle
    bool kept_before_;
};

// Whether a call that returned `status` is to be made again: memory was missing, and what was kept took some. What it
// says of free memory is corrected.
bool is_made_again(uint32_t symbol, const uint64_t* words, uint32_t status);

}  // namespace cuvet
