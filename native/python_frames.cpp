#include "python_frames.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>
#include <charconv>

#include "loader.h"

namespace cuvet {

namespace {

// Offsets in bytes of what is read, and how. `chain` leads from the thread state to the innermost frame.
struct Layout {
    uint32_t thread_chain;  // field of PyThreadState …
    uint32_t chain_frame;   // … that is the frame (DIRECT) or points to a struct whose field is
    uint32_t frame_code;
    uint32_t frame_previous;
    uint32_t frame_instruction;
    uint32_t frame_owner;  // a byte; 0: no frame is the interpreter's own
    uint32_t code_file_name;
    uint32_t code_name;
    uint32_t code_first_line;
    uint32_t code_instructions;  // 0: frame_instruction is an index (3.10), not an address
    uint32_t string_length;
    uint32_t string_state;
    uint32_t ascii_bytes;    // sizeof(PyASCIIObject): where the text of an ASCII string starts
    uint32_t compact_bytes;  // sizeof(PyCompactUnicodeObject): of another compact string
    uint32_t object_type;
};

constexpr uint32_t DIRECT = ~0u;
constexpr uint8_t OWNED_BY_C_STACK = 3;  // 3.12: the interpreter's entry frame

constexpr Layout PYTHON_3_10 = {24, DIRECT, 32, 24, 96, 0, 104, 112, 40, 0, 16, 32, 48, 72, 8};
constexpr Layout PYTHON_3_11 = {56, 8, 32, 48, 56, 0, 112, 128, 72, 184, 16, 32, 48, 72, 8};
constexpr Layout PYTHON_3_12 = {56, 0, 0, 8, 56, 70, 112, 128, 68, 192, 16, 32, 40, 56, 8};

// Indexes, in 64-bit words, into the _Py_DebugOffsets at the start of _PyRuntime.
struct DebugOffsets {
    uint32_t current_frame, frame_previous, frame_executable, frame_instruction;
    uint32_t code_file_name, code_qualified_name, code_first_line, code_instructions;
    uint32_t object_type;
};

constexpr DebugOffsets OFFSETS_3_13 = {23, 29, 30, 31, 35, 37, 39, 43, 45};
constexpr DebugOffsets OFFSETS_3_14 = {26, 32, 33, 34, 40, 42, 44, 48, 51};

enum State { UNKNOWN, LOOKING, DECIDED };

std::atomic<State> state;
Layout layout;
void* (*this_thread_state)();
int (*address_to_line)(const void* code, int offset);
int (*is_finalizing)();
const void* code_type;

template <class T>
T field(const void* object, uint32_t offset) {
    T value;
    memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
    return value;
}

bool layout_of_runtime(uint32_t minor) {
    const uint64_t* words = static_cast<const uint64_t*>(real_dlsym(RTLD_DEFAULT, "_PyRuntime"));
    if (!words || memcmp(words, "xdebugpy", 8) != 0) return false;
    const bool free_threaded = words[2] != 0;
    if (free_threaded) return false;
    const DebugOffsets& at = minor == 13 ? OFFSETS_3_13 : OFFSETS_3_14;
    const auto offset = [&](uint32_t index) { return static_cast<uint32_t>(words[index]); };
    layout = PYTHON_3_12;
    layout.thread_chain = offset(at.current_frame);
    layout.chain_frame = DIRECT;
    layout.frame_code = offset(at.frame_executable);
    layout.frame_previous = offset(at.frame_previous);
    layout.frame_instruction = offset(at.frame_instruction);
    layout.frame_owner = 0;
    layout.code_file_name = offset(at.code_file_name);
    layout.code_name = offset(at.code_qualified_name);
    layout.code_first_line = offset(at.code_first_line);
    layout.code_instructions = offset(at.code_instructions);
    layout.object_type = offset(at.object_type);
    return true;
}

bool choose_layout(uint32_t minor) {
    if (minor == 13 || minor == 14) return layout_of_runtime(minor);
    if (minor < 10 || minor > 14) return false;
    layout = minor == 10 ? PYTHON_3_10 : minor == 11 ? PYTHON_3_11 : PYTHON_3_12;
    return true;
}

uint32_t minor_version(const char* (*version)()) {
    const char* text = version();  // "3.12.1 (main, …"
    uint32_t minor = 0;
    if (strncmp(text, "3.", 2) == 0) std::from_chars(text + 2, text + strlen(text), minor);
    return minor;
}

uint32_t put_utf8(uint32_t character, char* text, uint32_t room) {
    const uint32_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (bytes > room) return 0;
    if (bytes == 1) {
        text[0] = static_cast<char>(character);
        return 1;
    }
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (uint32_t i = bytes - 1; i > 0; i--, character >>= 6) text[i] = static_cast<char>(0x80 | (character & 0x3F));
    text[0] = static_cast<char>(lead[bytes] | character);
    return bytes;
}

uint32_t copy_string(const void* string, char* text, uint32_t bytes) {
    if (!string) return 0;
    // How it is interned, in two bits (3.10 to 3.14.10) or, in headers of CPython's development, in sixteen; then the
    // kind in three, compact, ascii.
    const uint32_t word = field<uint32_t>(string, layout.string_state);
    const uint32_t bits = word & 0xFFFC ? word >> 2 : word >> 16;
    const uint32_t kind = bits & 7;
    const bool compact = bits & 8, ascii = bits & 16;
    if (!compact || (kind != 1 && kind != 2 && kind != 4)) return 0;
    const char* data = static_cast<const char*>(string) + (ascii ? layout.ascii_bytes : layout.compact_bytes);
    const uint64_t length = field<uint64_t>(string, layout.string_length);
    uint32_t used = 0;
    for (uint64_t i = 0; i < length; i++) {
        const uint32_t character = kind == 1   ? field<uint8_t>(data, static_cast<uint32_t>(i))
                                   : kind == 2 ? field<uint16_t>(data, static_cast<uint32_t>(2 * i))
                                               : field<uint32_t>(data, static_cast<uint32_t>(4 * i));
        const uint32_t put = put_utf8(character, text + used, bytes - used);
        if (!put) break;
        used += put;
    }
    return used;
}

HOT const char* innermost_frame() {
    // An interpreter that ends frees the states of threads that still run.
    if (is_finalizing()) return nullptr;
    const char* thread = static_cast<const char*>(this_thread_state());
    if (!thread) return nullptr;
    const char* next = field<const char*>(thread, layout.thread_chain);
    if (layout.chain_frame == DIRECT || !next) return next;
    return field<const char*>(next, layout.chain_frame);
}

// Null where the frame runs no code: the interpreter's own.
inline const char* code_of(const char* frame, const Layout& layout, const void* code_type) {
    // 3.14 tags references in the lowest bits.
    const char* code = reinterpret_cast<const char*>(field<uintptr_t>(frame, layout.frame_code) & ~uintptr_t{7});
    // From 3.13 on the interpreter's entry frames hold no code object.
    const bool own = layout.frame_owner && field<uint8_t>(frame, layout.frame_owner) == OWNED_BY_C_STACK;
    return !own && code && field<const void*>(code, layout.object_type) == code_type ? code : nullptr;
}

inline uint64_t key_of(const char* code, const Layout& layout) {
    uint64_t key = reinterpret_cast<uint64_t>(code);
    key = key * 0x9E3779B97F4A7C15u ^ field<uint64_t>(code, layout.code_file_name);
    key = key * 0x9E3779B97F4A7C15u ^ field<uint64_t>(code, layout.code_name);
    return key * 0x9E3779B97F4A7C15u ^ field<uint32_t>(code, layout.code_first_line);
}

int instruction_offset(const char* frame, const char* code) {
    if (!layout.code_instructions) return field<int32_t>(frame, layout.frame_instruction) * 2;
    return static_cast<int>(field<const char*>(frame, layout.frame_instruction) - (code + layout.code_instructions));
}

}  // namespace

std::atomic<bool> python_found;

void find_python() {
    State before = UNKNOWN;
    if (!state.compare_exchange_strong(before, LOOKING)) return;
    const auto version = reinterpret_cast<const char* (*)()>(real_dlsym(RTLD_DEFAULT, "Py_GetVersion"));
    if (!version) return state.store(UNKNOWN);
    this_thread_state = reinterpret_cast<void* (*)()>(real_dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
    address_to_line = reinterpret_cast<int (*)(const void*, int)>(real_dlsym(RTLD_DEFAULT, "PyCode_Addr2Line"));
    code_type = real_dlsym(RTLD_DEFAULT, "PyCode_Type");
    void* finalizing = real_dlsym(RTLD_DEFAULT, "Py_IsFinalizing");  // from 3.13 on
    if (!finalizing) finalizing = real_dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    is_finalizing = reinterpret_cast<int (*)()>(finalizing);
    const bool known =
        this_thread_state && is_finalizing && address_to_line && code_type && choose_layout(minor_version(version));
    state.store(DECIDED);
    python_found.store(known, std::memory_order_release);
}

int python_frames(PythonFrame* frames, int most, int walked) {
    if (!python_is_found()) return 0;
    int count = 0;
    const char* frame = innermost_frame();
    for (; frame && count < most && walked > 0; walked--) {
        if (const char* code = code_of(frame, layout, code_type))
            frames[count++] = {code, instruction_offset(frame, code)};
        frame = field<const char*>(frame, layout.frame_previous);
    }
    return count;
}

// From 3.11 on the instruction is an address in the code object.
uint64_t python_position(int walked) {
    if (!python_is_found()) return 0;
    uint64_t position = 1;
    for (const char* frame = innermost_frame(); frame && walked > 0; walked--) {
        position = (position ^ field<uint64_t>(frame, layout.frame_instruction)) * 0x9E3779B97F4A7C15u;
        if (!layout.code_instructions) position ^= field<uint64_t>(frame, layout.frame_code);
        frame = field<const char*>(frame, layout.frame_previous);
    }
    return position;
}

// Each time a stack is wanted, so from copies: what is read may be anything, as far as the compiler knows.
uint64_t python_key(int most) {
    if (!python_is_found()) return 0;
    const Layout at = layout;
    const void* const type = code_type;
    uint64_t key = 1;
    for (const char* frame = innermost_frame(); frame && most > 0;) {
        if (const char* code = code_of(frame, at, type)) {
            const uint64_t instruction = at.code_instructions ? field<uint64_t>(frame, at.frame_instruction)
                                                              : field<uint32_t>(frame, at.frame_instruction);
            key = ((key ^ key >> 32) + instruction) * 0x9E3779B97F4A7C15u ^ key_of(code, at);
            most--;
        }
        frame = field<const char*>(frame, at.frame_previous);
    }
    return key;
}

uint32_t python_line(const PythonFrame& frame) {
    const int line = address_to_line(frame.code, frame.offset);
    return line > 0 ? static_cast<uint32_t>(line) : 0;
}

uint64_t python_code_key(const char* code) {
    const uint64_t key = key_of(code, layout);
    return key ? key : 1;
}

uint32_t python_file_name(const char* code, char* text, uint32_t bytes) {
    return copy_string(field<const void*>(code, layout.code_file_name), text, bytes);
}

uint32_t python_qualified_name(const char* code, char* text, uint32_t bytes) {
    return copy_string(field<const void*>(code, layout.code_name), text, bytes);
}

}  // namespace cuvet
