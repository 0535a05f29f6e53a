// Memory that the host shares with devices, guarded while work in flight uses it (cuvet run --guard): a touch by the
// host faults in the very instruction, is stored, and the guard is lifted.
//
// Nothing here knows what CUDA allows. Whatever a call that enqueues work names is guarded when the call has returned;
// a wait lifts what it covers, as far as that is known without a search. The analysis says which touch is a mistake.
#pragma once

#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

extern bool guards_memory;

// Whether the environment asks for it.
bool wants_guard();
void start_guarding();
// Lifts all guards; nothing is guarded any more.
void stop_guarding();
// In a forked child.
void forget_guards();

// The size with which memory is asked for that is to have its pages for itself.
uint64_t whole_pages(uint64_t bytes);

// Memory that the host shares with devices from now on, and no more.
void share_memory(uint64_t address, uint64_t bytes);
void unshare_memory(uint64_t address);
void unshare_all();

// What the call names, before the driver is entered.
void open_named(Thread* thread, const EntryPoint& entry_point, const uint64_t* words);
// … and when it has enqueued work on the stream.
void close_named(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t stream);

// An event now stands for what was enqueued on the stream.
void note_record(uint64_t event, uint64_t stream);
// Some stream waits for another: a wait for one may be one for all.
void note_join();
// The handle may be another stream's from now on.
void forget_stream(uint64_t stream);
void open_stream(uint64_t stream);
void open_event(uint64_t event);
void open_all();

// While the emulated device, which copies with the CPU, touches memory: it goes past the guard, as a GPU does.
class DeviceTouch {
  public:
    DeviceTouch(uint64_t address, uint64_t bytes);
    ~DeviceTouch();
    DeviceTouch(const DeviceTouch&) = delete;
    DeviceTouch& operator=(const DeviceTouch&) = delete;
    // The memory could not be touched: whether another thread may have guarded it just then, so that it can be now.
    bool again();

  private:
    static constexpr int MOST_TRIES = 1000;

    uint64_t first_, last_;
    int place_ = -1, tries_ = 0;
};

enum class Touched {
    NOTHING,  // of ours: the fault is the program's
    KNOWN,    // another thread had lifted the guard already
    GUARDED,  // the guard is lifted
};

// In a signal handler, after a fault. `wholly`: also for what the host would do next.
Touched open_touched(uint64_t address, bool writes, bool wholly);

}  // namespace cuvet
