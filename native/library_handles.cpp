#include "library_handles.h"

#include <string.h>

#include <initializer_list>

#include "call.h"
#include "libraries.h"
#include "table.h"

namespace cuvet {

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

// As take(); if another thread is inside a call with it, which. One whose call never returned, or of the parent
// process, is not.
bool take_over(Handle* handle, const Thread* thread, Overlap* overlap) {
    if (take(handle, thread)) return true;
    const uint32_t user = handle->user.load(std::memory_order_acquire);
    const uint32_t symbol = library_call_of(user);
    if (symbol && handle->user.load(std::memory_order_acquire) == user) {
        overlap->thread = user;
        overlap->entry_point = library_entry_point(symbol - 1);
        return false;
    }
    handle->user.store(thread->id, std::memory_order_release);
    return true;
}

// Some calls may overlap, and do so all the time: each two are told once.
bool is_told(Handle* handle, const EntryPoint& entry_point, const Overlap& overlap) {
    const uint64_t bit = uint64_t{1} << (entry_point.id * 31u + overlap.entry_point) % 64;
    return handle->overlaps.fetch_or(bit, std::memory_order_relaxed) & bit;
}

// Calls `visit` with the objects of libraries that the call ends, or uses in a role with one of `flags`.
template <class Visit>
void each_object(const EntryPoint& entry_point, const uint64_t* words, uint8_t flags, Visit visit) {
    for (const Role& role : roles_before(entry_point)) {
        if (!(role.flags & flags) && role.action != Action::DESTROYS) continue;
        if (!is_of_library(role.kind) || role.flags & IN_STRUCT || role.count != NO_PARAMETER) continue;
        const uint64_t word = words[role.parameter];
        if (Object* object = find_named(role.kind, word)) visit(role, object);
    }
}

bool is_of_context(const Object* object) {
    const uint64_t context = object->context.load(std::memory_order_relaxed);
    return context && context != NOT_ASKED;
}

// Whether the handle is used in another context than its own; each change of that is told. What the thread remembers is
// good enough: the record asks the driver.
bool is_foreign(Thread* thread, const Object* object, const Handle* handle) {
    if (!is_of_context(object)) return false;
    const uint64_t context = object->context.load(std::memory_order_relaxed);
    const uint64_t current = thread->context_known ? thread->context : current_context(thread);
    return current != context && handle->foreign_context.load(std::memory_order_relaxed) != current;
}

uint8_t slot_of(const Role& role) { return role.parameter - role.floating; }

bool expect_word(Memo* memo, uint8_t slot, uint64_t word) {
    if (memo->lasting_count == Memo::MOST_LASTING) return false;
    memo->lasting[memo->lasting_count] = slot;
    memo->words[memo->lasting_count++] = word;
    return true;
}

bool expect_object(Memo* memo, const Role& role) {
    if (memo->fresh_count == Memo::MOST_FRESH || memo->effects.flags & ENDS) return false;
    memo->fresh[memo->fresh_count++] = {slot_of(role), role.kind, (role.flags & NULLABLE) != 0};
    if (role.action == Action::DESTROYS) memo->effects.flags |= ENDS;
    return true;
}

// Whether calls from there name another each time.
bool varies(const Memo& before, uint8_t slot, uint64_t word) {
    for (uint32_t i = 0; i < before.fresh_count; i++)
        if (before.fresh[i].slot == slot) return true;
    for (uint32_t i = 0; i < before.lasting_count; i++)
        if (before.lasting[i] == slot) return before.words[i] != word;
    return false;
}

bool expect(Memo* memo, const Memo& before, const Role& role, uint64_t word) {
    const uint8_t slot = slot_of(role);
    return varies(before, slot, word) ? expect_object(memo, role) : expect_word(memo, slot, word);
}

bool learn_handle(Thread* thread, const Role& role, Object* object, Memo* memo) {
    Handle* handle = handle_of(object);
    if (!handle) return true;
    if (is_gone(handle->stream) || is_gone(handle->workspace)) return false;
    const bool is_bound = role.flags & OF_DEVICE && is_of_context(object);
    if (is_bound && is_foreign(thread, object, handle)) return false;
    memo->handle = handle;
    memo->context = thread->context;
    memo->effects.flags |= (is_bound ? IN_ITS_CONTEXT : 0) | (role.flags & EXCLUSIVE ? TAKES : 0);
    return true;
}

// False if there is something to say of what the role names. It lives, or nothing need be there, or nothing is known of
// it.
bool learn_use(Thread* thread, const Role& role, uint64_t word, const Memo& before, Memo* memo) {
    if (role.kind == Kind::EVENT) return false;  // a memo does not see changes of events
    if (role.action == Action::TOUCHES) {
        const Object* memory = word ? find_object(Kind::MEMORY, word) : nullptr;
        const bool dead = memory && memory->state.load(std::memory_order_relaxed) && !is_alive(memory);
        return !dead && expect(memo, before, role, word);
    }
    if (role.kind == Kind::STREAM && is_builtin_stream(word)) return expect_word(memo, slot_of(role), word);
    const bool simple = is_of_library(role.kind) && !(role.flags & (OF_DEVICE | EXCLUSIVE));
    if (!word && role.flags & NULLABLE)
        return simple ? expect(memo, before, role, word) : expect_word(memo, slot_of(role), word);
    Object* object = word ? find_named(role.kind, word) : nullptr;
    const uint64_t state = object ? object->state.load(std::memory_order_relaxed) : 0;
    if (!state)  // libraries make objects for each other unseen
        return word && (simple ? expect(memo, before, role, word)
                               : is_of_library(role.kind) && expect_word(memo, slot_of(role), word));
    if (!is_alive(object)) return false;
    if (state & UNTOLD) return expect_object(memo, role);
    if (role.action == Action::DESTROYS) return false;
    if (simple) return expect(memo, before, role, word);
    if (role.flags & (OF_DEVICE | EXCLUSIVE) && !learn_handle(thread, role, object, memo)) return false;
    return expect_word(memo, slot_of(role), word);
}

bool learn_outcome(const Role& role, const Arguments& arguments, bool untold, Memo* memo) {
    if (role.action == Action::CREATES) {
        memo->effects.flags |= MAKES;
        memo->effects.created_parameter = role.parameter;
        memo->effects.created = role.kind;
        return untold;
    }
    if (!memo->handle) return true;
    if (!is_known(*setting_of(role, memo->handle), role, arguments)) return false;
    if (role.action == Action::SETS_WORKSPACE) memo->effects.flags |= GIVES_WORKSPACE;
    return role.count == NO_PARAMETER || expect_word(memo, role.count, arguments[role.count]);
}

}  // namespace

bool learn(Thread* thread, const EntryPoint& entry_point, const Arguments& arguments, bool untold, Memo* memo) {
    const Memo before = *memo;
    *memo = Memo{};
    for (const Role& role : roles_before(entry_point))
        if (!learn_use(thread, role, arguments[slot_of(role)], before, memo)) return false;
    for (const Role& role : roles_after(entry_point))
        if (!learn_outcome(role, arguments, untold, memo)) return false;
    if (memo->handle && entry_point.flags & RESETS_WORKSPACE) memo->effects.flags |= FORGETS_WORKSPACE;
    return true;
}

bool may_be_unseen(const Memo& memo, uint32_t fresh, uint64_t word, const Object* object) {
    if (object && object->state.load(std::memory_order_relaxed)) return false;
    const auto& expected = memo.fresh[fresh];
    return expected.kind == Kind::MEMORY || word || expected.nullable;
}

void QuietCall::make(uint64_t word) const {
    Object* object = find_object(effects_.created, word);
    if (!object) object = add_object(effects_.created, word);
    if (!object) return;
    give_untold_birth(object);
    forget_settings(object);
}

void QuietCall::fail() const {
    if (effects_.flags & ENDS) revive(ended_, state_);
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
            note_library_change();
            entry.suspect = true;
        }
        Overlap overlap = {0, 0, role.parameter};
        if (role.flags & EXCLUSIVE && !take_over(handle, thread, &overlap) && !is_told(handle, entry_point, overlap))
            entry.overlap = overlap;
    };
    each_object(entry_point, words, OF_DEVICE | EXCLUSIVE, look);
    for (const Role& role : roles_after(entry_point)) {
        const Handle* handle = sets(role) ? known_handle(role.parent_kind, words[role.parent]) : nullptr;
        if (handle && !is_known(*setting_of(role, handle), role, words)) entry.sets = true;
    }
    if (entry.overlap.thread) entry.suspect = true;
    return entry;
}

// cublasSetStream gives the handle its own workspace back. Frameworks set stream and workspace again and again, in this
// order: as long as both are the same, nothing has changed, and nothing is stored.
void leave_with_handles(const Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool success,
                        bool told) {
    each_object(entry_point, words, EXCLUSIVE, [&](const Role& role, const Object* object) {
        Handle* handle = role.flags & EXCLUSIVE ? object->handle.load(std::memory_order_acquire) : nullptr;
        if (handle) release(handle, thread);
    });
    if (!success) return;
    for (const Role& role : roles_after(entry_point)) {
        if (!sets(role)) continue;
        Handle* handle = known_handle(role.parent_kind, words[role.parent]);
        if (!handle) continue;
        keep(setting_of(role, handle), given(role, words));
        note_library_change();
        if (!(entry_point.flags & RESETS_WORKSPACE)) continue;
        handle->workspace.in_use.store(false, std::memory_order_relaxed);
        if (told) handle->workspace.told.store(false, std::memory_order_relaxed);
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
