#include "library_handles.h"

#include <initializer_list>

#include "call.h"
#include "liveness.h"
#include "table.h"

namespace cuvet {

namespace {

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

Table<Handle> handles;
std::atomic<uint64_t> memory_deaths;

uint64_t life_of(const Object* object) {
    return object ? generation_of(object->state.load(std::memory_order_relaxed)) : memory_deaths.load();
}

struct Given {
    uint64_t word, bytes;
    const Object* object;
};

Given given(const Role& role, const uint64_t* words) {
    const uint64_t word = words[role.parameter];
    return {word, role.count == NO_PARAMETER ? 0 : words[role.count], word ? find_object(role.kind, word) : nullptr};
}

bool is_known(const Setting& setting, const Given& now) {
    return setting.told.load(std::memory_order_relaxed) && setting.word.load(std::memory_order_relaxed) == now.word &&
           setting.bytes.load(std::memory_order_relaxed) == now.bytes && setting.object.load() == now.object &&
           setting.life.load(std::memory_order_relaxed) == life_of(now.object);
}

bool is_gone(const Setting& setting) {
    const Object* object = setting.in_use.load(std::memory_order_relaxed) ? setting.object.load() : nullptr;
    return object && (!is_alive(object) || life_of(object) != setting.life.load(std::memory_order_relaxed));
}

bool sets(const Role& role) { return role.action == Action::SETS_STREAM || role.action == Action::SETS_WORKSPACE; }

Setting* setting_of(const Role& role, Handle* handle) {
    return role.action == Action::SETS_STREAM ? &handle->stream : &handle->workspace;
}

void keep(Setting* setting, const Given& now) {
    setting->told.store(true, std::memory_order_relaxed);
    setting->in_use.store(true, std::memory_order_relaxed);
    setting->word.store(now.word, std::memory_order_relaxed);
    setting->bytes.store(now.bytes, std::memory_order_relaxed);
    setting->object.store(now.object, std::memory_order_relaxed);
    setting->life.store(life_of(now.object), std::memory_order_relaxed);
}

// Becomes the user of a handle that has none. False: another thread is inside a call with it.
bool take(Handle* handle, const Thread* thread, Overlap* overlap) {
    for (;;) {
        uint32_t user = 0;
        if (handle->user.compare_exchange_strong(user, thread->id) || user == thread->id) return true;
        const uint32_t call = library_call_of(user);
        if (!call) {  // left behind by a thread whose call never returned, or by one of the parent process
            if (handle->user.compare_exchange_strong(user, thread->id)) return true;
        } else if (handle->user.load() == user) {
            overlap->thread = user;
            overlap->entry_point = call;
            return false;
        }
    }
}

// Some calls may overlap, and do so all the time: each two are told once.
bool is_told(Handle* handle, const EntryPoint& entry_point, const Overlap& overlap) {
    const uint64_t bit = uint64_t{1} << (entry_point.id * 31u + overlap.entry_point) % 64;
    return handle->overlaps.fetch_or(bit, std::memory_order_relaxed) & bit;
}

void release(Handle* handle, const Thread* thread) {
    uint32_t user = thread->id;
    handle->user.compare_exchange_strong(user, 0);
}

// Calls `visit` with the objects of libraries that the call ends, or uses in a role with one of `flags`.
template <class Visit>
void each_object(const EntryPoint& entry_point, const uint64_t* words, uint8_t flags, Visit visit) {
    for (int i = 0; i < entry_point.before_count; i++) {
        const Role& role = entry_point.roles[i];
        if (!(role.flags & flags) && role.action != Action::DESTROYS) continue;
        if (!is_of_library(role.kind) || role.flags & IN_STRUCT || role.count != NO_PARAMETER) continue;
        const uint64_t word = words[role.parameter];
        if (const Object* object = find_named(role.kind, word)) visit(role, word, object);
    }
}

// Of a handle that is used in several foreign contexts, each change is told.
bool is_foreign(Thread* thread, const Object* object, Handle* handle) {
    const uint64_t context = object->context.load(std::memory_order_relaxed);
    if (!context || context == NOT_ASKED) return false;
    const uint64_t current = current_context(thread);
    return current != context && handle->foreign_context.exchange(current, std::memory_order_relaxed) != current;
}

}  // namespace

Entry enter_with_handles(Thread* thread, const EntryPoint& entry_point, const uint64_t* words) {
    Entry entry = {};
    const auto look = [&](const Role& role, uint64_t word, const Object* object) {
        if (role.action == Action::DESTROYS && object->state.load(std::memory_order_relaxed) & UNTOLD)
            entry.untold = true;
        if (!(role.flags & (OF_DEVICE | EXCLUSIVE))) return;
        Handle* handle = handles.insert(key_of(role.kind, word));
        if (!handle) return;
        if (is_gone(handle->stream) || is_gone(handle->workspace)) entry.suspect = true;
        if (role.flags & OF_DEVICE && is_foreign(thread, object, handle)) entry.suspect = true;
        Overlap overlap = {0, 0, role.parameter};
        if (role.flags & EXCLUSIVE && !take(handle, thread, &overlap) && !is_told(handle, entry_point, overlap))
            entry.overlap = overlap;
    };
    each_object(entry_point, words, OF_DEVICE | EXCLUSIVE, look);
    for (int i = 0; i < entry_point.after_count; i++) {
        const Role& role = entry_point.roles[entry_point.before_count + i];
        Handle* handle = sets(role) ? handles.find(key_of(role.parent_kind, words[role.parent])) : nullptr;
        if (handle && !is_known(*setting_of(role, handle), given(role, words))) entry.sets = true;
    }
    if (entry.overlap.thread) entry.suspect = true;
    return entry;
}

// cublasSetStream gives the handle its own workspace back. Frameworks set stream and workspace again and again, in this
// order: as long as both are the same, nothing has changed, and nothing is stored.
void leave_with_handles(const Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool success,
                        bool stored) {
    each_object(entry_point, words, EXCLUSIVE, [&](const Role& role, uint64_t word, const Object*) {
        Handle* handle = role.flags & EXCLUSIVE ? handles.find(key_of(role.kind, word)) : nullptr;
        if (handle) release(handle, thread);
    });
    for (int i = 0; success && i < entry_point.after_count; i++) {
        const Role& role = entry_point.roles[entry_point.before_count + i];
        if (!sets(role)) continue;
        Handle* handle = handles.find(key_of(role.parent_kind, words[role.parent]));
        if (!handle) continue;
        keep(setting_of(role, handle), given(role, words));
        if (!(entry_point.flags & RESETS_WORKSPACE)) continue;
        handle->workspace.in_use.store(false, std::memory_order_relaxed);
        if (stored) handle->workspace.told.store(false, std::memory_order_relaxed);
    }
}

void forget_settings(Kind kind, uint64_t word) {
    Handle* handle = handles.find(key_of(kind, word));
    if (!handle) return;
    handle->overlaps.store(0, std::memory_order_relaxed);
    handle->foreign_context.store(0, std::memory_order_relaxed);
    for (Setting* setting : {&handle->stream, &handle->workspace}) {
        setting->told.store(false, std::memory_order_relaxed);
        setting->in_use.store(false, std::memory_order_relaxed);
    }
}

void memory_has_died() { memory_deaths.fetch_add(1, std::memory_order_relaxed); }

}  // namespace cuvet
