// What happens around every driver call: check handles, store what is to be stored, and afterwards follow the objects'
// lives.
#pragma once

#include <cstdint>

#include "backend.h"
#include "hot.h"
#include "library_handles.h"
#include "protect.h"
#include "recorder.h"

namespace cuvet {

struct Object;
struct Fields;
struct Inputs;
class Examples;

constexpr int MOST_KILLED = 4;
constexpr int MOST_FOUND = 4;

// One call on its way through the shim.
class Call {
  public:
    // Of a driver function.
    HOT Call(uint32_t symbol, const uint64_t* words, const Blob* structs);
    // Of a library's function, whose thread is busy with it. `untold`: what it creates need not be stored.
    Call(const EntryPoint& entry_point, const uint64_t* words, const Blob* structs, Thread* thread, bool untold,
         const Entry& entry);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // To be called with what the driver answered; returns it.
    HOT uint32_t leave(uint32_t status);

    // While refuses(): whether the call is not to be made. Then refuse() takes the place of leave(), and tells the
    // status.
    bool is_refused() const { return thread_ && refusal_ != ASK; }
    uint32_t refuse();

  private:
    HOT void enter();
    HOT void note_arguments();
    HOT void look_at_handles();
    void look_at_all(const Role& role);
    Object* look_at(const Role& role, uint64_t handle);
    void look_at_memory(uint64_t address, bool argument);
    void look_at_arguments();
    void kill_primary_context(uint64_t device);
    void remember_primary_context(const Role& retained);
    void end_released_context(uint64_t device);
    void note_death(Object* object);
    HOT uint32_t take_stack(bool striking) const;
    HOT void store(uint32_t stack);
    void store_whole(const Fields& fields, uint32_t stack, uint64_t key);
    void store_launch(const Fields& fields, uint32_t stack, const Inputs& inputs, Examples& examples);
    bool store_like(const Fields& fields, Examples& examples, uint64_t key);
    uint32_t fill(CallRecord* record, const Fields& fields, uint32_t stack, const Inputs& inputs) const;
    HOT bool store_again(const Fields& fields, uint64_t key);
    HOT void begin_record(const Subject& named, bool makes);
    uint32_t wait_for_work(uint32_t status);
    HOT void finish(uint32_t status);
    void note_ends();
    void decide();
    void inject();
    void explain();
    void finish_more(uint32_t status);
    void adopt_unknown_handles();
    HOT void follow_objects();
    HOT bool begin_life(const Role& role, uint64_t handle);
    HOT void begin_lives(const Role& role);
    void share_new(const Role& made, uint64_t address);
    void open_guards();
    void follow_guards();
    void finish_record(uint32_t status, bool failed);
    HOT void finish_again(uint32_t status, bool failed);
    HOT bool tell_made(const OutputField& made);
    bool tell_in_full();
    void store_late(uint32_t status, bool failed);
    bool has_failed(uint32_t status) const;
    uint64_t stream() const;

    const EntryPoint& entry_point_;
    const uint64_t* words_;
    const Blob* structs_;
    Thread* thread_;
    Slot* slot_;
    CallRecord* record_;
    CallAgain* again_;           // in place of it
    CallLike* like_;             // in place of both
    const CallRecord* whole_;    // the record that this one is like
    Object* found_[MOST_FOUND];  // of the first roles, if they are passed plainly
    uint32_t known_generation_;  // of what the call that this one is like made
    uint8_t output_;             // parameter through which the call tells what it makes, or NO_PARAMETER
    uint32_t example_;           // number of the record among those that other launches can be like, or 0
    Origin* origin_;             // where the thread keeps the call for others to be like; null if it does not
    ChunkHeader* chunk_;         // of the record
    uint64_t context_;
    Subject named_;
    uint32_t made_;          // number of what it makes among what was made in the chunk
    uint32_t named_before_;  // how many subjects were named in the chunk
    uint64_t entered_;
    uint64_t number_;
    uint32_t slot_status_;  // what the flight recorder says if its work was waited for
    uint32_t refusal_;      // while refuses(): the status to answer in the driver's place, or ASK
    uint32_t injected_;     // the status that it or its work fails with because that was asked for, or ASK
    uint16_t flags_;        // of the record
    bool untold_;           // objects that it creates are not stored
    bool endless_;          // it loads PTX whose reader reaches memory that cannot be read
    bool unknown_handle_;   // one whose creation was not seen
    bool new_object_;       // RETURNS handed out one that was not known
    bool dropped_;          // there was no room for the record
    bool awaits_;           // its work will be waited for: see narrow.h
    bool other_stream_;     // stream-ordered memory is used on another stream than before
    uint8_t killed_count_;
    uint8_t pointer_count_;
    struct {
        Object* object;
        uint64_t state;
    } killed_[MOST_KILLED];
    uint64_t pointers_[16];
};

constexpr uint32_t NOT_READY = 600;  // work goes on: no failure

// Whether the memory that a kernel's arguments name is to be looked at.
inline bool arguments_matter() { return hot.stream_ordered_memory_exists.load(std::memory_order_relaxed); }

// What order there is between operations is asked about recorded work only, stream-ordered memory, and in captures.
// Elsewhere records, waits and synchronisations, which programs make by the million, are not worth their bytes.
inline bool order_matters() {
    return hot.work_recorded.load(std::memory_order_relaxed) || hot.captures.load(std::memory_order_relaxed) > 0;
}

// Whether the driver makes the call in the middle of another (a profiler's callback).
inline bool is_inside_another(const Thread* thread) {
    const uint32_t outer = thread->library_call ? 2 : 1;
    return thread->depth > outer;
}

// The context that is current on this thread, as the driver tells; 0 none.
HOT uint64_t current_context(Thread* thread);

// The calling thread's recorder; null before its first call.
extern __thread Thread* current_thread __attribute__((tls_model("initial-exec")));

// The same, by way of `hot`: the table of global offsets is one line and page more. Null before start(), too.
__attribute__((always_inline)) inline Thread* known_thread() {
    const intptr_t offset = hot.thread_offset.load(std::memory_order_relaxed);
    if (__builtin_expect(!offset, 0)) return nullptr;
    Thread* thread;
#if defined(__x86_64__)
    asm volatile("movq %%fs:(%1), %0" : "=r"(thread) : "r"(offset));
#else
    thread = *reinterpret_cast<Thread* volatile*>(static_cast<char*>(__builtin_thread_pointer()) + offset);
#endif
    return thread;
}

}  // namespace cuvet
