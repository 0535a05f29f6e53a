// What the loader has loaded: whose code an address is, what a file exports and imports. Files are read as they lie in
// memory; the loader's lock, under which constructors run, is not taken.
#pragma once

#include <cstdint>

namespace cuvet {

// What follows the last slash.
const char* base_name(const char* path);

// A loaded file. `load_bias` names it as long as it is loaded.
struct File {
    uint64_t load_bias = 0;
    const char* path = "";  // empty for the program itself
    int position = 0;       // in the order of loading
};

// False if the address is in no file.
bool file_at(const void* address, File* file);

bool is_loaded(uint64_t load_bias);

// Version of the symbol that the file at `caller` imports; null if it imports none of that name, or no version of it.
const char* imported_version(const void* caller, const char* name);

struct Definition {
    void* function;
    File file;
};

// Files other than that at `except` which export the function, in that version if one is given, in the order of
// loading. How many there are, at most `most`.
int definitions(const char* name, const char* version, const void* except, Definition* found, int most);

bool exports(uint64_t load_bias, const char* name);

}  // namespace cuvet
