/* For each line on stdin a round, in which some threads make and end objects in an order that is no loop, and a line when it is over.
 * What was made before the first round stays, and the first objects were used by mistake. Arguments: objects in a round, and threads. With a
 * third one there are rounds until the recording was shortened; when they are enough it waits, since that is done at a low priority. */
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cuda.h"

enum { MOST = 64, MOST_THREADS = 16, ENOUGH = 100 };
static long count;

static void *churn(void *seed) {
    unsigned state = (unsigned)(size_t)seed;
    unsigned long long memory[MOST] = {0};
    begin();
    for (long made = 0; made < count;) {
        state = state * 1103515245u + 12345u;
        const unsigned at = (state >> 16) % MOST;
        if (memory[at]) {
            cuMemFree_v2(memory[at]);
            memory[at] = 0;
        } else {
            cuMemAlloc_v2(&memory[at], 16 << (state >> 30));
            made++;
        }
    }
    for (int at = 0; at < MOST; at++)
        if (memory[at]) cuMemFree_v2(memory[at]);
    return NULL;
}

static void mistake(void) {
    void *stream;
    cuStreamCreate(&stream, 0);
    cuStreamDestroy_v2(stream);
    cuStreamSynchronize(stream);
}

static void stay(void) {
    unsigned long long memory;
    void *stream;
    for (int i = 0; i < 3; i++) cuMemAlloc_v2(&memory, 256);
    cuStreamCreate(&stream, 0);
}

/* Wholly: the last thing that is done is to say in the header how many chunks were freed. */
static int is_shortened(void) {
    char pattern[4096];
    glob_t found;
    unsigned long long freed = 0;
    snprintf(pattern, sizeof pattern, "%s/*.cuvet", getenv("CUVET_TRACE"));
    if (glob(pattern, 0, NULL, &found)) return 0;
    FILE *file = fopen(found.gl_pathv[0], "rb");
    if (file && !fseek(file, 176, SEEK_SET) && fread(&freed, sizeof freed, 1, file) != 1) freed = 0;
    if (file) fclose(file);
    globfree(&found);
    return freed > 0;
}

static int goes_on(int until_shortened, size_t rounds) {
    char line[16];
    if (!until_shortened) return fgets(line, sizeof line, stdin) != NULL;
    do usleep(200000);
    while (rounds > ENOUGH && !is_shortened());
    return !is_shortened();
}

int main(int argc, char **argv) {
    pthread_t threads[MOST_THREADS];
    const int several = argc > 2 ? atoi(argv[2]) : 1;
    size_t round = 0;
    count = argc > 1 ? atol(argv[1]) : 1000;
    begin();
    mistake();
    stay();
    while (goes_on(argc > 3, round)) {
        for (int i = 0; i < several; i++) pthread_create(&threads[i], NULL, churn, (void *)(++round));
        for (int i = 0; i < several; i++) pthread_join(threads[i], NULL);
        stay();
        puts("round");
        fflush(stdout);
    }
    return 0;
}
