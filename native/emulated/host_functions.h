// Host functions that streams call (cuLaunchHostFunc, cuStreamAddCallback): one worker thread per queue runs them in
// order.
#pragma once

#include <cstdint>

#include "emulated/wire.h"

namespace cuvet::emulated {

struct HostFunction {
    uint64_t function;
    uint64_t user_data;
    Callback callback;
    uint64_t stream;
    uint64_t status;
};

// False if no thread can be had.
bool enqueue(uint64_t queue, const HostFunction& function);

// Whether this thread is one that runs them.
bool runs_host_functions();

// How many functions of the queue (0: of all queues) have not returned; with `wait`, returns when there are none.
uint64_t outstanding(uint64_t queue, bool wait);

}  // namespace cuvet::emulated
