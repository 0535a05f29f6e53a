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

// What a launch is given.
struct KernelArguments {
    uint8_t parameter;  // of the call, that points to the list of them; of a node, one more than it has
    int count;
    uint32_t before;        // bytes that say where each one is
    uint32_t bytes;         // of the input that holds them all; 0: they are not known
    uint64_t list, packed;  // where they are: one of the two
    KernelParameter parameters[MOST_ARGUMENTS];
};

// Whether a call can be given arguments of a kernel: it launches one, or describes a node.
inline bool gives_arguments(const EntryPoint& entry_point) {
    return entry_point.flags & COPIES_ARGUMENTS || entry_point.node_params != NO_PARAMETER;
}

void find_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, KernelArguments* found);

// As an input of the call: u32 count, count x {u16 offset, u16 bytes}, and behind that, from the next multiple of 8,
// what stands in a packed buffer of all.
void write_arguments(Thread* thread, const KernelArguments& found, char* at);

// Copies all words of 8 bytes in the arguments of the launched kernel, those in structs too; how many there are.
constexpr int MOST_ARGUMENT_WORDS = 128;
int argument_words(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                   uint64_t found[MOST_ARGUMENT_WORDS]);

// Copies the 8-byte arguments of the launched kernel; how many there are.
int pointer_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                      uint64_t arguments[MOST_ARGUMENTS]);

}  // namespace cuvet
