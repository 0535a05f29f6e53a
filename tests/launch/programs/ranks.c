/* One rank of several: ranks WAY [FOLLOWS]. It makes a stream and memory, fails in its WAY if it is rank 1 ($RANK), and else waits for the end
   of its stdin and FOLLOWS: "term" (dies of SIGTERM), "lost" (loses its context), "well". Says "ready" before it waits for anything. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cuda.h"
int cuCtxSynchronize(void);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuMemAllocAsync(unsigned long long *, size_t, void *);
int cuEventCreate(void **, unsigned);
int cuEventRecord(void *, void *);

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

static int fail(const char *way, void *stream) {
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
    if (!strcmp(way, "hang")) cuMemAllocAsync(&memory, 64, stream); /* from here on waits are stored */
    if (!strcmp(way, "hang") || !strcmp(way, "unstored")) {
        cuLaunchHostFunc(stream, block, NULL);
        cuStreamSynchronize(stream);
    }
    if (!strcmp(way, "nested")) {
        cuLaunchHostFunc(stream, call, stream);
        cuStreamSynchronize(stream);
    }
    return 0;
}

int main(int argc, char **argv) {
    void *stream;
    unsigned long long memory;
    int number = 0;
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
    if (rank && atoi(rank) == 1 && argc > 1 && (number = fail(argv[1], stream))) return number;
    ready();
    while (read(0, &byte, 1) > 0) {}
    if (!strcmp(follows, "term")) raise(SIGTERM);
    if (!strcmp(follows, "lost")) return lose(stream) ? 5 : 9;
    cuMemFree_v2(memory);
    cuStreamDestroy_v2(stream);
    return 0;
}
