// Files and sockets of ours in a program that may close any descriptor and lower any limit.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

namespace cuvet {

// The program may close its number (close_range(3, ~0U, 0)), and own it then: to be asked before each use.
struct Descriptor {
    int number = -1;
    dev_t device = 0;
    ino_t inode = 0;
};

// What `number` is, moved out of the way of programs that count on small numbers. errno is kept.
Descriptor keep(int number);
bool is_ours(const Descriptor& descriptor);
// Does not close what the program has in its place.
void close_ours(Descriptor* descriptor);

// Writes that cannot end the program: no SIGXFSZ where the file may not grow, no SIGPIPE where nobody reads. They
// return 0 or an errno.
int write_at(int file, const void* data, size_t bytes, uint64_t offset);
int write_all(int file, const void* data, size_t bytes);

}  // namespace cuvet
