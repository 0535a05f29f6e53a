/* Uses a destroyed stream; writes what a driver would say about that to CUDA_LOG_FILE. */
#include <stdio.h>
#include <stdlib.h>
#include "cuda.h"

int main(void) {
    void *stream;
    const char *path = getenv("CUDA_LOG_FILE");
    FILE *log = path ? fopen(path, "a") : NULL;
    begin();
    cuStreamCreate(&stream, 0);
    cuStreamDestroy_v2(stream);
    int status = cuStreamSynchronize(stream);
    if (log) {
        fputs("[12:46:23.854][137216133754880][CUDA][E] The stream is no more\n", log);
        fprintf(log, "[12:46:23.854][137216133754880][CUDA][E] Returning %d (CUDA_ERROR_X) from cuStreamSynchronize\n", status);
    }
    printf("%s\n", path ? path : "no log");
    return 0;
}
