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

// Where the code stands that asks.
struct Start {
    uint64_t address, stack_pointer, frame_pointer;
};

struct Walk {
    static constexpr int MOST = 80;  // with the shim's own frames

    uint32_t era;  // code_era() at that time
    int count;
    bool is_settled;  // all steps are, and it has an end
    Step steps[MOST];
};

// A word of the stack that says where a walk leads: a return address, or a saved frame pointer that some rule uses.
struct Word {
    uint32_t holds;  // the low half
    uint32_t at;     // bytes outward of where the walk starts
};

// What tells that a walk would be the same again, on as few lines as can be.
struct Footprint {
    static constexpr int MOST = 112;

    Start start;
    uint32_t era;
    int16_t count;     // of the words; -1: they do not tell
    bool uses_frame;   // the start's frame pointer counts
    Word words[MOST];  // outward
};

// Part of a stack: both ends could be read.
struct Readable {
    uint64_t begin, end;
};

// What a thread keeps between two walks: the last one, and room for the next.
struct Walks {
    static constexpr int MOST = 2;

    Walk all[MOST];
    int last;
    Readable stack;
};

// The unwinder's search for the description of the function at an address: null if there is none.
struct FunctionBases {
    void* text;
    void* data;
    void* function;
};
using FindDescription = const void* (*)(void* address, FunctionBases* bases);

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

inline void note_word(Footprint* footprint, const uint64_t* place, uint64_t holds) {
    const uint64_t at = reinterpret_cast<uint64_t>(place) - footprint->start.stack_pointer;
    if (at <= UINT32_MAX && footprint->count >= 0 && footprint->count < Footprint::MOST)
        footprint->words[footprint->count++] = {static_cast<uint32_t>(holds), static_cast<uint32_t>(at)};
    else  // it goes on on another stack, or is long
        footprint->count = -1;
}

// Of a walk from `start`. Where several frames have the same frame pointer, its word stands once.
inline void note_words(const Walk& walk, const Start& start, Footprint* footprint) {
    footprint->start = start;
    footprint->era = walk.era;
    footprint->uses_frame = false;
    footprint->count = walk.is_settled ? 0 : -1;
    const uint64_t* frame_at = nullptr;  // null: in the start's register
    bool is_noted = false;
    for (int i = 0; i < walk.count && footprint->count >= 0; i++) {
        const Step& step = walk.steps[i];
        if (step.uses_frame && !is_noted) {
            is_noted = true;
            if (frame_at)
                note_word(footprint, frame_at, step.frame_pointer);
            else
                footprint->uses_frame = true;
        }
        if (i + 1 < walk.count) note_word(footprint, step.return_at, walk.steps[i + 1].address);
        if (step.frame_at) {
            frame_at = step.frame_at;
            is_noted = false;
        }
    }
}

READS_STACKS __attribute__((always_inline)) inline uint32_t differs(const Word& word, const char* stack) {
    return *reinterpret_cast<const uint32_t*>(stack + word.at) ^ word.holds;
}

// Whether a walk from `start` would be that one, as far as the stack tells: the registers that count in each frame are
// the same, so that its caller's are in the same places, and hold the same.
READS_STACKS inline bool is_walked_again(const Footprint& footprint, const Start& start) {
    if (footprint.start.address != start.address || footprint.start.stack_pointer != start.stack_pointer ||
        (footprint.uses_frame && footprint.start.frame_pointer != start.frame_pointer))
        return false;
    const char* stack = reinterpret_cast<const char*>(start.stack_pointer);
    int i = 0;
    for (; i + 3 < footprint.count; i += 4) {  // a branch for four
        const Word* word = footprint.words + i;
        if (differs(word[0], stack) | differs(word[1], stack) | differs(word[2], stack) | differs(word[3], stack))
            return false;
    }
    for (; i < footprint.count; i++)
        if (differs(footprint.words[i], stack)) return false;
    return footprint.count >= 0;
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
