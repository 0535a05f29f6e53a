// Writes the recording of this process: src/cuvet/recording/FORMAT.md is the contract.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "again.h"
#include "entry_points.h"
#include "python_frames.h"
#include "unwind.h"

namespace cuvet {

#include "generated/layout.inc"

// Another thread that is inside a call with an object that only one may use at a time.
struct Overlap {
    uint32_t thread;
    uint32_t entry_point;  // of the other's call
    uint32_t parameter;    // of this call: the object
};

struct ChunkHeader {
    uint64_t magic_and_kind;  // stored at once
    uint32_t thread;
    uint32_t writer;
    uint64_t left;  // ticks at which its thread had left it; 0: it may still be written
    uint8_t padding[40];
};
static_assert(sizeof(ChunkHeader) == CHUNK_HEADER_BYTES);
static_assert(CHUNK_HEADER_BYTES + RING_SLOTS * (sizeof(Slot) + sizeof(Launch)) <= CHUNK_BYTES);

struct Handle;
class Examples;

// What a quiet call does besides what it is for: see QuietCall.
struct alignas(4) Effects {
    uint8_t flags;
    uint8_t created_parameter;
    Kind created;
};

// What a thread found when it last called a library from some call site: how the next call there is known to leave no
// trace either. See docs/decisions/0008-quiet-calls-look-at-one-page.md.
struct alignas(64) Memo {
    static constexpr int MOST_LASTING = 12, MOST_FRESH = 8;

    uint64_t key;    // of the call site; 0 none
    uint64_t stamp;  // changes_of_libraries() when this was found; 0: nothing is known
    void* function;  // the real one
    uint64_t context;
    Handle* handle;  // that it uses; null: none, or nothing is known of it
    Effects effects;
    uint8_t stack_words;
    uint8_t lasting_count;
    uint8_t fresh_count;
    struct {
        uint8_t slot;
        Kind kind;
        bool nullable;
    } fresh[MOST_FRESH];            // what each call may name another of, to be looked up each time
    uint8_t lasting[MOST_LASTING];  // slots of the arguments that shall be
    uint64_t words[MOST_LASTING];   // … these
};
constexpr int MEMO_BITS = 7;

constexpr int MOST_FRAMES = 64;

// The stack that a walk belongs to.
struct KnownStack {
    uint32_t id;      // 0: none
    uint32_t after;   // which of the thread's stacks was wanted after it, the last time
    uint64_t python;  // python_key(MOST_FRAMES)
    Footprint footprint;
};

// Stacks that a thread knows, as many as a training step has that tells of each launch. What is not used takes no
// memory.
struct KnownStacks {
    static constexpr uint32_t MOST = 512, SETS = 128, WAYS = 4;

    uint32_t count;             // of all that were ever known
    uint32_t last;              // the one that was wanted last
    uint16_t sets[SETS][WAYS];  // the newest that begin alike: see set_of() in stacks.cpp
    KnownStack all[MOST];
};

constexpr int MOST_RETIRED = 16;
constexpr uint64_t READABLE_PAGES = 256;  // stacks, and buffers in which frameworks pass the arguments of launches

// Never 0.
inline uint64_t page_of(uint64_t address) { return (address >> 12) + 1; }

// What a thread needs to record its calls. Only the thread itself touches it.
struct Thread {
    uint32_t id;
    uint32_t writer;  // the same for all threads that go on with the same chunks, one after the other
    bool busy;        // inside the shim: a call made now (by a signal handler) passes unrecorded
    bool context_known;
    struct {
        uint32_t status;  // 0: none
        bool later;
    } fault;                // that is injected into the driver's call that it makes: see inject.h
    bool awaits;            // the work of the driver's call that it makes will be waited for: see narrow.h
    uint32_t depth;         // calls entered and not returned
    uint32_t library_call;  // number of the library's symbol that the thread is inside, and 1; 0 none
    uint64_t calls;
    uint64_t flushed;  // of these, already added to the file's header
    uint64_t context;
    ChunkHeader* ring;
    ChunkHeader* chunk;
    uint32_t chunk_number;
    uint32_t used;  // bytes of the chunk
    Repeats repeats;
    Examples* examples;  // null before the first launch that is stored
    int retired_count;
    ChunkHeader* retired[MOST_RETIRED];  // full chunks that hold a call which has not returned
    uint64_t readable[READABLE_PAGES];   // see is_readable()
    Thread* next;
    alignas(16) char close_call[1024];  // of the library's call that it is inside: see library_call.cpp
    Memo memos[1 << MEMO_BITS];
    Walks walks;
    KnownStacks stacks;
};

// While it lives, the thread is busy. Its signal handlers must see it so.
class Busy {
  public:
    explicit Busy(Thread* thread) : thread_(thread), before_(thread->busy) {
        thread_->busy = true;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Busy() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        thread_->busy = before_;
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

  private:
    Thread* thread_;
    bool before_;
};

// While it lives, pthread_cancel cannot end the thread: files are used, perhaps under a lock.
class Uncancellable {
  public:
    Uncancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancellable() { pthread_setcancelstate(before_, nullptr); }
    Uncancellable(const Uncancellable&) = delete;
    Uncancellable& operator=(const Uncancellable&) = delete;

  private:
    int before_;
};

inline Slot* slot_of(Thread* thread, uint64_t number) {
    return reinterpret_cast<Slot*>(thread->ring + 1) + number % RING_SLOTS;
}

inline Launch* launch_of(Thread* thread, uint64_t number) {
    return reinterpret_cast<Launch*>(slot_of(thread, 0) + RING_SLOTS) + number % RING_SLOTS;
}

// A call that has not returned. `ticks`: when it was entered; 0 not taken.
__attribute__((always_inline)) inline Slot* fill_slot(Thread* thread, const EntryPoint& entry_point,
                                                      const uint64_t* words, uint64_t ticks, uint64_t number) {
    Slot* slot = slot_of(thread, number);
    slot->number = 0;
    slot->entered = ticks;
    // Singly: the arguments come from registers, and two constants would be fetched from a page of their own.
    __atomic_store_n(&slot->entry_point, entry_point.id, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->status, NOT_RETURNED, __ATOMIC_RELAXED);
    const auto put = [&](int i) {
        if (i < entry_point.parameter_count) __atomic_store_n(&slot->args[i], words[i], __ATOMIC_RELAXED);
    };
    put(0), put(1), put(2), put(3), put(4);
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
    __builtin_prefetch(slot_of(thread, number + 1), 1);  // the next call need not wait for its line
    return slot;
}

inline uint64_t ticks() {
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

uint64_t now_ns(clockid_t clock);

// Whether the environment asks for a recording.
bool wants_recording();
// Opens the recording of this process. False: nothing is to be recorded, or it cannot be.
bool open_recording(bool emulated, bool full, bool accesses);
bool is_recording();
// The program is about to restrict its system calls, and may be killed for ours (seccomp): from here on nothing is
// asked of the kernel but what the program itself needs for memory and threads. Chunks are made in advance.
void expect_sandbox();
bool in_sandbox();
// Nothing more is stored: the size limit is reached.
bool recording_is_full();

// The calling thread's recorder; null if nothing is recorded.
Thread* attach_thread();
// Adds the thread's calls to the header and hands its chunks to threads to come.
void detach_thread(Thread* thread);

// Room for a record of `bytes` (with its header), 8-byte aligned; null if the size limit is reached (counted). Nothing
// is visible before publish().
void* reserve(Thread* thread, uint32_t bytes);
void publish(Thread* thread, void* record, uint32_t bytes, RecordType type, uint16_t flags);
// Room for a short record in the thread's chunk, null if that is full; and how a CALL_AGAIN is made visible.
void* reserve_short(Thread* thread, uint32_t bytes);
void publish_again(Thread* thread, CallAgain* record, const CallAgain& fields);

// Of a record in the thread's chunk, in units of 8 bytes.
inline uint16_t place_of(const Thread* thread, const void* record) {
    return static_cast<uint16_t>((static_cast<const char*>(record) - reinterpret_cast<const char*>(thread->chunk)) / 8);
}

// Those of the writer; null if there is no memory for them.
Examples* examples_of(Thread* thread);

struct Part {
    const void* data;
    uint32_t bytes;
};
// Stores what stands in `fixed`, and behind it `rest`; where it stands, null if the size limit is reached.
void* write_parts(Thread* thread, RecordType type, const Part& fixed, std::initializer_list<Part> rest,
                  uint16_t flags = 0);
template <class Fields>
Fields* write_record(Thread* thread, RecordType type, const Fields& fields, std::initializer_list<Part> rest = {},
                     uint16_t flags = 0) {
    return static_cast<Fields*>(write_parts(thread, type, {&fields, sizeof fields}, rest, flags));
}

inline uint32_t padded(uint32_t bytes) { return (bytes + 7) & ~7u; }

// Unmaps full chunks once no call is pending in them.
void release_retired(Thread* thread);

// Stores the names of the libraries' entry points, once; those of the driver are stored before all calls.
void write_library_names(Thread* thread);

// Stores the flight recorders of all threads, with call `number` of this thread, which tells that launches failed.
void write_launches(Thread* thread, uint64_t number);

// Entry point of the library's call that the thread is inside; 0 none.
uint32_t library_call_of(uint32_t thread);

void write_overlap(Thread* thread, const Overlap& overlap, uint64_t number);
// New objects in arrays that call `number` has written.
void write_handed_out(Thread* thread, const OutputField* objects, uint32_t count, uint64_t number);
void write_note(Thread* thread, NoteCode code, const char* text);
// Path of the program.
const char* executable();
void set_driver_path(const char* path);
void set_device_facts(uint32_t gpus, int32_t driver_version);
// `gpu` is below MOST_GPUS; bytes, and the compute capability as 10 × major + minor. `pageable`: 1 the GPU cannot
// access memory of the host that CUDA does not know, 2 it can, 0 not known.
void set_gpu_facts(uint32_t gpu, uint64_t memory, uint32_t capability, uint32_t pageable);

// Memory was guarded against the host.
void note_guarded();

// Exit handlers run.
void finish_recording();
// In a forked child: forgets the parent's file.
void forget_recording();

}  // namespace cuvet
