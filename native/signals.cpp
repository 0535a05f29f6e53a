// With guarded memory, SIGSEGV must reach us first and may never be blocked: the kernel would end the process. So the
// functions that set handlers and masks are ours. Without, they do what the C library's do.
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "guard.h"

extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

namespace cuvet {

namespace {

constexpr unsigned MOST_ACTIONS = 64;  // of the program, one after the other: a handler may still run that was replaced

std::atomic<FaultHandler> our_handler;
struct sigaction actions[MOST_ACTIONS];
std::atomic<unsigned> newest_action;

// As the program wants it, but that we are called.
struct sigaction in_front_of(const struct sigaction& action) {
    struct sigaction ours = action;
    ours.sa_sigaction = our_handler.load();
    ours.sa_flags = (action.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO;
    if (action.sa_handler == SIG_DFL) ours.sa_flags |= SA_ONSTACK;
    return ours;
}

void remember_action(const struct sigaction& action) {
    const unsigned next = newest_action.load() + 1;
    actions[next % MOST_ACTIONS] = action;
    newest_action.store(next);
}

const struct sigaction& program_action() { return actions[newest_action.load() % MOST_ACTIONS]; }

int set_fault_action(const struct sigaction* action, struct sigaction* old) {
    const struct sigaction before = program_action();
    if (action) {
        struct sigaction wanted = *action;
        sigdelset(&wanted.sa_mask, SIGSEGV);
        const struct sigaction ours = in_front_of(wanted);
        if (__sigaction(SIGSEGV, &ours, nullptr) != 0) return -1;
        remember_action(*action);
    }
    if (old) *old = before;
    return 0;
}

int set_action(int signal, const struct sigaction* action, struct sigaction* old) {
    if (!wants_guard()) return __sigaction(signal, action, old);
    if (signal == SIGSEGV && our_handler.load()) return set_fault_action(action, old);
    if (!action) return __sigaction(signal, action, old);
    struct sigaction unblocking = *action;
    sigdelset(&unblocking.sa_mask, SIGSEGV);
    return __sigaction(signal, &unblocking, old);
}

// 0 or an errno. The C library keeps two signals for itself: 32 and 33.
int set_mask(int how, const sigset_t* set, sigset_t* old) {
    uint64_t mask = 0;
    if (set) memcpy(&mask, set, sizeof mask);
    if (how != SIG_UNBLOCK) {
        mask &= ~(uint64_t{3} << 31);
        if (wants_guard()) mask &= ~(uint64_t{1} << (SIGSEGV - 1));
    }
    const int before = errno;
    const int error = syscall(SYS_rt_sigprocmask, how, set ? &mask : nullptr, old, sizeof mask) == 0 ? 0 : errno;
    errno = before;
    return error;
}

}  // namespace

void take_faults(FaultHandler handler) {
    struct sigaction before = {};
    if (__sigaction(SIGSEGV, nullptr, &before) != 0) return;
    remember_action(before);
    our_handler.store(handler);
    sigdelset(&before.sa_mask, SIGSEGV);
    const struct sigaction ours = in_front_of(before);
    __sigaction(SIGSEGV, &ours, nullptr);
}

int real_sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
    return __sigaction(signal, action, old);
}

bool handles_faults() {
    struct sigaction now = {};
    return __sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == our_handler.load() && our_handler.load();
}

bool pass_fault_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction action = program_action();
    if (!our_handler.load() || signal != SIGSEGV) return false;
    const bool was_sent = info->si_code <= 0;
    if (action.sa_handler == SIG_DFL) return false;
    if (action.sa_handler == SIG_IGN) return was_sent;
    if (action.sa_flags & SA_RESETHAND) {
        struct sigaction standard = {};
        standard.sa_handler = SIG_DFL;
        remember_action(standard);
    }
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
    return true;
}

}  // namespace cuvet

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
    return cuvet::set_action(signal, action, old);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
    if (number != SIGSEGV || !cuvet::wants_guard()) return ssignal(number, handler);  // the same by another name
    struct sigaction action = {}, old = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaddset(&action.sa_mask, number);
    return cuvet::set_action(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return cuvet::set_mask(how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
    const int error = cuvet::set_mask(how, set, old);
    if (error) errno = error;
    return error ? -1 : 0;
}
