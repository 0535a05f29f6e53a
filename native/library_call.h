// How a program's call of a library's function enters the shim and goes on to the real one.
#pragma once

#include <cstdint>

namespace cuvet {

// What callers enter that asked dlsym for the symbol. Those that the loader has bound enter the exported symbol.
void* entrance_of_asked(uint32_t symbol);

}  // namespace cuvet

// Address of the shim's function of this name; null if it stands in front of none.
extern "C" void* cuvet_library_function(const char* name);
