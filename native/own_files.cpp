#include "own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace cuvet {

namespace {

constexpr int LOWEST_NUMBER = 700;
constexpr uint64_t GROWTH_AND_PIPE = uint64_t{1} << (SIGXFSZ - 1) | uint64_t{1} << (SIGPIPE - 1);  // a kernel's set

// While it lives, these signals wait. Those that our writes raise, in this thread, are taken back.
class SignalsWithheld {
  public:
    SignalsWithheld() {
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &GROWTH_AND_PIPE, &mask_, sizeof mask_);
        syscall(SYS_rt_sigpending, &pending_, sizeof pending_);
    }
    ~SignalsWithheld() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_, nullptr, sizeof mask_); }
    SignalsWithheld(const SignalsWithheld&) = delete;
    SignalsWithheld& operator=(const SignalsWithheld&) = delete;

    // One that was pending before is the program's.
    void take_back(int error) {
        const int number = error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
        if (!number) return;
        const uint64_t raised = uint64_t{1} << (number - 1);
        const timespec at_once = {0, 0};
        if (!(pending_ & raised)) syscall(SYS_rt_sigtimedwait, &raised, nullptr, &at_once, sizeof raised);
    }

  private:
    uint64_t mask_ = 0, pending_ = 0;
};

// `write` writes what it can, from a position on.
template <class Write>
int write_whole(const void* data, size_t bytes, Write write) {
    SignalsWithheld signals;
    const char* from = static_cast<const char*>(data);
    for (size_t done = 0; done < bytes;) {
        const ssize_t written = write(from + done, bytes - done, done);
        if (written > 0) {
            done += static_cast<size_t>(written);
        } else if (written == 0 || errno != EINTR) {
            const int error = written == 0 ? ENOSPC : errno;
            signals.take_back(error);
            return error;
        }
    }
    return 0;
}

// glibc has a symbol for fstat since 2.33 only. The kernel fills the same structure.
bool describe(int number, struct stat* status) { return syscall(SYS_fstat, number, status) == 0; }

}  // namespace

Descriptor keep(int number) {
    struct stat status;
    if (number < 0) return {};
    const int before = errno;
    const int high = fcntl(number, F_DUPFD_CLOEXEC, LOWEST_NUMBER);
    if (high >= 0) close(number);
    const int kept = high < 0 ? number : high;
    errno = before;
    if (describe(kept, &status)) return {kept, status.st_dev, status.st_ino};
    close(kept);
    return {};
}

bool is_ours(const Descriptor& descriptor) {
    struct stat status;
    return descriptor.number >= 0 && describe(descriptor.number, &status) && status.st_dev == descriptor.device &&
           status.st_ino == descriptor.inode;
}

void close_ours(Descriptor* descriptor) {
    if (is_ours(*descriptor)) close(descriptor->number);
    *descriptor = {};
}

int write_at(int file, const void* data, size_t bytes, uint64_t offset) {
    return write_whole(data, bytes, [&](const char* from, size_t rest, size_t done) {
        return pwrite(file, from, rest, static_cast<off_t>(offset + done));
    });
}

int write_all(int file, const void* data, size_t bytes) {
    return write_whole(data, bytes, [&](const char* from, size_t rest, size_t) { return write(file, from, rest); });
}

}  // namespace cuvet
