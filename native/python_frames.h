// The Python frames of the calling thread, read from CPython's own memory: no reference is taken, no lock is needed,
// nothing is allocated. Only the thread itself changes its frames, so this is safe even where it has released the GIL.
#pragma once

#include <limits.h>

#include <atomic>
#include <cstdint>

#include "hot.h"

namespace cuvet {

struct PythonFrame {
    const char* code;  // PyCodeObject*
    int offset;        // of the instruction, in bytes
};

// Looks for an interpreter of a known version (CPython 3.10 to 3.14) in the process. Takes the loader's lock.
void find_python();

extern std::atomic<bool> python_found;
inline bool python_is_found() { return python_found.load(std::memory_order_acquire); }

// Innermost first; how many there are, at most `most`, among the innermost `walked` of the interpreter's, some of which
// are its own. 0 without an interpreter.
int python_frames(PythonFrame* frames, int most, int walked = INT_MAX);

// A number that differs where the innermost `walked` frames of the interpreter do, unless another code object has taken
// the place of one. 0 without an interpreter.
HOT uint64_t python_position(int walked);

// A number that differs where python_frames() does, or the code objects have other names; 0 without an interpreter.
uint64_t python_key(int most);

uint32_t python_line(const PythonFrame& frame);
// Identifies a code object even if another one took its address later.
uint64_t python_code_key(const char* code);
// As UTF-8, cut to `bytes`; how many bytes there are.
uint32_t python_file_name(const char* code, char* text, uint32_t bytes);
uint32_t python_qualified_name(const char* code, char* text, uint32_t bytes);

}  // namespace cuvet
