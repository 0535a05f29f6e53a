/* One mistake in a helper, made by two callers: one comment is about one of them. */
#include <stdlib.h>
#include "cuda.h"

static void use(void *stream) {
    cuStreamSynchronize(stream);
}

int main(int argc, char **argv) {
    void *stream;
    setenv("NULL_DRIVER_FAIL", "cuStreamSynchronize=400", 0);
    begin();
    cuStreamCreate(&stream, 0);
    cuStreamDestroy_v2(stream);
    if (argc > 1) use(stream);
    use(stream); // cuvet: ignore[stream-use-after-destroy] known here
    if (argc == 1) use(stream);
    return 0;
}
