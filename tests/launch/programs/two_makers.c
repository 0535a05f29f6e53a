/* Synchronises two destroyed streams at one place, which two functions made. With an argument only that of the function it names. */
#include <string.h>
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
    void *streams[2];
    int count = 0;
    begin();
    if (argc < 2 || !strcmp(argv[1], "first")) streams[count++] = first();
    if (argc < 2 || !strcmp(argv[1], "second")) streams[count++] = second();
    for (int i = 0; i < count; ++i) cuStreamDestroy_v2(streams[i]);
    for (int i = 0; i < count; ++i) cuStreamSynchronize(streams[i]);
    return 0;
}
