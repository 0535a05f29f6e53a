// The loader's functions that the shim stands in front of (dlopen, dlsym, dlclose), and the real ones. In the shim,
// their plain names are its own.
#pragma once

#include <cstdint>

namespace cuvet {

void* real_dlopen(const char* path, int mode);
void* real_dlsym(void* library, const char* name);
int real_dlclose(void* library);

// Some instruction of the shim.
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));
extern "C" const char _end __attribute__((visibility("hidden")));

const void* own_code();
inline bool is_own_address(uint64_t address) {
    return address >= reinterpret_cast<uint64_t>(&__ehdr_start) && address < reinterpret_cast<uint64_t>(&_end);
}
uint64_t own_bias();

// How often a library may have been unloaded.
uint64_t unloads();

}  // namespace cuvet
