// Indexes into `symbols`, by name: SYMBOL_cuStreamCreate. Those that the runtime calls most come first.
#pragma once

#include <cstdint>

namespace cuvet {

enum : uint32_t {
#include "generated/symbols.inc"
    SYMBOL_COUNT,
};

}  // namespace cuvet
