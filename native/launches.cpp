#include "launches.h"

#include <string.h>

#include "call.h"
#include "inputs.h"
#include "kernel_arguments.h"
#include "liveness.h"
#include "python_frames.h"
#include "stacks.h"
#include "table.h"

namespace cuvet {

namespace {

#include "generated/statuses.inc"

constexpr uint32_t MOST_PLACES = 4096;
constexpr uint64_t MOST_WAYS = 16;  // stacks that begin at the same frame, with the same function
constexpr uint32_t MOST_LOSSES = 16;

// One way to launch a function on a stream.
struct alignas(64) LaunchPlace {
    std::atomic<uint32_t> id;  // 0: not filled
    uint32_t generation;       // of the function
    uint64_t endings;          // hot.endings when it was last seen to have that
    Trail trail;
    uint8_t word_count;   // of 8 bytes, and behind them …
    uint8_t small_count;  // … of 4, 2 or 1
    bool packed;
    uint16_t words[MOST_LAUNCH_WORDS];  // index << 8 | offset in words, or the offset in a packed buffer
    uint32_t shifts;                    // of the small ones, two bits each: 4 >> shift bytes
};
static_assert(sizeof(LaunchPlace) == 128);

Table<LaunchPlace> places;  // by function, stream, frame and way
std::atomic<uint32_t> last_place;
std::atomic<uint32_t> losses;
std::atomic<uint64_t> last_loss;  // the context that was lost last

uint64_t key_of(uint64_t function, uint64_t stream, uint64_t frame) {
    const uint64_t mixed = function * 0x9E3779B97F4A7C15u ^ stream * 0xC2B2AE3D27D4EB4Fu ^ frame;
    return (mixed & ~(MOST_WAYS - 1)) | MOST_WAYS;  // never 0, with room for the ways below
}

// What a launch leaves of `parameter` from byte `at` on.
void choose_word(LaunchPlace* place, int word, const KernelParameter& parameter, uint32_t at, uint32_t bytes,
                 uint32_t* described) {
    place->words[word] =
        static_cast<uint16_t>(place->packed ? parameter.offset + at : uint32_t{parameter.index} << 8 | at / 8);
    described[word] = (bytes < 8 ? bytes << 8 : 0) << 16 | uint32_t{parameter.index} << 16 | at;
}

// Addresses before numbers.
void choose_words(LaunchPlace* place, uint64_t function, uint32_t* described) {
    KernelParameter parameters[MOST_ARGUMENTS];
    const int count = parameters_of(function, parameters);
    int words = 0;
    for (int i = 0; i < count; i++)
        for (uint32_t at = 0; at + 8 <= parameters[i].bytes && words < MOST_LAUNCH_WORDS; at += 8)
            choose_word(place, words++, parameters[i], at, 8, described);
    place->word_count = static_cast<uint8_t>(words);
    place->shifts = 0;
    for (int i = 0; i < count && words < MOST_LAUNCH_WORDS; i++) {
        const uint32_t bytes = parameters[i].bytes % 8, shift = bytes == 4 ? 0 : bytes == 2 ? 1 : 2;
        if (bytes != 4u >> shift) continue;
        place->shifts |= shift << 2 * (words - place->word_count);
        choose_word(place, words++, parameters[i], parameters[i].bytes - bytes, bytes, described);
    }
    place->small_count = static_cast<uint8_t>(words - place->word_count);
}

// Once for each place: it unwinds the stack and asks the driver.
__attribute__((noinline, cold)) const LaunchPlace* fill(Thread* thread, LaunchPlace* place, const Object* object,
                                                        uint64_t function, uint64_t stream, uint64_t frame,
                                                        bool packed) {
    const Busy busy(thread);
    const uint32_t id = last_place.fetch_add(1, std::memory_order_relaxed) + 1;
    const uint32_t stack = capture_trail(thread, frame, &place->trail);
    if (!stack) return nullptr;
    uint32_t words[MOST_LAUNCH_WORDS] = {};
    place->packed = packed;
    choose_words(place, function, words);
    place->generation = generation_of(object->state.load(std::memory_order_relaxed));
    place->endings = hot.endings.load(std::memory_order_acquire);
    const uint32_t count = place->word_count + uint32_t{place->small_count};
    const LaunchPlaceFields fields = {id, stack, function, stream, count};
    if (!write_record(thread, RecordType::LAUNCH_PLACE, fields, {{words, sizeof words}})) return nullptr;
    place->id.store(id, std::memory_order_release);
    return place;
}

// Another function may have the handle by now.
__attribute__((noinline, cold)) bool is_same_function(LaunchPlace* place, uint64_t function, uint64_t endings) {
    const Object* object = find_named(Kind::FUNCTION, function);
    if (!object || !is_alive(object) || generation_of(object->state.load()) != place->generation) return false;
    place->endings = endings;
    return true;
}

// At the end of what is known of such launches.
__attribute__((noinline, cold)) const LaunchPlace* add_place(Thread* thread, uint64_t key, uint64_t function,
                                                             uint64_t stream, uint64_t frame, bool packed) {
    if (last_place.load(std::memory_order_relaxed) >= MOST_PLACES) return nullptr;
    const Object* object = find_named(Kind::FUNCTION, function);
    if (!object || !is_alive(object)) return nullptr;
    LaunchPlace* place = places.insert(key);
    return place ? fill(thread, place, object, function, stream, frame, packed) : nullptr;
}

__attribute__((always_inline)) inline const LaunchPlace* find_place(Thread* thread, uint64_t function, uint64_t stream,
                                                                    uint64_t frame, bool packed) {
    const uint64_t key = key_of(function, stream, frame);
    places.prefetch(key);
    const uint64_t python = python_is_found() ? python_position(Trail::PYTHON) : 0;
    const uint64_t endings = hot.endings.load(std::memory_order_relaxed);
    for (uint64_t way = 0; way < MOST_WAYS; way++) {
        LaunchPlace* place = places.find(key ^ way);
        if (__builtin_expect(!place || !place->id.load(std::memory_order_acquire), 0))
            return add_place(thread, key ^ way, function, stream, frame, packed);
        if (!leads_here(place->trail, frame, python) || __builtin_expect(place->packed != packed, 0)) continue;
        if (__builtin_expect(place->endings == endings, 1) || is_same_function(place, function, endings)) return place;
    }
    return nullptr;
}

// Words that mostly lie on the same page. Pages that could be read once are trusted.
struct Page {
    Thread* thread;
    uint64_t start = uint64_t{1} << 63;  // far from all addresses

    __attribute__((always_inline)) inline bool holds(uint64_t address, uint64_t bytes = 8) {
        if (__builtin_expect(address - start <= PAGE_BYTES - bytes, 1)) return true;
        if (!is_readable(thread, address, bytes)) return false;
        start = address & ~(PAGE_BYTES - 1);
        return true;
    }
};

inline uint64_t word_at(uint64_t address, uint64_t bytes = 8) {
    uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const void*>(address), bytes);
    return word;
}

inline uint64_t small_at(uint64_t address, uint32_t shift) {
    if (__builtin_expect(shift == 0, 1)) return word_at(address, 4);
    return shift == 1 ? word_at(address, 2) : word_at(address, 1);
}

// `address_of` says where the i-th word is, 0 if that cannot be known. A bit each of those that could not be read.
template <class AddressOf>
__attribute__((always_inline)) inline uint16_t copy(Thread* thread, const LaunchPlace& place, AddressOf address_of,
                                                    Launch* launch) {
    Page values{thread};
    uint32_t unread = 0;
    int i = 0;
    for (const int end = place.word_count; i < end; i++) {
        const uint64_t at = address_of(i);
        if (__builtin_expect(!values.holds(at), 0))
            unread |= 1u << i;
        else
            launch->words[i] = word_at(at);
    }
    uint32_t shifts = place.shifts;
    for (const int end = i + place.small_count; i < end; i++, shifts >>= 2) {
        const uint64_t at = address_of(i);
        if (__builtin_expect(!values.holds(at, 4u >> (shifts & 3)), 0))
            unread |= 1u << i;
        else
            launch->words[i] = small_at(at, shifts & 3);
    }
    return static_cast<uint16_t>(unread);
}

__attribute__((noinline, hot)) uint16_t copy_words(Thread* thread, const LaunchPlace& place, uint64_t parameters,
                                                   Launch* launch) {
    Page list{thread};
    const auto address_of = [&](int i) {
        const uint64_t entry = parameters + 8u * (place.words[i] >> 8);
        return list.holds(entry) ? word_at(entry) + 8u * (place.words[i] & 0xff) : 0;
    };
    return copy(thread, place, address_of, launch);
}

__attribute__((noinline)) uint16_t copy_packed_words(Thread* thread, const LaunchPlace& place, uint64_t packed,
                                                     Launch* launch) {
    return copy(thread, place, [&](int i) { return packed + place.words[i]; }, launch);
}

}  // namespace

bool is_sticky(uint32_t status) {
    for (const uint32_t each : STICKY)
        if (each == status) return true;
    return false;
}

__attribute__((noinline, hot)) void note_launch(Thread* thread, uint64_t number, uint64_t function, uint64_t stream,
                                                uint64_t parameters, uint64_t extra) {
    const uint64_t frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    const uint64_t packed = parameters ? 0 : packed_arguments(thread, extra);
    const LaunchPlace* place = find_place(thread, function, stream, frame, packed != 0);
    Launch* launch = launch_of(thread, number);
    launch->number = static_cast<uint32_t>(number);
    if (__builtin_expect(place != nullptr, 1)) {
        if (parameters) launch->unread = copy_words(thread, *place, parameters, launch);
        if (packed) launch->unread = copy_packed_words(thread, *place, packed, launch);
        __atomic_store_n(&launch->place, place->id.load(std::memory_order_relaxed), __ATOMIC_RELEASE);
    }
    __builtin_prefetch(launch_of(thread, number + 1), 1);
}

LaunchShape shape_at(uint64_t config) {
    LaunchShape shape = {};
    Thread* thread = config ? known_thread() : nullptr;
    if (thread && is_readable(thread, config, sizeof shape))
        memcpy(&shape, reinterpret_cast<const void*>(config), sizeof shape);
    return shape;
}

namespace {

// Position of the parameter.
uint8_t launched_at(const EntryPoint& entry_point) {
    for (const Role& role : roles_before(entry_point))
        if (role.action == Action::LAUNCHES) return role.parameter;
    return NO_PARAMETER;
}

bool records_event(uint32_t attribute) {
    for (const uint32_t each : RECORDING_ATTRIBUTES)
        if (each == attribute) return true;
    return false;
}

}  // namespace

uint64_t launch_config(const EntryPoint& entry_point, const uint64_t* words) {
    return launched_at(entry_point) == 1 ? words[0] : 0;
}

// What is read is what the driver reads: as many as the config says.
uint32_t event_attributes(uint64_t config, uint64_t addresses[MOST_ATTRIBUTES]) {
    Thread* thread = config ? known_thread() : nullptr;
    if (!thread || !is_readable(thread, config, ATTRIBUTE_COUNT_AT + sizeof(uint32_t))) return 0;
    const uint64_t told = word_at(config + ATTRIBUTE_COUNT_AT, sizeof(uint32_t));
    const uint64_t count = told < MOST_ATTRIBUTES ? told : MOST_ATTRIBUTES;
    const uint64_t first = count ? word_at(config + ATTRIBUTES_AT) : 0;
    if (!first || !is_readable(thread, first, count * ATTRIBUTE_BYTES)) return 0;
    uint32_t found = 0;
    for (uint64_t at = first; at < first + count * ATTRIBUTE_BYTES; at += ATTRIBUTE_BYTES)
        if (records_event(static_cast<uint32_t>(word_at(at, sizeof(uint32_t))))) addresses[found++] = at;
    return found;
}

bool records_events(uint64_t config) {
    uint64_t addresses[MOST_ATTRIBUTES];
    return event_attributes(config, addresses) > 0;
}

LaunchShape launched_shape(const EntryPoint& entry_point, const uint64_t* words) {
    const uint8_t function = launched_at(entry_point);
    if (function == 1) return shape_at(words[0]);
    LaunchShape shape = {};
    for (int i = 0; !function && i < 3; i++) {
        shape.grid[i] = static_cast<uint32_t>(words[1 + i]);
        shape.block[i] = static_cast<uint32_t>(words[4 + i]);
    }
    return shape;
}

void tell_launches(Thread* thread, uint32_t status, uint64_t number) {
    if (!is_sticky(status)) return;
    const uint64_t loss = current_context(thread) + hot.endings.load(std::memory_order_relaxed) + 1;  // never 0
    if (last_loss.exchange(loss) == loss || losses.fetch_add(1) >= MOST_LOSSES) return;
    write_launches(thread, number);
}

void forget_launches() {
    places.clear();
    last_place.store(0);
    last_loss.store(0);
    losses.store(0);
}

}  // namespace cuvet
