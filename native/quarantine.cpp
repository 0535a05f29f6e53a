#include "quarantine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "driver.h"
#include "liveness.h"
#include "symbols.h"

namespace cuvet {

bool quarantines;

namespace {

struct KeptKind {
    Kind kind;
    uint32_t most;
    uint32_t refused;  // what a second end returns
    uint32_t end;      // symbol
};

struct Making {
    uint16_t entry_point;
    Kind kind;
    uint64_t allowed;  // bits of its flags
    uint8_t flags;     // positions
    uint8_t bytes;
};

struct Hindrance {
    uint16_t entry_point;
    Kind kind;
    uint8_t parameter;  // the object that is not kept; NO_PARAMETER: none of the kind
    bool releases;      // what is kept of the kind
};

#include "generated/quarantine.inc"

constexpr int KINDS = sizeof KEPT_KINDS / sizeof *KEPT_KINDS;
constexpr uint32_t SUCCESS = 0, OUT_OF_MEMORY = 2;
constexpr uint64_t AUTO_BYTES = 256u << 20;
constexpr uint64_t GPU_PAGE = 2u << 20;  // smaller allocations share one
constexpr uint32_t MOST_SEARCHED = 64;
constexpr int MOST_TRIES = 64;
constexpr int MOST_MISSES = 16;

// Of one kind, oldest first, with gaps.
struct Queue {
    Kept* places;
    uint32_t first, count;
    std::atomic<bool> hindered;
};

constexpr uint32_t all_places() {
    uint32_t sum = 0;
    for (const KeptKind& kind : KEPT_KINDS) sum += kind.most;
    return sum;
}

Kept places[all_places()];
Queue queues[KINDS];
std::atomic<bool> changing;
std::atomic<uint64_t> held_bytes;
std::atomic<int> misses;                   // in a row: the driver gave another address
std::atomic<int> ending_contexts, visits;  // of other contexts
__thread bool visiting __attribute__((tls_model("initial-exec")));
uint64_t most_bytes;

int queue_of(Kind kind) {
    for (int i = 0; i < KINDS; i++)
        if (KEPT_KINDS[i].kind == kind) return i;
    return -1;
}

// Nobody waits for it: a signal handler may have interrupted the thread that has it.
class Alone {
  public:
    Alone() {
        for (int i = 0; !got_ && i < MOST_TRIES; i++) got_ = !changing.exchange(true, std::memory_order_acquire);
    }
    ~Alone() {
        if (got_) changing.store(false, std::memory_order_release);
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    explicit operator bool() const { return got_; }

  private:
    bool got_ = false;
};

bool has_context(const Kept& kept) {
    const uint64_t state = kept.context->state.load(std::memory_order_acquire);
    return state & ALIVE && generation_of(state) == kept.context_generation;
}

Kept& place(int queue, uint32_t number) {
    return queues[queue].places[(queues[queue].first + number) % KEPT_KINDS[queue].most];
}

// Before the driver destroys it, and may issue its handle again. If that has happened, its context has ended, and it is
// another life that may be kept.
Kept let_go(Kept* kept) {
    const Kept gone = *kept;
    const uint64_t state = gone.object->state.load(std::memory_order_relaxed);
    if (generation_of(state) == gone.generation) gone.object->state.fetch_and(~KEPT);
    held_bytes.fetch_sub(gone.bytes, std::memory_order_relaxed);
    kept->handle = 0;
    return gone;
}

// The oldest of the context, `elsewhere` of any other; what the driver has ended with its context is forgotten. False
// if there is none.
bool take(int queue, uint64_t context, bool elsewhere, Kept* taken) {
    Queue& all = queues[queue];
    bool found = false;
    for (uint32_t i = 0; !found && i < all.count && i < MOST_SEARCHED; i++) {
        Kept& kept = place(queue, i);
        if (!kept.handle) continue;
        const bool ended = !has_context(kept);
        found = !ended && (kept.context_handle == context) != elsewhere;
        if (!ended && !found) continue;
        const Kept gone = let_go(&kept);
        if (found) *taken = gone;
    }
    while (all.count && !place(queue, 0).handle) {
        all.first = (all.first + 1) % KEPT_KINDS[queue].most;
        all.count--;
    }
    return found;
}

bool take_alone(int queue, uint64_t context, bool elsewhere, Kept* taken) {
    const Alone alone;
    return alone && take(queue, context, elsewhere, taken);
}

void close_gaps(int queue) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < queues[queue].count; i++)
        if (place(queue, i).handle) place(queue, count++) = place(queue, i);
    queues[queue].count = count;
}

// False if there is no room. `oldest`: what leaves for it, if its handle is not 0.
bool keep(int queue, const Kept& kept, Kept* oldest) {
    const Alone alone;
    if (!alone) return false;
    Queue& all = queues[queue];
    const uint32_t most = KEPT_KINDS[queue].most;
    if (all.count == most) take(queue, kept.context_handle, false, oldest);
    if (all.count == most) close_gaps(queue);
    if (all.count == most) return false;
    Kept& last = place(queue, all.count++);
    last = kept;
    last.generation = generation_of(kept.object->state.load(std::memory_order_relaxed));
    held_bytes.fetch_add(kept.bytes, std::memory_order_relaxed);
    kept.object->state.fetch_or(KEPT);
    return true;
}

void destroy(int queue, const Kept& kept) { ask_driver(KEPT_KINDS[queue].end, kept.handle); }

// 0 if there is none, or the driver has shut down.
uint64_t asked_context() {
    uint64_t context = 0;
    return ask_driver(SYMBOL_cuCtxGetCurrent, address_of(context)) == SUCCESS ? context : 0;
}

bool is_capturing() { return hot.captures.load(std::memory_order_relaxed) > 0; }

// Where it belongs; no handle if that is not known or has ended.
Kept described(Object* object, uint64_t handle) {
    const uint64_t context = object->context.load(std::memory_order_relaxed);
    Object* owner = context ? find_object(Kind::CONTEXT, context) : nullptr;
    if (!owner || !is_alive(owner) || !is_still_alive(object)) return {};
    const uint32_t generation = generation_of(owner->state.load(std::memory_order_relaxed));
    return {handle, object, owner, context, 0, generation, object->bytes.load(std::memory_order_relaxed)};
}

// Of the current context. Returns how many.
int release(int queue, uint64_t context) {
    int released = 0;
    Kept kept;
    for (; take_alone(queue, context, false, &kept); released++) destroy(queue, kept);
    return released;
}

// Of other contexts, while no call ends one.
int release_elsewhere(int queue, uint64_t context) {
    int released = 0;
    visits.fetch_add(1);
    visiting = true;
    Kept kept;
    while (ending_contexts.load() == 0 && take_alone(queue, context, true, &kept)) {
        if (ask_driver(SYMBOL_cuCtxPushCurrent_v2, kept.context_handle) != SUCCESS) continue;
        destroy(queue, kept);
        uint64_t popped = 0;
        ask_driver(SYMBOL_cuCtxPopCurrent_v2, address_of(popped));
        released++;
    }
    visiting = false;
    visits.fetch_sub(1);
    return released;
}

// Of device memory and what takes some.
bool release_memory() {
    if (is_capturing()) return false;
    const uint64_t context = asked_context();
    int released = 0;
    for (int i = 0; i < KINDS; i++) {
        const Kind kind = KEPT_KINDS[i].kind;
        if (kind != Kind::MEMORY && kind != Kind::STREAM) continue;
        released += release(i, context) + release_elsewhere(i, context);
    }
    return released > 0;
}

// What the GPU has of pages that only kept memory uses.
uint64_t kept_pages(uint64_t context) {
    const Alone alone;
    const int queue = queue_of(Kind::MEMORY);
    uint64_t sum = 0;
    for (uint32_t i = 0; alone && i < queues[queue].count; i++) {
        const Kept& kept = place(queue, i);
        if (kept.handle && kept.context_handle == context) sum += kept.bytes / GPU_PAGE * GPU_PAGE;
    }
    return sum;
}

void correct_free(uint64_t free, uint64_t total) {
    if (!free || !total) return;
    uint64_t had, all;
    memcpy(&had, reinterpret_cast<const void*>(free), sizeof had);
    memcpy(&all, reinterpret_cast<const void*>(total), sizeof all);
    had += kept_pages(asked_context());
    if (had <= all) memcpy(reinterpret_cast<void*>(free), &had, sizeof had);
}

// Whether the call makes something, so that nothing was done when it failed for want of memory.
bool makes(const EntryPoint& entry_point) {
    if (entry_point.flags & COPIES_ARGUMENTS) return true;
    for (const Role& role : roles_after(entry_point))
        if (role.action == Action::CREATES || role.action == Action::LOADS || role.action == Action::RETAINS)
            return true;
    return false;
}

// Before the memory is freed: the driver gives the address that was freed last. False if there can be none.
bool make_room(int queue, const Kept& memory, uint64_t current) {
    if (memory.bytes > most_bytes || misses.load(std::memory_order_relaxed) >= MOST_MISSES) return false;
    if (memory.context_handle != current) return false;
    Kept oldest = {};
    while (held_bytes.load(std::memory_order_relaxed) + memory.bytes > most_bytes) {
        if (!take_alone(queue, memory.context_handle, false, &oldest)) return false;
        destroy(queue, oldest);
    }
    return true;
}

// The address is the old one, or it is given back.
void hold_address(int queue, const Kept& memory) {
    uint64_t address = 0;
    if (is_capturing() || ask_driver(SYMBOL_cuMemAlloc_v2, address_of(address), memory.bytes) != SUCCESS) return;
    Kept oldest = {};
    const bool same = address == memory.handle;
    misses.store(same ? 0 : misses.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!same || !keep(queue, memory, &oldest)) oldest.handle = address;
    if (oldest.handle) destroy(queue, oldest);
}

}  // namespace

void start_quarantine(bool emulated) {
    const char* wanted = getenv("CUVET_QUARANTINE");
    if (!wanted || !*wanted) return;
    const bool automatic = strcmp(wanted, "auto") == 0;
    if (automatic && emulated) return;
    most_bytes = automatic ? AUTO_BYTES : strtoull(wanted, nullptr, 10);
    Kept* next = places;
    for (int i = 0; i < KINDS; i++) {
        queues[i].places = next;
        next += KEPT_KINDS[i].most;
    }
    for (const uint32_t symbol : FOLLOWED_SYMBOLS) hot.quick_functions[symbol].store(nullptr);
    quarantines = true;
}

void forget_quarantine() {
    quarantines = false;
    changing.store(false);
    held_bytes.store(0);
    misses.store(0);
    ending_contexts.store(0);
    visits.store(0);
    for (Queue& queue : queues) {
        queue.first = queue.count = 0;
        queue.hindered.store(false);
    }
}

void note_made(Object* object, const EntryPoint& entry_point, Kind kind, const uint64_t* words) {
    for (const Making& making : MAKINGS) {
        if (making.entry_point != entry_point.id || making.kind != kind) continue;
        if (making.flags != NO_PARAMETER && words[making.flags] & ~making.allowed) return;
        if (making.bytes != NO_PARAMETER) object->bytes.store(words[making.bytes], std::memory_order_relaxed);
        object->state.fetch_or(KEEPABLE);
        return;
    }
}

void note_hindrance(const EntryPoint& entry_point, const uint64_t* words) {
    for (const Hindrance& hindrance : HINDRANCES) {
        if (hindrance.entry_point != entry_point.id) continue;
        const int queue = queue_of(hindrance.kind);
        if (hindrance.releases) {
            if (!is_capturing()) release(queue, asked_context());
        } else if (hindrance.parameter == NO_PARAMETER) {
            queues[queue].hindered.store(true, std::memory_order_relaxed);
        } else if (Object* object = find_object(hindrance.kind, words[hindrance.parameter])) {
            object->state.fetch_and(~KEEPABLE);
        }
    }
}

void stop_keeping() {
    for (Queue& queue : queues) queue.hindered.store(true, std::memory_order_relaxed);
}

void context_may_end() {
    ending_contexts.fetch_add(1);
    while (!visiting && visits.load() > 0) sched_yield();
}

void context_has_ended() { ending_contexts.fetch_sub(1); }

Ending::Ending(Kind kind, uint64_t handle, bool keeps) : queue_(queue_of(kind)), kept_{}, kept_before_(false) {
    Object* object = find_object(kind, handle);
    if (!object) return;
    const uint64_t state = object->state.fetch_and(~KEEPABLE);
    if (state & ALIVE) return;  // nobody has noted its death
    kept_before_ = state & KEPT && is_still_alive(object);
    if (keeps && state & KEEPABLE) kept_ = described(object, handle);
}

bool Ending::is_answered(uint32_t* status) {
    if (kept_before_) {
        *status = KEPT_KINDS[queue_].refused;
        return true;
    }
    if (!kept_.handle) return false;
    const bool is_memory = KEPT_KINDS[queue_].kind == Kind::MEMORY;
    Kept oldest = {};
    const bool hindered = is_capturing() || queues[queue_].hindered.load(std::memory_order_relaxed);
    const uint64_t current = hindered ? 0 : asked_context();
    const bool kept = current && (is_memory ? make_room(queue_, kept_, current) : keep(queue_, kept_, &oldest));
    if (!kept) kept_.handle = 0;
    if (!kept || is_memory) return false;
    if (oldest.handle) destroy(queue_, oldest);
    *status = SUCCESS;
    return true;
}

void Ending::succeed() const {
    if (kept_.handle) hold_address(queue_, kept_);
}

bool is_made_again(uint32_t symbol, const uint64_t* words, uint32_t status) {
    if (status == OUT_OF_MEMORY) return makes(*symbols[symbol].entry_point) && release_memory();
    if (status != SUCCESS || symbol != FREE_MEMORY_SYMBOL) return false;
    if (!is_capturing() && release(queue_of(Kind::STREAM), asked_context())) return true;
    correct_free(words[0], words[1]);
    return false;
}

}  // namespace cuvet
