#include "library_handles.h"

#include <string.h>

#include <initializer_list>

#include "call.h"
#include "liveness.h"
#include "table.h"

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

namespace {

Table<Handle> handles;  // by address of their Object
std::atomic<uint64_t> memory_deaths;

// Null if there is no memory left.
Handle* handle_of(Object* object) {
    Handle* handle = object->handle.load(std::memory_order_acquire);
    if (__builtin_expect(!handle, 0) && (handle = handles.insert(reinterpret_cast<uint64_t>(object))))
        object->handle.store(handle, std::memory_order_release);
    return handle;
}

// Null if nothing is known of it.
Handle* known_handle(Kind kind, uint64_t word) {
    const Object* object = find_object(kind, word);
    return object ? object->handle.load(std::memory_order_acquire) : nullptr;
}

uint64_t life_of(const Object* object) {
    return object ? generation_of(object->state.load(std::memory_order_relaxed)) : memory_deaths.load();
}

struct Given {
    uint64_t word, bytes;
    const Object* object;
};

template <class Words>
Given given(const Role& role, const Words& words) {
    const uint64_t word = words[role.parameter];
    return {word, role.count == NO_PARAMETER ? 0 : words[role.count], word ? find_object(role.kind, word) : nullptr};
}

template <class Words>
bool is_known(const Setting& setting, const Role& role, const Words& words) {
    const Given now = given(role, words);
    return setting.told.load(std::memory_order_relaxed) && setting.word.load(std::memory_order_relaxed) == now.word &&
           setting.bytes.load(std::memory_order_relaxed) == now.bytes && setting.object.load() == now.object &&
           setting.life.load(std::memory_order_relaxed) == life_of(now.object);
}

bool is_gone(const Setting& setting) {
    const Object* object = setting.in_use.load(std::memory_order_relaxed) ? setting.object.load() : nullptr;
    return object && (!is_alive(object) || life_of(object) != setting.life.load(std::memory_order_relaxed));
}

bool sets(const Role& role) { return role.action == Action::SETS_STREAM || role.action == Action::SETS_WORKSPACE; }

template <class Some>  // Handle or const Handle
auto setting_of(const Role& role, Some* handle) {
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

// Becomes the user of a handle. False: another thread is inside a call with it. Two that enter in the same instant may
// both be told that they are alone; that costs less than an atomic exchange in each call.
inline bool take(Handle* handle, const Thread* thread, Overlap* overlap) {
    const uint32_t user = handle->user.load(std::memory_order_acquire);
    if (user && user != thread->id) {
        // None: left behind by a thread whose call never returned, or by one of the parent process.
        const uint32_t call = library_call_of(user);
        if (call && handle->user.load(std::memory_order_acquire) == user) {
            overlap->thread = user;
            overlap->entry_point = call;
            return false;
        }
    }
    handle->user.store(thread->id, std::memory_order_release);
    return true;
}

void release(Handle* handle, const Thread* thread) {
    if (handle->user.load(std::memory_order_relaxed) == thread->id) handle->user.store(0, std::memory_order_release);
}

// Some calls may overlap, and do so all the time: each two are told once.
bool is_told(Handle* handle, const EntryPoint& entry_point, const Overlap& overlap) {
    const uint64_t bit = uint64_t{1} << (entry_point.id * 31u + overlap.entry_point) % 64;
    return handle->overlaps.fetch_or(bit, std::memory_order_relaxed) & bit;
}

// Calls `visit` with the objects of libraries that the call ends, or uses in a role with one of `flags`.
template <class Visit>
void each_object(const EntryPoint& entry_point, const uint64_t* words, uint8_t flags, Visit visit) {
    for (int i = 0; i < entry_point.before_count; i++) {
        const Role& role = entry_point.roles[i];
        if (!(role.flags & flags) && role.action != Action::DESTROYS) continue;
        if (!is_of_library(role.kind) || role.flags & IN_STRUCT || role.count != NO_PARAMETER) continue;
        const uint64_t word = words[role.parameter];
        if (Object* object = find_named(role.kind, word)) visit(role, object);
    }
}

// Whether the handle is used in another context than its own; each change of that is told. What the thread remembers is
// good enough: the record asks the driver.
bool is_foreign(Thread* thread, const Object* object, const Handle* handle) {
    const uint64_t context = object->context.load(std::memory_order_relaxed);
    if (!context || context == NOT_ASKED) return false;
    const uint64_t current = thread->context_known ? thread->context : current_context(thread);
    return current != context && handle->foreign_context.load(std::memory_order_relaxed) != current;
}

bool is_as_before(const Thread* thread, const Arguments& arguments, uint64_t seen, const Place& place) {
    if ((place.stamp ^ (seen + 1) * Place::CHANGE) >= Place::CHANGE || place.context != thread->context) return false;
    const uint64_t named = place.stamp & Place::NAMED;
    for (uint8_t i = 0; i < named; i++)
        if (place.words[i] != arguments.registers[i]) return false;
    return thread->context_known;
}

void begin_untold_life(const Role& role, uint64_t output) {
    uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const char*>(output) + role.offset, role.bytes);
    Object* object = word ? add_object(role.kind, word) : nullptr;
    if (!object) return;
    give_birth(object, object->state.load(std::memory_order_relaxed), nullptr, 0, UNTOLD);
    forget_settings(object);
}

}  // namespace

bool QuietCall::enter(Thread* thread, const EntryPoint& entry_point, const Arguments& arguments, bool untold,
                      Place* place) {
    ended_ = nullptr;
    const uint64_t seen = changes.load(std::memory_order_acquire);
    if (is_as_before(thread, arguments, seen, *place)) {
        handle_ = place->handle;
        Overlap overlap;
        return !(place->stamp & Place::EXCLUSIVE_HANDLE) || take(handle_, thread, &overlap);
    }
    handle_ = nullptr;
    is_exclusive_ = false;
    is_lasting_ = true;
    place->stamp = 0;
    const Role* role = entry_point.roles;
    for (const Role* end = role + entry_point.before_count; role < end; role++)
        if (!is_sound(thread, *role, arguments[role->parameter])) return false;
    for (const Role* end = role + entry_point.after_count; role < end; role++) {
        const bool creates = role->action == Action::CREATES;
        if (creates ? !untold : handle_ && !is_known(*setting_of(*role, handle_), *role, arguments)) return false;
    }
    if (ended_)
        state_ = kill(ended_);
    else if (is_lasting_ && thread->context_known)
        remember(thread, entry_point, arguments, seen, place);
    return true;
}

void QuietCall::remember(const Thread* thread, const EntryPoint& entry_point, const Arguments& arguments, uint64_t seen,
                         Place* place) const {
    uint64_t named = 0;
    for (int i = 0; i < entry_point.before_count + entry_point.after_count; i++)
        for (const uint8_t parameter : {entry_point.roles[i].parameter, entry_point.roles[i].count})
            if (parameter != NO_PARAMETER && parameter >= named) named = parameter + 1u;
    if (named > Place::NAMED) return;
    for (uint8_t i = 0; i < named; i++) place->words[i] = arguments[i];
    place->context = thread->context;
    place->handle = handle_;
    place->stamp = (seen + 1) * Place::CHANGE | (is_exclusive_ ? Place::EXCLUSIVE_HANDLE : 0) | named;
}

// Whether there is nothing to say of what the role names: it lives, or nothing need be there, or nothing is known of
// it.
bool QuietCall::is_sound(Thread* thread, const Role& role, uint64_t word) {
    if (role.action == Action::TOUCHES) {
        const Object* memory = word ? find_object(Kind::MEMORY, word) : nullptr;
        return !memory || !memory->state.load(std::memory_order_relaxed) || is_alive(memory);
    }
    if (role.kind == Kind::STREAM && is_builtin_stream(word)) return true;
    if (!word) return role.flags & NULLABLE;
    Object* object = find_named(role.kind, word);
    const uint64_t state = object ? object->state.load(std::memory_order_relaxed) : 0;
    if (!state) return is_of_library(role.kind);  // libraries make objects for each other unseen
    if (!is_alive(object)) return false;
    if (state & UNTOLD) is_lasting_ = false;
    if (role.action == Action::DESTROYS) {
        if (!(state & UNTOLD)) return false;
        ended_ = object;
    }
    if (!(role.flags & (OF_DEVICE | EXCLUSIVE))) return true;
    handle_ = handle_of(object);
    if (!handle_) return true;
    if (is_gone(handle_->stream) || is_gone(handle_->workspace)) return false;
    if (role.flags & OF_DEVICE && is_foreign(thread, object, handle_)) return false;
    Overlap overlap;
    is_exclusive_ = role.flags & EXCLUSIVE;
    return !is_exclusive_ || take(handle_, thread, &overlap);
}

void QuietCall::succeed(const Thread* thread, const EntryPoint& entry_point, const Arguments& arguments) const {
    if (handle_) release(handle_, thread);
    for (int i = 0; i < entry_point.after_count; i++) {
        const Role& role = entry_point.roles[entry_point.before_count + i];
        if (role.action == Action::CREATES)
            begin_untold_life(role, arguments[role.parameter]);
        else if (handle_)
            setting_of(role, handle_)->in_use.store(true, std::memory_order_relaxed);
    }
    if (handle_ && entry_point.flags & RESETS_WORKSPACE)
        handle_->workspace.in_use.store(false, std::memory_order_relaxed);
}

void QuietCall::fail() const {
    if (ended_) revive(ended_, state_);
}

Entry enter_with_handles(Thread* thread, const EntryPoint& entry_point, const uint64_t* words) {
    Entry entry = {};
    const auto look = [&](const Role& role, Object* object) {
        if (role.action == Action::DESTROYS && object->state.load(std::memory_order_relaxed) & UNTOLD)
            entry.untold = true;
        Handle* handle = role.flags & (OF_DEVICE | EXCLUSIVE) ? handle_of(object) : nullptr;
        if (!handle) return;
        if (is_gone(handle->stream) || is_gone(handle->workspace)) entry.suspect = true;
        if (role.flags & OF_DEVICE && is_foreign(thread, object, handle)) {
            handle->foreign_context.store(thread->context, std::memory_order_relaxed);
            note_change();
            entry.suspect = true;
        }
        Overlap overlap = {0, 0, role.parameter};
        if (role.flags & EXCLUSIVE && !take(handle, thread, &overlap) && !is_told(handle, entry_point, overlap))
            entry.overlap = overlap;
    };
    each_object(entry_point, words, OF_DEVICE | EXCLUSIVE, look);
    for (int i = 0; i < entry_point.after_count; i++) {
        const Role& role = entry_point.roles[entry_point.before_count + i];
        const Handle* handle = sets(role) ? known_handle(role.parent_kind, words[role.parent]) : nullptr;
        if (handle && !is_known(*setting_of(role, handle), role, words)) entry.sets = true;
    }
    if (entry.overlap.thread) entry.suspect = true;
    return entry;
}

// cublasSetStream gives the handle its own workspace back. Frameworks set stream and workspace again and again, in this
// order: as long as both are the same, nothing has changed, and nothing is stored.
void leave_with_handles(const Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool success,
                        bool stored) {
    each_object(entry_point, words, EXCLUSIVE, [&](const Role& role, const Object* object) {
        Handle* handle = role.flags & EXCLUSIVE ? object->handle.load(std::memory_order_acquire) : nullptr;
        if (handle) release(handle, thread);
    });
    for (int i = 0; success && i < entry_point.after_count; i++) {
        const Role& role = entry_point.roles[entry_point.before_count + i];
        if (!sets(role)) continue;
        Handle* handle = known_handle(role.parent_kind, words[role.parent]);
        if (!handle) continue;
        keep(setting_of(role, handle), given(role, words));
        note_change();
        if (!(entry_point.flags & RESETS_WORKSPACE)) continue;
        handle->workspace.in_use.store(false, std::memory_order_relaxed);
        if (stored) handle->workspace.told.store(false, std::memory_order_relaxed);
    }
}

void forget_settings(const Object* object) {
    Handle* handle = object->handle.load(std::memory_order_acquire);
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
