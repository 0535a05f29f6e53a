// Every exported driver function: what the program calls instead of the driver's own.
//
// No CUDA header is needed: a call is its words. Integers and pointers have their exact width, so that the machine
// passes them as the driver expects; structs passed by value hold integers and pointers only, so that bytes of the same
// size and alignment do.

#include <dlfcn.h>
#include <string.h>

#include "call.h"
#include "driver.h"
#include "guard.h"
#include "inputs.h"
#include "launches.h"
#include "liveness.h"
#include "process.h"
#include "protect.h"
#include "quarantine.h"
#include "symbols.h"

#define EXPORT __attribute__((visibility("default")))
#define EXPORT_HOT __attribute__((visibility("default"), hot, aligned(64)))

namespace {

using namespace cuvet;

template <size_t SIZE, size_t ALIGNMENT>
struct Bytes {
    alignas(ALIGNMENT) char bytes[SIZE];
};

constexpr Blob NO_STRUCTS[] = {{0, 0, nullptr}};
constexpr uint64_t ASK_PER_THREAD = 2;  // flag of cuGetProcAddress
constexpr uint32_t INVALID_VALUE = 1, NOT_FOUND = 500;
constexpr uint32_t NOT_MADE = ~0u;  // no status of the driver
constexpr uint64_t NO_STREAM = ~uint64_t{0};

uint64_t word(uint64_t value) { return value; }
uint64_t word(uint32_t value) { return value; }
uint64_t word(int32_t value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); }

uint64_t word(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// In the per-thread variants 0 names the thread's own default stream.
uint64_t per_thread_stream(uint64_t stream) { return stream ? stream : PER_THREAD_STREAM; }

uint32_t ask_emulated(uint32_t symbol, const uint64_t* words, const Blob* structs) {
    return static_cast<uint32_t>(
        cuvet_emulate(*symbols[symbol].entry_point, words, structs, symbols[symbol].per_thread, false));
}

template <class... Arguments>
uint32_t ask(uint32_t symbol, const uint64_t* words, const Blob* structs, Arguments... arguments) {
    for (;;) {
        const uint32_t status = is_emulated()
                                    ? ask_emulated(symbol, words, structs)
                                    : reinterpret_cast<uint32_t (*)(Arguments...)>(real_function(symbol))(arguments...);
        if (__builtin_expect(!quarantines, 1) || !is_made_again(symbol, words, status)) return status;
    }
}

template <class... Arguments>
uint32_t pass(uint32_t symbol, const uint64_t* words, const Blob* structs, Arguments... arguments) {
    Call call(symbol, words, structs);
    if (__builtin_expect(refuses(), 0) && call.is_refused()) return call.refuse();
    return call.leave(ask(symbol, words, structs, arguments...));
}

// What may be kept when a call ends it.
template <class... Arguments>
uint32_t pass_ending(uint32_t symbol, Kind kind, uint64_t handle, bool keeps, const uint64_t* words,
                     Arguments... arguments) {
    if (!quarantines) return pass(symbol, words, NO_STRUCTS, arguments...);
    Call call(symbol, words, NO_STRUCTS);
    if (__builtin_expect(refuses(), 0) && call.is_refused()) return call.refuse();
    Ending ending(kind, handle, keeps);
    uint32_t status;
    if (ending.is_answered(&status)) return call.leave(status);
    status = ask(symbol, words, NO_STRUCTS, arguments...);
    if (status == 0) ending.succeed();
    return call.leave(status);
}

// The same where the arguments are the words.
template <class... Arguments>
uint32_t pass_all(uint32_t symbol, Arguments... arguments) {
    const uint64_t words[sizeof...(Arguments) ? sizeof...(Arguments) : 1] = {word(arguments)...};
    return pass(symbol, words, NO_STRUCTS, arguments...);
}

// Memory that the host shares with the device: guarded, it has its pages for itself.
template <class Size, class... More>
uint32_t pass_shared(uint32_t symbol, uint64_t pointer, Size bytes, More... more) {
    const uint64_t words[] = {pointer, bytes, word(more)...};
    Call call(symbol, words, NO_STRUCTS);
    if (__builtin_expect(refuses(), 0) && call.is_refused()) return call.refuse();
    const Size whole = static_cast<Size>(whole_pages(bytes));
    const uint64_t asked[] = {pointer, whole, word(more)...};
    return call.leave(ask(symbol, asked, NO_STRUCTS, pointer, whole, more...));
}

HOT bool lives(Kind kind, uint64_t handle) {
    const Object* object = find_named(kind, handle);
    return object && is_alive(object);
}

// Of a stream and what a call names beside it. That others have the same is as likely as that a driver hands out this
// very word.
__attribute__((always_inline)) inline uint64_t mark_of(uint64_t beside, uint64_t stream) {
    return beside * 0x9E3779B97F4A7C15u + stream * 0xC2B2AE3D27D4EB4Fu;
}

using LivingSet = std::atomic<uint64_t>[LIVING_WAYS];

__attribute__((always_inline)) inline LivingSet& set_of(uint64_t mark) {
    return hot.living[(mark >> 32) * LIVING_SETS >> 32];
}

// Without a branch for each: which it is would be guessed wrong.
__attribute__((always_inline)) inline bool holds(const LivingSet& set, uint64_t word) {
    bool found = false;
    for (const std::atomic<uint64_t>& way : set) found |= way.load(std::memory_order_relaxed) == word;
    return found;
}

// What stands there if nothing changed since both were seen alive.
__attribute__((always_inline)) inline uint64_t living_mark(uint64_t mark, uint64_t changes) {
    return mark + changes * 0x165667B19E3779F9u;
}

// What the mark is of beside the stream.
struct Event {
    uint64_t word;
};
constexpr uint64_t NOTHING = 0;
__attribute__((always_inline)) inline uint64_t function(uint64_t handle) { return key_of(Kind::FUNCTION, handle); }
__attribute__((always_inline)) inline Event event(uint64_t handle) { return {key_of(Kind::EVENT, handle)}; }
__attribute__((always_inline)) inline Event recorded_event(uint64_t handle) { return {~key_of(Kind::EVENT, handle)}; }

__attribute__((always_inline)) inline bool are_known_to_live(uint64_t beside, uint64_t stream) {
    const uint64_t mark = mark_of(beside, stream);
    return holds(set_of(mark), living_mark(mark, changes()));
}
__attribute__((always_inline)) inline bool are_known_to_live(Event beside, uint64_t stream) {
    const uint64_t mark = mark_of(beside.word, stream);
    return holds(set_of(mark), living_mark(mark, changes_with_events()));
}

HOT bool stream_lives(uint64_t stream) { return is_builtin_stream(stream) || lives(Kind::STREAM, stream); }

// `seen`: the changes before they were looked at.
bool remember(bool living, uint64_t beside, uint64_t stream, uint64_t seen) {
    const uint64_t mark = mark_of(beside, stream), word = living_mark(mark, seen);
    LivingSet& set = set_of(mark);
    if (!living || holds(set, word)) return living;
    for (int way = LIVING_WAYS - 1; way > 0; way--)
        set[way].store(set[way - 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
    set[0].store(word, std::memory_order_relaxed);
    return true;
}

__attribute__((noinline)) bool look_whether_stream_lives(uint64_t stream) {
    const uint64_t seen = changes();
    return remember(stream_lives(stream), NOTHING, stream, seen);
}

__attribute__((always_inline)) inline bool still_lives(uint64_t stream) {
    return is_builtin_stream(stream) || are_known_to_live(NOTHING, stream) || look_whether_stream_lives(stream);
}

// What a launch names lives, and what its kernel's arguments name need not be looked at.
bool launch_is_quiet(uint64_t handle, uint64_t stream) {
    const uint64_t seen = changes();
    const bool living = !arguments_matter() && lives(Kind::FUNCTION, handle) && stream_lives(stream);
    return remember(living, function(handle), stream, seen);
}

// The same of calls that order work: of a stream, of an event and a stream (0 if there is none), and of one that
// records an event, whose first time is noted.
bool order_is_quiet(uint64_t stream) { return look_whether_stream_lives(stream) && !order_matters(); }

bool order_is_quiet(uint64_t handle, uint64_t stream) {
    const uint64_t seen = changes_with_events();
    const bool living = lives(Kind::EVENT, handle) && stream_lives(stream);
    return remember(living, event(handle).word, stream, seen) && !order_matters();
}

HOT bool record_is_quiet(uint64_t handle, uint64_t stream) {
    const uint64_t seen = changes_with_events();
    const Object* object = find_object(Kind::EVENT, handle);
    const bool living = object && is_alive(object) && stream_lives(stream);
    const bool again = living && object->state.load(std::memory_order_relaxed) & RECORDED;
    if (living && !again) return !order_matters();
    return remember(again, recorded_event(handle).word, stream, seen) && !order_matters();
}

// After each call that records an event, looked at closely or not: it may be the first.
HOT uint32_t note_recorded(uint32_t status, uint64_t handle) {
    Object* object = status == 0 ? find_object(Kind::EVENT, handle) : nullptr;
    if (object && !(object->state.load(std::memory_order_relaxed) & RECORDED)) object->state.fetch_or(RECORDED);
    return status;
}

// The stream that is so many bytes behind the pointer; NO_STREAM if that cannot be read.
__attribute__((always_inline)) inline uint64_t stream_at(uint64_t structure, uint16_t offset) {
    Thread* thread = known_thread();
    if (!structure || !thread || !is_readable(thread, structure + offset, sizeof(uint64_t))) return NO_STREAM;
    uint64_t stream;
    memcpy(&stream, reinterpret_cast<const char*>(structure) + offset, sizeof stream);
    return stream;
}

// Whether the handle at an address is 0 or of an object that lives.
bool is_known(Kind kind, uint64_t address) {
    uint64_t handle = 0;
    if (address) memcpy(&handle, reinterpret_cast<const char*>(address), sizeof handle);
    return address && (!handle || lives(kind, handle));
}

// Nothing need be there: the address may be the host's, or lie inside an allocation.
bool memory_lives(uint64_t address) {
    const Object* memory = address ? find_object(Kind::MEMORY, address) : nullptr;
    return !memory || is_alive(memory);
}

// A call that ends and makes no object and, if `quiet`, names only living ones: it is stored only if it fails. The
// runtime and frameworks make such calls by the thousand for each thing that they do, so that there is nothing on this
// way but the call. `look` takes the other: pass() the call, or, when it was made and failed, store it.
template <class Look, class... Arguments>
__attribute__((always_inline)) inline uint32_t pass_quietly(bool quiet, uint32_t symbol, Look look,
                                                            Arguments... arguments) {
    void* function = hot.quick_functions[symbol].load(std::memory_order_relaxed);
    if (__builtin_expect(!quiet || !function, 0)) return look(NOT_MADE, arguments...);
    const uint32_t status = reinterpret_cast<uint32_t (*)(Arguments...)>(function)(arguments...);
    return __builtin_expect(status != 0, 0) ? look(status, arguments...) : status;
}

// The same for a call that writes a handle to `output`, if its object is known.
template <class Look, class... Arguments>
__attribute__((always_inline)) inline uint32_t pass_answer(bool quiet, uint32_t symbol, Kind kind, uint64_t output,
                                                           Look look, Arguments... arguments) {
    void* function = hot.quick_functions[symbol].load(std::memory_order_relaxed);
    if (__builtin_expect(!quiet || !function, 0)) return look(NOT_MADE, arguments...);
    const uint32_t status = reinterpret_cast<uint32_t (*)(Arguments...)>(function)(arguments...);
    return __builtin_expect(status == 0 && is_known(kind, output), 1) ? status : look(status, arguments...);
}

// The first words of a launch, and what it leaves beside its slot.
struct Launching {
    uint64_t words[5];
    uint64_t function, stream, parameters, extra;
    LaunchShape shape;

    operator const uint64_t*() const { return words; }
};

__attribute__((always_inline)) inline void note(Thread*, uint64_t, const uint64_t*) {}
__attribute__((always_inline)) inline void note(Thread* thread, uint64_t number, const Launching& launch) {
    note_shape(thread, number, launch.shape);
    note_launch(thread, number, launch.function, launch.stream, launch.parameters, launch.extra);
}

// The same for work on a stream and what orders it, which is counted and leaves a slot in the flight recorder. `first`:
// of its words.
template <class First, class Look, class... Arguments>
__attribute__((always_inline)) inline uint32_t make_quietly(Thread* thread, void* function, uint32_t symbol,
                                                            const First& first, Look look, Arguments... arguments) {
    const uint64_t number = ++thread->calls;
    note(thread, number, first);
    Slot* slot = fill_slot(thread, *symbols[symbol].entry_point, first, 0, number);
    const uint32_t status = reinterpret_cast<uint32_t (*)(Arguments...)>(function)(arguments...);
    if (thread->busy) return status;  // this is the child of a callback that forked
    if (slot->number == number) slot->status = status;
    if (__builtin_expect(status == 0 || status == NOT_READY, 1)) return status;
    if (thread->calls == number) thread->calls--;  // the closer look counts it again
    return look(status, arguments...);
}

template <class First, class Look, class... Arguments>
__attribute__((always_inline)) inline uint32_t pass_work(bool quiet, uint32_t symbol, const First& first, Look look,
                                                         Arguments... arguments) {
    Thread* thread = current_thread;
    void* function = hot.quick_functions[symbol].load(std::memory_order_relaxed);
    const bool unseen = quiet && function && thread && !thread->busy;
    if (__builtin_expect(!unseen || arguments_matter(), 0)) return look(NOT_MADE, arguments...);
    return make_quietly(thread, function, symbol, first, look, arguments...);
}

// The same, mostly of what is known to live. `work` passes it as other work.
template <class First, class Work, class Look, class... Arguments>
__attribute__((always_inline)) inline uint32_t pass_known(bool quiet, uint32_t symbol, const First& first, Work work,
                                                          Look look, Arguments... arguments) {
    Thread* thread = known_thread();
    void* function = hot.quick_functions[symbol].load(std::memory_order_relaxed);
    const bool unseen = function && thread && !thread->busy;
    if (__builtin_expect(!unseen || !quiet, 0)) return work(look, arguments...);
    return make_quietly(thread, function, symbol, first, look, arguments...);
}

template <class... Arguments>
__attribute__((noinline, cold)) uint32_t look_closely(uint32_t made, uint32_t symbol, const uint64_t* words,
                                                      const Blob* structs, Arguments... arguments) {
    if (made == NOT_MADE) return pass(symbol, words, structs, arguments...);
    Call call(symbol, words, structs);
    const bool again = quarantines && is_made_again(symbol, words, made);
    return call.leave(again ? ask(symbol, words, structs, arguments...) : made);
}

}  // namespace

#include "generated/wrappers.inc"

namespace {

uint32_t emulated_proc_address(const char* name, void** function, int32_t version, uint64_t flags, uint32_t* found) {
    if (!name || !function) return INVALID_VALUE;
    *function = wrapper_for(name, static_cast<uint32_t>(version), flags & ASK_PER_THREAD);
    if (found) *found = *function ? 0 : 1;
    return *function ? 0 : NOT_FOUND;
}

// The real driver answers first, so that its rules for names, versions and flags hold; then our wrapper takes the place
// of its function. What we have no wrapper for is left as the driver gave it.
template <class... Arguments>
uint32_t proc_address(uint32_t symbol, Arguments... arguments) {
    const uint64_t words[5] = {word(arguments)...};
    Call call(symbol, words, NO_STRUCTS);
    const char* name = reinterpret_cast<const char*>(words[0]);
    void** function = reinterpret_cast<void**>(words[1]);
    uint32_t status;
    if (is_emulated()) {
        status = emulated_proc_address(name, function, static_cast<int32_t>(words[2]), words[3],
                                       reinterpret_cast<uint32_t*>(words[4]));
    } else {
        status = reinterpret_cast<uint32_t (*)(Arguments...)>(real_function(symbol))(arguments...);
        if (status == 0) replace_answer(name, function);
    }
    return call.leave(status);
}

}  // namespace

extern "C" EXPORT uint32_t cuGetProcAddress_v2(uint64_t name, uint64_t function, int32_t version, uint64_t flags,
                                               uint64_t found) {
    return proc_address(SYMBOL_cuGetProcAddress_v2, name, function, version, flags, found);
}

extern "C" EXPORT uint32_t cuGetProcAddress(uint64_t name, uint64_t function, int32_t version, uint64_t flags) {
    return proc_address(SYMBOL_cuGetProcAddress, name, function, version, flags);
}

// Exported by the driver and declared in no header: six words go through, unseen.
#define UNDECLARED(name)                                                                                      \
    extern "C" EXPORT uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) { \
        start();                                                                                              \
        const auto function =                                                                                 \
            reinterpret_cast<uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t)>(       \
                undeclared_function(#name));                                                                  \
        return function ? function(a, b, c, d, e, f) : NOT_FOUND;                                             \
    }
UNDECLARED(cuEGLApiInit)
UNDECLARED(cuMemGetAttribute)
UNDECLARED(cuMemGetAttribute_v2)

namespace cuvet {

#include "generated/entry_points.inc"

const uint32_t symbol_count = SYMBOL_COUNT;
std::atomic<void*> real_functions[SYMBOL_COUNT];

}  // namespace cuvet
