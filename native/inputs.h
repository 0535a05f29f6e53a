// Memory of the program that is stored with a call: what its pointers named at entry, and what explains a failure.
#pragma once

#include <cstdint>

#include "backend.h"
#include "recorder.h"

namespace cuvet {

constexpr int MOST_INPUTS = 12;
constexpr uint32_t MOST_INPUT_BYTES = 512;

struct Inputs {
    int count;
    uint32_t bytes;  // as written, with headers and padding
    struct {
        uint16_t parameter;
        uint32_t length;
        char data[MOST_INPUT_BYTES];
    } items[MOST_INPUTS];
};

// Reads with care: a wild pointer must fail in the driver, not here.
void gather_inputs(const EntryPoint& entry_point, const uint64_t* words, const Blob* structs, Inputs* inputs);
void write_inputs(const Inputs& inputs, char* at);

// Stores what a failed load was given as its image, and the mappings around what could not be registered.
void explain_failure(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number);

// Copies memory of this process that may not be readable; how many bytes could be read.
uint64_t read_carefully(uint64_t address, void* to, uint64_t bytes);

}  // namespace cuvet
