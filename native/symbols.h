// Indexes into `symbols`, by name: SYMBOL_cuStreamCreate.
#pragma once

#include <cstdint>

namespace cuvet {

enum : uint32_t {
#include "generated/symbols.inc"
    SYMBOL_COUNT,
};

}  // namespace cuvet
