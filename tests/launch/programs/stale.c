/* Synchronises a destroyed stream, which the driver refuses. With an argument it goes on for that many seconds afterwards. */
#include <stdlib.h>
#include <unistd.h>
#include "cuda.h"

static void finish(void *stream) {
    cuStreamDestroy_v2(stream);
}

int main(int argc, char **argv) {
    void *stream;
    setenv("NULL_DRIVER_FAIL", "cuStreamSynchronize=400", 0);
    begin();
    cuStreamCreate(&stream, 0);
    finish(stream);
    cuStreamSynchronize(stream);
    if (argc > 1) sleep((unsigned)atoi(argv[1]));
    return 0;
}
