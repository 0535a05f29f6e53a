// Device memory of the emulated device: ranges of the program's own address space.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulated/wire.h"

namespace cuvet::emulated {

struct Rows {
    uint64_t bytes;
    uint64_t rows;
    uint64_t destination_pitch;
    uint64_t source_pitch;
};

// Reserves a range, at `address` unless that is 0. A range for the device only faults when the host touches it; what it
// holds lives in a shadow range elsewhere. Returns 0 or errno.
int reserve(uint64_t address, uint64_t bytes, Access access, uint64_t* reserved);
// `keep_addresses`: until the range is released once more, nothing else is put there.
int release(uint64_t address, bool keep_addresses);

// These take host and device addresses. They return 0, or EFAULT for memory that is not there: they never fault.
int copy(uint64_t destination, uint64_t source, const Rows& rows);
int fill(uint64_t destination, uint64_t value, uint64_t element_bytes, const Rows& rows);

// As the host itself would: memory for the device only gives EFAULT.
int read_host(void* destination, uint64_t source, size_t bytes);
int write_host(uint64_t destination, const void* source, size_t bytes);
// Reads up to `most` bytes, stopping at a NUL; returns the length or -1.
long read_host_string(char* destination, uint64_t source, size_t most);

}  // namespace cuvet::emulated
