// Hash table from 64-bit keys to small values: lock-free, never shrinks, values never move.
//
// Levels of growing size, each an array of buckets of eight keys (a cache line) beside an array of values. A key lives
// in the first free place of its walk through the levels; as places are never freed, every thread walks the same way
// and a reader may stop at the first free place. A fresh value is all zero bytes.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace cuvet {

template <class Value>
class Table {
  public:
    // Null if the key is absent. The key 0 does not exist.
    Value* find(uint64_t key) const {
        for (int i = 0; i < LEVELS; i++) {
            Level* level = levels_[i].load(std::memory_order_acquire);
            if (!level) return nullptr;
            const uint64_t first = bucket(key, i) * WIDTH;
            for (uint64_t place = first; place < first + WIDTH; place++) {
                const uint64_t found = level->keys()[place].load(std::memory_order_acquire);
                if (found == key) return level->values(capacity(i)) + place;
                if (!found) return nullptr;
            }
        }
        return nullptr;
    }

    // Finds the key or adds it. Null if there is no memory left.
    Value* insert(uint64_t key) {
        for (int i = 0; i < LEVELS; i++) {
            Level* level = levels_[i].load(std::memory_order_acquire);
            if (!level && !(level = add_level(i))) return nullptr;
            const uint64_t first = bucket(key, i) * WIDTH;
            for (uint64_t place = first; place < first + WIDTH; place++) {
                uint64_t found = 0;
                std::atomic<uint64_t>& slot = level->keys()[place];
                if (slot.load(std::memory_order_acquire) == key || slot.compare_exchange_strong(found, key) ||
                    found == key)
                    return level->values(capacity(i)) + place;
            }
        }
        return nullptr;
    }

    // Forgets everything. No other thread may use the table meanwhile.
    void clear() {
        for (int i = 0; i < LEVELS; i++)
            if (Level* level = levels_[i].exchange(nullptr)) munmap(level, bytes(i));
    }

  private:
    static constexpr int LEVELS = 6;
    static constexpr uint64_t WIDTH = 8;
    static constexpr int FIRST_BITS = 10;  // 1 024 buckets, then eight times as many each

    struct Level {
        std::atomic<uint64_t>* keys() { return reinterpret_cast<std::atomic<uint64_t>*>(this); }
        Value* values(uint64_t capacity) { return reinterpret_cast<Value*>(keys() + capacity); }
    };

    static uint64_t capacity(int level) { return WIDTH << (FIRST_BITS + 3 * level); }
    static uint64_t bytes(int level) { return capacity(level) * (sizeof(uint64_t) + sizeof(Value)); }
    static uint64_t bucket(uint64_t key, int level) {
        return (key * 0x9E3779B97F4A7C15u) >> (64 - FIRST_BITS - 3 * level);
    }

    Level* add_level(int i) {
        void* memory =
            mmap(nullptr, bytes(i), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        Level* expected = nullptr;
        if (levels_[i].compare_exchange_strong(expected, static_cast<Level*>(memory)))
            return static_cast<Level*>(memory);
        munmap(memory, bytes(i));
        return expected;
    }

    std::atomic<Level*> levels_[LEVELS];
};

}  // namespace cuvet
