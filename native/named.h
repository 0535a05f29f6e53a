// The handles that a call names.
#pragma once

#include <string.h>

#include <cstdint>

#include "inputs.h"
#include "liveness.h"

namespace cuvet {

constexpr uint64_t MOST_ELEMENTS = 64;

inline uint64_t load(const char* memory, uint32_t bytes) {
    uint64_t value = 0;
    memcpy(&value, memory, bytes < 8 ? bytes : 8);
    return value;
}

// Calls `visit` with each handle that the role names and that can be read: the driver may refuse the call before it
// looks at a wild pointer.
template <class Visit>
void each_handle(Thread* thread, const Role& role, const uint64_t* words, Visit visit) {
    uint64_t word = words[role.parameter];
    if (!(role.flags & IN_STRUCT) && role.count == NO_PARAMETER) return visit(word);
    if (!word) return;
    const uint64_t address = word + role.offset, asked = role.count == NO_PARAMETER ? 1 : words[role.count];
    const uint64_t count = asked < MOST_ELEMENTS ? asked : MOST_ELEMENTS;
    if (!count || !is_readable(thread, address, count * role.bytes)) return;
    const char* memory = reinterpret_cast<const char*>(address);
    for (uint64_t i = 0; i < count; i++) visit(load(memory + i * role.bytes, role.bytes));
}

inline bool is_builtin(Kind kind, uint64_t handle) { return kind == Kind::STREAM && is_builtin_stream(handle); }

}  // namespace cuvet
