/* Synchronises two destroyed streams at one place, which two functions made. With an argument only that of `first`. */
#include "cuda.h"

static void *first(void) {
    void *stream;
    cuStreamCreate(&stream, 0);
    return stream;
}

static void *second(void) {
    void *stream;
    cuStreamCreate(&stream, 0);
    return stream;
}

int main(int argc, char **argv) {
    (void)argv;
    begin();
    void *streams[] = {first(), second()};
    const int count = argc > 1 ? 1 : 2;
    for (int i = 0; i < 2; ++i) cuStreamDestroy_v2(streams[i]);
    for (int i = 0; i < count; ++i) cuStreamSynchronize(streams[i]);
    return 0;
}
