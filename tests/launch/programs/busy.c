/* Several threads that create, use and destroy streams and memory until they are killed. */
#include <pthread.h>
#include <stdio.h>
#include "cuda.h"

static void *work(void *unused) {
    (void)unused;
    begin();
    for (;;) {
        void *stream;
        unsigned long long memory;
        cuStreamCreate(&stream, 0);
        cuMemAlloc_v2(&memory, 256);
        for (int i = 0; i < 20; i++) cuStreamQuery(stream);
        cuStreamSynchronize(stream);
        cuMemFree_v2(memory);
        cuStreamDestroy_v2(stream);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    begin();
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
    pthread_join(threads[0], NULL);
    return 0;
}
