#include "stacks.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "driver.h"
#include "inject.h"
#include "inputs.h"
#include "loaded.h"
#include "loader.h"
#include "python_frames.h"
#include "table.h"
#include "unwind.h"

namespace cuvet {

namespace {

constexpr uint32_t MOST_NAME = 1024;
constexpr uint32_t MOST_BUILD_ID = 32;

struct Id {
    std::atomic<uint32_t> number;
};

// Of a stack that is stored: `state` is its number, and the era in which it was seen last << 32.
struct StackId {
    std::atomic<uint64_t> state;
    std::atomic<uint32_t> stored;  // the era in which it was
};

// Of a file that is stored: in which look at all files it was seen last, and in which era it was stored last.
struct ModuleId {
    std::atomic<uint32_t> look;
    std::atomic<uint32_t> stored;
};

struct Frames {
    int native;
    int python;
    uint64_t frame_pointer;  // in the outermost native frame
    uint64_t addresses[MOST_FRAMES];
    PythonFrame code[MOST_FRAMES];
};

// The part of the unwinder's interface that is used; it is in libgcc_s.so.1, where code that is generated at run time
// registers its frames. See docs/decisions/0004-unwinding.md.
using UnwindCallback = int (*)(void* context, void* argument);
using Backtrace = int (*)(UnwindCallback callback, void* argument);
using GetAddress = uintptr_t (*)(void* context);
using GetRegister = uintptr_t (*)(void* context, int number);
constexpr int GO_ON = 0, STOP = 5;
#if defined(__x86_64__)
constexpr int FRAME_POINTER = 6;
#else
constexpr int FRAME_POINTER = 29;
#endif
constexpr uint64_t LARGEST_FRAME = 1 << 20;

std::atomic<Backtrace> backtrace;
std::atomic<GetAddress> get_address;
std::atomic<GetRegister> get_register;
std::atomic<FindDescription> find_description;
enum Where : uint32_t { IN_FILE = 1, GENERATED };
Table<Id> walk_ends;                        // by the address that a walk ended at: whether that is in a file (Where)
std::atomic<GetAddress> get_stack_pointer;  // of the frame whose address get_address tells
Table<StackId> stack_ids;
Table<Id> code_ids;
Table<ModuleId> modules;
std::atomic<uint32_t> looks;  // at all files
std::atomic<uint32_t> last_stack_id;
std::atomic<uint32_t> last_code_id;
std::atomic<bool> python_loaded;     // and perhaps not found yet: dlsym would take the loader's lock each time
std::atomic<uint64_t> modules_seen;  // dl_iterate_phdr's count of loads when they were last looked at

int add_frame(void* context, void* argument) {
    Frames* frames = static_cast<Frames*>(argument);
    const uintptr_t address = get_address.load(std::memory_order_relaxed)(context);
    if (frames->native == 0 && is_own_address(address)) return GO_ON;
    if (!address || frames->native == MOST_FRAMES) return STOP;
    frames->addresses[frames->native++] = address;
    frames->frame_pointer = get_register.load(std::memory_order_relaxed)(context, FRAME_POINTER);
    return GO_ON;
}

int take_caller(void* context, void* argument) {
    const uintptr_t address = get_address.load(std::memory_order_relaxed)(context);
    if (is_own_address(address)) return GO_ON;
    *static_cast<uintptr_t*>(argument) = address;
    return STOP;
}

// Outward to the first frame that is not the runtime's.
int take_runtime(void* context, void* argument) {
    const uintptr_t address = get_address.load(std::memory_order_relaxed)(context);
    if (is_own_address(address)) return GO_ON;
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(address - 1), &info) || !info.dli_fname) return STOP;
    if (strncmp(base_name(info.dli_fname), "libcudart.so", 12) != 0) return STOP;
    if (info.dli_sname) *static_cast<const char**>(argument) = info.dli_sname;
    return GO_ON;
}

// Of code that a runtime generated while the program ran. No file is unloaded between a call and its caller, but where
// one was, another may be later: a stack may then end too early, no more.
bool is_generated(uint64_t address) {
    Id* id = walk_ends.insert(address);
    if (!id) return false;
    if (const uint32_t known = id->number.load(std::memory_order_relaxed)) return known == GENERATED;
    File file;
    const Where where = file_at(reinterpret_cast<const void*>(address), &file) ? IN_FILE : GENERATED;
    id->number.store(where, std::memory_order_relaxed);
    return where == GENERATED;
}

// The unwinder ends at generated code that registers no frames (mono, .NET, V8; see
// docs/decisions/0009-names-of-generated-code.md): on by frame pointers, to the first
// address in a file.
READS_STACKS void walk_generated(Thread* thread, Frames* frames) {
    uint64_t below = reinterpret_cast<uint64_t>(frames), at = frames->frame_pointer;
    while (frames->native && frames->native < MOST_FRAMES && is_generated(frames->addresses[frames->native - 1])) {
        if (at % 8 || at <= below || at - below > LARGEST_FRAME || !is_readable(thread, at, 16)) return;
        uint64_t words[2];  // the caller's frame pointer, and the return address
        memcpy(words, reinterpret_cast<const void*>(at), sizeof words);
        if (words[1] < PAGE_BYTES) return;
        frames->addresses[frames->native++] = words[1];
        below = at;
        at = words[0];
    }
}

void take_walk(const Walk& walk, Frames* frames) {
    for (int i = 0; i < walk.count; i++) {
        const Step& step = walk.steps[i];
        if (frames->native == 0 && is_own_address(step.address)) continue;
        frames->addresses[frames->native++] = step.address;
    }
}

// In builds with a sanitizer: ends the program if the unwinder finds another stack.
#ifdef CUVET_COMPARE_UNWINDERS
void compare(const Walk& walk, Backtrace unwind) {
    static __thread Frames walked __attribute__((tls_model("initial-exec")));
    static __thread Frames frames __attribute__((tls_model("initial-exec")));
    walked.native = frames.native = 0;
    take_walk(walk, &walked);
    unwind(add_frame, &frames);
    const size_t bytes = static_cast<size_t>(walked.native) * sizeof *walked.addresses;
    if (frames.native == walked.native && memcmp(frames.addresses, walked.addresses, bytes) == 0) return;
    dprintf(STDERR_FILENO, "cuvet: the unwinder found %d frames, the walk %d\n", frames.native, walked.native);
    abort();
}
#else
void compare(const Walk&, Backtrace) {}
#endif

struct Trailed {
    Frames frames;
    uint64_t frame;
    Trail* trail;
};

// Ends where a return address is not where the unwinder says that the frame inside begins.
READS_STACKS int follow_trail(void* context, void* argument) {
    Trailed* trailed = static_cast<Trailed*>(argument);
    Trail* trail = trailed->trail;
    const int before = trailed->frames.native;
    if (add_frame(context, &trailed->frames) == STOP) return STOP;
    if (trailed->frames.native == before) return GO_ON;
    const uint64_t address = trailed->frames.addresses[before];
    const uint64_t place = get_stack_pointer.load(std::memory_order_relaxed)(context) - sizeof address;
    const uint64_t offset = (place - trailed->frame) / Trail::UNIT;
    const uint64_t last = trail->count ? trail->offsets[trail->count - 1] : 0;
    const bool follows = place > trailed->frame && place % Trail::UNIT == 0 && offset <= last + Trail::MOST_STEP &&
                         *reinterpret_cast<const uint64_t*>(place) == address;
    if (!follows) {
        trailed->frames.native = before;
        return STOP;
    }
    trail->returns[trail->count] = static_cast<uint32_t>(address);
    trail->offsets[trail->count++] = static_cast<uint16_t>(offset);
    return trail->count < Trail::MOST ? GO_ON : STOP;
}

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

uint64_t hash_of(const Frames& frames) {
    uint64_t hash = static_cast<uint64_t>(frames.native);
    for (int i = 0; i < frames.native; i++) hash = mix(hash, frames.addresses[i]);
    for (int i = 0; i < frames.python; i++) {
        hash = mix(hash, python_code_key(frames.code[i].code));
        hash = mix(hash, static_cast<uint64_t>(frames.code[i].offset));
    }
    return hash ? hash : 1;
}

// Likewise, of a stack that is known by its footprint: ends the program if another is there now.
#ifdef CUVET_COMPARE_UNWINDERS
__thread uint64_t known_hashes[KnownStacks::MOST] __attribute__((tls_model("initial-exec")));

void note_known(uint32_t at, const Frames& frames) { known_hashes[at] = hash_of(frames); }

void compare_known(uint32_t at, Backtrace unwind) {
    static __thread Frames frames __attribute__((tls_model("initial-exec")));
    frames.native = 0;
    frames.python = python_frames(frames.code, MOST_FRAMES);
    unwind(add_frame, &frames);
    if (!known_hashes[at] || known_hashes[at] == hash_of(frames)) return;  // none: the thread before this one knew it
    dprintf(STDERR_FILENO, "cuvet: the unwinder found another stack than the known one\n");
    abort();
}
#else
void note_known(uint32_t, const Frames&) {}
void compare_known(uint32_t, Backtrace) {}
#endif

bool is_foreign_driver(const dl_phdr_info* info) {
    return info->dlpi_name && strncmp(base_name(info->dlpi_name), "libcuda.so", 10) == 0 &&
           !is_our_driver(info->dlpi_addr);
}

struct Module {
    uint64_t start, end, bias;
    const uint8_t* build_id;
    uint32_t build_id_bytes;
    const char* path;
};

void find_build_id(const char* notes, uint64_t bytes, Module* module) {
    const char* end = notes + bytes;
    while (notes + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof note);
        const char* name = notes + sizeof note;
        const char* description = name + ((note.n_namesz + 3) & ~3u);
        if (description + note.n_descsz > end) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            module->build_id = reinterpret_cast<const uint8_t*>(description);
            module->build_id_bytes = note.n_descsz < MOST_BUILD_ID ? note.n_descsz : MOST_BUILD_ID;
            return;
        }
        notes = description + ((note.n_descsz + 3) & ~3u);
    }
}

Module describe(const dl_phdr_info* info) {
    Module module = {~uint64_t{0}, 0, info->dlpi_addr, nullptr, 0, info->dlpi_name};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD) {
            if (start < module.start) module.start = start;
            if (start + segment.p_memsz > module.end) module.end = start + segment.p_memsz;
        } else if (segment.p_type == PT_NOTE && !module.build_id) {
            find_build_id(reinterpret_cast<const char*>(start), segment.p_memsz, &module);
        }
    }
    return module;
}

// As FORMAT.md counts them.
uint16_t recorded_era(uint32_t era) {
    constexpr uint32_t MOST = UINT16_MAX;
    return static_cast<uint16_t>(era < MOST ? era : MOST);
}

ModuleId* find_module(const Module& module) {
    uint64_t key = mix(mix(0, module.start), module.end);
    for (uint32_t i = 0; i < module.build_id_bytes; i++) key = mix(key, module.build_id[i]);
    return modules.insert(key ? key : 1);
}

void write_module(Thread* thread, const Module& module, uint32_t era) {
    const uint32_t path_bytes = static_cast<uint32_t>(strnlen(module.path, PATH_MAX));
    const ModuleFields fields = {module.start, module.end, module.bias, module.build_id_bytes, path_bytes};
    const Part build_id = {module.build_id, module.build_id_bytes}, path = {module.path, path_bytes};
    write_record(thread, RecordType::MODULE, fields, {build_id, path}, recorded_era(era));
}

// The loader keeps a relative name as it was given, and the program may change its directory. Apart, for its buffer is
// large and seldom needed.
__attribute__((noinline)) void write_relative_module(Thread* thread, const Module& given, uint32_t era) {
    char path[PATH_MAX];
    Module module = given;
    const int before = errno;
    if (!in_sandbox() && realpath(module.path, path)) module.path = path;
    errno = before;
    write_module(thread, module, era);
}

struct Look {
    Thread* thread;
    uint32_t number;
    uint32_t era;
};

// A file that was not there at the look before may be back in a place where another was meanwhile.
int record_module(dl_phdr_info* info, size_t, void* argument) {
    const Look* look = static_cast<const Look*>(argument);
    Module module = describe(info);
    ModuleId* known = module.end > module.start ? find_module(module) : nullptr;
    if (!known) return 0;
    const uint32_t before = known->look.exchange(look->number);
    if (before && before + 1 >= look->number) return 0;
    known->stored.store(look->era, std::memory_order_relaxed);
    if (!module.path || !*module.path) module.path = executable();
    if (strncmp(base_name(module.path), "libpython", 9) == 0) python_loaded.store(true, std::memory_order_relaxed);
    const bool relative = strchr(module.path, '/') && *module.path != '/';  // not the kernel's own: "linux-vdso.so.1"
    (relative ? write_relative_module : write_module)(look->thread, module, look->era);
    if (is_foreign_driver(info)) write_note(look->thread, NoteCode::BYPASSED, info->dlpi_name);
    return 0;
}

int count_loads(dl_phdr_info* info, size_t, void* loads) {
    *static_cast<uint64_t*>(loads) = info->dlpi_adds;
    return 1;
}

// Apart, for its buffer is large and not needed where stacks are deep: in the unwinder.
__attribute__((noinline)) uint32_t code_id(Thread* thread, const char* code) {
    Id* id = code_ids.insert(python_code_key(code));
    if (!id) return 0;
    if (const uint32_t known = id->number.load(std::memory_order_acquire)) return known;
    const uint32_t number = last_code_id.fetch_add(1) + 1;
    char names[2 * MOST_NAME];
    const uint32_t file_bytes = python_file_name(code, names, MOST_NAME);
    const uint32_t name_bytes = python_qualified_name(code, names + file_bytes, MOST_NAME);
    const PythonCodeFields fields = {number, static_cast<uint16_t>(file_bytes), static_cast<uint16_t>(name_bytes)};
    if (!write_record(thread, RecordType::PYTHON_CODE, fields, {{names, file_bytes + name_bytes}})) return 0;
    id->number.store(number, std::memory_order_release);
    return number;
}

bool write_stack(Thread* thread, uint32_t number, const Frames& frames, uint32_t era) {
    PythonFrameFields python[MOST_FRAMES];
    for (int i = 0; i < frames.python; i++)
        python[i] = {code_id(thread, frames.code[i].code), python_line(frames.code[i])};
    const StackFields fields = {number, static_cast<uint16_t>(frames.native), static_cast<uint16_t>(frames.python)};
    const Part addresses = {frames.addresses, static_cast<uint32_t>(frames.native) * 8};
    const Part lines = {python, static_cast<uint32_t>(frames.python) * uint32_t{sizeof *python}};
    return write_record(thread, RecordType::STACK, fields, {addresses, lines}, recorded_era(era)) != nullptr;
}

uint64_t mix_text(uint64_t hash, const char* text, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) hash = mix(hash, static_cast<uint8_t>(text[i]));
    return mix(hash, bytes);
}

bool is_interpreter(const char* name) { return strncmp(name, "libpython", 9) == 0 || strncmp(name, "python", 6) == 0; }

uint64_t mix_python(uint64_t hash, const PythonFrame& frame) {
    char text[MOST_NAME];
    hash = mix_text(hash, text, python_file_name(frame.code, text, MOST_NAME));
    hash = mix_text(hash, text, python_qualified_name(frame.code, text, MOST_NAME));
    return mix(hash, python_line(frame));
}

// The same number in every run: files by their names, addresses by where they are in a file. An interpreter's own
// frames tell nothing that those of its code do not; code in no file has no place that lasts.
__attribute__((noinline)) uint64_t site_of(const Frames& frames) {
    uint64_t hash = 1;
    for (int i = 0; i < frames.native; i++) {
        File file;
        if (!file_at(reinterpret_cast<const void*>(frames.addresses[i] - 1), &file)) continue;
        const char* name = base_name(*file.path ? file.path : executable());
        if (frames.python && is_interpreter(name)) break;
        hash = mix(mix_text(hash, name, static_cast<uint32_t>(strlen(name))), frames.addresses[i] - file.load_bias);
    }
    for (int i = 0; i < frames.python; i++) hash = mix_python(hash, frames.code[i]);
    return hash ? hash : 1;
}

void write_site(Thread* thread, uint32_t stack, const Frames& frames) {
    const SiteFields fields = {site_of(frames), stack, 0};
    write_record(thread, RecordType::SITE, fields);
    note_site(stack, fields.site);
}

struct Newest {
    const Frames* frames;
    uint32_t era;
};

int find_newest(dl_phdr_info* info, size_t, void* argument) {
    Newest* newest = static_cast<Newest*>(argument);
    const Module module = describe(info);
    const ModuleId* known = module.end > module.start ? find_module(module) : nullptr;
    const uint32_t stored = known ? known->stored.load(std::memory_order_relaxed) : 0;
    if (stored <= newest->era) return 0;
    for (int i = 0; i < newest->frames->native; i++)
        if (newest->frames->addresses[i] - module.start <= module.end - module.start) newest->era = stored;
    return 0;
}

// Whether a stack that was stored in that era leads through the same files now: others may be in their places.
bool has_same_files(const Frames& frames, uint32_t stored) {
    Newest newest = {&frames, stored};
    dl_iterate_phdr(find_newest, &newest);
    return newest.era == stored;
}

uint32_t store_stack(Thread* thread, const Frames& frames) {
    StackId* id = stack_ids.insert(hash_of(frames));
    if (!id) return 0;
    uint32_t era = code_era();
    const uint64_t state = id->state.load(std::memory_order_acquire);
    uint32_t number = static_cast<uint32_t>(state);
    if (number && state >> 32 == era) return number;
    record_new_modules(thread);
    era = code_era();  // of the files that are stored now, or later
    if (!number || !has_same_files(frames, id->stored.load(std::memory_order_relaxed))) {
        number = last_stack_id.fetch_add(1) + 1;
        if (!write_stack(thread, number, frames, era)) return 0;
        if (injects()) write_site(thread, number, frames);
        id->stored.store(era, std::memory_order_relaxed);
    }
    id->state.store(uint64_t{era} << 32 | number, std::memory_order_release);
    return number;
}

HOT bool is_same(const KnownStack& stack, const Start& start, uint64_t python) {
    return stack.id && stack.python == python && is_walked_again(stack.footprint, start) &&
           walks_hold(stack.footprint.era);
}

using KnownSet = uint16_t[KnownStacks::WAYS];

KnownSet& set_of(KnownStacks& stacks, const Start& start, uint64_t python) {
    return stacks.sets[mix(python, start.stack_pointer) % KnownStacks::SETS];
}

// One of the thread's stacks, of which only the return addresses are looked at; 0 if it is none of them. A program that
// does the same again and again wants them in the same order.
uint32_t known_stack(KnownStacks& stacks, const Start& start, uint64_t python) {
    KnownStack& last = stacks.all[stacks.last];
    if (!is_same(stacks.all[last.after], start, python)) {
        const KnownSet& set = set_of(stacks, start, python);
        uint32_t way = 0;
        while (way < KnownStacks::WAYS && !is_same(stacks.all[set[way]], start, python)) way++;
        if (way == KnownStacks::WAYS) return 0;
        last.after = set[way];
    }
    stacks.last = last.after;
    return stacks.all[stacks.last].id;
}

// That the walk from `start` belongs to. The oldest is forgotten for it. False: its words do not tell it.
bool remember_stack(KnownStacks& stacks, const Walk& walk, const Start& start, uint64_t python, uint32_t id) {
    const uint32_t at = stacks.count % KnownStacks::MOST;
    KnownStack& stack = stacks.all[at];
    note_words(walk, start, &stack.footprint);
    stack.id = stack.footprint.count < 0 ? 0 : id;
    if (!stack.id) return false;
    stack.python = python;
    stack.after = at;
    stacks.all[stacks.last].after = at;
    stacks.last = at;
    stacks.count++;
    KnownSet& set = set_of(stacks, start, python);
    memmove(set + 1, set, sizeof set - sizeof *set);
    set[0] = static_cast<uint16_t>(at);
    return true;
}

struct ForeignDriver {
    char* path;
    uint64_t bytes;
    bool found;
};

int look_for_driver(dl_phdr_info* info, size_t, void* argument) {
    ForeignDriver* driver = static_cast<ForeignDriver*>(argument);
    if (!is_foreign_driver(info)) return 0;
    strncpy(driver->path, info->dlpi_name, driver->bytes - 1);
    driver->found = true;
    return 1;
}

}  // namespace

void record_new_modules(Thread* thread) {
    uint64_t loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    if (modules_seen.load(std::memory_order_relaxed) == loads) return;
    Look look = {thread, looks.fetch_add(1) + 1, code_era()};
    dl_iterate_phdr(record_module, &look);
    if (python_loaded.exchange(false, std::memory_order_relaxed)) find_python();
    modules_seen.store(loads, std::memory_order_relaxed);
}

void find_unwinder() {
    if (backtrace.load(std::memory_order_relaxed)) return;
    void* library = cuvet_real_dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const auto address = reinterpret_cast<GetAddress>(real_dlsym(library, "_Unwind_GetIP"));
    const auto of_register = reinterpret_cast<GetRegister>(real_dlsym(library, "_Unwind_GetGR"));
    const auto found = reinterpret_cast<Backtrace>(real_dlsym(library, "_Unwind_Backtrace"));
    if (!address || !of_register || !found) return;
    find_description.store(reinterpret_cast<FindDescription>(real_dlsym(library, "_Unwind_Find_FDE")));
    get_stack_pointer.store(reinterpret_cast<GetAddress>(real_dlsym(library, "_Unwind_GetCFA")));
    get_address.store(address, std::memory_order_relaxed);
    get_register.store(of_register, std::memory_order_relaxed);
    backtrace.store(found, std::memory_order_release);
}

uint32_t capture_stack(Thread* thread) {
    const Backtrace unwind = backtrace.load(std::memory_order_acquire);
    if (recording_is_full() || !unwind) return 0;
    const uint64_t python = python_key(MOST_FRAMES);
    const Start start = here();
    if (const uint32_t known = known_stack(thread->stacks, start, python)) {
        compare_known(thread->stacks.last, unwind);
        return known;
    }
    Frames frames;
    frames.native = 0;
    frames.python = python_frames(frames.code, MOST_FRAMES);
    const FindDescription find = find_description.load(std::memory_order_relaxed);
    const bool walked = find && walk_stack(&thread->walks, start, MOST_FRAMES, find);
    if (walked) {
        compare(last_walk(thread->walks), unwind);
        take_walk(last_walk(thread->walks), &frames);
    } else {
        unwind(add_frame, &frames);
        walk_generated(thread, &frames);
    }
    const uint32_t id = store_stack(thread, frames);
    if (walked && remember_stack(thread->stacks, last_walk(thread->walks), start, python, id))
        note_known(thread->stacks.last, frames);
    return id;
}

uint32_t capture_trail(Thread* thread, uint64_t frame, Trail* trail) {
    const Backtrace unwind = backtrace.load(std::memory_order_acquire);
    trail->count = 0;
    if (recording_is_full() || !unwind || !get_stack_pointer.load(std::memory_order_relaxed)) return 0;
    Trailed trailed;
    trailed.frames.native = 0;
    trailed.frame = frame;
    trailed.trail = trail;
    unwind(follow_trail, &trailed);
    if (!trail->count) return 0;
    trailed.frames.python = python_frames(trailed.frames.code, MOST_FRAMES, Trail::PYTHON);
    trail->python = python_position(Trail::PYTHON);
    return store_stack(thread, trailed.frames);
}

const char* calling_file() {
    const Backtrace unwind = backtrace.load(std::memory_order_acquire);
    uintptr_t address = 0;
    File file;
    if (unwind) unwind(take_caller, &address);
    if (!address || !file_at(reinterpret_cast<const void*>(address - 1), &file)) return "";
    return *file.path ? file.path : executable();
}

bool runtime_function(char* name, uint64_t bytes) {
    const Backtrace unwind = backtrace.load(std::memory_order_acquire);
    const char* found = nullptr;
    if (unwind) unwind(take_runtime, &found);
    if (!found) return false;
    strncpy(name, found, bytes - 1);
    name[bytes - 1] = '\0';
    for (const char* version : {"_ptsz", "_ptds", "_v2", "_v3", "_v4"})
        if (char* at = strstr(name, version)) *at = '\0';
    return true;
}

bool driver_past_shim(char* path, uint64_t bytes) {
    ForeignDriver driver = {path, bytes, false};
    memset(path, 0, bytes);
    dl_iterate_phdr(look_for_driver, &driver);
    return driver.found;
}

void forget_stacks() {
    walk_ends.clear();
    stack_ids.clear();
    code_ids.clear();
    modules.clear();
    modules_seen.store(0);
}

}  // namespace cuvet
