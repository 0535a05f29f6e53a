/* Sixteen threads hand streams to each other through a table; handles are re-issued all the time. No mistake in it. */
#include <pthread.h>
#include "cuda.h"

enum { THREADS = 16, ROUNDS = 100, PLACES = 8 };
static struct {
    pthread_mutex_t lock;
    void *stream;
} places[PLACES];

static void *work(void *seed) {
    size_t at = (size_t)seed;
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        void *stream, *old;
        unsigned long long memory;
        cuStreamCreate(&stream, 0);
        cuMemAlloc_v2(&memory, 256);
        at = at * 1103515245 + 12345;
        pthread_mutex_lock(&places[at / 65536 % PLACES].lock);
        old = places[at / 65536 % PLACES].stream;
        places[at / 65536 % PLACES].stream = stream;
        pthread_mutex_unlock(&places[at / 65536 % PLACES].lock);
        if (old) {
            cuStreamSynchronize(old);
            cuStreamDestroy_v2(old);
        }
        cuMemFree_v2(memory);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    begin();
    for (int i = 0; i < PLACES; i++) pthread_mutex_init(&places[i].lock, NULL);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
