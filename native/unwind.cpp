#include "unwind.h"

#include <link.h>

#include <atomic>

#include "cfi.h"
#include "inputs.h"
#include "loaded.h"
#include "loader.h"
#include "recorder.h"
#include "table.h"

namespace cuvet {

namespace {

struct KnownRule {
    std::atomic<uint64_t> packed;
};
Table<KnownRule> rules;  // by return address

// Rules belong to the era in which they were found. A new one begins when code was unmapped.
std::atomic<uint32_t> era;
std::atomic<uint32_t> unmapping;           // threads that may be unmapping code
std::atomic<uint64_t> files_unmapped;      // the loader's count when the era began
constexpr uint32_t ERAS = (1u << 26) - 1;  // as many as a packed rule can tell apart

// What a rule of an era is packed with; 0 is of none.
uint64_t mark_of(uint32_t era) { return era + 1; }

uint64_t pack(const Rule& rule, uint32_t now) {
    const uint64_t offset = static_cast<uint64_t>(rule.offset) & 0xFFFFF;
    const uint64_t frame_offset = static_cast<uint64_t>(rule.frame_offset) & 0xFFF;
    return static_cast<uint64_t>(rule.cfa) | static_cast<uint64_t>(rule.saved) << 3 | offset << 5 | frame_offset << 25 |
           mark_of(now) << 37;
}

Rule unpack(uint64_t packed) {
    const int64_t offset = static_cast<int64_t>(packed << 39) >> 44;
    const int64_t frame_offset = static_cast<int64_t>(packed << 27) >> 52;
    return {static_cast<Cfa>(packed & 7), static_cast<Saved>(packed >> 3 & 3), static_cast<int32_t>(offset),
            static_cast<int32_t>(frame_offset)};
}

uint64_t count_unmapped() {
    uint64_t count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* found) {
            *static_cast<uint64_t*>(found) = info->dlpi_subs;
            return 1;
        },
        &count);
    return count;
}

// Begins an era if files were unmapped since the last one began.
void look_for_unmapped() {
    const uint64_t count = count_unmapped();
    if (files_unmapped.exchange(count) != count) era.fetch_add(1);
}

#if defined(__x86_64__)

uint64_t page_end(uint64_t address) { return page_of(address) << 12; }

// What the kernel puts behind a signal handler if the program does not say where it returns to: mov $15, %rax; syscall.
bool ends_signal(uint64_t address) {
    constexpr uint8_t CODE[] = {0x48, 0xC7, 0xC0, 0x0F, 0x00, 0x00, 0x00, 0x0F, 0x05};
    const uint8_t* code = reinterpret_cast<const uint8_t*>(address);
    for (const uint8_t byte : CODE)
        if (*code++ != byte) return false;
    return true;
}

// Code in no file may change its place and its registration at any time: it is left to the unwinder, always.
Rule find_rule(uint64_t address, FindDescription find) {
    File file;
    const Rule complex = {Cfa::COMPLEX, Saved::NOT, 0, 0};
    if (!file_at(reinterpret_cast<const void*>(address - 1), &file)) return complex;
    FunctionBases bases = {};
    const void* description = find(reinterpret_cast<void*>(address - 1), &bases);
    if (description) return rule_of(description, reinterpret_cast<uint64_t>(bases.function), address);
    return ends_signal(address) ? complex : Rule{Cfa::NONE, Saved::NOT, 0, 0};
}

class Walker {
  public:
    Walker(const Walk& last, Walk* walk, Readable* stack, FindDescription find, uint32_t now)
        : last_(last),
          walk_(walk),
          stack_(stack),
          find_(find),
          now_(now),
          last_count_(last.era == now ? last.count : 0) {
        walk_->count = 0;
        walk_->era = now;
        walk_->is_settled = false;
    }

    // Whether the whole stack could be walked.
    READS_STACKS bool go(const Start& start, int most) {
        auto [address, stack_pointer, frame_pointer] = start;
        if (stack_pointer < stack_->begin || stack_pointer >= stack_->end)
            *stack_ = {stack_pointer, page_end(stack_pointer)};
        int foreign = 0;  // frames that are not the shim's, or outward of one
        bool settled = true;
        while (address) {
            Step& step = walk_->steps[walk_->count];
            step = {address, stack_pointer, frame_pointer, nullptr, nullptr, true, false};
            if (!recall(&step) && !look_up(&step)) return false;
            walk_->count++;
            settled &= step.is_settled;
            if (foreign || !is_own_address(address)) foreign++;
            if (!step.return_at || foreign == most || walk_->count == Walk::MOST) break;
            address = *step.return_at;
            stack_pointer = reinterpret_cast<uint64_t>(step.return_at + 1);
            if (step.frame_at) frame_pointer = *step.frame_at;
        }
        walk_->is_settled = settled && address;
        return true;
    }

    // Whether some rule was not known.
    bool found_new() const { return found_new_; }

  private:
    // From the last walk, in which frames are in the same order.
    bool recall(Step* step) {
        while (at_ < last_count_ && last_.steps[at_].stack_pointer < step->stack_pointer) at_++;
        if (at_ >= last_count_) return false;
        const Step& known = last_.steps[at_];
        if (known.address != step->address || known.stack_pointer != step->stack_pointer ||
            (known.uses_frame && known.frame_pointer != step->frame_pointer) || !known.is_settled)
            return false;
        step->return_at = known.return_at;
        step->frame_at = known.frame_at;
        step->uses_frame = known.uses_frame;
        return true;
    }

    bool look_up(Step* step) {
        const KnownRule* known = rules.find(step->address);
        uint64_t packed = known ? known->packed.load(std::memory_order_relaxed) : 0;
        if (packed >> 37 != mark_of(now_)) packed = find_new(step->address);
        return follow(unpack(packed), step);
    }

    __attribute__((noinline)) uint64_t find_new(uint64_t address) {
        found_new_ = true;
        const Rule rule = find_rule(address, find_);
        const uint64_t packed = pack(rule, now_);
        if (KnownRule* known = rules.insert(address)) known->packed.store(packed, std::memory_order_relaxed);
        return packed;
    }

    // A rule of code that was unmapped unseen can lead beyond the stack.
    bool is_of_stack(const uint64_t* place) {
        const uint64_t at = reinterpret_cast<uint64_t>(place);
        if (at >= stack_->begin && at + sizeof *place <= stack_->end) return true;
        if (at % sizeof *place || (!in_sandbox() && !can_be_read(at))) return false;
        if (at >= stack_->end) stack_->end = page_end(at);
        return true;
    }

    READS_STACKS bool follow(const Rule& rule, Step* step) {
        const uint64_t* frame = reinterpret_cast<const uint64_t*>(step->frame_pointer) + rule.offset;
        const uint64_t* cfa = reinterpret_cast<const uint64_t*>(step->stack_pointer) + rule.offset;
        if (rule.cfa == Cfa::FRAME) {
            cfa = frame;
        } else if (rule.cfa == Cfa::AT_FRAME) {
            if (!is_of_stack(frame)) return false;
            cfa = reinterpret_cast<const uint64_t*>(*frame);
        } else if (rule.cfa != Cfa::STACK) {
            return rule.cfa == Cfa::NONE || rule.cfa == Cfa::OUTERMOST;
        }
        step->is_settled = rule.cfa != Cfa::AT_FRAME;
        step->uses_frame = rule.cfa != Cfa::STACK || rule.saved == Saved::AT_FRAME;
        step->return_at = cfa - 1;
        if (rule.saved == Saved::AT_CFA)
            step->frame_at = cfa + rule.frame_offset;
        else if (rule.saved == Saved::AT_FRAME)
            step->frame_at = reinterpret_cast<const uint64_t*>(step->frame_pointer) + rule.frame_offset;
        return is_of_stack(step->return_at) && (!step->frame_at || is_of_stack(step->frame_at));
    }

    const Walk& last_;
    Walk* walk_;
    Readable* stack_;
    FindDescription find_;
    uint32_t now_;
    int last_count_;
    bool found_new_ = false;
    int at_ = 0;
};

bool walk_once(Walks* walks, const Start& start, int most, FindDescription find, bool* found_new) {
    const int next = (walks->last + 1) % Walks::MOST;
    Walker walker(last_walk(*walks), &walks->all[next], &walks->stack, find, code_era());
    const bool whole = walker.go(start, most);
    *found_new = walker.found_new();
    if (whole) walks->last = next;
    return whole;
}

#endif

}  // namespace

#if defined(__x86_64__)

bool walk_stack(Walks* walks, const Start& start, int most, FindDescription find) {
    if (unmapping.load(std::memory_order_acquire)) return false;
    bool found_new;
    const bool whole = walk_once(walks, start, most, find, &found_new);
    if (!found_new) return whole;
    // Something is new. If that is since code was unmapped unseen, the rules that were known may be of other code.
    const uint32_t before = code_era();
    look_for_unmapped();
    return before == code_era() ? whole : walk_once(walks, start, most, find, &found_new);
}

#else

bool walk_stack(Walks*, const Start&, int, FindDescription) { return false; }

#endif

void code_may_be_unmapped() { unmapping.fetch_add(1, std::memory_order_acq_rel); }

bool walks_hold(uint32_t of) { return !unmapping.load(std::memory_order_acquire) && of == code_era(); }

uint32_t code_era() { return era.load(std::memory_order_acquire) & ERAS; }

void code_was_unmapped() {
    look_for_unmapped();
    unmapping.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace cuvet
