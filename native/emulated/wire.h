// The device protocol's messages (docs/architecture.md, "Device protocol"), as the shim sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../own_files.h"

namespace cuvet::emulated {

constexpr uint16_t protocol_version = 1;
constexpr uint32_t most_operands = 32;

enum class Frame : uint8_t {
    driver_call = 0,
    runtime_call = 1,
    library_call = 2,
    key = 251,
    bring = 252,
    goodbye = 253,
    answer = 254,
    hello = 255
};

enum class Opcode : uint8_t {
    return_ = 1,
    read = 2,
    write = 3,
    read_string = 4,
    copy = 5,
    set = 6,
    reserve = 7,
    release = 8,
    call_driver = 9,
    call_host = 10,
    drain = 11,
    scratch = 12,
    raise = 13,
    lookup = 14,
    message = 15,
};

struct Command {
    Opcode opcode;
    uint32_t operands;
    uint64_t operand[most_operands];
    const uint8_t* data;
    size_t bytes;
};

// A message under construction: its length, then what is appended. Numbers are little-endian, as on every machine that
// CUDA runs on.
class Message {
  public:
    Message() { put(uint32_t{0}); }
    void append(const void* data, size_t size) {
        const auto* first = static_cast<const uint8_t*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    template <typename Number>
    void put(Number value) {
        append(&value, sizeof value);
    }
    const std::vector<uint8_t>& finish() {
        auto length = static_cast<uint32_t>(bytes_.size() - sizeof(uint32_t));
        memcpy(bytes_.data(), &length, sizeof length);
        return bytes_;
    }

  private:
    std::vector<uint8_t> bytes_;
};

// A connection to the device process, used by one thread. Its functions return false when the device process is gone,
// or the program has closed the connection's descriptor.
class Connection {
  public:
    // Through the process's first connection, which was made by path. The path may lead elsewhere by now: chroot,
    // setuid.
    bool open(const char* path);
    void close() { close_ours(&socket_); }
    bool is_open() const { return is_ours(socket_); }
    bool send(Message& message);
    bool receive(Command& command);

  private:
    bool send_all(const void* data, size_t size);
    bool receive_all(void* data, size_t size);

    Descriptor socket_;
    std::vector<uint8_t> incoming_;
};

}  // namespace cuvet::emulated
