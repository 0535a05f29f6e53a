// Which handles are alive. Lookups are wait-free; an object is (kind, handle, generation), because CUDA re-issues
// handle values.
//
// The table knows nothing of CUDA but this: an object is born, dies, may be revived (the driver refused to destroy it),
// and is dead when the object it belongs to is dead or has been born again.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry_points.h"
#include "hot.h"
#include "table.h"

namespace cuvet {

struct Handle;

struct Object {
    std::atomic<uint64_t> state;  // generation << 32 | ALIVE | …; generation 0: its creation was not seen
    std::atomic<Object*> parent;
    std::atomic<uint64_t> parent_generation;
    std::atomic<uint64_t> context;      // in which it was created; for a device: its primary context
    std::atomic<uint64_t> last_stream;  // stream-ordered memory: where it was used last
    std::atomic<uint64_t> bytes;        // registered memory: its size; a green context: its device
    mutable std::atomic<uint64_t>
        seen_alive;               // how many objects with children had ended, and 1, when it last was alive
    std::atomic<Handle*> handle;  // of a library: what is known of it beside its life
};

constexpr uint64_t ALIVE = 1;
constexpr uint64_t ORDERED = 2;   // stream-ordered memory
constexpr uint64_t RECORDED = 4;  // event
constexpr uint64_t UNTOLD = 8;    // its creation is not in the recording
constexpr uint64_t PARENT = 16;   // others belong to it
constexpr uint64_t ENDED = 32;    // dead, and the call that ended it has returned success
constexpr uint64_t RESET = 64;  // context: a reset of its device ended this life, or one before it; green context: its
                                // end was one, of the last who retained the primary context
constexpr uint64_t ORPHAN = 128;  // what it belongs to was dead when it was made: not all was seen
constexpr int KIND_SHIFT = 8;
constexpr uint64_t KEEPABLE = 1 << 16;  // the quarantine may keep it when it ends
constexpr uint64_t KEPT = 1 << 17;      // dead, and kept: the driver has it still, or its address is not free
constexpr uint64_t TOLD = 1 << 18;      // the recording tells of this life, or of one before it

inline uint32_t generation_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }

inline Kind kind_of(uint64_t state) { return static_cast<Kind>(state >> KIND_SHIFT & 0xff); }

inline bool is_of_library(Kind kind) { return kind >= Kind::CUDNN_HANDLE; }

constexpr uint64_t PER_THREAD_STREAM = 2;  // CU_STREAM_PER_THREAD; 0 is the default stream, 1 CU_STREAM_LEGACY

inline bool is_builtin_stream(uint64_t stream) { return stream <= PER_THREAD_STREAM; }

inline uint64_t key_of(Kind kind, uint64_t handle) { return handle ^ (static_cast<uint64_t>(kind) << 56); }

using Objects = Table<Object, 10>;  // room for 8,192: a framework has thousands of events and functions
extern Objects objects;

// Null: never seen.
inline Object* find_object(Kind kind, uint64_t handle) { return objects.find(key_of(kind, handle)); }
// The same, where another kind of object may stand: a CUkernel for a CUfunction, a cublasHandle_t for a
// cublasLtHandle_t.
inline Object* find_named(Kind kind, uint64_t handle) {
    Object* object = find_object(kind, handle);
    if (!object && kind == Kind::FUNCTION) object = find_object(Kind::KERNEL, handle);
    if (!object && kind == Kind::CUBLASLT_HANDLE) object = find_object(Kind::CUBLAS_HANDLE, handle);
    return object;
}
// Finds it or adds it, dead and of generation 0. Null only if there is no memory left.
Object* add_object(Kind kind, uint64_t handle);

// Looks at those that it belongs to.
HOT bool is_still_alive(const Object* object);

HOT inline bool is_alive(const Object* object) {
    if (!(object->state.load(std::memory_order_acquire) & ALIVE)) return false;
    const uint64_t now = hot.endings.load(std::memory_order_acquire) + 1;
    return object->seen_alive.load(std::memory_order_relaxed) == now || is_still_alive(object);
}

// A new object of this kind has the handle now, unless another thread has said so since the state was `seen`.
HOT void give_birth(Object* object, uint64_t seen, Kind kind, Object* parent, uint64_t context, uint64_t flags);
// A new object that belongs to no other and that the recording does not tell of.
void give_untold_birth(Object* object);
// An object of this kind whose creation was not seen was used with success.
void adopt(Object* object, Kind kind);
// Returns the state before, for revive().
HOT uint64_t kill(Object* object);
// For one that give_untold_birth() made, whose user is alone with it. `state`: the one it is in.
inline void kill_untold(Object* object, uint64_t state) {
    object->state.store(state & ~ALIVE, std::memory_order_release);
}
// Undoes kill() unless the handle was issued again meanwhile.
void revive(Object* object, uint64_t state_before);
// The call that killed it has returned success. `reset`: of the device.
void note_end(Object* object, uint64_t state_before, bool reset);

// Of a device whose primary context was seen retained; its handle stays the same when it ends and is retained again.
Object* primary_context(uint64_t device);
void note_primary_context(uint64_t device, uint64_t context);
bool is_primary_context(const Object* context);

}  // namespace cuvet
