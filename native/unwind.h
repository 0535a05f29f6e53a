// Walks the calling thread's stack as the unwinder of libgcc_s would, with less work: how a frame leads to its caller
// is found out once for each return address, and a thread knows the frames of its last walk. See
// docs/decisions/0011-rules-of-return-addresses.md.
#pragma once

#include <cstdint>

namespace cuvet {

// Of functions that read words of a stack, whatever stands there: what an earlier frame has left, variables of a frame
// that has taken another's place, memory that a frame pointer leads to by accident. They compare these words, or look
// where they lead. In any other function a sanitizer is right about such a read.
#define READS_STACKS __attribute__((no_sanitize("address", "thread")))

// A frame of a walk: its return address, the registers in it, and where its caller's are.
struct Step {
    uint64_t address;
    uint64_t stack_pointer;  // as the caller of what `address` returns from has it
    uint64_t frame_pointer;
    const uint64_t* return_at;  // of the caller's address; null: the stack ends here
    const uint64_t* frame_at;   // of the caller's frame pointer; null: it is the same
    bool is_settled;            // the registers alone say where these are …
    bool uses_frame;            // … with the frame pointer, which may also hold anything else
};

struct Walk {
    static constexpr int MOST = 80;  // with the shim's own frames

    uint32_t era;  // code_era() at that time
    int count;
    bool is_settled;  // every step is
    Step steps[MOST];
};

// What a thread keeps between two walks: the newest ones.
struct Walks {
    static constexpr int MOST = 8;

    Walk all[MOST];
    int last;
};

// The unwinder's search for the description of the function at an address: null if there is none.
struct FunctionBases {
    void* text;
    void* data;
    void* function;
};
using FindDescription = const void* (*)(void* address, FunctionBases* bases);

// Where the code stands that asks.
struct Start {
    uint64_t address, stack_pointer, frame_pointer;
};
__attribute__((always_inline)) inline Start here() {
    Start start = {};
#if defined(__x86_64__)
    asm volatile("leaq 0f(%%rip), %%rax\n0:\n\tmovq %%rsp, %%rcx\n\tmovq %%rbp, %%rdx"
                 : "=a"(start.address), "=c"(start.stack_pointer), "=d"(start.frame_pointer));
#endif
    return start;
}

// Walks from `start` outward; false if the unwinder must be asked, since some frame has no rule. `most`: of the
// frames that are not the shim's. `find` is asked once for each address.
bool walk_stack(Walks* walks, const Start& start, int most, FindDescription find);

inline const Walk& last_walk(const Walks& walks) { return walks.all[walks.last]; }

// Whether a walk from `start` would be this one, as far as the stack tells: the registers that count in each frame are
// the same, so that its caller's are in the same places, and hold the same.
READS_STACKS inline bool is_walked_again(const Walk& walk, const Start& start) {
    const Step* step = walk.steps;
    if (!walk.is_settled || step->address != start.address || step->stack_pointer != start.stack_pointer) return false;
    const uint64_t* frame_at = &start.frame_pointer;
    for (const Step* end = step + walk.count - 1;; step++) {
        if (step->uses_frame && *frame_at != step->frame_pointer) return false;
        if (step == end) return true;
        if (*step->return_at != step[1].address) return false;
        if (step->frame_at) frame_at = step->frame_at;
    }
}
// Whether walks of this era can be believed.
bool walks_hold(uint32_t era);

// Around what may unmap code: meanwhile the unwinder is asked, and afterwards no rule from before is believed if
// anything was unmapped.
void code_may_be_unmapped();
void code_was_unmapped();
// How often that has happened, as far as is known.
uint32_t code_era();

}  // namespace cuvet
