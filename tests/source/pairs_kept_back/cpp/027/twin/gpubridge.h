#ifndef GPUBRIDGE_H
#define GPUBRIDGE_H

#include <cuda.h>
#include <stdint.h>

/* Native half of the JVM buffer class. The context belongs to the JVM side; threads of the
 * JVM come and go, so each entry point makes the context current for its own duration. */
struct gb_device {
    CUdevice  ordinal;
    CUcontext ctx;
};

int gb_open(struct gb_device *d, int ordinal);
int gb_alloc(struct gb_device *d, uint64_t bytes, uint64_t *out);
int gb_write(struct gb_device *d, uint64_t dst, uint64_t cap, const void *src, uint64_t bytes);
int gb_free(struct gb_device *d, uint64_t ptr);
int gb_close(struct gb_device *d);

#endif
