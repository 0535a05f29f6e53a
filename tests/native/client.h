// The driver functions that the test programs call, without CUDA's headers.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t handle;
typedef struct { char bytes[64]; } ipc_handle;

uint32_t cuInit(uint32_t flags);
uint32_t cuCtxCreate_v2(handle *context, uint32_t flags, int32_t device);
uint32_t cuCtxDestroy_v2(handle context);
uint32_t cuCtxSetCurrent(handle context);
uint32_t cuDevicePrimaryCtxRetain(handle *context, int32_t device);
uint32_t cuDevicePrimaryCtxReset_v2(int32_t device);
uint32_t cuDevicePrimaryCtxRelease_v2(int32_t device);
uint32_t cuCtxGetCurrent(handle *context);
uint32_t cuStreamCreate(handle *stream, uint32_t flags);
uint32_t cuStreamDestroy_v2(handle stream);
uint32_t cuStreamSynchronize(handle stream);
uint32_t cuStreamSynchronize_ptsz(handle stream);
uint32_t cuStreamQuery(handle stream);
uint32_t cuEventCreate(handle *event, uint32_t flags);
uint32_t cuEventRecord(handle event, handle stream);
uint32_t cuEventDestroy_v2(handle event);
uint32_t cuEventQuery(handle event);
uint32_t cuMemAlloc_v2(handle *address, size_t bytes);
uint32_t cuMemFree_v2(handle address);
uint32_t cuMemAllocAsync(handle *address, size_t bytes, handle stream);
uint32_t cuMemFreeAsync(handle address, handle stream);
uint32_t cuMemcpyAsync(handle to, handle from, size_t bytes, handle stream);
uint32_t cuMemHostRegister_v2(void *memory, size_t bytes, uint32_t flags);
uint32_t cuMemHostUnregister(void *memory);
uint32_t cuModuleLoadData(handle *module, const void *image);
uint32_t cuModuleGetFunction(handle *function, handle module, const char *name);
uint32_t cuModuleUnload(handle module);
uint32_t cuLaunchKernel(handle function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
                        handle stream, void **arguments, void **extra);
uint32_t cuIpcOpenMemHandle_v2(handle *address, ipc_handle handle, uint32_t flags);
uint32_t cuTexRefSetMipmapLevelBias(handle reference, float bias);
uint32_t cuTexRefSetBorderColor(handle reference, float *color);
uint32_t cuMemsetD16_v2(handle address, uint16_t value, size_t count);
uint32_t cuMemsetD2D8Async(handle address, size_t pitch, uint8_t value, size_t width, size_t height, handle stream);
uint32_t cuDeviceGetName(char *name, int32_t length, int32_t device);
uint32_t cuMemAllocManaged(handle *address, size_t bytes, uint32_t flags);
uint32_t cuGraphCreate(handle *graph, uint32_t flags);
uint32_t cuGraphDestroy(handle graph);
uint32_t cuGraphAddEmptyNode(handle *node, handle graph, const handle *dependencies, size_t count);
uint32_t cuGraphGetNodes(handle graph, handle *nodes, size_t *count);
uint32_t cuGraphNodeGetType(handle node, uint32_t *type);
uint32_t cuStreamBeginCapture_v2(handle stream, uint32_t mode);
uint32_t cuStreamEndCapture(handle stream, handle *graph);
uint32_t cuStreamGetCaptureInfo_v3(handle stream, uint32_t *status, uint64_t *id, handle *graph, const handle **dependencies,
                                   const void **edges, size_t *count);
uint32_t cuGetProcAddress_v2(const char *name, void **function, int32_t version, uint64_t flags, uint32_t *found);

#define CHECK(condition) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); _exit(99); } } while (0)

static handle context;
static inline void start(void) {
    CHECK(cuInit(0) == 0);
    CHECK(cuCtxCreate_v2(&context, 0, 0) == 0);
}
