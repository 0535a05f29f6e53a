/* Mistakes that comments are about. */
#include <stdlib.h>
#include "cuda.h"

static void finish(void *stream) {
    cuStreamDestroy_v2(stream);
}

static void use(void *stream) {
    cuStreamSynchronize(stream); /* COMMENT AT THE CALL */
}

static void again(void *stream) {
    // COMMENT ABOVE
    cuStreamQuery(
        stream);
}

int main(void) {
    void *stream;
    setenv("NULL_DRIVER_FAIL", "cuStreamSynchronize=400,cuStreamQuery=400", 0);
    begin();
    cuStreamCreate(&stream, 0);
    finish(stream);
    use(stream); // COMMENT AT A CALLER
    again(stream);
    return 0;
}
