#include "narrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>

#include "call.h"
#include "driver.h"
#include "hot.h"
#include "launches.h"
#include "symbols.h"

namespace cuvet {

bool narrows;

namespace {

constexpr uint32_t SUCCESS = 0;
constexpr uint64_t MOST_WAITING_NS = 10'000'000'000;
constexpr uint64_t BUSY_WAITING_NS = 1'000'000;
constexpr long PAUSE_NS = 100'000;

uint64_t first_launch;
std::atomic<uint64_t> launches;
std::atomic<bool> stopped;

// While it lives, what this thread asks does not end another thread's capture.
class Relaxed {
  public:
    Relaxed() { exchange(); }
    ~Relaxed() { exchange(); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

  private:
    void exchange() { ask_driver(SYMBOL_cuThreadExchangeStreamCaptureMode, address_of(mode_)); }

    uint32_t mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

uint64_t first_wanted() {
    const char* wanted = getenv("CUVET_NARROW");
    return wanted ? strtoull(wanted, nullptr, 10) : 0;
}

bool launches_kernels(const EntryPoint& entry_point) {
    if (entry_point.flags & LIBRARY) return false;
    if (entry_point.id == symbols[SYMBOL_cuGraphLaunch].entry_point->id) return true;
    for (const Role& role : roles_before(entry_point))
        if (role.action == Action::LAUNCHES) return true;
    return false;
}

// If that cannot be told, the stream is left alone.
bool may_capture(uint64_t stream) {
    uint32_t capturing = 1;
    return ask_driver(SYMBOL_cuStreamIsCapturing, stream, address_of(capturing)) != SUCCESS || capturing;
}

void give_up(Thread* thread) {
    if (stopped.exchange(true)) return;
    char number[24];
    snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(launches.load()));
    write_note(thread, NoteCode::NOT_AWAITED, number);
}

void pause_after(uint64_t waited_ns) {
    const timespec pause = {0, PAUSE_NS};
    if (waited_ns > BUSY_WAITING_NS && !in_sandbox()) nanosleep(&pause, nullptr);
}

// The bound is for kernels that wait for what the program does later.
uint32_t wait(Thread* thread, uint64_t stream) {
    const Uncancellable uncancellable;
    const uint64_t began = now_ns(CLOCK_MONOTONIC);
    while (ask_driver(SYMBOL_cuStreamQuery, stream) == NOT_READY) {
        const uint64_t waited_ns = now_ns(CLOCK_MONOTONIC) - began;
        if (waited_ns > MOST_WAITING_NS) {
            give_up(thread);
            return NOT_READY;
        }
        pause_after(waited_ns);
    }
    return ask_driver(SYMBOL_cuStreamSynchronize, stream);
}

}  // namespace

bool wants_narrowing_from_the_first() { return first_wanted() == 1; }

void start_narrowing() {
    first_launch = first_wanted();
    if (!first_launch) return;
    for (uint32_t i = 0; i < symbol_count; i++)
        if (launches_kernels(*symbols[i].entry_point)) hot.quick_functions[i].store(nullptr);
    narrows = true;
}

void forget_narrowing() {
    narrows = false;
    launches.store(0);
    stopped.store(false);
}

bool is_to_be_awaited(Thread* thread, const EntryPoint& entry_point, uint64_t stream) {
    if (!launches_kernels(entry_point) || is_inside_another(thread)) return false;
    if (launches.fetch_add(1) + 1 < first_launch || stopped.load(std::memory_order_relaxed)) return false;
    const Relaxed relaxed;
    return !may_capture(stream) && wait(thread, stream) == SUCCESS;
}

uint32_t await_work(Thread* thread, uint64_t stream) {
    const Relaxed relaxed;
    return wait(thread, stream);
}

}  // namespace cuvet
