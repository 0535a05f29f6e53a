#include "inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>

#include "loaded.h"

namespace cuvet {

namespace {

constexpr uint64_t PAGE = 4096;
constexpr uint32_t MOST_INPUT_BYTES = 512;
constexpr uint64_t MOST_STRING = 4096;  // names of kernels that templates make
constexpr uint64_t STRING_STEP = 256;
constexpr uint64_t MOST_ELEMENTS = 64;
constexpr uint64_t MOST_IMAGE = uint64_t{64} << 20;
constexpr uint32_t STORED_IMAGE = 4096;
constexpr uint32_t STORED_MAPS = 4096;

// Copies memory of this process that may not be readable; how many bytes could be read.
uint64_t read_carefully(uint64_t address, void* to, uint64_t bytes) {
    const iovec local = {to, bytes};
    const iovec remote = {reinterpret_cast<void*>(address), bytes};
    const bool forbidden = in_sandbox();
    const ssize_t got = forbidden ? -1 : read_own(local, remote);
    if (got >= 0 || (!forbidden && errno != ENOSYS && errno != EPERM)) return got > 0 ? static_cast<uint64_t>(got) : 0;
    uint64_t done = 0;  // a sandbox forbids the call
    while (done < bytes && can_be_read(address + done)) {
        const uint64_t from = address + done, to_page_end = PAGE - from % PAGE;
        const uint64_t part = to_page_end < bytes - done ? to_page_end : bytes - done;
        memcpy(static_cast<char*>(to) + done, reinterpret_cast<const void*>(from), part);
        done += part;
    }
    return done;
}

uint32_t read_string(uint64_t address, char* to) {
    char text[STRING_STEP];
    uint64_t length = 0;
    while (length < MOST_STRING) {
        const uint64_t to_page_end = PAGE - (address + length) % PAGE;
        const uint64_t wanted = to_page_end < STRING_STEP ? to_page_end : STRING_STEP;
        const uint64_t got = read_carefully(address + length, text, wanted);
        const void* end = memchr(text, 0, got);
        const uint64_t found = end ? static_cast<uint64_t>(static_cast<const char*>(end) - text) : got;
        const uint64_t kept = found < MOST_STRING - length ? found : MOST_STRING - length;
        memcpy(to + length, text, kept);
        length += kept;
        if (end || got < wanted) break;
    }
    return static_cast<uint32_t>(length);
}

uint64_t array_bytes(const Parameter& parameter, const uint64_t* words) {
    const uint64_t count = words[parameter.count] < MOST_ELEMENTS ? words[parameter.count] : MOST_ELEMENTS;
    const uint64_t bytes = count * parameter.bytes;
    return bytes < MOST_INPUT_BYTES ? bytes : MOST_INPUT_BYTES / parameter.bytes * parameter.bytes;
}

const Blob* struct_of(const Blob* structs, int parameter) {
    while (structs->data && structs->parameter != parameter) structs++;
    return structs->data ? structs : nullptr;
}

uint64_t most_bytes(const Parameter& parameter, const uint64_t* words) {
    if (parameter.capture == Capture::NONE) return 0;
    if (parameter.capture == Capture::STRING) return MOST_STRING;
    return parameter.capture == Capture::ARRAY ? array_bytes(parameter, words) : parameter.bytes;
}

uint32_t read_input(const Parameter& parameter, int position, const uint64_t* words, const Blob* structs, char* data) {
    const uint64_t address = words[position];
    if (parameter.capture == Capture::VALUE) {
        const Blob* blob = struct_of(structs, position);
        const uint32_t bytes = blob && blob->bytes <= parameter.bytes ? blob->bytes : 0;
        if (bytes) memcpy(data, blob->data, bytes);
        return bytes;
    }
    if (parameter.capture == Capture::NONE || !address) return 0;
    if (parameter.capture == Capture::STRING) return read_string(address, data);
    return static_cast<uint32_t>(read_carefully(address, data, most_bytes(parameter, words)));
}

// Address of the image that the call loads; 0 if it loads none.
uint64_t image_of(const EntryPoint& entry_point, const uint64_t* words) {
    for (const Role& role : roles_after(entry_point)) {
        if (role.action == Action::LOADS) return words[role.parameter];
    }
    return 0;
}

bool is_control(unsigned char letter) { return letter < '\t' || (letter > '\r' && letter < ' '); }

// How far the bytes from somewhere on can be read, and whether they begin with text that a NUL ends, or are nothing
// but text.
struct Extent {
    uint64_t bytes;
    bool terminated, endless;
};

Extent extent_of(uint64_t address) {
    Extent extent = {0, false, false};
    bool ended = false;
    unsigned char page[PAGE];
    while (extent.bytes < MOST_IMAGE) {
        const uint64_t wanted = PAGE - (address + extent.bytes) % PAGE;
        const uint64_t got = read_carefully(address + extent.bytes, page, wanted);
        for (uint64_t i = 0; i < got && !ended; i++) {
            ended = is_control(page[i]);
            extent.terminated = !page[i];
        }
        extent.bytes += got;
        extent.endless = got < wanted && !ended;
        if (got < wanted || (ended && extent.bytes >= STORED_IMAGE)) return extent;
    }
    return {MOST_IMAGE, extent.terminated, false};
}

// Letters and white space: no machine code, no container of it.
bool is_text(uint64_t address) {
    unsigned char start[4];
    if (read_carefully(address, start, sizeof start) < sizeof start) return false;
    for (const unsigned char letter : start)
        if (is_control(letter) || letter > '~') return false;
    return true;
}

const char* after_blanks(const char* at, const char* end) {
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) at++;
    return at;
}

const char* after_comment(const char* at, const char* end) {
    const char* close = at[1] == '*' ? "*/" : "\n";
    const size_t length = strlen(close);
    const void* found = memmem(at + 2, static_cast<size_t>(end - at - 2), close, length);
    return found ? static_cast<const char*>(found) + length : end;
}

// Whether its first directive is .version, as PTX has it.
bool is_ptx(uint64_t address) {
    constexpr char VERSION[] = ".version";
    char text[STORED_IMAGE];
    const char* const end = text + read_carefully(address, text, sizeof text);
    const char* at = after_blanks(text, end);
    while (end - at > 2 && at[0] == '/' && (at[1] == '/' || at[1] == '*'))
        at = after_blanks(after_comment(at, end), end);
    const char* const next = at + strlen(VERSION);
    return next < end && !memcmp(at, VERSION, strlen(VERSION)) && after_blanks(next, end) > next;
}

Extent write_image(Thread* thread, uint64_t address, uint64_t number, bool also_terminated) {
    const Extent extent = extent_of(address);
    if (extent.terminated && !also_terminated) return extent;
    const uint32_t length = extent.bytes < STORED_IMAGE ? static_cast<uint32_t>(extent.bytes) : STORED_IMAGE;
    const ImageFields fields = {number, thread->id, length, static_cast<int64_t>(extent.bytes)};
    const uint32_t bytes = padded(sizeof(RecordHeader) + sizeof fields + length);
    char* record = static_cast<char*>(reserve(thread, bytes));
    if (!record) return extent;
    memcpy(record + sizeof(RecordHeader), &fields, sizeof fields);
    char* image = record + sizeof(RecordHeader) + sizeof fields;
    const uint32_t got = static_cast<uint32_t>(read_carefully(address, image, length));
    if (got < length) memset(image + got, 0, length - got);
    publish(thread, record, bytes, RecordType::IMAGE, extent.terminated ? 1 : 0);
    return extent;
}

// Of text up to its NUL, which is in the first `most` bytes.
uint64_t text_bytes(uint64_t address, uint64_t most) {
    char page[PAGE];
    for (uint64_t at = 0; at < most; at += PAGE) {
        const uint64_t got = read_carefully(address + at, page, PAGE);
        if (const void* end = memchr(page, 0, got))
            return at + static_cast<uint64_t>(static_cast<const char*>(end) - page);
    }
    return most;
}

constexpr uint32_t FATBIN_WRAPPER = 0x466243B1, FATBIN = 0xBA55ED50, ELF = 0x464C457F;
constexpr uint32_t CODE_PIECE = 32768;

// Where a fat binary lies that a wrapper points to (the CUDA runtime gives the driver such), else the address itself.
uint64_t unwrapped(uint64_t address) {
    struct {
        uint32_t magic, version;
        uint64_t data;
    } wrapper;
    const bool wrapped =
        read_carefully(address, &wrapper, sizeof wrapper) == sizeof wrapper && wrapper.magic == FATBIN_WRAPPER;
    return wrapped ? wrapper.data : address;
}

// How long an image is: a fat binary, an ELF file, or text. 0 if that cannot be told, or it is too long.
uint64_t code_bytes(uint64_t address) {
    unsigned char start[64];
    if (read_carefully(address, start, sizeof start) < sizeof start) return 0;
    const auto number = [&](int at, size_t bytes) {
        uint64_t value = 0;
        memcpy(&value, start + at, bytes);
        return value;
    };
    uint64_t total = 0;
    if (number(0, 4) == FATBIN) {
        total = number(6, 2) + number(8, 8);
    } else if (number(0, 4) == ELF) {
        const uint64_t segments = number(32, 8) + number(54, 2) * number(56, 2);
        const uint64_t sections = number(40, 8) + number(58, 2) * number(60, 2);
        total = segments > sections ? segments : sections;
    } else if (is_text(address)) {
        const Extent extent = extent_of(address);
        total = extent.terminated ? text_bytes(address, extent.bytes) : extent.bytes;
    }
    return total <= MOST_IMAGE ? total : 0;
}

void write_code_at(Thread* thread, uint64_t number, uint64_t address, uint64_t total) {
    File file;
    const bool in_file = file_at(reinterpret_cast<const void*>(address), &file);
    for (uint64_t offset = 0; offset == 0 || (!in_file && offset < total); offset += CODE_PIECE) {
        const uint64_t rest = total - offset;
        const uint32_t length = in_file ? 0 : static_cast<uint32_t>(rest < CODE_PIECE ? rest : CODE_PIECE);
        const CodeFields fields = {number, thread->id, length, address, total, offset};
        const uint32_t bytes = padded(sizeof(RecordHeader) + sizeof fields + length);
        char* record = static_cast<char*>(reserve(thread, bytes));
        if (!record) return;
        memcpy(record + sizeof(RecordHeader), &fields, sizeof fields);
        char* code = record + sizeof(RecordHeader) + sizeof fields;
        const uint32_t got = static_cast<uint32_t>(read_carefully(address + offset, code, length));
        memset(code + got, 0, bytes - sizeof(RecordHeader) - sizeof fields - got);
        publish(thread, record, bytes, RecordType::CODE, 0);
    }
}

// Reads the maps of this process line by line without allocating: by the thread, as the first one may have ended.
class Maps {
  public:
    Maps() : file_(open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC)) {}
    ~Maps() {
        if (file_ >= 0) close(file_);
    }
    Maps(const Maps&) = delete;
    Maps& operator=(const Maps&) = delete;

    // False at the end. The line keeps its newline and is cut to `bytes`.
    bool next(char* line, uint32_t bytes, uint32_t* length) {
        *length = 0;
        for (;;) {
            if (at_ == end_ && !refill()) return *length > 0;
            const char letter = buffer_[at_++];
            if (*length < bytes) line[(*length)++] = letter;
            if (letter == '\n') return true;
        }
    }

  private:
    bool refill() {
        const ssize_t got = file_ < 0 ? -1 : read(file_, buffer_, sizeof buffer_);
        at_ = 0;
        end_ = got > 0 ? static_cast<uint32_t>(got) : 0;
        return got > 0;
    }

    int file_;
    uint32_t at_ = 0, end_ = 0;
    char buffer_[1024];
};

// The lines that touch [start, end), the line before and the line after.
uint32_t lines_around(uint64_t start, uint64_t end, char* text) {
    constexpr uint32_t LINE = 512;
    char line[LINE], before[LINE];
    uint32_t length, before_length = 0, used = 0;
    bool touching = false, done = false;
    const auto add = [&](const char* what, uint32_t bytes) {  // a line that is left out must not look like a gap
        if (used + bytes > STORED_MAPS) done = true;
        if (done) return;
        memcpy(text + used, what, bytes);
        used += bytes;
    };
    Maps maps;
    while (!done && maps.next(line, LINE, &length)) {
        uint64_t line_start = 0, line_end = 0;
        const char* dash = std::from_chars(line, line + length, line_start, 16).ptr;
        std::from_chars(dash + 1, line + length, line_end, 16);
        if (line_end <= start) {
            memcpy(before, line, before_length = length);
            continue;
        }
        if (!touching) add(before, before_length);
        touching = true;
        add(line, length);
        if (line_start >= end) done = true;
    }
    if (!touching) add(before, before_length);
    return used;
}

// Whether every page of the range is mapped, with whatever access. MS_ASYNC does nothing but look: msync(2).
bool is_mapped(uint64_t address, uint64_t bytes) {
    if (in_sandbox()) return true;
    const uint64_t start = address & ~(static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - 1);
    const int before = errno;
    const bool hole = syscall(SYS_msync, start, address + bytes - start, MS_ASYNC) != 0 && errno == ENOMEM;
    errno = before;
    return !hole;
}

void write_maps(Thread* thread, uint64_t address, uint64_t size, uint64_t number) {
    if (in_sandbox()) return;
    const Uncancellable uncancellable;
    const uint64_t end = address + size < address ? ~uint64_t{0} : address + size;
    constexpr uint32_t BEFORE = sizeof(RecordHeader) + sizeof(MapsFields);
    char* record = static_cast<char*>(reserve(thread, BEFORE + STORED_MAPS));
    if (!record) return;
    const MapsFields fields = {number, thread->id, lines_around(address, end, record + BEFORE)};
    memcpy(record + sizeof(RecordHeader), &fields, sizeof fields);
    publish(thread, record, padded(BEFORE + fields.bytes), RecordType::MAPS, 0);
}

}  // namespace

ssize_t read_own(const iovec& to, const iovec& from) {
    return process_vm_readv(static_cast<pid_t>(syscall(SYS_gettid)), &to, 1, &from, 1, 0);
}

// Works where process_vm_readv is forbidden: the kernel reads the set before it refuses what to do with it. No set (0)
// it need not read.
bool can_be_read(uint64_t address) {
    if (address < PAGE) return false;
    const int before = errno;
    syscall(SYS_rt_sigprocmask, -1, address & ~uint64_t{7}, nullptr, 8);
    const bool readable = errno != EFAULT;
    errno = before;
    return readable;
}

bool probe(Thread* thread, uint64_t address, uint64_t bytes) {
    const uint64_t last = page_of(address + bytes - 1);
    for (uint64_t page = page_of(address); page <= last; page++) {
        uint64_t& known = thread->readable[page % READABLE_PAGES];
        if (known == page) continue;
        if (!can_be_read((page - 1) * PAGE)) return false;
        known = page;
    }
    return address + bytes > address;
}

uint32_t most_input_bytes(const EntryPoint& entry_point, const uint64_t* words) {
    uint32_t bytes = 0;
    for (int i = 0; i < entry_point.parameter_count; i++)
        if (const uint64_t most = most_bytes(entry_point.parameters[i], words))
            bytes += sizeof(InputField) + padded(static_cast<uint32_t>(most));
    return bytes;
}

uint32_t write_inputs(const EntryPoint& entry_point, const uint64_t* words, const Blob* structs, char* at) {
    const char* start = at;
    for (int i = 0; i < entry_point.parameter_count; i++) {
        const uint32_t length = read_input(entry_point.parameters[i], i, words, structs, at + sizeof(InputField));
        if (!length) continue;
        const InputField field = {static_cast<uint16_t>(i), 0, length};
        memcpy(at, &field, sizeof field);
        at += sizeof field;
        memset(at + length, 0, padded(length) - length);
        at += padded(length);
    }
    return static_cast<uint32_t>(at - start);
}

uint64_t registered_bytes(const EntryPoint& entry_point, const uint64_t* words) {
    for (const Role& role : roles_after(entry_point)) {
        if (role.action == Action::REGISTERED_BYTES) return words[role.parameter];
    }
    return 0;
}

bool explain_unregistration(Thread* thread, uint64_t address, uint64_t bytes, uint64_t number) {
    if (is_mapped(address, bytes)) return false;
    write_maps(thread, address, bytes, number);
    return true;
}

void write_code(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number) {
    for (const Role& role : roles_after(entry_point)) {
        if (role.action != Action::LOADS || entry_point.parameters[role.parameter].capture == Capture::STRING) continue;
        const uint64_t address = unwrapped(words[role.parameter]), total = code_bytes(address);
        if (total) write_code_at(thread, number, address, total);
    }
}

bool explain_crash(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number) {
    const uint64_t image = image_of(entry_point, words);
    if (!image || !is_text(image)) return false;
    const Extent extent = write_image(thread, image, number, false);
    return extent.endless && is_ptx(image) && !in_sandbox() && !can_be_read(image + extent.bytes);
}

void explain_failure(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, uint64_t number) {
    if (const uint64_t image = image_of(entry_point, words)) write_image(thread, image, number, true);
    for (const Role& role : roles_after(entry_point)) {
        if (role.action == Action::REGISTERS && role.kind == Kind::HOST_MEMORY)
            write_maps(thread, words[role.parameter], registered_bytes(entry_point, words), number);
    }
}

}  // namespace cuvet
