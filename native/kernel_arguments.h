// The arguments of a kernel launch that may be addresses.
#pragma once

#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

constexpr int MOST_ARGUMENTS = 64;

// Copies the 8-byte arguments of the launched kernel; how many there are. Their places are what the driver tells of the
// function (cuFuncGetParamInfo, cuKernelGetParamInfo), asked once; 0 if it cannot tell.
int pointer_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                      uint64_t arguments[MOST_ARGUMENTS]);

}  // namespace cuvet
