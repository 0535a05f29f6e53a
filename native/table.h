// Hash table from 64-bit keys to small values: lock-free, never shrinks, values never move.
//
// Levels of growing size, each an array of buckets: eight keys (a cache line), and their values behind them, mostly on
// the same page. A key lives in the first free place of its walk through the levels; as places are never free again,
// every thread walks a key's way alike and a reader may stop at the first free place. A fresh value is all zero bytes.
// In the first level, places of keys that are not wanted any more are given to others (`Claim`).
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "hot.h"

namespace cuvet {

// `FIRST_BITS`: of the number of buckets in the first level. Keys that it holds are found fastest.
template <class Value, int FIRST_BITS = 7>  // 128 buckets, on few pages
class Table {
  public:
    // Null if the key is absent. The key 0 does not exist.
    Value* find(uint64_t key) const {
        Bucket& bucket = const_cast<Bucket&>(first_[place(key, 0)]);
        const int at = first(key);
        const bool is_first = bucket.keys[at].load(std::memory_order_acquire) == key;
        return __builtin_expect(is_first, 1) ? &bucket.values[at] : find_further(key);
    }

    // Before a find() of the key that other work comes before.
    void prefetch(uint64_t key) const {
        const Bucket& bucket = first_[place(key, 0)];
        __builtin_prefetch(&bucket.keys);
        __builtin_prefetch(&bucket.values[first(key)]);
    }

    // Finds the key or adds it. Null if there is no memory left.
    Value* insert(uint64_t key) {
        return insert(key, [](Value*) { return false; });
    }

    // The same, but where others have all places of the first level, it takes one whose value `claim` has cleared: it
    // returns false if that is still wanted. The key that stood there is absent from then on.
    template <class Claim>
    HOT Value* insert(uint64_t key, Claim claim) {
        Bucket& bucket = first_[place(key, 0)];
        if (Value* value = insert_here(&bucket, key)) return value;
        if (may_be_further(key))
            if (Value* value = find_in_levels(key)) return value;
        for (int n = 0; n < WIDTH; n++) {
            const int at = (first(key) + n) % WIDTH;
            if (!claim(&bucket.values[at])) continue;
            bucket.keys[at].store(key, std::memory_order_release);
            return &bucket.values[at];
        }
        return insert_further(key);
    }

    // Forgets everything. No other thread may use the table meanwhile.
    void clear() {
        madvise(first_, bytes(0), MADV_DONTNEED);  // reads as zero from now on
        for (int i = 1; i < LEVELS; i++)
            if (Bucket* level = levels_[i].exchange(nullptr)) munmap(level, bytes(i));
        for (std::atomic<uint64_t>& bits : seen_) bits.store(0, std::memory_order_relaxed);
    }

  private:
    static constexpr int LEVELS = 7;
    static constexpr int WIDTH = 8;

    struct alignas(64) Bucket {
        std::atomic<uint64_t> keys[WIDTH];
        Value values[WIDTH];
    };

    // Each level has eight times as many buckets as the one before.
    static constexpr int bits(int level) { return FIRST_BITS + 3 * level; }
    static constexpr uint64_t bytes(int level) { return sizeof(Bucket) << bits(level); }
    static uint64_t hash(uint64_t key) { return key * 0x9E3779B97F4A7C15u; }
    static uint64_t place(uint64_t key, int level) { return hash(key) >> (64 - bits(level)); }
    // Where the key's walk through a bucket begins, so that most keys stand at the first place that is looked at.
    static int first(uint64_t key) { return static_cast<int>(hash(key) >> 32) & (WIDTH - 1); }

    // Of keys that are in further levels, one bit each of its hash. Most keys that are not there are known by it where
    // the first level is full, of which each further level would have to be asked otherwise: addresses that are no
    // memory of the device, kernels asked for as functions.
    static constexpr int SEEN_WORDS = 1 << 9;
    static uint64_t seen_at(uint64_t key) { return hash(key) >> 55; }
    static uint64_t seen_bit(uint64_t key) { return uint64_t{1} << (hash(key) >> 49 & 63); }

    bool may_be_further(uint64_t key) const {
        return seen_[seen_at(key)].load(std::memory_order_relaxed) & seen_bit(key);
    }

    // Without a branch for each place: which it is would be guessed wrong.
    __attribute__((noinline, hot)) Value* find_further(uint64_t key) const {
        Bucket& bucket = const_cast<Bucket&>(first_[place(key, 0)]);
        int at = WIDTH;
        for (int n = 0; n < WIDTH; n++) at = bucket.keys[n].load(std::memory_order_acquire) == key ? n : at;
        if (at < WIDTH) return &bucket.values[at];
        return __builtin_expect(may_be_further(key), 0) ? find_in_levels(key) : nullptr;
    }

    __attribute__((noinline)) Value* find_in_levels(uint64_t key) const {
        for (int i = 1; i < LEVELS; i++) {
            Bucket* level = levels_[i].load(std::memory_order_acquire);
            if (!level) return nullptr;
            Bucket& bucket = level[place(key, i)];
            for (int n = 0; n < WIDTH; n++) {
                const int at = (first(key) + n) % WIDTH;
                const uint64_t found = bucket.keys[at].load(std::memory_order_acquire);
                if (!found) return nullptr;
                if (found == key) return &bucket.values[at];
            }
        }
        return nullptr;
    }

    // Null if others have all places.
    static Value* insert_here(Bucket* bucket, uint64_t key) {
        for (int n = 0; n < WIDTH; n++) {
            const int at = (first(key) + n) % WIDTH;
            std::atomic<uint64_t>& slot = bucket->keys[at];
            uint64_t found = slot.load(std::memory_order_acquire);
            const bool added = !found && slot.compare_exchange_strong(found, key);
            if (added || found == key) return &bucket->values[at];
        }
        return nullptr;
    }

    __attribute__((noinline)) Value* insert_further(uint64_t key) {
        seen_[seen_at(key)].fetch_or(seen_bit(key));
        for (int i = 1; i < LEVELS; i++) {
            Bucket* level = levels_[i].load(std::memory_order_acquire);
            if (!level && !(level = add_level(i))) return nullptr;
            if (Value* value = insert_here(&level[place(key, i)], key)) return value;
        }
        return nullptr;
    }

    Bucket* add_level(int i) {
        void* memory =
            mmap(nullptr, bytes(i), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        Bucket* expected = nullptr;
        if (levels_[i].compare_exchange_strong(expected, static_cast<Bucket*>(memory)))
            return static_cast<Bucket*>(memory);
        munmap(memory, bytes(i));
        return expected;
    }

    // The first level is there from the start: memory that is mapped in the middle of a run can come to lie in a hole
    // that the program has left.
    alignas(PAGE_BYTES) Bucket first_[1 << FIRST_BITS];
    std::atomic<Bucket*> levels_[LEVELS];
    std::atomic<uint64_t> seen_[SEEN_WORDS];
};

}  // namespace cuvet
