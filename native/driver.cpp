#include "driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "backend.h"
#include "hot.h"
#include "loader.h"
#include "process.h"
#include "table.h"

namespace cuvet {

namespace {

constexpr uint32_t NOT_SUPPORTED = 801;
constexpr uint32_t STUB_LIBRARY = 34;

struct Wrapped {
    std::atomic<const Symbol*> symbol;
};

Table<Wrapped> wrapped;  // by address of the real function
char path_of_driver[PATH_MAX];
std::atomic<uint64_t> bias_of_driver;
std::atomic<void*> driver_library;

void* try_driver(const char* path) {
    void* library = real_dlopen(path, RTLD_NOW | RTLD_LOCAL);
    link_map* map = nullptr;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map->l_addr == own_bias()) return nullptr;
    bias_of_driver = map->l_addr;
    if (!realpath(map->l_name, path_of_driver)) strncpy(path_of_driver, map->l_name, sizeof path_of_driver - 1);
    return library;
}

void* find_driver() {
    if (const char* path = getenv("CUVET_DRIVER")) return try_driver(path);
    static const char* const paths[] = {
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",          "/usr/local/nvidia/lib64/libcuda.so.1",    "/usr/lib/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
    };
    for (const char* path : paths)
        if (void* library = try_driver(path)) return library;
    return nullptr;
}

uint64_t key_of(const void* function) { return reinterpret_cast<uint64_t>(function); }

const Symbol* symbol_named(const char* name) {
    for (uint32_t i = 0; i < symbol_count; i++)
        if (strcmp(symbols[i].name, name) == 0) return &symbols[i];
    return nullptr;
}

// A function that the driver hands out but does not export.
void* bind_unexported(const char* name, void* function) {
    const Symbol* symbol = symbol_named(name);
    if (!symbol || real_functions[symbol - symbols].load(std::memory_order_relaxed)) return nullptr;
    for (uint32_t i = 0; i < symbol_count; i++)  // with one signature only: nothing tells which of several this is
        if (symbols[i].entry_point->id == symbol->entry_point->id && symbols[i].entry_point != symbol->entry_point)
            return nullptr;
    real_functions[symbol - symbols].store(function, std::memory_order_relaxed);
    return symbol->wrapper;
}

}  // namespace

uint32_t answer_not_supported() {
    return mode.load(std::memory_order_relaxed) == Mode::NO_DRIVER ? STUB_LIBRARY : NOT_SUPPORTED;
}

bool open_driver() {
    if (driver_library) return true;
    void* library = find_driver();
    if (!library) return false;
    for (uint32_t i = 0; i < symbol_count; i++) {
        void* function = real_dlsym(library, symbols[i].name);
        if (!function) continue;
        real_functions[i].store(function, std::memory_order_relaxed);
        if (Wrapped* entry = wrapped.insert(key_of(function))) entry->symbol.store(&symbols[i]);
    }
    driver_library = library;
    return true;
}

bool quiet_calls_pass;

void let_quiet_calls_pass(bool unseen) {
    quiet_calls_pass = unseen;
    for (uint32_t i = 0; i < symbol_count; i++) {
        const bool passes = unseen && !is_stored_work(*symbols[i].entry_point);
        hot.quick_functions[i].store(passes ? real_functions[i].load(std::memory_order_relaxed) : nullptr,
                                     std::memory_order_relaxed);
    }
}

uint32_t ask_driver(uint32_t symbol, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    if (mode.load(std::memory_order_relaxed) == Mode::EMULATED) {
        const uint64_t words[] = {a, b, c, d};
        const Blob none = {0, 0, nullptr};
        return static_cast<uint32_t>(cuvet_emulate(*symbols[symbol].entry_point, words, &none, false, true));
    }
    const auto function =
        reinterpret_cast<uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t)>(real_functions[symbol].load());
    return function ? function(a, b, c, d) : NOT_SUPPORTED;
}

const char* driver_path() { return path_of_driver; }

bool is_our_driver(uint64_t load_bias) {
    return load_bias == own_bias() || (driver_library && load_bias == bias_of_driver);
}

void* undeclared_function(const char* name) { return driver_library ? real_dlsym(driver_library, name) : nullptr; }

void replace_answer(const char* name, void** answer) {
    if (!name || !answer || !*answer) return;
    const Wrapped* known = wrapped.find(key_of(*answer));
    const Symbol* symbol = known ? known->symbol.load(std::memory_order_relaxed) : nullptr;
    if (symbol && symbol->leaves_no_trace && quiet_calls_pass) return;
    void* wrapper = symbol ? symbol->wrapper : bind_unexported(name, *answer);
    if (wrapper) *answer = wrapper;
}

void* wrapper_for(const char* name, uint32_t version, bool per_thread) {
    const Symbol* best = nullptr;
    for (uint32_t i = 0; i < symbol_count; i++) {
        const Symbol& symbol = symbols[i];
        if (strcmp(symbol.entry_point->name, name) != 0 || symbol.version > version) continue;
        if (symbol.per_thread && !per_thread) continue;
        const bool better = !best || symbol.per_thread > best->per_thread ||
                            (symbol.per_thread == best->per_thread && symbol.version > best->version);
        if (better) best = &symbol;
    }
    return best ? best->wrapper : nullptr;
}

}  // namespace cuvet

extern "C" void* cuvet_driver_symbol(const char* name) {
    if (const cuvet::Symbol* symbol = cuvet::symbol_named(name)) return symbol->wrapper;
    return cuvet::wrapper_for(name, ~0u, false);
}

extern "C" void* cuvet_driver_wrapper(uint32_t id) {
    constexpr uint32_t MOST_REMEMBERED = 1024;
    static std::atomic<void*> remembered[MOST_REMEMBERED];
    if (id < MOST_REMEMBERED)
        if (void* wrapper = remembered[id].load(std::memory_order_relaxed)) return wrapper;
    for (uint32_t i = 0; i < cuvet::symbol_count; i++) {
        if (cuvet::symbols[i].entry_point->id != id) continue;
        void* wrapper = cuvet::wrapper_for(cuvet::symbols[i].entry_point->name, ~0u, false);
        if (id < MOST_REMEMBERED) remembered[id].store(wrapper, std::memory_order_relaxed);
        return wrapper;
    }
    return nullptr;
}
