// The signal by which the host's touch of guarded memory is seen. The program's own handler of it works as without us.
#pragma once

#include <signal.h>

namespace cuvet {

using FaultHandler = void (*)(int signal, siginfo_t* info, void* context);

// From now on `handler` gets SIGSEGV before the program's own handler.
void take_faults(FaultHandler handler);

// As the C library's sigaction, which is ours here.
int real_sigaction(int signal, const struct sigaction* action, struct sigaction* old);

// Whether it still does: a program can set its handler past the C library.
bool handles_faults();

// Hands a fault to the program's own handler. False: it has none.
bool pass_fault_on(int signal, siginfo_t* info, void* context);

}  // namespace cuvet
