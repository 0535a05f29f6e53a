// The arguments of a kernel launch that may be addresses, or hold some.
#pragma once

#include <cstdint>

#include "entry_points.h"
#include "recorder.h"

namespace cuvet {

constexpr int MOST_ARGUMENTS = 64;

// A parameter of a kernel.
struct KernelParameter {
    uint16_t index;
    uint16_t offset;  // in a packed buffer of all
    uint16_t bytes;
};

// The kernel or function that a call launches; 0 none.
uint64_t launched_function(const EntryPoint& entry_point, const uint64_t* words);

// The buffer of all arguments that a launch is given in its `extra`; 0 none.
uint64_t packed_arguments(Thread* thread, uint64_t extra);

// How many there are. They are what the driver tells of the function (cuFuncGetParamInfo, cuKernelGetParamInfo), asked
// once; 0 if it cannot tell.
int parameters_of(uint64_t function, KernelParameter parameters[MOST_ARGUMENTS]);

// Bytes of `write_arguments` at most.
uint32_t most_argument_bytes(const EntryPoint& entry_point);

// The arguments of the launched kernel, as an input of the parameter that points to them: u32 count, count x {u16
// offset, u16 bytes}, and behind that, from the next multiple of 8, what stands in a packed buffer of all. How many
// bytes; 0 if they are not known.
uint32_t write_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, char* at);

// Copies all words of 8 bytes in the arguments of the launched kernel, those in structs too; how many there are.
constexpr int MOST_ARGUMENT_WORDS = 128;
int argument_words(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                   uint64_t found[MOST_ARGUMENT_WORDS]);

// Copies the 8-byte arguments of the launched kernel; how many there are.
int pointer_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                      uint64_t arguments[MOST_ARGUMENTS]);

}  // namespace cuvet
