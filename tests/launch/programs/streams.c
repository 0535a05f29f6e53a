/* Makes and destroys as many streams as its first argument says; the second is its exit code. */
#include <stdlib.h>
#include "cuda.h"

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    begin();
    for (int i = 0; i < count; i++) {
        void *stream;
        if (cuStreamCreate(&stream, 0) || cuStreamDestroy_v2(stream)) return 99;
    }
    return argc > 2 ? atoi(argv[2]) : 0;
}
