#pragma once
#include <cuda_runtime.h>

enum { FEED_N = 1 << 20, FEED_TICKS = 1000 };

struct FeedHello {
    cudaIpcMemHandle_t mem;
    unsigned tick;
    int count;
};
