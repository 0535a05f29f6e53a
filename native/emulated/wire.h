// The device protocol's messages (docs/architecture.md, "Device protocol"), as the shim sees them.
#pragma once

#include <string.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "own_files.h"

namespace cuvet::emulated {

#include "generated/protocol.inc"

struct Command {
    Op op;
    bool unanswered;
    bool foreseen;
    bool awake;
    uint32_t operands;
    uint64_t operand[MOST_OPERANDS];
    const uint8_t* data;
    size_t bytes;
};

// A message under construction: its length, a header, then what is appended. Numbers are little-endian, as on every
// machine that CUDA runs on.
class Message {
  public:
    explicit Message(MessageKind kind, uint8_t words = 0, uint16_t flags = 0, uint32_t number = 0) {
        put(uint32_t{0});
        put(kind);
        put(words);
        put(flags);
        put(number);
    }
    void append(const void* data, size_t size) {
        const uint8_t* first = static_cast<const uint8_t*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    template <class Number>
    void put(Number value) {
        append(&value, sizeof value);
    }
    const std::vector<uint8_t>& finish() {
        const uint32_t length = static_cast<uint32_t>(bytes_.size() - sizeof(uint32_t));
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
    void close();
    bool is_open() const { return is_ours(socket_); }
    bool send(Message* message);
    // The next command for the connection's call of that number. Those for a call that it is inside of, which the
    // device process may send before, wait until they are asked for. The command's data stays until the next one is
    // received.
    bool receive(uint32_t call, Command* command);

  private:
    // Commands that have come, from `first` on.
    struct Received {
        std::vector<uint8_t> bytes;
        size_t first = 0;
        size_t end = 0;

        size_t size() const { return end - first; }
    };

    bool send_all(const void* data, size_t size);
    bool receive_bytes(size_t wanted);
    ssize_t receive_some(void* data, size_t size);
    bool receive_command();
    void put_off(size_t bytes);

    Descriptor socket_;
    Received incoming_;
    Received put_off_;
    bool awake_ = false;  // the device process does not sleep: the next commands come at once
};

}  // namespace cuvet::emulated
