/* Copies its standard input to its standard output, makes and destroys a stream, and exits with its first argument. */
#include <stdio.h>
#include <stdlib.h>
#include "cuda.h"

int main(int argc, char **argv) {
    void *stream;
    begin();
    cuStreamCreate(&stream, 0);
    for (int c; (c = getchar()) != EOF;) putchar(c);
    fputs("to stderr\n", stderr);
    cuStreamDestroy_v2(stream);
    return argc > 1 ? atoi(argv[1]) : 0;
}
