// Memory of the program that is stored with a call: what its pointers named at entry, and what explains a failure.
#pragma once

#include <sys/uio.h>

#include <cstdint>

#include "backend.h"
#include "recorder.h"

namespace cuvet {

// process_vm_readv() of this process, by this thread: by its own number the process has no memory once its first thread
// has ended. Bytes that were read, or -1 and errno.
ssize_t read_own(const iovec& to, const iovec& from);

// Room that write_inputs() needs at most.
uint32_t most_input_bytes(const EntryPoint& entry_point, const uint64_t* words);
// Reads with care: a wild pointer must fail in the driver, not here. How many bytes it wrote; those after them stay
// zero.
uint32_t write_inputs(const EntryPoint& entry_point, const uint64_t* words, const Blob* structs, char* at);

// Size of what the call registers; 0 if it registers nothing.
uint64_t registered_bytes(const EntryPoint& entry_point, const uint64_t* words);

// Of memory that is registered: stores the mappings around it if they are not all there any more, and returns whether
// it did. The driver does not mind unregistering it.
bool explain_unregistration(Thread* thread, uint64_t address, uint64_t bytes, uint64_t number);

// What code the call loads, if it is given an address: where it lies, and, unless that is in a file, the code itself.
void write_code(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number);

// Before an image is loaded: stores it if it is text without an end, which the driver may die of reading. True if it is
// PTX, and nothing but text up to memory that cannot be read, so that the driver does.
bool explain_crash(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number);

// Stores what a failed load was given as its image, and the mappings around what could not be registered.
void explain_failure(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number);

// Asks the kernel whether the page of an address can be read.
bool can_be_read(uint64_t address);

// Asks the kernel whether memory of this process can be read, and remembers the pages of which it said so.
bool probe(Thread* thread, uint64_t address, uint64_t bytes);

// The same for what is read at every call. A page that could be read once is trusted: the kernel is not asked again.
inline bool is_readable(Thread* thread, uint64_t address, uint64_t bytes) {
    const uint64_t page = page_of(address);
    if (thread->readable[page % READABLE_PAGES] == page && page_of(address + bytes - 1) == page) return true;
    return probe(thread, address, bytes);
}

}  // namespace cuvet
