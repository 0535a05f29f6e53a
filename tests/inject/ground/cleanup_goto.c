/* Scales an image down on the device: rows go up with a pitch, wait on a stream, and come back into registered memory.
 * One function makes everything and gives it back in reverse; each label ends what was made before the jump to it. */

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 48, SMALL_WIDTH = WIDTH / 2, SMALL_HEIGHT = HEIGHT / 2 };

static int failed(const char* call, cudaError_t error) {
    if (error == cudaSuccess) return 0;
    fprintf(stderr, "cleanup_goto: %s: %s\n", call, cudaGetErrorString(error));
    return 1;
}

static int scale(unsigned char* image, unsigned char* small) {
    const enum cudaMemcpyKind up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
    const size_t width = SMALL_WIDTH, height = SMALL_HEIGHT;
    void *source = NULL, *target = NULL;
    size_t pitch = 0, small_pitch = 0;
    cudaStream_t stream = NULL;
    cudaEvent_t done = NULL;
    int result = -1;

    if (failed("cudaHostRegister", cudaHostRegister(small, width * height, cudaHostRegisterDefault))) goto end;
    if (failed("cudaStreamCreate", cudaStreamCreate(&stream))) goto unregister;
    if (failed("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&done, cudaEventBlockingSync))) goto destroy_stream;
    if (failed("cudaMallocPitch(source)", cudaMallocPitch(&source, &pitch, WIDTH, HEIGHT))) goto destroy_event;
    if (failed("cudaMallocPitch(target)", cudaMallocPitch(&target, &small_pitch, width, height))) goto free_source;

    if (failed("cudaMemcpy2D", cudaMemcpy2D(source, pitch, image, WIDTH, WIDTH, HEIGHT, up))) goto free_target;
    if (failed("cudaMemset2DAsync", cudaMemset2DAsync(target, small_pitch, 9, width, height, stream))) goto free_target;
    if (failed("cudaMemcpy2DAsync", cudaMemcpy2DAsync(small, width, target, small_pitch, width, height, down, stream)))
        goto free_target;
    if (failed("cudaEventRecord", cudaEventRecord(done, stream))) goto free_target;
    if (failed("cudaEventSynchronize", cudaEventSynchronize(done))) goto free_target;
    result = 0;

free_target:
    if (failed("cudaFree(target)", cudaFree(target))) result = -1;
free_source:
    if (failed("cudaFree(source)", cudaFree(source))) result = -1;
destroy_event:
    if (failed("cudaEventDestroy", cudaEventDestroy(done))) result = -1;
destroy_stream:
    if (failed("cudaStreamDestroy", cudaStreamDestroy(stream))) result = -1;
unregister:
    if (failed("cudaHostUnregister", cudaHostUnregister(small))) result = -1;
end:
    return result;
}

int main(void) {
    unsigned char* image = calloc(WIDTH, HEIGHT);
    unsigned char* small = calloc(SMALL_WIDTH, SMALL_HEIGHT);
    int result = -1;
    if (!image || !small)
        fprintf(stderr, "cleanup_goto: no memory on the host\n");
    else
        result = scale(image, small);
    free(small);
    free(image);
    if (result) return EXIT_FAILURE;
    printf("cleanup_goto: %d x %d to %d x %d\n", WIDTH, HEIGHT, SMALL_WIDTH, SMALL_HEIGHT);
    return EXIT_SUCCESS;
}
