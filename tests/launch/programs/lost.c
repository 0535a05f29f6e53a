/* lost HOW [child]: it, or a child that it forks after its own CUDA calls, cannot write its recording, and calls CUDA. HOW is a user id, a
   directory that becomes the root, or "mode": that of $CUVET_TRACE is taken away. Prints the process that calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cuda.h"

static int lose(const char *how) {
    if (!strcmp(how, "mode")) return chmod(getenv("CUVET_TRACE"), 0500);
    return *how == '/' ? chroot(how) : setuid((uid_t)atoi(how));
}

int main(int argc, char **argv) {
    void *stream;
    int status = 0;
    if (argc > 2) {
        begin();
        if (fork()) return wait(&status) < 0 ? 9 : WEXITSTATUS(status);
    }
    printf("%d\n", (int)getpid());
    if (lose(argv[1])) return 8;
    begin();
    return cuStreamCreate(&stream, 0) ? 7 : 0;
}
