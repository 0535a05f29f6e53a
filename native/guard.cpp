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

constexpr uint32_t MOST_PIECES = 16384;
constexpr uint32_t MOST_AFTER_A_SPLIT = MOST_PIECES / 2;  // the other places are for memory that is new
constexpr int MOST_CLOSED = 8192;  // each may take two more of the mappings that a process can have (65530)
constexpr int MOST_DEVICE_TOUCHES = 64;
constexpr uint64_t SEVERAL = ~uint64_t{0};
constexpr uint64_t EVERYWHERE = ~uint64_t{0};
constexpr uint64_t MOST_WORDS = 64;  // of an array or struct that is looked at
constexpr int MOST_SAME_FAULTS = 3;

enum Access : uint32_t { OPEN, READABLE, CLOSED };
constexpr int PROTECTION[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};

// Whole pages of a memory, guarded together: all of them until a call names a part. A piece never moves; a place that
// became free is used again.
struct Piece {
    std::atomic<bool> taken;
    std::atomic<uint64_t> memory_first, memory_last;
    std::atomic<uint32_t> need;    // as work in flight needs it
    std::atomic<uint32_t> access;  // as it is: more open, while a call that names it is in the driver
    std::atomic<uint64_t> stream;  // on which it was named since nothing needed it
    std::atomic<uint64_t> naming;  // the newest
};

// Of a memory, as work in flight needs them.
struct Pages {
    uint64_t first, last;
    uint32_t need;
    Piece* piece;   // that had just these pages …
    uint32_t seen;  // … in this version of the ranges; else there may be several
};

struct Range {
    std::atomic<uint64_t> start, end;
    std::atomic<uint32_t> piece;
};

// Pages that the emulated device touches now.
struct DevicePages {
    std::atomic<bool> taken;
    std::atomic<uint64_t> first, last;  // 0: not yet, or not any more
};

struct EventMark {
    std::atomic<uint64_t> stream, naming;
};

enum class Waits : uint32_t { UNKNOWN, FOR_LEGACY, FOR_NOTHING };

struct StreamMark {
    std::atomic<Waits> waits;
};

Piece pieces[MOST_PIECES];
Range ranges[MOST_PIECES];  // by address
std::atomic<uint32_t> range_count;
std::atomic<uint64_t> lowest, highest;  // of their addresses
std::atomic<uint32_t> version;          // of the ranges; odd: they are being changed
std::atomic<bool> changing;
std::atomic<uint64_t> namings;
std::atomic<int> closed_count;
DevicePages device_pages[MOST_DEVICE_TOUCHES];
std::atomic<int> device_touches;
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
    to->piece.store(from.piece.load(std::memory_order_relaxed), std::memory_order_relaxed);
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

void set_range_count(uint32_t count) {
    range_count.store(count, std::memory_order_release);
    lowest.store(count ? ranges[0].start.load(std::memory_order_relaxed) : EVERYWHERE, std::memory_order_relaxed);
    highest.store(count ? ranges[count - 1].end.load(std::memory_order_relaxed) : 0, std::memory_order_relaxed);
}

void insert_range(uint32_t at, uint64_t start, uint64_t end, const Piece* piece) {
    const uint32_t count = range_count.load(std::memory_order_relaxed);
    for (uint32_t i = count; i > at; i--) copy_range(&ranges[i], ranges[i - 1]);
    ranges[at].start.store(start, std::memory_order_relaxed);
    ranges[at].end.store(end, std::memory_order_relaxed);
    ranges[at].piece.store(static_cast<uint32_t>(piece - pieces), std::memory_order_relaxed);
    set_range_count(count + 1);
}

// The pieces from one address to another, one after the other, while other threads may change which there are.
class PiecesOf {
  public:
    PiecesOf(uint64_t from, uint64_t to) : at_(from), to_(to) {}

    // False: no more. Else `piece`, `first` and `last` are known, as of the version that was seen.
    bool next() {
        for (;;) {
            const uint32_t now = version.load(std::memory_order_acquire);
            if (now & 1) continue;
            if (now != seen) look_for_place();
            seen = now;
            const bool found = place_ < range_count.load(std::memory_order_relaxed);
            if (found) {
                const Range& range = ranges[place_];
                first = range.start.load(std::memory_order_relaxed);
                last = range.end.load(std::memory_order_relaxed);
                piece = &pieces[range.piece.load(std::memory_order_relaxed)];
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            if (version.load(std::memory_order_relaxed) != now) continue;
            if (!found || first >= to_) return false;
            at_ = last;
            place_++;
            return true;
        }
    }

    Piece* piece = nullptr;
    uint64_t first = 0, last = 0;
    uint32_t seen = 1;

  private:
    void look_for_place() {
        const uint32_t until = ranges_until(at_);
        place_ = until && at_ < ranges[until - 1].end.load(std::memory_order_relaxed) ? until - 1 : until;
    }

    uint64_t at_, to_;
    uint32_t place_ = 0;
};

Piece* find(uint64_t address) {
    PiecesOf walk(address, address + 1);
    return walk.next() ? walk.piece : nullptr;
}

Piece* free_place() {
    for (Piece& piece : pieces)
        if (!piece.taken.load(std::memory_order_relaxed)) return &piece;
    return nullptr;
}

// ---- what is guarded

bool is_touched_by_device(uint64_t first, uint64_t last) {
    if (device_touches.load() <= 0) return false;
    for (const DevicePages& each : device_pages)
        if (each.first.load() < last && first < each.last.load()) return true;
    return false;
}

int free_device_touch() {
    for (int i = 0; i < MOST_DEVICE_TOUCHES; i++)
        if (!device_pages[i].taken.exchange(true)) return i;
    return -1;
}

uint32_t protection_of(const Piece* piece, uint64_t first, uint64_t last) {
    return is_touched_by_device(first, last) ? static_cast<uint32_t>(OPEN) : piece->access.load();
}

bool protect(uint64_t first, uint64_t last, uint32_t access) {
    return syscall(SYS_mprotect, first, last - first, PROTECTION[access]) == 0;
}

// Pages that follow each other and are to have the same protection.
struct Run {
    uint64_t first, last;
    uint32_t access;
};

bool operator==(const Run& one, const Run& other) {
    return one.first == other.first && one.last == other.last && one.access == other.access;
}

// The program may have unmapped a part: what comes after it is protected all the same.
bool protect_run(const Run& run) {
    if (protect(run.first, run.last, run.access)) return true;
    for (PiecesOf walk(run.first, run.last); walk.next();) protect(walk.first, walk.last, run.access);
    return false;
}

Run run_at(uint64_t first, uint64_t last) {
    Run run = {last, last, OPEN};
    PiecesOf walk(first, last);
    while (walk.next()) {
        const uint32_t access = protection_of(walk.piece, walk.first, walk.last);
        if (run.first == last)
            run = {walk.first, walk.last, access};
        else if (walk.first == run.last && access == run.access)
            run.last = walk.last;
        else
            break;
    }
    return run;
}

// Another thread may want something else meanwhile: whoever is last finds that what was wanted last holds.
bool apply(uint64_t first, uint64_t last) {
    const int error = errno;
    bool all_done = true;
    for (Run run = run_at(first, last); run.first < last;) {
        const bool done = protect_run(run);
        const Run now = run_at(first, last);
        if (now == run) {
            all_done &= done;
            first = run.last;
            run = run_at(first, last);
        } else {
            run = now;
        }
    }
    errno = error;
    return all_done;
}

bool is_one_piece(const Pages& pages) { return pages.piece && version.load() == pages.seen; }

// The same for what is one piece, mostly.
bool apply(const Pages& pages) {
    if (!is_one_piece(pages)) return apply(pages.first, pages.last);
    const int error = errno;
    const uint32_t access = protection_of(pages.piece, pages.first, pages.last);
    const bool done = protect(pages.first, pages.last, access);
    errno = error;
    const bool same = protection_of(pages.piece, pages.first, pages.last) == access && is_one_piece(pages);
    return same ? done : apply(pages.first, pages.last);
}

// Whether that changes anything. The pages are as before, until apply().
bool want(Piece* piece, uint32_t access) {
    const uint32_t before = piece->access.exchange(access);
    if (before == OPEN && access != OPEN) closed_count.fetch_add(1, std::memory_order_relaxed);
    if (before != OPEN && access == OPEN) closed_count.fetch_sub(1, std::memory_order_relaxed);
    return before != access;
}

// No work in flight needs those pieces any more.
template <class Condition>
void open_if(uint64_t from, uint64_t to, Condition condition) {
    for (uint32_t seen = 1; seen != version.load() && closed_count.load(std::memory_order_relaxed) > 0;) {
        seen = version.load();
        uint64_t first = 0, last = 0;  // what is to be applied: one run, if memory lies side by side
        PiecesOf walk(from, to);
        while (walk.next()) {
            Piece* piece = walk.piece;
            if (piece->need.load(std::memory_order_relaxed) == OPEN || !condition(*piece)) continue;
            piece->need.store(OPEN, std::memory_order_relaxed);
            if (!want(piece, OPEN)) continue;
            if (last != walk.first) {
                apply(first, last);
                first = walk.first;
            }
            last = walk.last;
        }
        apply(first, last);
    }
}

void open_between(uint64_t from, uint64_t to) {
    open_if(from, to, [](const Piece&) { return true; });
}

void say_unguarded(Thread* thread, const char* why) {
    if (!told_unguarded.exchange(true)) write_note(thread, NoteCode::UNGUARDED, why);
}

// A piece begins at the address, if the address is in one and there is room for more.
void split_at(uint64_t address) {
    PiecesOf walk(address, address + 1);
    if (!walk.next() || walk.first == address) return;
    const Changing alone;
    const uint32_t count = range_count.load(std::memory_order_relaxed), at = ranges_until(address);
    Piece* right = count < MOST_AFTER_A_SPLIT ? free_place() : nullptr;
    if (!right || !at || ranges[at - 1].start.load(std::memory_order_relaxed) == address) return;
    Range& left = ranges[at - 1];
    const uint64_t end = left.end.load(std::memory_order_relaxed);
    if (address >= end) return;
    const Piece& whole = pieces[left.piece.load(std::memory_order_relaxed)];
    right->taken.store(true);
    right->memory_first.store(whole.memory_first.load());
    right->memory_last.store(whole.memory_last.load());
    right->need.store(whole.need.load());
    right->access.store(whole.access.load());
    right->stream.store(whole.stream.load());
    right->naming.store(whole.naming.load());
    if (right->access.load() != OPEN) closed_count.fetch_add(1, std::memory_order_relaxed);
    insert_range(at, address, end, right);
    left.end.store(address, std::memory_order_relaxed);
}

template <class Visit>
void each_piece(const Pages& pages, Visit visit) {
    if (is_one_piece(pages)) return visit(pages.piece);
    for (PiecesOf walk(pages.first, pages.last); walk.next();) visit(walk.piece);
}

// What is in the driver may touch them, or read them if that is all it does.
void lend(const Pages& pages) {
    const uint32_t most = pages.need == READABLE ? READABLE : OPEN;
    bool changed = false;
    each_piece(pages, [&](Piece* piece) {
        if (piece->access.load(std::memory_order_relaxed) > most) changed |= want(piece, OPEN);
    });
    if (changed) apply(pages);
}

// Work in flight on the stream needs the pages so.
void close(Thread* thread, const Pages& pages, uint64_t stream) {
    if (!is_one_piece(pages)) {
        split_at(pages.first);
        split_at(pages.last);
    }
    const uint64_t naming = namings.fetch_add(1, std::memory_order_relaxed) + 1;
    bool changed = false;
    each_piece(pages, [&](Piece* piece) {
        if (closed_count.load(std::memory_order_relaxed) >= MOST_CLOSED && piece->access.load() == OPEN) return;
        const uint32_t before = piece->need.load(std::memory_order_relaxed);
        const bool same = before == OPEN || piece->stream.load(std::memory_order_relaxed) == stream;
        const uint32_t need = before > pages.need ? before : pages.need;
        piece->stream.store(same ? stream : SEVERAL, std::memory_order_relaxed);
        piece->naming.store(naming, std::memory_order_relaxed);
        piece->need.store(need, std::memory_order_relaxed);
        changed |= want(piece, need);
    });
    if (!changed) return;
    if (apply(pages)) return note_guarded();
    open_between(pages.first, pages.last);
    say_unguarded(thread, "mprotect");
}

void remove(uint64_t first, uint64_t last) {
    open_between(first, last);
    const Changing alone;
    const uint32_t from = ranges_until(first - 1), until = ranges_until(last - 1);
    const uint32_t count = range_count.load(std::memory_order_relaxed);
    for (uint32_t i = from; i < until; i++) pieces[ranges[i].piece.load(std::memory_order_relaxed)].taken.store(false);
    for (uint32_t i = until; i < count; i++) copy_range(&ranges[from + i - until], ranges[i]);
    set_range_count(count - (until - from));
}

void remove_memory(const Piece& piece) { remove(piece.memory_first.load(), piece.memory_last.load()); }

// Whether a fault of ours would come to us. The program may have set a handler without our seeing it: asked when
// nothing is guarded yet, and now and then.
bool can_guard() {
    constexpr uint64_t ASKED_EACH = 64;
    const bool known =
        closed_count.load(std::memory_order_relaxed) > 0 && namings.load(std::memory_order_relaxed) % ASKED_EACH != 0;
    return known || handles_faults();
}

// Some stream captures: what is enqueued there uses no memory yet, and to ask for a stream's flags would end its
// capture.
bool is_capturing() { return hot.captures.load(std::memory_order_relaxed) > 0; }

// Whether the legacy default stream does not wait for the stream. The driver is asked once.
void learn_stream(uint64_t stream) {
    constexpr uint32_t NON_BLOCKING = 1;
    StreamMark* mark = stream > PER_THREAD_STREAM && !is_capturing() ? streams.insert(stream) : nullptr;
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
    open_if(0, EVERYWHERE, [&](const Piece& piece) {
        const uint64_t on = piece.stream.load(std::memory_order_relaxed);
        const bool waited = on == stream || on == SEVERAL || any_joins.load(std::memory_order_relaxed) ||
                            (!on && !stands_apart(stream)) || (!stream && !stands_apart(on));
        return waited && piece.naming.load(std::memory_order_relaxed) <= naming;
    });
}

// ---- what calls name

// The pages of the bytes from the word on; if it is not known how many, all of that memory. Registered memory may begin
// before the pages that it has for itself.
Pages pages_of(uint64_t word, uint64_t bytes, uint32_t need) {
    const bool all = bytes == EVERYWHERE || word + bytes < word;
    PiecesOf walk(word, all ? page_up(word) + 1 : word + bytes);
    if (!walk.next()) return {0, 0, need, nullptr, 0};
    uint64_t first = walk.piece->memory_first.load(), last = walk.piece->memory_last.load();
    if (!all && page_down(word) > first) first = page_down(word);
    if (!all && page_up(word + bytes) < last) last = page_up(word + bytes);
    return {first, last, need, walk.first == first && walk.last == last ? walk.piece : nullptr, walk.seen};
}

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
void visit_pages(uint64_t word, uint64_t bytes, uint32_t need, Visit visit) {
    if (word >= highest.load(std::memory_order_relaxed) || page_up(word) < lowest.load(std::memory_order_relaxed))
        return;
    const Pages pages = pages_of(word, bytes, need);
    if (pages.first < pages.last) visit(pages);
}

// What the call hands to the driver, which may look at it itself. If the call says how much memory it touches, it says
// so of all that it touches.
template <class Visit>
void each_given(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, Visit visit) {
    const Parameter* parameters = entry_point.parameters;
    bool says_extents = false;
    for (int i = 0; i < entry_point.parameter_count; i++) {
        if (parameters[i].extent == NO_PARAMETER) continue;
        const uint64_t bytes = words[parameters[i].extent] * parameters[i].element;
        visit_pages(words[i], bytes, parameters[i].only_read ? READABLE : CLOSED, visit);
        says_extents = true;
    }
    if (says_extents) return;
    const auto visit_all = [&](uint64_t word) { visit_pages(word, EVERYWHERE, CLOSED, visit); };
    for (int i = 0; i < entry_point.parameter_count; i++) {
        const Parameter& parameter = parameters[i];
        visit_all(words[i]);
        if (parameter.capture == Capture::STRUCT) each_word_at(thread, words[i], parameter.bytes / 8, visit_all);
        if (parameter.capture == Capture::ARRAY && parameter.bytes == 8 && parameter.count != NO_PARAMETER)
            each_word_at(thread, words[i], words[parameter.count], visit_all);
    }
}

// What only kernels look at.
template <class Visit>
void each_argument(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, Visit visit) {
    if (!(entry_point.flags & COPIES_ARGUMENTS)) return;
    uint64_t arguments[MOST_ARGUMENT_WORDS];
    const int count = argument_words(thread, entry_point, words, arguments);
    for (int i = 0; i < count; i++) visit_pages(arguments[i], EVERYWHERE, CLOSED, visit);
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
    for (DevicePages& each : device_pages) {
        each.taken.store(false);
        each.last.store(0);
    }
    device_touches.store(0);
    open_all();
    set_range_count(0);
    for (Piece& piece : pieces) piece.taken.store(false, std::memory_order_relaxed);
    closed_count.store(0);
    events.clear();
    streams.clear();
    any_joins.store(false);
}

uint64_t whole_pages(uint64_t bytes) { return guards_memory && page_up(bytes) > bytes ? page_up(bytes) : bytes; }

void share_memory(uint64_t address, uint64_t bytes) {
    const uint64_t first = page_up(address), last = page_down(address + bytes);
    if (first >= last || last < address) return;
    for (PiecesOf walk(first, last); walk.next();) remove_memory(*walk.piece);
    const Changing alone;
    Piece* piece = range_count.load(std::memory_order_relaxed) < MOST_PIECES ? free_place() : nullptr;
    if (!piece) return;
    piece->need.store(OPEN);
    piece->access.store(OPEN);
    piece->memory_first.store(first);
    piece->memory_last.store(last);
    piece->taken.store(true);
    insert_range(ranges_until(first), first, last, piece);
}

void unshare_memory(uint64_t address) {
    const Piece* piece = find(page_up(address));
    if (piece && piece->memory_first.load() == page_up(address)) remove_memory(*piece);
}

void unshare_all() {
    if (range_count.load()) remove(PAGE_BYTES, EVERYWHERE);
}

void open_named(Thread* thread, const EntryPoint& entry_point, const uint64_t* words) {
    if (closed_count.load(std::memory_order_relaxed) > 0) each_given(thread, entry_point, words, lend);
}

void close_named(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t stream) {
    if (!range_count.load(std::memory_order_relaxed) || is_capturing()) return;
    bool known = false, handled = true;
    const auto close_pages = [&](const Pages& pages) {
        if (!known) {
            learn_stream(stream);
            handled = can_guard();
            known = true;
        }
        if (handled) close(thread, pages, same_stream(stream));
    };
    each_given(thread, entry_point, words, close_pages);
    each_argument(thread, entry_point, words, close_pages);
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

void open_all() { open_between(0, EVERYWHERE); }

DeviceTouch::DeviceTouch(uint64_t address, uint64_t bytes)
    : first_(page_down(address)), last_(page_up(address + bytes)) {
    if (!guards_memory || !PiecesOf(first_, last_).next()) return;
    device_touches.fetch_add(1);
    while ((place_ = free_device_touch()) < 0) syscall(SYS_sched_yield);
    device_pages[place_].first.store(first_);
    device_pages[place_].last.store(last_);
    apply(first_, last_);
}

DeviceTouch::~DeviceTouch() {
    if (place_ < 0) return;
    device_pages[place_].last.store(0);
    device_pages[place_].taken.store(false);
    device_touches.fetch_sub(1);
    apply(first_, last_);
}

bool DeviceTouch::again() {
    if (place_ < 0 || tries_++ == MOST_TRIES) return false;
    apply(first_, last_);
    return true;
}

Touched open_touched(uint64_t address, bool writes, bool wholly) {
    PiecesOf walk(address, address + 1);
    if (!walk.next()) return Touched::NOTHING;
    Piece* piece = walk.piece;
    const uint32_t access = piece->access.load();
    if (access == OPEN) {
        same_fault.times = same_fault.address == address ? same_fault.times + 1 : 1;
        same_fault.address = address;
        if (same_fault.times > MOST_SAME_FAULTS) return Touched::NOTHING;
        apply(walk.first, walk.last);
        return Touched::KNOWN;
    }
    same_fault.times = 0;
    const uint32_t left = access == CLOSED && !writes && !wholly ? READABLE : OPEN;
    piece->need.store(left, std::memory_order_relaxed);
    want(piece, left);
    apply(walk.first, walk.last);
    return Touched::GUARDED;
}

}  // namespace cuvet
