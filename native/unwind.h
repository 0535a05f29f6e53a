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
    bool is_settled;            // the registers alone say where these are
};

struct Walk {
    static constexpr int MOST = 80;  // with the shim's own frames

    uint32_t era;  // code_era() at that time
    int count;
    Step steps[MOST];
};

// What a thread keeps between two walks.
struct Walks {
    Walk both[2];
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

inline const Walk& last_walk(const Walks& walks) { return walks.both[walks.last]; }

// Around what may unmap code: meanwhile the unwinder is asked, and afterwards no rule from before is believed if
// anything was unmapped.
void code_may_be_unmapped();
void code_was_unmapped();
// How often that has happened, as far as is known.
uint32_t code_era();

}  // namespace cuvet
