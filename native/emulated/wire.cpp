#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

namespace cuvet::emulated {

namespace {

constexpr size_t HEADER_BYTES = 8;

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

}  // namespace

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

bool Connection::receive(Command* command) {
    uint32_t length = 0;
    if (!receive_all(&length, sizeof length) || length < HEADER_BYTES || length > MOST_MESSAGE_BYTES) return false;
    incoming_.resize(length);
    if (!receive_all(incoming_.data(), length)) return false;
    command->op = static_cast<Op>(incoming_[0]);
    command->operands = incoming_[1];
    const size_t operand_bytes = command->operands * sizeof(uint64_t);
    if (command->operands > MOST_OPERANDS || HEADER_BYTES + operand_bytes > length) return false;
    memset(command->operand, 0, sizeof command->operand);
    memcpy(command->operand, incoming_.data() + HEADER_BYTES, operand_bytes);
    command->data = incoming_.data() + HEADER_BYTES + operand_bytes;
    command->bytes = length - HEADER_BYTES - operand_bytes;
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

bool Connection::receive_all(void* data, size_t size) {
    uint8_t* next = static_cast<uint8_t*>(data);
    while (size > 0) {
        if (!is_open()) return false;
        const ssize_t received = recv(socket_.number, next, size, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return false;
        next += received;
        size -= static_cast<size_t>(received);
    }
    return true;
}

}  // namespace cuvet::emulated
