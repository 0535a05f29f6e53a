/* One rank of several: ranks WAY [FOLLOWS [FILE]]. It makes a stream and memory, fails in its WAY if it is rank 1 ($RANK), and else waits for
   the end of its stdin and FOLLOWS: "term" (dies of SIGTERM), "lost" (loses its context), "wait" (is in a wait that ends with the job), "well".
   Says "ready" before it waits for anything. With FILE (a FIFO, for WAY "load") it fails in a thread of its own, whose number it says before. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cuda.h"
int cuCtxSynchronize(void);
int cuModuleLoadData(void **, const void *);
int cuModuleLoad(void **, const char *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuMemAllocAsync(unsigned long long *, size_t, void *);
int cuEventCreate(void **, unsigned);
int cuEventRecord(void *, void *);
int cuEventSynchronize(void *);

static pthread_barrier_t both; /* of the two threads of "load" */

static const char *KERNEL =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry put(.param .u64 to) {\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [to];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 1;\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

static void ready(void) {
    puts("ready");
    fflush(stdout);
}

static void block(void *data) {
    (void)data;
    ready();
    for (;;) pause();
}

static void call(void *stream) {
    cuStreamSynchronize(stream);
}

static int lose(void *stream) {
    void *module, *function;
    unsigned long long nowhere = 0;
    void *arguments[] = {&nowhere};
    cuModuleLoadData(&module, KERNEL);
    cuModuleGetFunction(&function, module, "put");
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
    return cuStreamSynchronize(stream);
}

/* From the moment on at which somebody has begun to read the FIFO: then the other thread is in its call. */
static void *allocate(void *file) {
    unsigned long long memory;
    begin();
    pthread_barrier_wait(&both);
    while (open(file, O_WRONLY | O_NONBLOCK) < 0) sched_yield();
    for (;;) {
        cuMemAlloc_v2(&memory, 64);
        cuMemFree_v2(memory);
    }
    return NULL;
}

/* Calls that do not return, none of which is in a collective. */
static int hang(const char *way, void *stream, const char *file) {
    void *event, *module;
    unsigned long long memory;
    pthread_t other;
    if (!strcmp(way, "load")) { /* nobody writes to the file, and another thread makes calls meanwhile */
        pthread_barrier_init(&both, NULL, 2);
        pthread_create(&other, NULL, allocate, (void *)file);
        pthread_barrier_wait(&both);
        return cuModuleLoad(&module, file);
    }
    cuMemAllocAsync(&memory, 64, stream); /* from here on waits are stored */
    cuEventCreate(&event, 0);
    cuLaunchHostFunc(stream, block, NULL);
    if (!strcmp(way, "context")) return cuCtxSynchronize();
    cuEventRecord(event, stream);
    return strcmp(way, "event") ? cuStreamSynchronize(stream) : cuEventSynchronize(event);
}

static int fail(const char *way, void *stream, const char *file) {
    unsigned long long memory;
    void *context, *event;
    if (!strcmp(way, "stale")) {
        cuStreamDestroy_v2(stream);
        return cuStreamSynchronize(stream) ? 3 : 9;
    }
    if (!strcmp(way, "memory")) return cuMemAlloc_v2(&memory, (size_t)1 << 50) ? 4 : 9;
    if (!strcmp(way, "lost")) return lose(stream) ? 5 : 9;
    if (!strcmp(way, "device")) { /* an event of the first device on a stream of the second */
        cuEventCreate(&event, 0);
        cuDevicePrimaryCtxRetain(&context, 1);
        cuCtxSetCurrent(context);
        cuStreamCreate(&stream, 1);
        return cuEventRecord(event, stream) ? 6 : 9;
    }
    if (!strcmp(way, "crash")) return *(volatile int *)8;
    if (!strcmp(way, "kill")) return raise(SIGKILL);
    if (!strcmp(way, "exit") || !strcmp(way, "same")) return 7;
    if (!strcmp(way, "hang") || !strcmp(way, "event") || !strcmp(way, "context") || !strcmp(way, "load")) return hang(way, stream, file);
    if (!strcmp(way, "unstored")) {
        cuLaunchHostFunc(stream, block, NULL);
        cuStreamSynchronize(stream);
    }
    if (!strcmp(way, "nested")) {
        cuLaunchHostFunc(stream, call, stream);
        cuStreamSynchronize(stream);
    }
    return 0;
}

struct rank {
    const char *way, *file;
    void *stream;
    int number;
};

static void *fail_apart(void *data) {
    struct rank *rank = data;
    printf("thread %d\n", (int)gettid());
    fflush(stdout);
    begin();
    rank->number = fail(rank->way, rank->stream, rank->file);
    return NULL;
}

int main(int argc, char **argv) {
    void *stream;
    pthread_t thread;
    unsigned long long memory;
    char byte;
    const char *rank = getenv("RANK"), *follows = argc > 2 ? argv[2] : "well";
    begin();
    cuStreamCreate(&stream, 1);
    cuMemAlloc_v2(&memory, 4096);
    cuCtxSynchronize();
    if (argc > 1 && !strcmp(argv[1], "same")) { /* a mistake of all ranks, which do not care */
        void *gone;
        cuStreamCreate(&gone, 1);
        cuStreamDestroy_v2(gone);
        cuStreamSynchronize(gone);
    }
    if (rank && atoi(rank) == 1 && argc > 1) {
        struct rank bad = {argv[1], argc > 3 ? argv[3] : NULL, stream, 0};
        if (argc > 3) {
            pthread_create(&thread, NULL, fail_apart, &bad);
            pthread_join(thread, NULL);
        } else bad.number = fail(bad.way, bad.stream, bad.file);
        if (bad.number) return bad.number;
    }
    if (!strcmp(follows, "wait")) {
        cuMemAllocAsync(&memory, 64, stream);
        cuLaunchHostFunc(stream, block, NULL);
        return cuStreamSynchronize(stream);
    }
    ready();
    while (read(0, &byte, 1) > 0) {}
    if (!strcmp(follows, "term")) raise(SIGTERM);
    if (!strcmp(follows, "lost")) return lose(stream) ? 5 : 9;
    cuMemFree_v2(memory);
    cuStreamDestroy_v2(stream);
    return 0;
}
