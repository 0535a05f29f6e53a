#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "guard.h"
#include "inputs.h"
#include "own_files.h"

namespace cuvet::emulated {

namespace {

constexpr uint64_t GRANULARITY = 2u << 20;
constexpr size_t PAGE = 4096;
constexpr uint64_t LAZY_ZEROS = 1u << 20;     // from that many bytes on, a fill with zeros takes no memory
constexpr uint64_t LAZY_PATTERN = 32u << 20;  // and one with something else takes that of one piece
constexpr uint64_t PATTERN_PIECE = 8u << 20;  // a mapping each: a process may have 65530 of them (vm.max_map_count)

struct Range {
    uint64_t bytes;
    uint64_t shadow;  // where the host can read it; the range itself if the host may touch it; 0: nowhere any more
};

struct Ranges {
    std::mutex mutex;
    std::map<uint64_t, Range> by_start;
};

Ranges& ranges() {
    static Ranges* all = new Ranges;  // never destroyed: calls come from exit handlers too
    return *all;
}

uint64_t span(uint64_t bytes, uint64_t rows, uint64_t pitch) { return rows == 0 ? 0 : (rows - 1) * pitch + bytes; }

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Maps zeroed memory, at `address` unless that is 0. Returns 0 if it cannot be had.
uint64_t map(uint64_t address, uint64_t bytes, int protection) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address != 0 ? MAP_FIXED_NOREPLACE : 0);
    void* start = mmap(reinterpret_cast<void*>(address), bytes, protection, flags, -1, 0);
    return start == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(start);
}

// Address space for the device only, aligned to the granularity.
uint64_t map_for_device(uint64_t bytes) {
    const uint64_t first = map(0, bytes + GRANULARITY, PROT_NONE);
    if (first == 0) return 0;
    const uint64_t aligned = round_up(first, GRANULARITY);
    if (aligned > first) munmap(reinterpret_cast<void*>(first), aligned - first);
    const uint64_t surplus = first + GRANULARITY - aligned;
    if (surplus > 0) munmap(reinterpret_cast<void*>(aligned + bytes), surplus);
    return aligned;
}

// Where the bytes of a device range can be read and written; the address itself if it is no device address. `ours`
// becomes true if it is memory that we reserved. False if the bytes begin in a device range and end outside it.
bool locate_locked(const Ranges& all, uint64_t address, uint64_t bytes, uint64_t* location, bool* ours) {
    *location = address;
    auto next = all.by_start.upper_bound(address);
    if (next == all.by_start.begin()) return true;
    const auto& [start, range] = *--next;
    if (address - start >= range.bytes || range.shadow == 0) return true;
    if (bytes > range.bytes - (address - start)) return false;
    *location = range.shadow + (address - start);
    *ours = true;
    return true;
}

bool locate(uint64_t address, uint64_t bytes, uint64_t* location) {
    Ranges& all = ranges();
    std::lock_guard<std::mutex> lock(all.mutex);
    bool ours = false;
    return locate_locked(all, address, bytes, location, &ours);
}

void say_forbidden(int error) {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    fprintf(stderr, "cuvet: the emulated device needs process_vm_readv, which this system refuses: %s\n",
            strerror(error));
}

int transfer(uint64_t destination, uint64_t source, uint64_t bytes) {
    DeviceTouch written(destination, bytes), read(source, bytes);
    while (bytes > 0) {
        iovec to{reinterpret_cast<void*>(destination), bytes};
        iovec from{reinterpret_cast<void*>(source), bytes};
        const ssize_t moved = read_own(to, from);
        if (moved < 0 && errno != EFAULT) say_forbidden(errno);
        if (moved <= 0 && !written.again() && !read.again()) return EFAULT;
        if (moved <= 0) continue;
        destination += static_cast<uint64_t>(moved);
        source += static_cast<uint64_t>(moved);
        bytes -= static_cast<uint64_t>(moved);
    }
    return 0;
}

// Puts pages in place of what is mapped there, as they were made: the file's, or zeros. They take no memory until they
// are written. False if the system refuses; then what was there is still there.
bool replace_pages(uint64_t start, uint64_t bytes, int protection, int file) {
    const int flags = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED | (file < 0 ? MAP_ANONYMOUS : 0);
    return mmap(reinterpret_cast<void*>(start), bytes, protection, flags, file, 0) != MAP_FAILED;
}

int fill_bytes(uint64_t destination, const uint8_t (&pattern)[PAGE], uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += sizeof pattern) {
        const uint64_t piece = bytes - done < sizeof pattern ? bytes - done : sizeof pattern;
        const int error = transfer(destination + done, reinterpret_cast<uint64_t>(pattern), piece);
        if (error != 0) return error;
    }
    return 0;
}

// A file of one piece of the pattern, that no directory has; -1 if there can be none.
int pattern_file(const uint8_t (&pattern)[PAGE]) {
    const int file = memfd_create("cuvet", MFD_CLOEXEC);
    if (file < 0) return -1;
    for (uint64_t done = 0; done < PATTERN_PIECE; done += sizeof pattern) {
        if (write_all(file, pattern, sizeof pattern) == 0) continue;
        close(file);
        return -1;
    }
    return file;
}

// Whole pages of our own memory, which nobody has to write: returns how many bytes from `start` on hold the pattern
// now.
uint64_t fill_lazily(uint64_t start, uint64_t bytes, const uint8_t (&pattern)[PAGE], bool zeros) {
    if (zeros) return bytes >= LAZY_ZEROS && replace_pages(start, bytes, PROT_READ | PROT_WRITE, -1) ? bytes : 0;
    const int file = bytes >= LAZY_PATTERN ? pattern_file(pattern) : -1;
    if (file < 0) return 0;
    uint64_t done = 0;
    while (bytes - done >= PATTERN_PIECE && replace_pages(start + done, PATTERN_PIECE, PROT_READ | PROT_WRITE, file))
        done += PATTERN_PIECE;
    close(file);
    return done;
}

// Fills the whole pages of one row, if that is our memory and large; `done` becomes the part from `head` on that holds
// the pattern now. The pattern repeats within a page, and an element never crosses one: it stands in every page as in
// the first. Nobody can release the memory meanwhile, which would give its addresses to others.
int locate_and_fill_pages(uint64_t destination, const Rows& rows, const uint8_t (&pattern)[PAGE], bool zeros,
                          uint64_t* to, uint64_t* head, uint64_t* done) {
    Ranges& all = ranges();
    std::lock_guard<std::mutex> lock(all.mutex);
    bool ours = false;
    if (!locate_locked(all, destination, span(rows.bytes, rows.rows, rows.destination_pitch), to, &ours)) return EFAULT;
    *head = round_up(*to, PAGE) - *to;
    if (ours && rows.rows == 1 && *head < rows.bytes)
        *done = fill_lazily(*to + *head, (rows.bytes - *head) / PAGE * PAGE, pattern, zeros);
    return 0;
}

}  // namespace

int reserve(uint64_t address, uint64_t bytes, Access access, uint64_t* reserved) {
    const uint64_t rounded = round_up(bytes, PAGE);
    if (rounded < bytes || rounded == 0) return EINVAL;
    const bool host = access == Access::HOST;
    const uint64_t start = host || address != 0 ? map(address, rounded, host ? PROT_READ | PROT_WRITE : PROT_NONE)
                                                : map_for_device(rounded);
    if (start == 0) return ENOMEM;
    const uint64_t shadow = host ? start : map(0, rounded, PROT_READ | PROT_WRITE);
    if (shadow == 0) {
        munmap(reinterpret_cast<void*>(start), rounded);
        return ENOMEM;
    }
    Ranges& all = ranges();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.by_start[start] = {rounded, shadow};
    *reserved = start;
    return 0;
}

int release(uint64_t address, bool keep_addresses) {
    Ranges& all = ranges();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.by_start.find(address);
    if (found == all.by_start.end()) return EINVAL;
    Range& range = found->second;
    if (range.shadow != 0 && range.shadow != address) munmap(reinterpret_cast<void*>(range.shadow), range.bytes);
    range.shadow = 0;
    if (keep_addresses && replace_pages(address, range.bytes, PROT_NONE, -1)) return 0;
    munmap(reinterpret_cast<void*>(address), range.bytes);
    all.by_start.erase(found);
    return 0;
}

int copy(uint64_t destination, uint64_t source, const Rows& rows) {
    uint64_t to = 0;
    uint64_t from = 0;
    if (!locate(destination, span(rows.bytes, rows.rows, rows.destination_pitch), &to)) return EFAULT;
    if (!locate(source, span(rows.bytes, rows.rows, rows.source_pitch), &from)) return EFAULT;
    for (uint64_t row = 0; row < rows.rows; row++) {
        const int error = transfer(to + row * rows.destination_pitch, from + row * rows.source_pitch, rows.bytes);
        if (error != 0) return error;
    }
    return 0;
}

int fill(uint64_t destination, uint64_t value, uint64_t element_bytes, const Rows& rows) {
    alignas(8) uint8_t pattern[PAGE];  // on the stack: the shim's thread-local memory must stay small enough for dlopen
    if (element_bytes == 0 || element_bytes > sizeof value || sizeof pattern % element_bytes != 0) return EINVAL;
    for (size_t offset = 0; offset < sizeof pattern; offset += element_bytes)
        memcpy(pattern + offset, &value, element_bytes);
    uint64_t first = 0;  // of `value` the caller's register may hold more than the element
    memcpy(&first, pattern, element_bytes);
    uint64_t to = 0;
    uint64_t head = 0;
    uint64_t done = 0;
    int error = locate_and_fill_pages(destination, rows, pattern, first == 0, &to, &head, &done);
    if (error != 0) return error;
    if (done > 0) {
        error = fill_bytes(to, pattern, head);
        return error != 0 ? error : fill_bytes(to + head + done, pattern, rows.bytes - head - done);
    }
    for (uint64_t row = 0; row < rows.rows; row++) {
        error = fill_bytes(to + row * rows.destination_pitch, pattern, rows.bytes);
        if (error != 0) return error;
    }
    return 0;
}

int read_host(void* destination, uint64_t source, size_t bytes) {
    return transfer(reinterpret_cast<uint64_t>(destination), source, bytes);
}

int write_host(uint64_t destination, const void* source, size_t bytes) {
    return transfer(destination, reinterpret_cast<uint64_t>(source), bytes);
}

long read_host_string(char* destination, uint64_t source, size_t most) {
    size_t length = 0;
    while (length < most) {
        size_t piece = PAGE - (source + length) % PAGE;
        if (piece > most - length) piece = most - length;
        if (read_host(destination + length, source + length, piece) != 0) return -1;
        if (const void* end = memchr(destination + length, 0, piece)) {
            return static_cast<const char*>(end) - destination;
        }
        length += piece;
    }
    return static_cast<long>(length);
}

}  // namespace cuvet::emulated
