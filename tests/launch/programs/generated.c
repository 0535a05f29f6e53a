/* Synchronises a destroyed stream from two functions that it makes as it runs, as a runtime with a JIT compiler does: with frame
 * pointers, without unwind information. The argument says how it tells their names: map (in /tmp/perf-PID.map), nothing, or a map that
 * is not to be read: link, fifo, directory, old, foreign. With wild, the functions keep no frame pointer, but other things where it is. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include "cuda.h"

/* f(g, a, b, c) calls g(a, b, c) */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48,
                                     0x89, 0xd6, 0x48, 0x89, 0xca, 0xff, 0xd0, 0x5d, 0xc3};
typedef int (*Function)(void *, void *, void *, void *);

/* f(g, a) calls g(a) with the eight bytes from 3 on in rbp */
static const unsigned char WILD[] = {0x55, 0x48, 0xbd, 0,    0,    0,    0,    0,    0,    0, 0,
                                     0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};

static void call_wild(char *code, void *stream) {
    char *here = (char *)&stream, *circle[2], *data[2] = {(char *)data + 64, (char *)16};
    char *wild[] = {0, (char *)1, (char *)-1, here + 1, here - 65536, here + (1 << 20) - 4096, here + (1 << 30), code,
                    (char *)circle, (char *)data};
    circle[0] = (char *)circle;
    circle[1] = code;
    memcpy(code, WILD, sizeof WILD);
    for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
        memcpy(code + 3, &wild[i], 8);
        ((Function)code)(cuStreamSynchronize, stream, 0, 0);
    }
}

static void write_map(const char *way, const char *code) {
    char path[64], other[80];
    const struct utimbuf long_ago = {0, 0};
    sprintf(path, "/tmp/perf-%d.map", getpid());
    sprintf(other, "%s.other", path);
    if (strcmp(way, "fifo") == 0) mkfifo(path, 0600);
    if (strcmp(way, "directory") == 0) mkdir(path, 0700);
    if (strcmp(way, "link") == 0 && symlink(other, path)) _exit(3);
    if (strcmp(way, "fifo") == 0 || strcmp(way, "directory") == 0) return;
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %x int32 [Stale] Program::Old()[Tier0]\n", (unsigned long)code, 128);
    fprintf(map, "%lx %x Program:Main ()\n", (unsigned long)code, 64);
    fprintf(map, "no line of a map\n\xff\xfe %lx\n", (unsigned long)code);
    fprintf(map, "%lx %x instance int32 [Stale] Pipeline::Flush()[Tier0]\n", (unsigned long)code + 64, 64);
    fclose(map);
    if (strcmp(way, "old") == 0) utime(path, &long_ago);
    if (strcmp(way, "foreign") == 0 && chown(path, 65534, 65534)) _exit(3);
}

int main(int argc, char **argv) {
    void *stream;
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, CODE, sizeof CODE);
    memcpy(code + 64, CODE, sizeof CODE);
    if (argc > 1 && strcmp(argv[1], "nothing") && strcmp(argv[1], "wild")) write_map(argv[1], code);
    begin();
    cuStreamCreate(&stream, 0);
    cuStreamDestroy_v2(stream);
    if (argc > 1 && strcmp(argv[1], "wild") == 0)
        call_wild(code, stream);
    else
        ((Function)code)(code + 64, cuStreamSynchronize, stream, 0);
    return 0;
}
