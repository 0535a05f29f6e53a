#include "recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <charconv>

#include "entry_points.h"
#include "examples.h"
#include "guard.h"
#include "inputs.h"
#include "libraries.h"
#include "narrow.h"
#include "notices.h"
#include "own_files.h"

namespace cuvet {

namespace {

constexpr uint64_t DEFAULT_LIMIT = uint64_t{4} << 30;
constexpr uint32_t RESERVED_CHUNKS = 64;
constexpr uint32_t TAIL = 64;  // of each chunk, kept for the note that the limit was reached

struct Clock {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

struct GpuFacts {
    std::atomic<uint64_t> memory;
    std::atomic<uint32_t> capability;
    std::atomic<uint32_t> pageable;
};

struct FileHeader {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t chunk_bytes;
    uint32_t pid;
    uint32_t parent;
    std::atomic<uint32_t> flags;
    Clock clock[3];
    std::atomic<uint64_t> newest_sample;
    std::atomic<uint64_t> chunks;
    std::atomic<End> end;
    uint32_t catalog;
    std::atomic<uint64_t> calls;
    std::atomic<uint64_t> dropped;
    std::atomic<uint32_t> gpus;
    std::atomic<int32_t> driver_version;
    uint64_t process_start;  // field 22 of /proc/self/stat: with the pid it names the process, across exec
    std::atomic<uint32_t> stop_error;
    uint32_t reserved;
    std::atomic<uint64_t> stopped;
    std::atomic<uint64_t> freed;  // chunks whose room on disk was given back, by the launcher
    uint8_t padding[256 - 184];
    char driver[1024];
    char executable[1024];
    GpuFacts gpu[MOST_GPUS];
};
#include "generated/header_checks.inc"
static_assert(sizeof(FileHeader) <= HEADER_BYTES);

FileHeader* header;
Descriptor file;
char file_path[PATH_MAX];
uint64_t limit;
std::atomic<bool> limit_reached;
std::atomic<bool> sandbox_expected;
std::atomic<long> sandbox_thread;  // That prepares for it, or has; 0 before.
char* reserved;                    // chunks for the sandbox, mapped
uint32_t first_reserved;           // its number
uint32_t reserved_count;
std::atomic<uint32_t> reserved_taken;
std::atomic<uint32_t> writers;
std::atomic<bool> names_written;
std::atomic<bool> library_names_written;
std::atomic<bool> pool_locked;
std::atomic<bool> sampling;  // the clock
Thread* ended_threads;       // their chunks wait for new threads
Thread* all_threads;         // those attached, for the count at exit

class PoolLock {
  public:
    PoolLock() {
        while (pool_locked.exchange(true, std::memory_order_acquire)) syscall(SYS_sched_yield);
    }
    ~PoolLock() { pool_locked.store(false, std::memory_order_release); }
    PoolLock(const PoolLock&) = delete;
    PoolLock& operator=(const PoolLock&) = delete;
};

Clock read_clock() { return {ticks(), now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_REALTIME)}; }

void sample_clock() {
    if (sampling.exchange(true, std::memory_order_acquire)) return;  // another thread does
    const uint64_t next = header->newest_sample.load(std::memory_order_relaxed) == 1 ? 2 : 1;
    header->clock[next] = read_clock();
    header->newest_sample.store(next, std::memory_order_release);
    sampling.store(false, std::memory_order_release);
}

uint64_t process_start() {
    char text[1024];
    const int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (stat < 0) return 0;
    const ssize_t bytes = read(stat, text, sizeof text - 1);
    close(stat);
    if (bytes <= 0) return 0;
    text[bytes] = 0;
    const char* field = strrchr(text, ')');  // the program's name may hold anything
    for (int i = 0; field && i < 20; i++) field = strchr(field + 1, ' ');
    uint64_t start = 0;
    if (field) std::from_chars(field + 1, text + bytes, start);
    return start;
}

// A file of this very process that nobody finished was written before an exec.
void mark_replaced(const char* directory, uint64_t start) {
    DIR* entries = opendir(directory);
    if (!entries) return;
    char prefix[32];
    const int length = snprintf(prefix, sizeof prefix, "%d-", getpid());
    while (const dirent* entry = readdir(entries)) {
        if (strncmp(entry->d_name, prefix, static_cast<size_t>(length)) != 0) continue;
        const int old = openat(dirfd(entries), entry->d_name, O_RDWR | O_CLOEXEC);
        uint64_t old_start = 0;
        End end = End::EXITED;
        if (old < 0) continue;
        if (pread(old, &old_start, 8, offsetof(FileHeader, process_start)) == 8 && old_start == start &&
            pread(old, &end, 4, offsetof(FileHeader, end)) == 4 && end == End::NONE) {
            end = End::REPLACED;
            write_at(old, &end, 4, offsetof(FileHeader, end));
        }
        close(old);
    }
    closedir(entries);
}

bool may_grow_to(uint64_t bytes) {
    rlimit largest;
    return getrlimit(RLIMIT_FSIZE, &largest) != 0 || largest.rlim_cur == RLIM_INFINITY || bytes <= largest.rlim_cur;
}

// Writes zeros, so that touching the mapping cannot fail later for want of space. (fallocate would do so too, but
// leaves the pages to be read from disk: measured on ext4, 120 instead of 25 µs a chunk.) Returns 0 or an errno.
int allocate(uint64_t offset, uint64_t bytes) {
    static char zeros[CHUNK_BYTES];
    if (!may_grow_to(offset + bytes)) return EFBIG;
    const int error = write_at(file.number, zeros, bytes, offset);
    if (error)  // what little was left belongs to others
        fallocate(file.number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(bytes));
    return error;
}

// Opens the file again if the program has closed it. Returns 0 or an errno.
int open_again() {
    if (is_ours(file)) return 0;
    Descriptor again = keep(open(file_path, O_RDWR | O_CLOEXEC));
    if (again.number < 0) return errno;
    const bool same = again.device == file.device && again.inode == file.inode;
    if (same)
        file = again;
    else
        close_ours(&again);
    return same ? 0 : ESTALE;
}

// Bytes before the offset that must be mapped with it: pages may be larger than the file's header.
uint64_t bytes_before(uint64_t offset) { return offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

// With its pages ready to be written: MAP_POPULATE would leave a fault at the first write to each of them.
void* map(uint64_t offset, uint64_t bytes) {
    const uint64_t before = bytes_before(offset);
    void* memory = mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number,
                        static_cast<off_t>(offset - before));
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, before + bytes, MADV_POPULATE_WRITE);
    return static_cast<char*>(memory) + before;
}

void unmap(ChunkHeader* chunk) {
    if (in_sandbox()) return;
    const uint64_t before = bytes_before(reinterpret_cast<uint64_t>(chunk));
    munmap(reinterpret_cast<char*>(chunk) - before, before + CHUNK_BYTES);
}

// Places for `wanted` chunks, or for as many as the limit allows: how many.
uint32_t claim_room(uint32_t wanted, uint64_t* offset) {
    const uint64_t freed = header->freed.load(std::memory_order_relaxed);
    const uint64_t largest = limit > HEADER_BYTES ? (limit - HEADER_BYTES) / CHUNK_BYTES + freed : 0;
    uint64_t place = header->chunks.load(std::memory_order_relaxed);
    while (place < largest && !limit_reached.load(std::memory_order_relaxed)) {
        const uint32_t count = largest - place < wanted ? static_cast<uint32_t>(largest - place) : wanted;
        *offset = HEADER_BYTES + place * CHUNK_BYTES;
        if (header->chunks.compare_exchange_weak(place, place + count)) return count;
    }
    return 0;
}

// Nothing more is stored. `error`: why, an errno; 0: the limit that cuvet was given.
void stop_recording(int error) {
    if (limit_reached.exchange(true)) return;
    sample_clock();
    header->stop_error.store(static_cast<uint32_t>(error), std::memory_order_relaxed);
    header->stopped.store(ticks(), std::memory_order_release);
}

// Returns 0 or an errno.
int make_chunks(uint32_t count, uint64_t offset, void** chunks) {
    {
        const PoolLock lock;  // two threads would open the file twice
        if (const int error = open_again()) return error;
    }
    for (uint32_t i = 0; i < count; i++)
        if (const int error = allocate(offset + uint64_t{i} * CHUNK_BYTES, CHUNK_BYTES)) return error;
    *chunks = map(offset, uint64_t{count} * CHUNK_BYTES);
    return *chunks ? 0 : errno;
}

uint32_t chunk_at(uint64_t offset) { return static_cast<uint32_t>((offset - HEADER_BYTES) / CHUNK_BYTES); }

int make_chunk(void** chunk, uint32_t* number) {
    uint64_t offset;
    if (!claim_room(1, &offset)) return 0;
    *number = chunk_at(offset);
    return make_chunks(1, offset, chunk);
}

void* take_reserved(uint32_t* number) {
    const uint32_t taken = reserved_taken.fetch_add(1);
    *number = first_reserved + taken;
    return taken < reserved_count ? reserved + uint64_t{taken} * CHUNK_BYTES : nullptr;
}

ChunkHeader* claim_chunk(ChunkKind kind, const Thread* thread, uint32_t* number) {
    const Uncancellable uncancellable;
    void* memory = nullptr;
    int error = ENOSYS;
    if (in_sandbox())
        memory = take_reserved(number);
    else
        error = make_chunk(&memory, number);
    if (!memory) {
        stop_recording(error);
        return nullptr;
    }
    ChunkHeader* chunk = static_cast<ChunkHeader*>(memory);
    chunk->thread = thread->id;
    chunk->writer = thread->writer;
    __atomic_store_n(&chunk->magic_and_kind, static_cast<uint64_t>(kind) << 32 | CHUNK_MAGIC, __ATOMIC_RELEASE);
    sample_clock();
    return chunk;
}

char* end_of(ChunkHeader* chunk, uint32_t used) { return reinterpret_cast<char*>(chunk) + used; }

void write_limit_note(Thread* thread) {
    constexpr uint32_t BYTES = sizeof(RecordHeader) + sizeof(NoteFields);
    if (!thread->chunk || thread->used + BYTES > CHUNK_BYTES) return;
    char* record = end_of(thread->chunk, thread->used);
    const NoteFields note = {static_cast<uint32_t>(NoteCode::LIMIT), 0};
    memcpy(record + sizeof(RecordHeader), &note, sizeof note);
    publish(thread, record, BYTES, RecordType::NOTE, 0);
    thread->used = CHUNK_BYTES;
}

// No call is pending in it, and nobody will write into it again.
void leave(ChunkHeader* chunk) {
    __atomic_store_n(&chunk->left, ticks(), __ATOMIC_RELEASE);
    unmap(chunk);
}

bool next_chunk(Thread* thread) {
    uint32_t number;
    ChunkHeader* chunk = claim_chunk(ChunkKind::RECORDS, thread, &number);
    if (!chunk) {
        write_limit_note(thread);
        return false;
    }
    ChunkHeader* full = thread->chunk;
    thread->chunk = chunk;
    thread->chunk_number = number;
    thread->used = CHUNK_HEADER_BYTES;
    thread->repeats = {};
    if (!full) return true;
    if (thread->depth == 0)
        leave(full);
    else if (thread->retired_count < MOST_RETIRED)
        thread->retired[thread->retired_count++] = full;
    return true;
}

// `names` follow one another, each with its NUL. In several records, since none is larger than a chunk.
void write_all_names(Thread* thread, uint32_t first, uint32_t count, const char* names) {
    constexpr uint32_t MOST_BYTES = 16384;
    while (count) {
        uint32_t taken = 0, length = 0;
        while (taken < count && length < MOST_BYTES) {
            length += static_cast<uint32_t>(strlen(names + length)) + 1;
            taken++;
        }
        write_record(thread, RecordType::ENTRY_POINTS, EntryPointsFields{first, taken}, {{names, length}});
        first += taken;
        count -= taken;
        names += length;
    }
}

void write_thread_name(Thread* thread) {
    if (in_sandbox()) return;
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    const uint32_t length = static_cast<uint32_t>(strnlen(name, sizeof name));
    write_record(thread, RecordType::THREAD, ThreadFields{thread->id, length}, {{name, length}});
}

Thread* take_ended_thread() {
    const PoolLock lock;
    Thread* thread = ended_threads;
    if (thread) ended_threads = thread->next;
    return thread;
}

void forget_what_was_found(Thread* thread) {
    memset(thread->readable, 0, sizeof thread->readable);
    memset(static_cast<void*>(thread->memos), 0, sizeof thread->memos);
    thread->repeats = {};
}

// All zero, and not in the file; null if there is none.
void* private_memory(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// That of the first thread is there from the start: memory that is mapped in the middle of a run can come to lie in a
// hole that the program has left.
Thread first_thread;
std::atomic<bool> first_is_taken;

Thread* make_thread() {
    if (!first_is_taken.exchange(true)) return &first_thread;
    return static_cast<Thread*>(private_memory(sizeof(Thread)));
}

bool prepare_ring(Thread* thread) {
    if (thread->ring) {
        memset(thread->ring + 1, 0, CHUNK_BYTES - CHUNK_HEADER_BYTES);
        thread->ring->thread = thread->id;
        return true;
    }
    uint32_t number;
    thread->ring = claim_chunk(ChunkKind::FLIGHT, thread, &number);
    // recording need not ask whether there is one
    if (!thread->ring) thread->ring = static_cast<ChunkHeader*>(private_memory(CHUNK_BYTES));
    return thread->ring != nullptr;
}

void flush(Thread* thread) {
    header->calls.fetch_add(thread->calls - thread->flushed, std::memory_order_relaxed);
    thread->flushed = thread->calls;
}

uint64_t size_limit() {
    const char* text = getenv("CUVET_LIMIT");
    uint64_t bytes = DEFAULT_LIMIT;
    if (text) std::from_chars(text, text + strlen(text), bytes);
    return bytes;
}

// A file that has no room for its header is left empty: the report says that this process could not be recorded.
bool make_header() {
    if (allocate(0, HEADER_BYTES) == 0) header = static_cast<FileHeader*>(map(0, HEADER_BYTES));
    if (!header && ftruncate(file.number, 0) != 0) return false;
    return header != nullptr;
}

bool create_file(const char* directory) {
    if (!realpath(directory, file_path)) return false;
    const uint64_t start = process_start();
    mark_replaced(file_path, start);
    const size_t used = strlen(file_path), room = sizeof file_path - used;
    const int length = snprintf(file_path + used, room, "/%d-%llu.cuvet", getpid(),
                                static_cast<unsigned long long>(now_ns(CLOCK_REALTIME)));
    if (length < 0 || static_cast<size_t>(length) >= room) return false;
    file = keep(open(file_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.number < 0) return false;
    if (!make_header()) return true;
    header->process_start = start;
    return true;
}

}  // namespace

uint64_t now_ns(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

bool wants_recording() {
    const char* directory = getenv("CUVET_TRACE");
    return directory && *directory;
}

bool open_recording(bool emulated, bool full, bool accesses) {
    if (!wants_recording() || in_sandbox()) return false;
    const char* directory = getenv("CUVET_TRACE");
    if (!create_file(directory)) {
        tell_launcher(Notice::UNRECORDED, errno);
        return false;
    }
    if (!header) {
        close_ours(&file);
        return false;
    }
    limit = size_limit();
    header->version = FORMAT_VERSION;
    header->header_bytes = HEADER_BYTES;
    header->chunk_bytes = CHUNK_BYTES;
    header->pid = static_cast<uint32_t>(getpid());
    header->parent = static_cast<uint32_t>(getppid());
    header->flags.store((emulated ? HEADER_EMULATED : 0) | (full ? HEADER_FULL : 0) | (accesses ? HEADER_ACCESSES : 0) |
                        (wants_narrowing_from_the_first() ? HEADER_NARROWED : 0));
    header->clock[0] = read_clock();
    header->catalog = catalog_identity;
    const ssize_t length = readlink("/proc/thread-self/exe", header->executable, sizeof header->executable - 1);
    header->executable[length < 0 ? 0 : length] = 0;
    std::atomic_thread_fence(std::memory_order_release);
    memcpy(header->magic, MAGIC, sizeof header->magic);
    return true;
}

bool in_sandbox() { return sandbox_expected.load(std::memory_order_acquire); }

void expect_sandbox() {
    // Not for a child that shares its parent's memory (vfork), or of which no fork handler has told.
    if (!header || header->pid != static_cast<uint32_t>(getpid())) return;
    const long self = syscall(SYS_gettid);
    long preparing = 0;
    if (!sandbox_thread.compare_exchange_strong(preparing, self)) {
        // The caller may forbid next what another thread still needs for this. A signal handler does not wait for its
        // own thread.
        while (preparing != self && !in_sandbox()) sched_yield();
        return;
    }
    const Uncancellable uncancellable;
    stop_guarding();
    uint64_t offset;
    void* chunks = nullptr;
    const uint32_t count = claim_room(RESERVED_CHUNKS, &offset);
    const int error = count ? make_chunks(count, offset, &chunks) : 0;
    if (chunks) {
        reserved = static_cast<char*>(chunks);
        reserved_count = count;
        first_reserved = chunk_at(offset);
    } else {
        stop_recording(error);
    }
    sandbox_expected.store(true, std::memory_order_release);
}

bool is_recording() { return header != nullptr; }

void note_guarded() {
    if (header && !(header->flags.load(std::memory_order_relaxed) & HEADER_GUARDED))
        header->flags.fetch_or(HEADER_GUARDED, std::memory_order_relaxed);
}

bool recording_is_full() { return limit_reached.load(std::memory_order_relaxed); }

Thread* attach_thread() {
    if (!header) return nullptr;
    Thread* thread = take_ended_thread();
    if (thread)
        forget_what_was_found(thread);
    else
        thread = make_thread();
    if (!thread) return nullptr;
    if (!thread->writer) thread->writer = writers.fetch_add(1, std::memory_order_relaxed) + 1;
    thread->id = static_cast<uint32_t>(syscall(SYS_gettid));
    thread->calls = thread->flushed = 0;
    thread->busy = thread->context_known = false;
    thread->depth = thread->library_call = 0;
    if (!prepare_ring(thread)) return nullptr;
    {
        const PoolLock lock;
        thread->next = all_threads;
        all_threads = thread;
    }
    if (!names_written.exchange(true)) write_all_names(thread, 0, entry_point_count, entry_point_names);
    write_thread_name(thread);
    return thread;
}

void detach_thread(Thread* thread) {
    if (!header) return;
    sample_clock();
    const PoolLock lock;
    flush(thread);
    for (Thread** at = &all_threads; *at; at = &(*at)->next) {
        if (*at != thread) continue;
        *at = thread->next;
        thread->next = ended_threads;
        ended_threads = thread;
        return;
    }
}

void* reserve(Thread* thread, uint32_t bytes) {
    if (!thread->chunk || thread->used + bytes + TAIL > CHUNK_BYTES) {
        if (!next_chunk(thread)) {
            header->dropped.fetch_add(1, std::memory_order_relaxed);
            return nullptr;
        }
    }
    return end_of(thread->chunk, thread->used);
}

void publish(Thread* thread, void* record, uint32_t bytes, RecordType type, uint16_t flags) {
    RecordHeader* start = static_cast<RecordHeader*>(record);
    start->type = static_cast<uint16_t>(type);
    start->flags = flags;
    thread->used += bytes;
    __atomic_store_n(&start->size, bytes, __ATOMIC_RELEASE);
}

void* reserve_short(Thread* thread, uint32_t bytes) {
    const bool has_room = thread->chunk && thread->used + bytes + TAIL <= CHUNK_BYTES;
    return has_room ? end_of(thread->chunk, thread->used) : nullptr;
}

Examples* examples_of(Thread* thread) {
    if (!thread->examples) thread->examples = static_cast<Examples*>(private_memory(sizeof(Examples)));
    return thread->examples;
}

void publish_again(Thread* thread, CallAgain* record, const CallAgain& fields) {
    record->type = static_cast<uint16_t>(RecordType::CALL_AGAIN);
    record->origin = fields.origin;
    record->since = fields.since;
    thread->used += fields.size;
    uint32_t first;  // what the others call the size
    memcpy(&first, &fields, sizeof first);
    __atomic_store_n(reinterpret_cast<uint32_t*>(record), first, __ATOMIC_RELEASE);
}

void* write_parts(Thread* thread, RecordType type, const Part& fixed, std::initializer_list<Part> rest,
                  uint16_t flags) {
    uint32_t bytes = sizeof(RecordHeader) + fixed.bytes;
    for (const Part& part : rest) bytes += part.bytes;
    bytes = padded(bytes);
    char* record = static_cast<char*>(reserve(thread, bytes));
    if (!record) return nullptr;
    char* const fields = record + sizeof(RecordHeader);
    memcpy(fields, fixed.data, fixed.bytes);
    char* at = fields + fixed.bytes;
    for (const Part& part : rest) {
        if (part.bytes) memcpy(at, part.data, part.bytes);
        at += part.bytes;
    }
    publish(thread, record, bytes, type, flags);
    return fields;
}

void release_retired(Thread* thread) {
    while (thread->retired_count) leave(thread->retired[--thread->retired_count]);
}

void write_library_names(Thread* thread) {
    if (library_names_written.load(std::memory_order_relaxed) || library_names_written.exchange(true)) return;
    write_all_names(thread, entry_point_count, LIBRARY_ENTRY_POINT_COUNT, library_entry_point_names);
}

uint32_t library_call_of(uint32_t thread) {
    const PoolLock lock;
    for (const Thread* other = all_threads; other; other = other->next)
        if (other->id == thread) return __atomic_load_n(&other->library_call, __ATOMIC_RELAXED);
    return 0;
}

// For the plugin of pytest, which tells by it in which part of a test a call was made: writes the time, then the id of
// each thread and how many calls it has made, of at most so many threads; how many threads there are. Those that have
// ended are not among them.
extern "C" __attribute__((visibility("default"))) uint32_t cuvet_position(uint64_t* words, uint32_t most) {
    words[0] = ticks();
    if (!header) return 0;
    const PoolLock lock;
    uint32_t count = 0;
    for (const Thread* thread = all_threads; thread; thread = thread->next, count++) {
        if (count >= most) continue;
        words[2 * count + 1] = thread->id;
        words[2 * count + 2] = __atomic_load_n(&thread->calls, __ATOMIC_RELAXED);
    }
    return count;
}

void write_overlap(Thread* thread, const Overlap& overlap, uint64_t number) {
    write_record(thread, RecordType::OVERLAP,
                 OverlapFields{number, thread->id, overlap.thread, overlap.entry_point, overlap.parameter});
}

void write_handed_out(Thread* thread, const OutputField* objects, uint32_t count, uint64_t number) {
    const Part objects_part = {objects, count * uint32_t{sizeof *objects}};
    write_record(thread, RecordType::HANDED_OUT, HandedOutFields{number, thread->id, count}, {objects_part});
}

namespace {

constexpr int MOST_RINGS = 64;

struct LaunchesRecord {
    RecordHeader header;
    LaunchesFields fields;
    Slot slots[RING_SLOTS];
    Launch launches[RING_SLOTS];
    uint16_t on_host[RING_SLOTS];  // which words of a launch are addresses that the host can read
};
static_assert(CHUNK_HEADER_BYTES + sizeof(LaunchesRecord) + TAIL <= CHUNK_BYTES);

// The ring of another thread, which may be filling slots: those that changed meanwhile are left out. It does so with
// plain stores, since atomic ones cost a launch or an event half a nanosecond more; TSan would call that a race.
#define RACES_ON_PURPOSE __attribute__((no_sanitize("thread")))

RACES_ON_PURPOSE void copy_words(void* to, const void* from, size_t bytes) {
    for (size_t i = 0; i < bytes / 8; i++)
        static_cast<uint64_t*>(to)[i] = __atomic_load_n(static_cast<const uint64_t*>(from) + i, __ATOMIC_RELAXED);
}

RACES_ON_PURPOSE void copy_ring(Thread* other, LaunchesRecord* record) {
    copy_words(record->slots, slot_of(other, 0), sizeof record->slots);
    copy_words(record->launches, launch_of(other, 0), sizeof record->launches);
    std::atomic_thread_fence(std::memory_order_acquire);
    for (uint32_t i = 0; i < RING_SLOTS; i++) {
        const uint64_t number = __atomic_load_n(&slot_of(other, i)->number, __ATOMIC_RELAXED);
        if (record->slots[i].number != number) record->slots[i].number = 0;
    }
}

uint16_t words_on_host(const Launch& launch) {
    uint16_t found = 0;
    for (int i = 0; i < MOST_LAUNCH_WORDS; i++)
        if (can_be_read(launch.words[i])) found = static_cast<uint16_t>(found | 1u << i);
    return found;
}

}  // namespace

void write_launches(Thread* thread, uint64_t number) {
    Thread* others[MOST_RINGS];
    int count = 0;
    {
        const PoolLock lock;
        for (Thread* other = all_threads; other && count < MOST_RINGS; other = other->next) others[count++] = other;
    }
    for (int i = 0; i < count; i++) {
        LaunchesRecord* record = static_cast<LaunchesRecord*>(reserve(thread, sizeof(LaunchesRecord)));
        if (!record) return;
        record->fields = {number, thread->id, others[i]->id};
        copy_ring(others[i], record);
        for (uint32_t slot = 0; slot < RING_SLOTS; slot++) {
            const bool launched = record->slots[slot].number && record->launches[slot].place &&
                                  record->launches[slot].number == static_cast<uint32_t>(record->slots[slot].number);
            record->on_host[slot] = launched ? words_on_host(record->launches[slot]) : 0;
        }
        publish(thread, record, sizeof(LaunchesRecord), RecordType::LAUNCHES, LAUNCH_SHAPED);
    }
}

void write_note(Thread* thread, NoteCode code, const char* text) {
    const uint32_t length = static_cast<uint32_t>(strlen(text));
    write_record(thread, RecordType::NOTE, NoteFields{static_cast<uint32_t>(code), length}, {{text, length}});
}

const char* executable() { return header->executable; }

void set_driver_path(const char* path) {
    if (header) strncpy(header->driver, path, sizeof header->driver - 1);
}

void set_device_facts(uint32_t gpus, int32_t driver_version) {
    if (!header) return;
    header->gpus.store(gpus, std::memory_order_relaxed);
    header->driver_version.store(driver_version, std::memory_order_relaxed);
}

void set_gpu_facts(uint32_t gpu, uint64_t memory, uint32_t capability, uint32_t pageable) {
    if (!header) return;
    header->gpu[gpu].memory.store(memory, std::memory_order_relaxed);
    header->gpu[gpu].capability.store(capability, std::memory_order_relaxed);
    header->gpu[gpu].pageable.store(pageable, std::memory_order_relaxed);
}

void finish_recording() {
    if (!header) return;
    {
        const PoolLock lock;
        for (Thread* thread = all_threads; thread; thread = thread->next) flush(thread);
    }
    sample_clock();
    header->end.store(End::EXITED, std::memory_order_release);
}

void forget_recording() {
    if (!in_sandbox()) {
        sandbox_thread.store(0);
        close_ours(&file);
        if (header) munmap(header, HEADER_BYTES);
    }
    reserved_count = 0;
    writers.store(0);
    header = nullptr;
    ended_threads = all_threads = nullptr;
    pool_locked.store(false);
    sampling.store(false);
    limit_reached.store(false);
    names_written.store(false);
    library_names_written.store(false);
}

}  // namespace cuvet
