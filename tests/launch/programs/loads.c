/* Loads the libraries that it is given after its exit code, and then makes a CUDA call. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "cuda.h"

int main(int argc, char **argv) {
    unsigned long long memory;
    for (int i = 2; i < argc; i++)
        if (!dlopen(argv[i], RTLD_NOW)) fprintf(stderr, "%s\n", dlerror());
    begin();
    cuMemAlloc_v2(&memory, 1 << 20);
    return argc > 1 ? atoi(argv[1]) : 0;
}
