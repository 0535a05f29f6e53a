// What the generated tables say about every entry point of the driver and of the libraries above it. The driver's rows
// are in generated/entry_points.inc.
#pragma once

#include <cstdint>

namespace cuvet {

enum class Kind : uint8_t {
#define KIND(name, number) name = number,
#include "generated/kinds.inc"
#undef KIND
};

enum class Capture : uint8_t {
    NONE,
    STRUCT,  // `bytes` bytes behind the pointer
    STRING,  // NUL-terminated
    ARRAY,   // as many elements of `bytes` bytes as the parameter `count` says
    VALUE,   // struct by value
};

constexpr uint8_t NO_PARAMETER = 255;

struct Parameter {
    Capture capture;
    uint8_t count;      // position of the parameter that counts the elements, or NO_PARAMETER
    uint8_t out_bytes;  // width of the scalar or handle written through the pointer, 0: not an output
    uint16_t bytes;
    uint8_t extent = NO_PARAMETER;  // position of the parameter that says how many elements of memory the call touches
    uint8_t element = 0;            // bytes of each
    bool only_read = false;         // the memory
};
constexpr Parameter PLAIN = {Capture::NONE, NO_PARAMETER, 0, 0};  // a word, and nothing else of it is looked at

enum class Action : uint8_t {
    USES,       // the handle must be alive
    DESTROYS,   // alive before, dead after
    TOUCHES,    // address of memory that is read or written
    STREAM,     // the handle must be alive; the work goes to this stream
    RECORDS,    // event; must be alive
    LAUNCHES,   // function or kernel whose arguments name memory
    CREATES,    // a new object through the pointer
    RETURNS,    // an object, perhaps a known one, through the pointer
    REGISTERS,  // the word itself names the new object
    RETAINS,    // primary context of the device
    RELEASES,
    RESETS,
    LOADS,             // image
    REGISTERED_BYTES,  // size of what is registered, or of memory that is made for host and device
    SETS_STREAM,       // what the handle `parent` enqueues on from now on
    SETS_WORKSPACE,    // memory that the handle `parent` uses from now on; `count` is its size
};

constexpr uint8_t NULLABLE = 1;
constexpr uint8_t STREAM_ORDERED = 2;
constexpr uint8_t IN_STRUCT = 4;   // the handle is `offset` bytes behind the pointer
constexpr uint8_t IN_CONTEXT = 8;  // dies with the context that was current when it was created
constexpr uint8_t OF_DEVICE = 16;  // a library's object, of the device of the context it was created in
constexpr uint8_t EXCLUSIVE = 32;  // of one thread at a time

// One role of one parameter, as far as the shim cares.
struct Role {
    Action action;
    Kind kind;
    uint8_t parameter;
    uint8_t flags;
    uint8_t count;   // position of the parameter that counts the handles of an array, or NO_PARAMETER; of an array that
                     // is handed out, it points to the number, and an output parameter to a pointer to the array
    uint8_t parent;  // position of the parameter naming the object that the new one belongs to, or NO_PARAMETER
    Kind parent_kind;
    uint8_t bytes;  // width of the handle in memory (arrays, structs, outputs)
    uint16_t offset;
    uint8_t when = NO_PARAMETER;  // position of the parameter through which `value` is written where the role holds
    uint8_t value = 0;
    uint8_t floating = 0;  // of a library's: how many parameters before it are passed as floating point
};

// A handle or image of a call of which the driver, or the library, was measured to die: statuses to answer in its
// place, 0 where it is to be asked. See protect.h.
struct Deadly {
    uint8_t role;  // which of the entry point's
    Kind kind;     // of the object that ended
    Kind root;     // of the one with whose end it ended, for `with_root`
    uint16_t when_offset;
    uint16_t when_values;  // it holds if the word that is `when_offset` bytes behind the pointer is one of these bits;
                           // 0: always
    uint16_t ended;        // a call ended the object itself
    uint16_t reset;        // its device was reset
    uint16_t with_root;
    uint16_t nowhere;   // no call handed the value out, and it is no address
    uint16_t mistaken;  // it names an object of the kind `other`, which lives
    Kind other;
    uint16_t endless;  // it is PTX that no NUL ends before memory that cannot be read
};

constexpr uint16_t LIFECYCLE = 1;  // stored always, with a stack
constexpr uint16_t ORDER = 2;      // stored without a stack where order can matter: see order_matters() in call.cpp
constexpr uint16_t ORDER_ON_SUCCESS = 4;  // stored when it found the work done
constexpr uint16_t PROBING = 8;           // failing is an ordinary answer
constexpr uint16_t INITIALISES = 16;
constexpr uint16_t CHANGES_CURRENT = 32;   // may change the thread's current context
constexpr uint16_t COPIES_ARGUMENTS = 64;  // kernel launch
constexpr uint16_t BEGINS_CAPTURE = 128;
constexpr uint16_t ENDS_CAPTURE = 256;
constexpr uint16_t LIBRARY = 512;            // of a library above the driver
constexpr uint16_t RESETS_WORKSPACE = 1024;  // the handle uses its library's own workspace from now on
constexpr uint16_t EMULATED = 2048;          // the emulated device answers, if there is one
constexpr uint16_t MAKES_TRANSIENT = 4096;   // objects that programs make and destroy for each operation
constexpr uint16_t QUICK = 8192;             // of a library; what roles name is passed plainly: see QuietCall
constexpr uint16_t WORK = 16384;        // stored where accesses are looked at: it makes some, or says what is accessed
constexpr uint16_t HOST_WAITS = 32768;  // for a stream, event or context, or asks whether it is done

// One signature of an entry point. Variants (cuCtxCreate, cuCtxCreate_v2 …) that differ in signature have a row each,
// with the same id; words are always in the order of the newest signature, 0 where the variant lacks the parameter.
struct EntryPoint {
    const char* name;  // canonical
    uint16_t id;       // index into the catalog's recorded entry points: the driver's, then the libraries'
    uint16_t flags;
    uint8_t parameter_count;
    uint8_t before_count;   // roles that are looked at before the driver is entered come first …
    uint8_t after_count;    // … then those that are looked at when it returned
    uint8_t kernel_params;  // position of the void** of kernel arguments, or NO_PARAMETER
    uint8_t launch_extra;   // position of the packed alternative to it, or NO_PARAMETER
    uint8_t deadly_count;
    const Parameter* parameters;
    const Role* roles;
    const Deadly* deadly;
    uint8_t node_params =
        NO_PARAMETER;         // position of the struct that describes a node of a graph, which can be a kernel
    uint8_t node_kernel = 0;  // where in it CUDA_KERNEL_NODE_PARAMS is; behind the node's type, if not at 0
};

struct Roles {
    const Role* first;
    const Role* last;
    const Role* begin() const { return first; }
    const Role* end() const { return last; }
};

// Those that are looked at before the driver is entered, and those after it has returned.
inline Roles roles_before(const EntryPoint& entry_point) {
    return {entry_point.roles, entry_point.roles + entry_point.before_count};
}
inline Roles roles_after(const EntryPoint& entry_point) {
    const Role* first = entry_point.roles + entry_point.before_count;
    return {first, first + entry_point.after_count};
}

// One exported symbol.
struct Symbol {
    const char* name;
    const EntryPoint* entry_point;
    void* wrapper;
    uint32_t version;      // CUDA version that brought this symbol, as cuGetProcAddress counts (12040)
    bool per_thread;       // _ptds or _ptsz
    bool leaves_no_trace;  // it names no object, and failing is an ordinary answer
};

extern const Symbol symbols[];
extern const uint32_t symbol_count;
extern const char entry_point_names[];  // canonical, each with its NUL, by id
extern const uint32_t entry_point_count;
extern const uint32_t catalog_identity;

}  // namespace cuvet
