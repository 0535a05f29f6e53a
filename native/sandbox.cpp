// A program that restricts its system calls (seccomp) says so before, by prctl.
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"

// As glibc's. Whoever makes a filter without privileges has to set PR_SET_NO_NEW_PRIVS: seccomp(2).
extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) noexcept {
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (unsigned long& word : words) word = va_arg(list, unsigned long);
    va_end(list);
    if ((option == PR_SET_NO_NEW_PRIVS && words[0] == 1) || option == PR_SET_SECCOMP) cuvet::expect_sandbox();
    return static_cast<int>(syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]));
}
