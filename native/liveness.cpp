#include "liveness.h"

#include <initializer_list>

namespace cuvet {

Objects objects;
Hot hot;

namespace {

void note_life(Kind kind) {
    if (kind == Kind::EVENT)
        hot.event_changes.fetch_add(1, std::memory_order_release);
    else if (kind == Kind::MEMORY || is_of_library(kind))
        note_library_change();
    else
        note_change();
}

void end_family(uint64_t state) {
    if (state & PARENT) hot.endings.fetch_add(1);
}

bool belongs_to_living(const Object* object) {
    for (int depth = 0; depth < 4; depth++) {
        const Object* parent = object->parent.load(std::memory_order_relaxed);
        if (!parent) return true;
        const uint64_t state = parent->state.load(std::memory_order_acquire);
        if (!(state & ALIVE)) return false;
        if (generation_of(state) != object->parent_generation.load(std::memory_order_relaxed)) return false;
        object = parent;
    }
    return true;
}

// Libraries' descriptors come by the thousand at ever other addresses. Of those that the recording never told of, the
// dead make room: the recording knows the others by their generation. A thread that uses such a one meanwhile finds an
// object that was never seen.
bool make_room(Object* object) {
    uint64_t state = object->state.load(std::memory_order_relaxed);
    if ((state & (UNTOLD | ALIVE | PARENT | TOLD)) != UNTOLD || object->handle.load(std::memory_order_relaxed))
        return false;
    if (!object->state.compare_exchange_strong(state, 0)) return false;
    for (std::atomic<uint64_t>* field :
         {&object->parent_generation, &object->context, &object->last_stream, &object->bytes, &object->seen_alive})
        field->store(0, std::memory_order_relaxed);
    object->parent.store(nullptr, std::memory_order_relaxed);
    return true;
}

}  // namespace

Object* add_object(Kind kind, uint64_t handle) { return objects.insert(key_of(kind, handle), make_room); }

bool is_still_alive(const Object* object) {
    const uint64_t now = hot.endings.load(std::memory_order_acquire) + 1;
    if (!belongs_to_living(object)) return false;
    object->seen_alive.store(now, std::memory_order_relaxed);
    return true;
}

namespace {

void belong_to(Object* object, Object* parent, uint64_t parent_state, uint64_t context) {
    object->parent.store(parent, std::memory_order_relaxed);
    object->parent_generation.store(generation_of(parent_state), std::memory_order_relaxed);
    object->context.store(context, std::memory_order_relaxed);
    object->last_stream.store(0, std::memory_order_relaxed);
    object->bytes.store(0, std::memory_order_relaxed);
}

uint64_t next_life(uint64_t state, uint64_t flags) {
    return uint64_t{generation_of(state) + 1} << 32 | ALIVE | flags | (state & (RESET | TOLD)) |
           (flags & UNTOLD ? 0 : TOLD);
}

}  // namespace

void give_birth(Object* object, uint64_t seen, Kind kind, Object* parent, uint64_t context, uint64_t flags) {
    const uint32_t last = generation_of(seen);
    const uint64_t parent_state = parent ? parent->state.load(std::memory_order_relaxed) : ALIVE;
    flags |= static_cast<uint64_t>(kind) << KIND_SHIFT | (parent_state & ALIVE ? 0 : ORPHAN);
    object->seen_alive.store(0, std::memory_order_relaxed);
    belong_to(object, parent, parent_state, context);
    if (parent && !(parent_state & PARENT)) parent->state.fetch_or(PARENT);
    const uint64_t born = next_life(seen, flags);
    while (generation_of(seen) == last && !object->state.compare_exchange_weak(seen, born)) {
    }
    end_family(seen);
    if (!(flags & UNTOLD)) note_life(kind);
}

void give_untold_birth(Object* object) {
    const uint64_t seen = object->state.load(std::memory_order_relaxed);
    if (seen & PARENT) return give_birth(object, seen, Kind::NONE, nullptr, 0, UNTOLD);
    belong_to(object, nullptr, 0, 0);
    object->seen_alive.store(hot.endings.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    object->state.store(next_life(seen, UNTOLD), std::memory_order_release);
}

void adopt(Object* object, Kind kind) {
    uint64_t never_seen = 0;
    object->state.compare_exchange_strong(never_seen, ALIVE | static_cast<uint64_t>(kind) << KIND_SHIFT);
    note_life(kind);
}

uint64_t kill(Object* object) {
    const uint64_t before = object->state.fetch_and(~ALIVE);
    end_family(before);
    if (!(before & UNTOLD)) note_life(kind_of(before));
    return before;
}

void revive(Object* object, uint64_t state_before) {
    note_life(kind_of(state_before));
    uint64_t now = object->state.load(std::memory_order_relaxed);
    while (generation_of(now) == generation_of(state_before) &&
           !object->state.compare_exchange_weak(now, now | (state_before & ALIVE))) {
    }
}

void note_end(Object* object, uint64_t state_before, bool reset) {
    const uint64_t bits = ENDED | (reset ? RESET : 0);
    uint64_t now = object->state.load(std::memory_order_relaxed);
    while (generation_of(now) == generation_of(state_before) && !(now & ALIVE) &&
           !object->state.compare_exchange_weak(now, (now & ~RESET) | bits)) {
    }
}

namespace {

constexpr uint64_t MOST_DEVICES = 64;

uint64_t device_key(uint64_t device) { return device + 1; }

}  // namespace

Object* primary_context(uint64_t device) {
    const Object* object = find_object(Kind::DEVICE, device_key(device));
    const uint64_t context = object ? object->context.load(std::memory_order_relaxed) : 0;
    return context ? find_object(Kind::CONTEXT, context) : nullptr;
}

void note_primary_context(uint64_t device, uint64_t context) {
    if (Object* object = add_object(Kind::DEVICE, device_key(device)))
        object->context.store(context, std::memory_order_relaxed);
}

bool is_primary_context(const Object* context) {
    for (uint64_t device = 0; device < MOST_DEVICES; device++)
        if (primary_context(device) == context) return true;
    return false;
}

}  // namespace cuvet
