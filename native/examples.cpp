#include "examples.h"

#include <string.h>

#include "recorder.h"

namespace cuvet {

static_assert(Examples::MOST == MOST_EXAMPLES && Examples::MOST_BYTES == MOST_EXAMPLE_BYTES);

namespace {

constexpr uint32_t FEW = 4;  // words; a launch that differs in more becomes an example, while there is room for it
constexpr uint32_t STACK_AT = 4, CONTEXT_AT = 6, COUNTS_AT = 7;
constexpr uint32_t BLOCK = 8;

uint32_t way_of(uint64_t key) { return static_cast<uint32_t>(key >> 32) % Examples::MOST; }

// False if more than `most` words differ, or one that must not.
bool compare(const uint64_t* one, const uint64_t* other, uint32_t words, uint32_t most, Differences* found) {
    if (one[0] != other[0] || one[1] != other[1] || one[COUNTS_AT] != other[COUNTS_AT]) return false;
    uint32_t count = 0;
    const auto look_at = [&](uint32_t at) {
        if (one[at] == other[at]) return true;
        if (count == most) return false;
        found->at[count++] = static_cast<uint16_t>(at);
        return true;
    };
    if (!look_at(STACK_AT) || !look_at(CONTEXT_AT)) return false;
    for (uint32_t at = COUNTS_AT + 1; at < words;) {
        if (at + BLOCK <= words && !memcmp(one + at, other + at, BLOCK * 8)) {
            at += BLOCK;
            continue;
        }
        for (const uint32_t end = at + BLOCK < words ? at + BLOCK : words; at < end; at++)
            if (!look_at(at)) return false;
    }
    found->count = count;
    return true;
}

}  // namespace

uint32_t Examples::find(uint64_t key, Differences* found) {
    const uint32_t words = made()->size / 8;
    uint32_t best = NONE, most = FEW;
    if (is_full_) most = words / 4 < Differences::MOST ? words / 4 : Differences::MOST;
    const auto look_at = [&](uint32_t number) {
        const Example& example = examples_[number % MOST];
        if (!knows(number) || !example.is_ready || example.key != key) return false;
        Differences differences;
        if (!compare(made_, copies_ + example.at, words, most, &differences)) return false;
        best = number;
        found->count = differences.count;
        memcpy(found->at, differences.at, differences.count * sizeof *differences.at);
        most = found->count ? found->count - 1 : 0;
        return found->count <= FEW;
    };
    if (!look_at(examples_[last_ % MOST].next)) {
        uint32_t number = newest_[way_of(key)];
        bool found_it = false;
        for (uint32_t band = 0; band < BANDS && !found_it; band++) found_it = look_at(of_band(band));
        for (uint32_t way = 0; way < WAYS && !found_it && knows(number); way++) {
            found_it = look_at(number);
            number = examples_[number % MOST].older;
        }
    }
    if (best) follow(best);
    return best;
}

// The newest example with the same words as the made call's in that part of it.
uint32_t& Examples::of_band(uint32_t band) {
    const uint32_t first = COUNTS_AT + 1, count = made()->size / 8 - first;
    uint64_t mixed = made_[COUNTS_AT];
    for (uint32_t at = first + count * band / BANDS; at < first + count * (band + 1) / BANDS; at++)
        mixed = (mixed ^ made_[at]) * 0x9E3779B97F4A7C15u;
    return of_band_[band][way_of(mixed)];
}

// The last launch was like this one.
void Examples::follow(uint32_t number) {
    examples_[last_ % MOST].next = number;
    last_ = number;
}

void Examples::make_room(uint32_t words) {
    const auto oldest_is_within = [&](uint32_t begin, uint32_t end) {
        const uint32_t at = examples_[(forgotten_ + 1) % MOST].at;
        return forgotten_ < count_ && at >= begin && at < end;
    };
    if (end_ + words > COPIED_WORDS) {
        while (oldest_is_within(end_, COPIED_WORDS)) forgotten_++;
        end_ = 0;
        is_full_ = true;
    }
    while (oldest_is_within(end_, end_ + words)) forgotten_++;
    if (count_ - forgotten_ < MOST) return;
    forgotten_++;
    is_full_ = true;
}

uint32_t Examples::add(uint64_t key, uint32_t chunk, uint16_t place) {
    const uint32_t words = made()->size / 8;
    make_room(words);
    uint32_t& newest = newest_[way_of(key)];
    const uint32_t number = ++count_;
    examples_[number % MOST] = {key, chunk, place, static_cast<uint16_t>(words), end_, NONE, newest, false};
    memcpy(copies_ + end_, made_, words * 8);
    end_ += words;
    newest = number;
    for (uint32_t band = 0; band < BANDS; band++) of_band(band) = number;
    follow(number);
    return number;
}

}  // namespace cuvet
