// What a launch leaves in the flight recorder beside its slot, so that it can be named when its kernel has failed:
// where it was made, and what the kernel was given. See docs/decisions/0010-launches-leave-their-arguments.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder.h"

namespace cuvet {

// How many blocks and threads; 0 is not known.
struct LaunchShape {
    uint32_t grid[3], block[3];
};

// From the CUlaunchConfig at the address, which begins with these six.
LaunchShape shape_at(uint64_t config);

// Leaves it in the flight recorder, for note_launch() to follow. What CUDA allows fits: in y and z of a grid, and in a
// block.
__attribute__((always_inline)) inline void note_shape(Thread* thread, uint64_t number, const LaunchShape& shape) {
    Launch* launch = launch_of(thread, number);
    launch->place = 0;  // what stands here is no launch until note_launch() has ended
    std::atomic_signal_fence(std::memory_order_seq_cst);
    launch->grid_x = shape.grid[0];
    launch->grid_y = static_cast<uint16_t>(shape.grid[1]);
    launch->grid_z = static_cast<uint16_t>(shape.grid[2]);
    launch->block_x = static_cast<uint16_t>(shape.block[0]);
    launch->block_y = static_cast<uint16_t>(shape.block[1]);
    launch->block_z = static_cast<uint16_t>(shape.block[2]);
}

// Call `number` of the thread launches `function`; its slot is not filled yet. `parameters` is the array of pointers to
// arguments, `extra` the packed alternative to it; 0 for none.
void note_launch(Thread* thread, uint64_t number, uint64_t function, uint64_t stream, uint64_t parameters,
                 uint64_t extra);

// Address of the CUlaunchConfig that a launch has before its function; 0: it has none.
uint64_t launch_config(const EntryPoint& entry_point, const uint64_t* words);

#include "generated/launch_attributes.inc"

// Addresses of the attributes in the CUlaunchConfig that record an event: how many.
uint32_t event_attributes(uint64_t config, uint64_t addresses[MOST_ATTRIBUTES]);
bool records_events(uint64_t config);

// Of a call: its six parameters follow the function, or it has a CUlaunchConfig before it.
LaunchShape launched_shape(const EntryPoint& entry_point, const uint64_t* words);

// Whether a context is lost that returned the status.
bool is_sticky(uint32_t status);

// A call ended so: if this shows that a context was lost, stores what was launched before.
void tell_launches(Thread* thread, uint32_t status, uint64_t number);

// After fork: nothing of this is in the new file.
void forget_launches();

}  // namespace cuvet
