// A call that is made again: a short record, CALL_AGAIN, says in what it differs from one of its chunk. FORMAT.md has
// the record.
#pragma once

#include <cstdint>

namespace cuvet {

struct CallRecord;

// The object that a call makes, or the first that it names.
struct Subject {
    uint64_t handle;
    uint32_t generation;
    bool is_known;
};

// Subjects of the newest calls of a chunk.
class Newest {
  public:
    static constexpr uint32_t MOST = 8;

    // How many there were before it.
    uint32_t add(const Subject& subject) {
        subjects_[count_ % MOST] = subject;
        return count_++;
    }
    // Of the one that was added as number `added`, unless it is forgotten.
    void fill(uint32_t added, const Subject& subject) {
        if (count_ - added <= MOST) subjects_[added % MOST] = subject;
    }
    // How many were added after the newest that is this one; MOST: it is not there.
    uint32_t find(uint64_t handle, uint32_t generation) const {
        for (uint32_t back = 0; back < MOST; back++) {
            const Subject& subject = subjects_[(count_ - 1 - back) % MOST];
            if (subject.is_known && subject.handle == handle && subject.generation == generation) return back;
        }
        return MOST;
    }
    uint32_t count() const { return count_; }

  private:
    Subject subjects_[MOST];
    uint32_t count_;
};

// A call that others may be like, on one line.
struct alignas(64) Origin {
    static constexpr int MOST_ARGUMENTS = 4;  // if it has more, those of the record count

    uint64_t key;         // of all that others have in common with it
    CallRecord* record;   // in the chunk; null: none
    uint64_t handle;      // of the object in which they differ, if the call names it
    uint32_t generation;  // of that object, or of the one that it made
    bool is_ready;        // it has returned, and not failed
    uint8_t streak;       // how many objects in turn had a handle that was named before
    uint64_t arguments[MOST_ARGUMENTS];
};
static_assert(sizeof(Origin) == 64);

// What a thread knows of its chunk.
struct Repeats {
    static constexpr int SETS = 8, WAYS = 4;
    static constexpr uint8_t STREAK = 8;  // after so many, the next is expected to have one, too

    Origin origins[SETS][WAYS];
    uint8_t oldest[SETS];
    Newest made, named;
    uint64_t number, entered;  // of the chunk's last call
};

// Ticks that a call took, in 32 bits: five say how often the others are doubled. Never less than TOOK_LEAST.
constexpr uint32_t TOOK_BITS = 27, TOOK_LEAST = 2;
inline uint32_t pack_took(uint64_t ticks) {
    if (ticks < TOOK_LEAST) return TOOK_LEAST;
    const uint32_t bits = 64 - static_cast<uint32_t>(__builtin_clzll(ticks));
    const uint32_t doubled = bits > TOOK_BITS ? bits - TOOK_BITS : 0;
    return doubled > 31 ? ~0u : static_cast<uint32_t>(ticks >> doubled) | doubled << TOOK_BITS;
}

}  // namespace cuvet
