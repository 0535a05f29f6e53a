/* Makes a CUDA call and ends in the way that its argument says. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cuda.h"

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    begin();
    if (!strcmp(way, "_exit")) _exit(7);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(way, "signal")) kill(getpid(), atoi(argv[2]));
    if (!strcmp(way, "segv")) *(volatile int *)1 = 0;
    if (!strcmp(way, "exec")) execv(argv[0], (char *[]){argv[0], "_exit", NULL});
    if (!strcmp(way, "fork")) {
        pid_t child = fork();
        if (!child) {
            void *stream;
            exit(cuStreamCreate(&stream, 0) ? 1 : 0);
        }
        waitpid(child, NULL, 0);
    }
    if (!strcmp(way, "fork-exec")) {
        pid_t child = fork();
        if (!child) execv(argv[0], (char *[]){argv[0], "_exit", NULL});
        waitpid(child, NULL, 0);
    }
    return 3;
}
