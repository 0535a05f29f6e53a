// What is known of the handles of libraries beside their lives: their stream and workspace, and which thread is inside
// a call with them; and the calls of libraries that need no closer look.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry_points.h"
#include "liveness.h"
#include "recorder.h"

namespace cuvet {

// A stream or workspace that the program gave to a handle. Memory that is not the start of an allocation has no object:
// then `life` counts the deaths of any.
struct Setting {
    std::atomic<bool> told;    // the recording has it
    std::atomic<bool> in_use;  // it is the handle's still
    std::atomic<uint64_t> word;
    std::atomic<uint64_t> bytes;
    std::atomic<const Object*> object;
    std::atomic<uint64_t> life;
};

struct Handle {
    std::atomic<uint32_t> user;             // thread that is inside a call with it; 0 none
    std::atomic<uint64_t> overlaps;         // the recording has: a bit for some pairs of calls
    std::atomic<uint64_t> foreign_context;  // in which it was used, as the recording has it
    Setting stream;
    Setting workspace;
};

#if defined(__x86_64__)
constexpr int INTEGER_REGISTERS = 6;
#elif defined(__aarch64__)
constexpr int INTEGER_REGISTERS = 8;
#endif

// Becomes the user of a handle, unless another thread is. Two that enter in the same instant may both be told that they
// are alone; that costs less than an atomic exchange in each call.
inline bool take(Handle* handle, const Thread* thread) {
    const uint32_t user = handle->user.load(std::memory_order_acquire);
    if (__builtin_expect(user && user != thread->id, 0)) return false;
    handle->user.store(thread->id, std::memory_order_release);
    return true;
}

inline void release(Handle* handle, const Thread* thread) {
    if (handle->user.load(std::memory_order_relaxed) == thread->id) handle->user.store(0, std::memory_order_release);
}

// The arguments of an entry point that is QUICK.
struct Arguments {
    const uint64_t* registers;
    const uint64_t* stack;

    // `slot`: of a parameter, how many before it are integers.
    uint64_t operator[](uint8_t slot) const {
        const uint64_t* first = slot < INTEGER_REGISTERS ? registers : stack - INTEGER_REGISTERS;
        return first[slot];
    }
};

// What a quiet call does besides what it is for.
constexpr uint8_t IN_ITS_CONTEXT = 1;  // with a handle that is of the context that is current
constexpr uint8_t TAKES = 2;           // the handle, which is of one thread at a time
constexpr uint8_t ENDS = 4;            // the last that is looked up
constexpr uint8_t MAKES = 8;
constexpr uint8_t GIVES_WORKSPACE = 16;
constexpr uint8_t FORGETS_WORKSPACE = 32;

// A call of a QUICK entry point that leaves no trace if it succeeds: it names only what lives, and the recording need
// not tell of what it makes or ends.
class QuietCall {
  public:
    // Of a call whose arguments have been looked at. `ended`: what it ends, if it does. False: it is to be a Call.
    bool enter(const Thread* thread, const Memo& memo, Object* ended);
    void succeed(const Thread* thread, const Arguments& arguments) const;
    // It is to be a Call now.
    void fail() const;

  private:
    __attribute__((noinline, hot)) void make(uint64_t word) const;

    Handle* handle_;  // that it uses; null: none, or nothing is known of it
    Object* ended_;
    uint64_t state_;  // of it, before
    Effects effects_;
};

// Whether what lasts is what it was at the last call.
inline bool is_as_before(const Memo& memo, const Arguments& arguments) {
    for (uint32_t i = 0; i < memo.lasting_count; i++)
        if (arguments[memo.lasting[i]] != memo.words[i]) return false;
    return true;
}

// Of what is not known to live: libraries make objects for each other unseen, and a pointer may lead anywhere.
HOT bool may_be_unseen(const Memo& memo, uint32_t fresh, uint64_t word, const Object* object);

// Looks up what each call may name another of. False: something is not alive. `last`: what a call with ENDS ends.
inline bool find_fresh(const Memo& memo, const Arguments& arguments, Object** last) {
    Object* object = nullptr;
    for (uint32_t i = 0; i < memo.fresh_count; i++) {
        const uint64_t word = arguments[memo.fresh[i].slot];
        object = find_object(memo.fresh[i].kind, word);
        const bool lives = object && is_alive(object);
        if (__builtin_expect(!lives, 0) && !may_be_unseen(memo, i, word, object)) return false;
    }
    *last = object;
    return true;
}

inline bool QuietCall::enter(const Thread* thread, const Memo& memo, Object* ended) {
    handle_ = memo.handle;
    effects_ = memo.effects;
    const uint8_t flags = effects_.flags;
    if (flags & IN_ITS_CONTEXT && (memo.context != thread->context || !thread->context_known)) return false;
    if (flags & TAKES && !take(handle_, thread)) return false;
    if (!(flags & ENDS)) return true;
    if (!ended) return false;
    ended_ = ended;
    state_ = ended->state.load(std::memory_order_relaxed);
    if ((state_ & (UNTOLD | PARENT)) != UNTOLD) return false;
    kill_untold(ended, state_);
    return true;
}

inline void QuietCall::succeed(const Thread* thread, const Arguments& arguments) const {
    const uint8_t flags = effects_.flags;
    if (flags & TAKES) release(handle_, thread);
    if (flags & FORGETS_WORKSPACE) handle_->workspace.in_use.store(false, std::memory_order_relaxed);
    if (flags & GIVES_WORKSPACE) handle_->workspace.in_use.store(true, std::memory_order_relaxed);
    if (!(flags & MAKES)) return;
    const uint64_t word = *reinterpret_cast<const uint64_t*>(arguments[effects_.created_parameter]);
    if (word) make(word);
}

// Fills `memo` with all but its key, stamp and function by what the call names and is to do; what it had tells which
// arguments change from call to call. False: it is to be a Call. `untold`: what it creates need not be stored.
bool learn(Thread* thread, const EntryPoint& entry_point, const Arguments& arguments, bool untold, Memo* memo);

// What a call's handles tell at its entry.
struct Entry {
    bool suspect;     // a handle's stream or workspace is gone, or it belongs to another context than the current one
    bool sets;        // the call gives a handle another stream or workspace than it has
    bool untold;      // it destroys what was made unseen
    Overlap overlap;  // its thread is 0 if there is none
};

Entry enter_with_handles(Thread* thread, const EntryPoint& entry_point, const uint64_t* words);
// `told`: the recording says what the call did, not only, where everything is recorded, that it was made.
void leave_with_handles(const Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool success,
                        bool told);

// A new object stands in its place.
void forget_settings(const Object* object);

// Some device memory was freed.
void memory_has_died();

}  // namespace cuvet
