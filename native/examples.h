// Launches that a writer has stored in full: those that follow say only in which words they differ from one of them, in
// a CALL_LIKE. FORMAT.md has the record.
#pragma once

#include <cstdint>

namespace cuvet {

struct CallRecord;

// Words of a CALL, counted from its start.
struct Differences {
    static constexpr uint32_t MOST = 64;

    uint32_t count;
    uint16_t at[MOST];
};

struct Example {
    uint64_t key;
    uint32_t chunk;  // where it is in the recording
    uint16_t place;
    uint16_t words;
    uint32_t at;     // where its copy begins
    uint32_t next;   // the one that the next launch was like, the last time
    uint32_t older;  // of the same key, or of one like it
    bool is_ready;   // it has returned, and not failed
};

// They have numbers, from 1 on. The oldest are forgotten.
class Examples {
  public:
    static constexpr uint32_t MOST = 2048;
    static constexpr uint32_t MOST_BYTES = 8192;  // of one
    static constexpr uint32_t NONE = 0;

    // Room for the CALL that is to be stored.
    CallRecord* made() { return reinterpret_cast<CallRecord*>(made_); }
    // The number of the example that the made call is like, and what differs, besides times and number.
    uint32_t find(uint64_t key, Differences* found);
    // Null if it is forgotten.
    const Example* operator[](uint32_t number) const { return knows(number) ? &examples_[number % MOST] : nullptr; }
    const CallRecord* copy_of(const Example& example) const {
        return reinterpret_cast<const CallRecord*>(copies_ + example.at);
    }
    // The made call is one, from when it is ready on.
    uint32_t add(uint64_t key, uint32_t chunk, uint16_t place);
    void set_ready(uint32_t number) {
        if (knows(number)) examples_[number % MOST].is_ready = true;
    }

  private:
    static constexpr uint32_t COPIED_WORDS = 1 << 18;  // 2 MiB
    static constexpr uint32_t WAYS = 4;                // of the same key, that are looked at
    static constexpr uint32_t BANDS = 4;               // of words: in one of them all may be the same

    uint32_t& of_band(uint32_t band);
    bool knows(uint32_t number) const { return number > forgotten_ && number <= count_; }
    void make_room(uint32_t words);
    void follow(uint32_t number);

    uint32_t count_;
    uint32_t forgotten_;  // the number of the last that is
    uint32_t last_;       // that a launch was like
    uint32_t end_;        // of the newest copy
    bool is_full_;
    uint32_t newest_[MOST];          // by key
    uint32_t of_band_[BANDS][MOST];  // the newest, by what stands in a band
    Example examples_[MOST];
    uint64_t made_[MOST_BYTES / 8];
    uint64_t copies_[COPIED_WORDS];
};

}  // namespace cuvet
