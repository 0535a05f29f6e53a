/* Makes so many objects, in its argument, and keeps them. */
#include <stdio.h>
#include <stdlib.h>
#include "cuda.h"

int main(int argc, char **argv) {
    const long count = argc > 1 ? atol(argv[1]) : 1;
    unsigned long long memory;
    begin();
    for (long made = 0; made < count; made++) cuMemAlloc_v2(&memory, 256);
    return 0;
}
