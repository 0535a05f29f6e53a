// The functions of NVIDIA's libraries (cuDNN, cuBLAS, …) that the shim stands in front of: what the generated tables
// say about them, and where the real ones are. See
// docs/decisions/0007-libraries-behind-one-entrance.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "entry_points.h"

namespace cuvet {

#include "generated/library_counts.inc"

// What a function takes, and the roles of it. Functions that differ in nothing else share a row, whose entry point has
// neither name nor id.
struct LibraryShape {
    EntryPoint entry_point;
    const char* passing;  // how its arguments are passed: see read_arguments() in library_call.cpp
};

// One exported symbol.
struct LibrarySymbol {
    uint32_t name;  // place in library_names
    uint16_t entry_point;
    uint16_t shape;
};

extern const LibrarySymbol library_symbols[LIBRARY_SYMBOL_COUNT];  // ordered by name
extern const char library_names[];
extern const LibraryShape library_shapes[];
extern const char library_entry_point_names[];  // canonical, each with its NUL; the first has id entry_point_count

inline uint32_t library_entry_point(uint32_t symbol) { return entry_point_count + library_symbols[symbol].entry_point; }

// One place of the program that calls one symbol.
struct CallSite {
    std::atomic<void*> function;        // what is called there without the shim; null if there is none
    std::atomic<uint64_t> state;        // unloads() when it was found, and WATCHED; 0: not found yet
    std::atomic<uint32_t> stored;       // calls that made something transient
    std::atomic<uint32_t> stack_words;  // of the arguments, and 1; 0: not counted yet
};

constexpr uint32_t NO_LIBRARY_SYMBOL = ~0u;
uint32_t library_symbol(const char* name);

inline uint64_t call_site_key(uint32_t symbol, const void* caller) {
    return reinterpret_cast<uint64_t>(caller) ^ uint64_t { symbol + 1 } << 48;
}
// Null if there is no memory left.
CallSite* call_site(uint64_t key);

struct RealFunction {
    void* address;  // null: there is none
    bool watched;   // its calls are checked and recorded
};

// For a call that the loader has led to our symbol. Takes no lock, but where several files export the symbol.
RealFunction bound_function(CallSite* site, uint32_t symbol, const void* caller);
// For a call through an address that dlsym gave.
RealFunction asked_function(uint32_t symbol);

// What dlsym answers to `caller` if `name` is one of ours. False: what the real one does.
bool answer_dlsym(void* library, const char* name, const void* caller, void** answer);

}  // namespace cuvet
