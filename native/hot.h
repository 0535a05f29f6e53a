// What calls that leave no trace look at, on one page, most of it in one line: where a framework's own work has filled
// the caches, each line and page that must be fetched, one after the other, costs more than all that is done with it.
// See docs/decisions/0008-quiet-calls-look-at-one-page.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "symbols.h"

// Of functions that many calls run, those too that are stored: they lie together, on few pages.
#define HOT __attribute__((hot))

namespace cuvet {

constexpr size_t PAGE_BYTES = 4096;
constexpr uint64_t LIVING_SETS = 112;  // as many as leave the page room for the rest
constexpr int LIVING_WAYS = 4;

struct alignas(PAGE_BYTES) Hot {
    // A mark for each two objects that lived when a call that names them was looked at: see mark_of(). In a set the
    // newest comes first.
    std::atomic<uint64_t> living[LIVING_SETS][LIVING_WAYS]{};

    // How often something changed that a quiet call can find: a life that is told, a handle's settings, which function
    // a symbol leads to. Never 0. Events, memory and what libraries make come and go while all else lives on: events
    // are counted apart, and calls of libraries have a count of all but them.
    alignas(64) std::atomic<uint64_t> changes{1};
    std::atomic<uint64_t> event_changes{0};
    std::atomic<uint64_t> changes_of_libraries{1};
    std::atomic<uint64_t> endings{0};        // of objects that others belong to
    std::atomic<intptr_t> thread_offset{0};  // see known_thread()
    std::atomic<int32_t> captures{0};        // under way
    std::atomic<bool> work_recorded{false};  // some call that enqueues work is in the recording
    std::atomic<bool> stream_ordered_memory_exists{false};

    // The real driver's functions while calls that change nothing may go by unseen, else null. Those that the runtime
    // calls most come first, in the line of the above.
    std::atomic<void*> quick_functions[SYMBOL_COUNT]{};

    constexpr Hot() = default;
};
extern Hot hot;

// Of memory, of objects of libraries, and of what is known of their handles.
inline void note_library_change() { hot.changes_of_libraries.fetch_add(1, std::memory_order_release); }
inline void note_change() {
    hot.changes.fetch_add(1, std::memory_order_release);
    note_library_change();
}

// What calls of the driver see that name no event and no memory; with events; what calls of libraries see. None of them
// is ever as it was before.
inline uint64_t changes() { return hot.changes.load(std::memory_order_acquire); }
inline uint64_t changes_with_events() { return changes() + hot.event_changes.load(std::memory_order_acquire); }
inline uint64_t changes_of_libraries() { return hot.changes_of_libraries.load(std::memory_order_acquire); }

}  // namespace cuvet
