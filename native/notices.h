// What the launcher has to know and no recording can tell. It listens on a socket that has no name in the file system,
// so that it is reached as another user and in another root directory too. Where it cannot be reached, nobody is told:
// the program's own descriptors are not for us.
#pragma once

#include <cstdint>

namespace cuvet {

enum class Notice : uint32_t {
    UNRECORDED = 1,   // nothing of this process is recorded
    UNREACHABLE = 2,  // it cannot reach the emulated device
};

// `error`: why, an errno; 0 unknown.
void tell_launcher(Notice notice, int error);

}  // namespace cuvet
