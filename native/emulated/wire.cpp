#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "recorder.h"

namespace cuvet::emulated {

namespace {

constexpr size_t LENGTH_BYTES = sizeof(uint32_t);
constexpr size_t HEADER_BYTES = 8;
constexpr size_t RECEIVED_AT_ONCE = 4096;

// The process's first connection: brings the others to the device process. A forked child goes on with its parent's.
Descriptor broker;
std::atomic<pid_t> broker_user{0};  // the process of the thread that uses it

// A forked child may find a lock that a thread of its parent had.
class BrokerLock {
  public:
    BrokerLock() {
        pid_t free = 0;
        while (!broker_user.compare_exchange_strong(free, process_)) {
            if (free != 0 && free != process_ && broker_user.compare_exchange_strong(free, process_)) return;
            free = 0;
            syscall(SYS_sched_yield);
        }
    }
    ~BrokerLock() { broker_user.store(0); }
    BrokerLock(const BrokerLock&) = delete;
    BrokerLock& operator=(const BrokerLock&) = delete;

  private:
    const pid_t process_ = getpid();
};

// A socket that is connected to a path, or to an abstract name; -1 if that is impossible.
int connect_to(const char* name, size_t length, bool abstract) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    errno = ENAMETOOLONG;
    if (length >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path + abstract, name, length);
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + 1);
    if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0) return descriptor;
    close(descriptor);
    return -1;
}

// `given`: NAME:KEY. The abstract name can be reached from every root directory and by every user; who has the key is
// let in.
int connect_by_name(const char* given) {
    const char* key = given ? strchr(given, ':') : nullptr;
    if (!key) return -1;
    const int descriptor = connect_to(given, static_cast<size_t>(key - given), true);
    if (descriptor < 0) return -1;
    Message message(MessageKind::KEY);
    message.append(key + 1, strlen(key + 1));
    const std::vector<uint8_t>& bytes = message.finish();
    if (send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()))
        return descriptor;
    close(descriptor);
    return -1;
}

bool connect_broker(const char* path) {
    int descriptor = connect_to(path, strlen(path), false);
    const int error = errno;
    if (descriptor < 0) descriptor = connect_by_name(getenv("CUVET_DEVICE_KEY"));
    errno = error;
    broker = keep(descriptor);
    return broker.number >= 0;
}

// Sends one end of a connection. The message is sent at once or not at all.
bool bring(int end) {
    Message message(MessageKind::BRING);
    std::vector<uint8_t> bytes = message.finish();
    iovec data{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof end)] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof end);
    memcpy(CMSG_DATA(rights), &end, sizeof end);
    ssize_t sent = 0;
    do sent = sendmsg(broker.number, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent > 0;
}

template <class Number>
Number number_at(const uint8_t* bytes) {
    Number number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

// Length, header and data of a message, as docs/architecture.md has them. False if it is no command.
bool read_command(const uint8_t* message, Command* command) {
    const size_t length = number_at<uint32_t>(message);
    const uint8_t* header = message + LENGTH_BYTES;
    command->op = static_cast<Op>(header[0]);
    command->operands = header[1];
    const uint16_t flags = number_at<uint16_t>(header + 2);
    command->unanswered = flags & UNANSWERED;
    command->foreseen = flags & FORESEEN;
    command->awake = flags & AWAKE;
    const size_t operand_bytes = command->operands * sizeof(uint64_t);
    if (command->operands > MOST_OPERANDS || HEADER_BYTES + operand_bytes > length) return false;
    memset(command->operand, 0, sizeof command->operand);
    memcpy(command->operand, header + HEADER_BYTES, operand_bytes);
    command->data = header + HEADER_BYTES + operand_bytes;
    command->bytes = length - HEADER_BYTES - operand_bytes;
    return true;
}

// Whether the one call began after the other, and so returns before it. Of those foreseen, the program has begun none
// that the device process has not.
bool is_inside(uint32_t call, uint32_t other) {
    return (call & FORESEEN_CALL) == (other & FORESEEN_CALL) && static_cast<int32_t>((call - other) << 1) > 0;
}

uint32_t call_of(const uint8_t* message) { return number_at<uint32_t>(message + LENGTH_BYTES + 4); }

}  // namespace

void Connection::close() {
    close_ours(&socket_);
    incoming_ = {};
    put_off_ = {};
    awake_ = false;
}

bool Connection::open(const char* path) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    socket_ = keep(ends[0]);
    bool brought = false;
    {
        BrokerLock lock;
        brought = (is_ours(broker) || connect_broker(path)) && bring(ends[1]);
    }
    ::close(ends[1]);
    if (!brought) close();
    return brought;
}

bool Connection::send(Message* message) {
    const std::vector<uint8_t>& bytes = message->finish();
    return send_all(bytes.data(), bytes.size());
}

bool Connection::receive(uint32_t call, Command* command) {
    if (put_off_.size() > 0 && call_of(put_off_.bytes.data() + put_off_.first) == call) {
        const uint8_t* message = put_off_.bytes.data() + put_off_.first;
        put_off_.first += LENGTH_BYTES + number_at<uint32_t>(message);
        return read_command(message, command);
    }
    for (;;) {
        if (!receive_command()) return false;
        const uint8_t* message = incoming_.bytes.data() + incoming_.first;
        const size_t bytes = LENGTH_BYTES + number_at<uint32_t>(message);
        incoming_.first += bytes;
        if (call_of(message) == call) {
            if (!read_command(message, command)) return false;
            if (command->op == Op::RETURN) awake_ = command->awake;
            return true;
        }
        if (is_inside(call_of(message), call)) return false;
        put_off(bytes);
    }
}

// Sees to it that a whole command has come.
bool Connection::receive_command() {
    if (!receive_bytes(LENGTH_BYTES)) return false;
    const uint32_t length = number_at<uint32_t>(incoming_.bytes.data() + incoming_.first);
    if (length < HEADER_BYTES || length > MOST_MESSAGE_BYTES) return false;
    return receive_bytes(LENGTH_BYTES + length);
}

// The command received last is for a call outside of this one.
void Connection::put_off(size_t bytes) {
    const uint8_t* message = incoming_.bytes.data() + incoming_.first - bytes;
    if (put_off_.size() == 0) put_off_ = {};
    put_off_.bytes.insert(put_off_.bytes.end(), message, message + bytes);
    put_off_.end = put_off_.bytes.size();
}

// As recv.
ssize_t Connection::receive_some(void* data, size_t size) {
    if (awake_) {
        const uint64_t end = now_ns(CLOCK_MONOTONIC) + AT_ONCE_NS;
        do {
            const ssize_t received = recv(socket_.number, data, size, MSG_DONTWAIT);
            if (received >= 0 || errno != EAGAIN) return received;
        } while (now_ns(CLOCK_MONOTONIC) < end);
    }
    return recv(socket_.number, data, size, 0);
}

bool Connection::receive_bytes(size_t wanted) {
    Received& all = incoming_;
    if (all.size() >= wanted) return true;
    if (all.first > 0) memmove(all.bytes.data(), all.bytes.data() + all.first, all.size());  // else it may be null
    all.end -= all.first;
    all.first = 0;
    if (all.bytes.size() < std::max(wanted, RECEIVED_AT_ONCE)) all.bytes.resize(std::max(wanted, RECEIVED_AT_ONCE));
    while (all.end < wanted) {
        if (!is_open()) return false;
        const ssize_t received = receive_some(all.bytes.data() + all.end, all.bytes.size() - all.end);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return false;
        all.end += static_cast<size_t>(received);
    }
    return true;
}

bool Connection::send_all(const void* data, size_t size) {
    const uint8_t* next = static_cast<const uint8_t*>(data);
    while (size > 0) {
        if (!is_open()) return false;
        const ssize_t sent = ::send(socket_.number, next, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        next += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

}  // namespace cuvet::emulated
