/* Makes and destroys as many streams as its first argument says; the second is its exit code. With a third they are left, and die with
   their context if it is "context". */
#include <stdlib.h>
#include <string.h>
#include "cuda.h"

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    begin();
    for (int i = 0; i < count; i++) {
        void *stream;
        if (cuStreamCreate(&stream, 0) || (argc < 4 && cuStreamDestroy_v2(stream))) return 99;
    }
    if (argc > 3 && !strcmp(argv[3], "context")) cuDevicePrimaryCtxReset_v2(0);
    return argc > 2 ? atoi(argv[2]) : 0;
}
