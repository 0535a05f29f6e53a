#include "protect.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "call.h"
#include "guard.h"
#include "inputs.h"
#include "liveness.h"
#include "named.h"

namespace cuvet {

std::atomic<bool> is_protecting;
std::atomic<bool> may_refuse;

namespace {

#include "generated/kinds_by_address.inc"

constexpr uint32_t SUCCESS = 0;

enum class Protection : uint8_t {
    REFUSE,
    USES,  // what is destroyed twice is answered as if it had been done
    TRAP,
    ABORT,
};
Protection protection;

// A bit for each kind of which some object was made unseen.
static_assert(static_cast<int>(Kind::CUTENSOR_PLAN) < 64);
std::atomic<uint64_t> unseen_kinds;

uint64_t bit_of(Kind kind) { return uint64_t{1} << static_cast<int>(kind); }

bool was_seen(Kind kind) { return !(unseen_kinds.load(std::memory_order_relaxed) & bit_of(kind)); }

bool holds(Thread* thread, const Deadly& deadly, uint64_t word) {
    if (!deadly.when_values) return true;
    const uint64_t address = word + deadly.when_offset;
    if (!is_readable(thread, address, sizeof(uint32_t))) return false;
    const uint64_t value = load(reinterpret_cast<const char*>(address), sizeof(uint32_t));
    return value < 16 && deadly.when_values >> value & 1;
}

// That of something with whose end this one ended.
uint32_t status_after(const Deadly& deadly, uint64_t root_state) {
    const Kind root = kind_of(root_state);
    if (root == Kind::CONTEXT && root_state & RESET) return deadly.reset;
    const bool is_shared = deadly.kind != Kind::CONTEXT;  // with the primary context
    if (root == Kind::GREEN_CONTEXT && is_shared && !(root_state & RESET)) return SUCCESS;
    return deadly.root == root ? deadly.with_root : SUCCESS;
}

// 0 if the object has not ended for certain, or the driver is to be asked.
uint32_t status_of_dead(const Deadly& deadly, const Object* object) {
    uint64_t state = object->state.load(std::memory_order_acquire);
    if (!generation_of(state)) return 0;
    if (!(state & ALIVE)) return state & ENDED ? deadly.ended : 0;
    for (int depth = 0; depth < 4; depth++) {
        if (state & ORPHAN) return 0;
        const Object* parent = object->parent.load(std::memory_order_relaxed);
        if (!parent) return 0;
        const uint64_t life = object->parent_generation.load(std::memory_order_relaxed);
        state = parent->state.load(std::memory_order_acquire);
        if (generation_of(state) != life) return status_after(deadly, state);
        if (!(state & ALIVE)) return state & ENDED ? status_after(deadly, state) : 0;
        object = parent;
    }
    return 0;
}

// Whether a living object of that kind, which was seen made, has this value.
bool names_living(Kind kind, uint64_t handle) {
    const Object* object = find_object(kind, handle);
    const uint64_t state = object ? object->state.load(std::memory_order_relaxed) : 0;
    return generation_of(state) && is_alive(object);
}

// The same of any kind: drivers were measured to answer most such calls. The emulated device's handles are no
// addresses.
bool names_another(uint64_t handle) {
    for (const Kind kind : KINDS_BY_ADDRESS)
        if (names_living(kind, handle)) return true;
    return false;
}

// While it lives its address is its own, whatever else was made unseen.
bool is_mistaken(const Deadly& deadly, uint64_t handle) {
    return deadly.mistaken && was_seen(deadly.other) && names_living(deadly.other, handle);
}

uint32_t status_of(const Deadly& deadly, const Role& role, uint64_t handle) {
    if (!handle || is_builtin(role.kind, handle)) return 0;
    const Object* named = find_named(role.kind, handle);
    const bool is_known = named && named->state.load(std::memory_order_relaxed);
    if (is_known) {
        const bool is_meant = named == find_object(deadly.kind, handle) && was_seen(deadly.kind);
        const bool comes_back = deadly.kind == Kind::CONTEXT && is_primary_context(named);
        return is_meant && !comes_back ? status_of_dead(deadly, named) : 0;
    }
    if (is_mistaken(deadly, handle)) return deadly.mistaken;
    if (!deadly.nowhere || !was_seen(deadly.kind)) return 0;
    return !names_another(handle) && !can_be_read(handle) ? deadly.nowhere : 0;
}

bool destroys(const Role& role) { return role.action == Action::DESTROYS; }

}  // namespace

void start_protecting() {
    const char* wanted = getenv("CUVET_PROTECT");
    if (!wanted || !*wanted || !is_recording()) return stop_protecting();
    protection = strcmp(wanted, "uses") == 0    ? Protection::USES
                 : strcmp(wanted, "trap") == 0  ? Protection::TRAP
                 : strcmp(wanted, "abort") == 0 ? Protection::ABORT
                                                : Protection::REFUSE;
    is_protecting.store(true);
    may_refuse.store(true);
}

void stop_protecting() { is_protecting.store(false); }

void note_unseen(Kind kind) { unseen_kinds.fetch_or(bit_of(kind), std::memory_order_relaxed); }

uint32_t refusal_of(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, bool endless) {
    // The other may have handed out a value that the shim learns when it returns.
    if (is_inside_another(thread)) return ASK;
    for (int i = 0; i < entry_point.deadly_count; i++) {
        const Deadly& deadly = entry_point.deadly[i];
        const Role& role = entry_point.roles[deadly.role];
        if (deadly.endless && endless && !guards_memory) return deadly.endless;
        if (!holds(thread, deadly, words[role.parameter])) continue;
        uint32_t status = 0;
        each_handle(thread, role, words, [&](uint64_t handle) {
            if (!status) status = status_of(deadly, role, handle);
        });
        if (status) return protection == Protection::USES && destroys(role) ? SUCCESS : status;
    }
    return ASK;
}

uint16_t flag_after_refusal() {
    if (protection == Protection::TRAP) return CALL_TRAPPED;
    return protection == Protection::ABORT ? CALL_ENDED_PROCESS : 0;
}

void end_if_asked() {
    if (protection == Protection::TRAP) raise(SIGTRAP);
    if (protection != Protection::ABORT) return;
    finish_recording();
    _exit(REFUSED_EXIT_CODE);
}

}  // namespace cuvet
