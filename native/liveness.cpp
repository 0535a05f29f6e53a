#include "liveness.h"

#include "table.h"

namespace cuvet {

namespace {

Table<Object> objects;

}  // namespace

Object* find_object(Kind kind, uint64_t handle) { return objects.find(key_of(kind, handle)); }

Object* add_object(Kind kind, uint64_t handle) { return objects.insert(key_of(kind, handle)); }

bool is_alive(const Object* object) {
    for (int depth = 0; depth < 4; depth++) {
        if (!(object->state.load(std::memory_order_acquire) & ALIVE)) return false;
        const Object* parent = object->parent.load(std::memory_order_relaxed);
        if (!parent) return true;
        if (generation_of(parent->state.load(std::memory_order_relaxed)) !=
            object->parent_generation.load(std::memory_order_relaxed))
            return false;
        object = parent;
    }
    return true;
}

void give_birth(Object* object, uint64_t seen, Object* parent, uint64_t context, uint64_t flags) {
    const uint32_t last = generation_of(seen);
    object->parent.store(parent, std::memory_order_relaxed);
    object->parent_generation.store(parent ? generation_of(parent->state.load(std::memory_order_relaxed)) : 0,
                                    std::memory_order_relaxed);
    object->context.store(context, std::memory_order_relaxed);
    object->last_stream.store(0, std::memory_order_relaxed);
    object->bytes.store(0, std::memory_order_relaxed);
    const uint64_t born = uint64_t{last + 1} << 32 | ALIVE | flags;
    while (generation_of(seen) == last && !object->state.compare_exchange_weak(seen, born)) {
    }
}

void adopt(Object* object) {
    uint64_t never_seen = 0;
    object->state.compare_exchange_strong(never_seen, ALIVE);
}

uint64_t kill(Object* object) { return object->state.fetch_and(~ALIVE); }

void revive(Object* object, uint64_t state_before) {
    uint64_t now = object->state.load(std::memory_order_relaxed);
    while (generation_of(now) == generation_of(state_before) &&
           !object->state.compare_exchange_weak(now, now | (state_before & ALIVE))) {
    }
}

}  // namespace cuvet
