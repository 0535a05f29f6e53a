#include "wire.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

namespace cuvet::emulated {

namespace {

constexpr uint32_t most_bytes = 64u << 20;
constexpr int lowest_descriptor = 512;  // out of the way of programs that close or count the low ones
constexpr size_t header_bytes = 8;

int out_of_the_way(int descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest_descriptor);
    if (moved < 0) return descriptor;
    ::close(descriptor);
    return moved;
}

}  // namespace

bool Connection::open(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return false;
    if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        int error = errno;
        ::close(descriptor);
        errno = error;
        return false;
    }
    socket_ = out_of_the_way(descriptor);
    return true;
}

void Connection::close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
}

bool Connection::send(Message& message) {
    const std::vector<uint8_t>& bytes = message.finish();
    return send_all(bytes.data(), bytes.size());
}

bool Connection::receive(Command& command) {
    uint32_t length = 0;
    if (!receive_all(&length, sizeof length) || length < header_bytes || length > most_bytes) return false;
    incoming_.resize(length);
    if (!receive_all(incoming_.data(), length)) return false;
    command.opcode = static_cast<Opcode>(incoming_[0]);
    command.operands = incoming_[1];
    size_t operand_bytes = command.operands * sizeof(uint64_t);
    if (command.operands > most_operands || header_bytes + operand_bytes > length) return false;
    memset(command.operand, 0, sizeof command.operand);
    memcpy(command.operand, incoming_.data() + header_bytes, operand_bytes);
    command.data = incoming_.data() + header_bytes + operand_bytes;
    command.bytes = length - header_bytes - operand_bytes;
    return true;
}

bool Connection::send_all(const void* data, size_t size) {
    const auto* next = static_cast<const uint8_t*>(data);
    while (size > 0) {
        ssize_t sent = ::send(socket_, next, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        next += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

bool Connection::receive_all(void* data, size_t size) {
    auto* next = static_cast<uint8_t*>(data);
    while (size > 0) {
        ssize_t received = recv(socket_, next, size, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return false;
        next += received;
        size -= static_cast<size_t>(received);
    }
    return true;
}

}  // namespace cuvet::emulated
