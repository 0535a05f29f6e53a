/* Says that it is ready, then sleeps until a signal; exits with 40 + the signal if it has a handler (argument "handle"), with the number
   of SIGINTs that came within 0.3 s if it counts them (argument "count"). */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cuda.h"

static volatile sig_atomic_t interrupts;

static void handle(int number) { _exit(40 + number); }

static void tell(int number) {
    (void)number;
    _exit(interrupts);
}

static void count(int number) {
    (void)number;
    interrupts++;
    ualarm(300000, 0);
}

int main(int argc, char **argv) {
    begin();
    if (argc > 1 && !strcmp(argv[1], "handle")) {
        signal(SIGINT, handle);
        signal(SIGTERM, handle);
    }
    if (argc > 1 && !strcmp(argv[1], "count")) {
        signal(SIGINT, count);
        signal(SIGALRM, tell);
    }
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}
