// Call frame information: how a frame leads to its caller, as .eh_frame says it.
#pragma once

#include <cstdint>

namespace cuvet {

enum class Cfa : uint8_t { UNKNOWN, STACK, FRAME, AT_FRAME, NONE, OUTERMOST, COMPLEX };
enum class Saved : uint8_t { NOT, AT_CFA, AT_FRAME };

// Where the frame's caller is found: the canonical frame address (CFA), below which its return address stands, is the
// stack pointer plus `offset` (STACK), the frame pointer plus it (FRAME), or stands there (AT_FRAME). The caller's
// frame pointer is the same, or saved `frame_offset` from the CFA or from the frame pointer. NONE: nothing is known of
// the code; OUTERMOST: there is no caller; COMPLEX: it is found in another way. Offsets are in units of 8 bytes.
struct Rule {
    Cfa cfa = Cfa::UNKNOWN;
    Saved saved = Saved::NOT;
    int32_t offset = 0;
    int32_t frame_offset = 0;
};

constexpr int64_t MOST_OFFSET = 1 << 19, MOST_FRAME_OFFSET = 1 << 11;

// Of the call before `address`, in the function that begins at `function` and that `description` (an FDE) is about.
Rule rule_of(const void* description, uint64_t function, uint64_t address);

}  // namespace cuvet
