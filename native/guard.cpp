#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"
#include "inputs.h"
#include "kernel_arguments.h"
#include "liveness.h"
#include "signals.h"
#include "symbols.h"
#include "table.h"

namespace cuvet {

bool guards_memory;

namespace {

constexpr uint32_t MOST_SHARED = 16384;
constexpr int MOST_CLOSED = 8192;  // each may take two more of the mappings that a process can have (65530)
constexpr uint64_t SEVERAL = ~uint64_t{0};
constexpr uint64_t MOST_WORDS = 64;  // of an array or struct that is looked at
constexpr int MOST_SAME_FAULTS = 3;

enum Access : uint32_t { OPEN, READABLE, CLOSED };
constexpr int PROTECTION[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};

// Memory that has pages of its own. It never moves; a place that became free is used again.
struct Shared {
    std::atomic<uint64_t> first, last;  // of whole pages; 0: free
    std::atomic<uint32_t> access;
    std::atomic<uint64_t> stream;  // on which it was named since it was open
    std::atomic<uint64_t> naming;  // the newest
};

struct Range {
    std::atomic<uint64_t> start, end;
    std::atomic<uint32_t> shared;
};

struct EventMark {
    std::atomic<uint64_t> stream, naming;
};

enum class Waits : uint32_t { UNKNOWN, FOR_LEGACY, FOR_NOTHING };

struct StreamMark {
    std::atomic<Waits> waits;
};

Shared all_shared[MOST_SHARED];
Range ranges[MOST_SHARED];  // by address
std::atomic<uint32_t> range_count;
std::atomic<uint32_t> version;  // of the ranges; odd: they are being changed
std::atomic<bool> changing;
std::atomic<uint64_t> namings;
std::atomic<int> closed_count;
std::atomic<bool> told_unguarded;
Table<EventMark> events;
Table<StreamMark> streams;    // by handle
std::atomic<bool> any_joins;  // some stream waits for others
__thread struct {
    uint64_t address;
    int times;
} same_fault __attribute__((tls_model("initial-exec")));

uint64_t page_up(uint64_t address) { return (address + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1); }
uint64_t page_down(uint64_t address) { return address & ~(PAGE_BYTES - 1); }
uint64_t same_stream(uint64_t stream) { return stream == 1 ? 0 : stream; }  // CU_STREAM_LEGACY

// ---- which memory there is

// Alone, and no signal handler of this thread may wait for what it changes.
class Changing {
  public:
    Changing() {
        const uint64_t every = ~uint64_t{0};
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, &before_, sizeof before_);
        while (changing.exchange(true, std::memory_order_acquire)) syscall(SYS_sched_yield);
        version.fetch_add(1, std::memory_order_acq_rel);
    }
    ~Changing() {
        version.fetch_add(1, std::memory_order_release);
        changing.store(false, std::memory_order_release);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
    }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

  private:
    uint64_t before_;
};

void copy_range(Range* to, const Range& from) {
    to->start.store(from.start.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to->end.store(from.end.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to->shared.store(from.shared.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// How many ranges begin at the address or below.
uint32_t ranges_until(uint64_t address) {
    uint32_t low = 0, high = range_count.load(std::memory_order_relaxed);
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (ranges[middle].start.load(std::memory_order_relaxed) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The memory that holds the address, or the next above; null: none.
Shared* find(uint64_t address, bool or_above = false) {
    for (;;) {
        const uint32_t seen = version.load(std::memory_order_acquire);
        if (seen & 1) continue;
        const uint32_t at = ranges_until(address);
        Shared* found = nullptr;
        if (at && address < ranges[at - 1].end.load(std::memory_order_relaxed))
            found = &all_shared[ranges[at - 1].shared.load(std::memory_order_relaxed)];
        else if (or_above && at < range_count.load(std::memory_order_relaxed))
            found = &all_shared[ranges[at].shared.load(std::memory_order_relaxed)];
        std::atomic_thread_fence(std::memory_order_acquire);
        if (version.load(std::memory_order_relaxed) == seen) return found;
    }
}

Shared* free_place() {
    for (Shared& shared : all_shared)
        if (!shared.first.load(std::memory_order_relaxed)) return &shared;
    return nullptr;
}

// ---- what is guarded

// Another thread may want something else meanwhile: whoever is last finds that what was wanted last holds.
bool apply(Shared* shared) {
    for (;;) {
        const uint64_t first = shared->first.load(), last = shared->last.load();
        const uint32_t access = shared->access.load();
        const bool done = syscall(SYS_mprotect, first, last - first, PROTECTION[access]) == 0;
        if (shared->access.load() == access) return done;
    }
}

bool set_access(Shared* shared, uint32_t wanted) {
    const uint32_t before = shared->access.exchange(wanted);
    if (before == wanted) return true;
    if (before == OPEN) closed_count.fetch_add(1, std::memory_order_relaxed);
    if (wanted == OPEN) closed_count.fetch_sub(1, std::memory_order_relaxed);
    const int error = errno;
    const bool done = apply(shared);
    errno = error;
    return done;
}

void open(Shared* shared) { set_access(shared, OPEN); }

void say_unguarded(Thread* thread, const char* why) {
    if (!told_unguarded.exchange(true)) write_note(thread, NoteCode::UNGUARDED, why);
}

void close(Thread* thread, Shared* shared, uint64_t stream) {
    const bool was_open = shared->access.load(std::memory_order_relaxed) == OPEN;
    if (was_open && closed_count.load(std::memory_order_relaxed) >= MOST_CLOSED) return;
    const bool same = was_open || shared->stream.load(std::memory_order_relaxed) == stream;
    shared->stream.store(same ? stream : SEVERAL, std::memory_order_relaxed);
    shared->naming.store(namings.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (set_access(shared, CLOSED)) return;
    open(shared);
    say_unguarded(thread, "mprotect");
}

void remove(Shared* shared) {
    open(shared);
    const Changing alone;
    const uint64_t first = shared->first.load();
    const uint32_t at = ranges_until(first), count = range_count.load(std::memory_order_relaxed);
    if (!at || &all_shared[ranges[at - 1].shared.load(std::memory_order_relaxed)] != shared) return;
    for (uint32_t i = at; i < count; i++) copy_range(&ranges[i - 1], ranges[i]);
    range_count.store(count - 1, std::memory_order_release);
    shared->first.store(0);
}

template <class Condition>
void open_if(Condition condition) {
    if (closed_count.load(std::memory_order_relaxed) <= 0) return;
    const uint32_t count = range_count.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        Shared& shared = all_shared[ranges[i].shared.load(std::memory_order_relaxed)];
        if (shared.access.load(std::memory_order_relaxed) != OPEN && condition(shared)) open(&shared);
    }
}

// Whether the legacy default stream does not wait for the stream. The driver is asked once.
void learn_stream(uint64_t stream) {
    constexpr uint32_t NON_BLOCKING = 1;
    StreamMark* mark = stream > PER_THREAD_STREAM ? streams.insert(stream) : nullptr;
    if (!mark || mark->waits.load(std::memory_order_relaxed) != Waits::UNKNOWN) return;
    uint32_t flags = 0;
    const bool known = ask_driver(SYMBOL_cuStreamGetFlags, stream, address_of(flags)) == 0;
    mark->waits.store(known && flags & NON_BLOCKING ? Waits::FOR_NOTHING : Waits::FOR_LEGACY);
}

bool stands_apart(uint64_t stream) {
    const StreamMark* mark = streams.find(stream);
    return mark && mark->waits.load(std::memory_order_relaxed) == Waits::FOR_NOTHING;
}

// What was named up to that naming on the stream, and on others that its work may have waited for.
void open_until(uint64_t stream, uint64_t naming) {
    open_if([&](const Shared& shared) {
        const uint64_t on = shared.stream.load(std::memory_order_relaxed);
        const bool waited = on == stream || on == SEVERAL || any_joins.load(std::memory_order_relaxed) ||
                            (!on && !stands_apart(stream)) || (!stream && !stands_apart(on));
        return waited && shared.naming.load(std::memory_order_relaxed) <= naming;
    });
}

// ---- what calls name

template <class Visit>
void each_word_at(Thread* thread, uint64_t address, uint64_t count, Visit visit) {
    count = count < MOST_WORDS ? count : MOST_WORDS;
    if (!address || !count || !is_readable(thread, address, 8 * count)) return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, reinterpret_cast<const char*>(address) + 8 * i, sizeof word);
        visit(word);
    }
}

template <class Visit>
void each_word(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, Visit visit) {
    for (int i = 0; i < entry_point.parameter_count; i++) {
        const Parameter& parameter = entry_point.parameters[i];
        visit(words[i]);
        if (parameter.capture == Capture::STRUCT) each_word_at(thread, words[i], parameter.bytes / 8, visit);
        if (parameter.capture == Capture::ARRAY && parameter.bytes == 8 && parameter.count != NO_PARAMETER)
            each_word_at(thread, words[i], words[parameter.count], visit);
    }
    if (!(entry_point.flags & COPIES_ARGUMENTS)) return;
    uint64_t arguments[MOST_ARGUMENT_WORDS];
    const int count = argument_words(thread, entry_point, words, arguments);
    for (int i = 0; i < count; i++) visit(arguments[i]);
}

}  // namespace

bool wants_guard() {
    static std::atomic<int> known;  // and 1
    int wanted = known.load(std::memory_order_relaxed);
    if (!wanted) {
        const char* text = getenv("CUVET_GUARD");
        known.store(wanted = text && *text ? 2 : 1, std::memory_order_relaxed);
    }
    return wanted == 2;
}

void start_guarding() {
    told_unguarded.store(false);
    guards_memory = wants_guard() && !in_sandbox() && is_recording();
}

void stop_guarding() {
    if (!guards_memory) return;
    guards_memory = false;
    open_all();
}

void forget_guards() {
    guards_memory = false;
    changing.store(false);
    version.store(0);
    const uint32_t count = range_count.exchange(0);
    for (uint32_t i = 0; i < count; i++) {
        Shared& shared = all_shared[ranges[i].shared.load(std::memory_order_relaxed)];
        if (shared.access.exchange(OPEN) != OPEN) apply(&shared);
    }
    for (Shared& shared : all_shared) shared.first.store(0, std::memory_order_relaxed);
    closed_count.store(0);
    events.clear();
    streams.clear();
    any_joins.store(false);
}

uint64_t whole_pages(uint64_t bytes) { return guards_memory && page_up(bytes) > bytes ? page_up(bytes) : bytes; }

void share_memory(uint64_t address, uint64_t bytes) {
    const uint64_t first = page_up(address), last = page_down(address + bytes);
    if (first >= last || last < address) return;
    for (Shared* old = find(first, true); old && old->first.load() < last; old = find(first, true)) remove(old);
    const Changing alone;
    const uint32_t count = range_count.load(std::memory_order_relaxed);
    Shared* shared = count < MOST_SHARED ? free_place() : nullptr;
    if (!shared) return;
    shared->access.store(OPEN);
    shared->last.store(last);
    shared->first.store(first);
    const uint32_t at = ranges_until(first);
    for (uint32_t i = count; i > at; i--) copy_range(&ranges[i], ranges[i - 1]);
    ranges[at].start.store(first, std::memory_order_relaxed);
    ranges[at].end.store(last, std::memory_order_relaxed);
    ranges[at].shared.store(static_cast<uint32_t>(shared - all_shared), std::memory_order_relaxed);
    range_count.store(count + 1, std::memory_order_release);
}

void unshare_memory(uint64_t address) {
    Shared* shared = find(page_up(address));
    if (shared && shared->first.load() == page_up(address)) remove(shared);
}

void unshare_all() {
    while (Shared* shared = find(0, true)) remove(shared);
}

void open_named(Thread* thread, const EntryPoint& entry_point, const uint64_t* words) {
    if (closed_count.load(std::memory_order_relaxed) <= 0) return;
    each_word(thread, entry_point, words, [](uint64_t word) {
        if (Shared* shared = find(page_up(word))) open(shared);
        if (Shared* shared = find(word)) open(shared);
    });
}

void close_named(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t stream) {
    if (!range_count.load(std::memory_order_relaxed)) return;
    bool known = false, handled = true;
    each_word(thread, entry_point, words, [&](uint64_t word) {
        Shared* shared = find(word);
        if (!shared) return;
        if (!known) {
            learn_stream(stream);
            handled = handles_faults();
            known = true;
        }
        if (handled) close(thread, shared, same_stream(stream));
    });
    if (handled) return;
    stop_guarding();
    say_unguarded(thread, "sigaction");
}

void note_record(uint64_t event, uint64_t stream) {
    EventMark* mark = events.insert(event);
    if (!mark) return;
    mark->naming.store(namings.load(std::memory_order_relaxed), std::memory_order_relaxed);
    mark->stream.store(same_stream(stream), std::memory_order_relaxed);
}

void note_join() { any_joins.store(true, std::memory_order_relaxed); }

void forget_stream(uint64_t stream) {
    StreamMark* mark = stream ? streams.find(stream) : nullptr;
    if (mark) mark->waits.store(Waits::UNKNOWN, std::memory_order_relaxed);
}

void open_stream(uint64_t stream) {
    if (closed_count.load(std::memory_order_relaxed) > 0) learn_stream(stream);
    open_until(same_stream(stream), ~uint64_t{0});
}

void open_event(uint64_t event) {
    const EventMark* mark = events.find(event);
    if (!mark) return open_all();
    open_until(mark->stream.load(std::memory_order_relaxed), mark->naming.load(std::memory_order_relaxed));
}

void open_all() {
    open_if([](const Shared&) { return true; });
}

void open_range(uint64_t address, uint64_t bytes) {
    if (closed_count.load(std::memory_order_relaxed) <= 0) return;
    const uint64_t end = address + bytes;
    while (address < end) {
        Shared* shared = find(address, true);
        const uint64_t first = shared ? shared->first.load() : end, last = shared ? shared->last.load() : 0;
        if (first >= end || last <= address) return;
        open(shared);
        address = last;
    }
}

Touched open_touched(uint64_t address, bool writes, bool wholly) {
    Shared* shared = find(address);
    if (!shared) return Touched::NOTHING;
    const uint32_t access = shared->access.load();
    if (access == OPEN) {
        same_fault.times = same_fault.address == address ? same_fault.times + 1 : 1;
        same_fault.address = address;
        if (same_fault.times > MOST_SAME_FAULTS) return Touched::NOTHING;
        apply(shared);
        return Touched::KNOWN;
    }
    same_fault.times = 0;
    set_access(shared, access == CLOSED && !writes && !wholly ? READABLE : OPEN);
    return Touched::GUARDED;
}

}  // namespace cuvet
