#include "libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <algorithm>

#include "library_call.h"
#include "loaded.h"
#include "loader.h"
#include "table.h"

namespace cuvet {

#include "generated/libraries.inc"

namespace {

constexpr uint64_t WATCHED = uint64_t{1} << 63;
constexpr int MOST_WATCHED = 64;
constexpr int MOST_DEFINITIONS = 16;

Table<CallSite> call_sites;
std::atomic<void*> asked_functions[LIBRARY_SYMBOL_COUNT];
std::atomic<uint64_t> watched_files[MOST_WATCHED];  // load bias + 1; 0 free

const char* name_of(uint32_t symbol) { return library_names + library_symbols[symbol].name; }

// Quick for most names that programs look up.
bool may_be_ours(const char* name) {
    if (name[0] == 'c' && name[1] == 'u') return name[2] >= 'a' && name[2] <= 'z';  // not cuInit
    return strncmp(name, "nv", 2) == 0 || strncmp(name, "nccl", 4) == 0 || strncmp(name, "__nv", 4) == 0;
}

// What the libraries call of one another is no call of the program.
bool is_nvidias(const File& file) {
    const char* name = base_name(file.path);
    for (const char* prefix : LIBRARY_FILES)
        if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
    return false;
}

// Of several copies of a library one is watched, the first that is met: what one frees the next may issue again.
bool is_watched(const File& file, const char* name) {
    for (std::atomic<uint64_t>& slot : watched_files) {
        uint64_t watched = 0;
        if (slot.compare_exchange_strong(watched, file.load_bias + 1) || watched == file.load_bias + 1) return true;
        if (exports(watched - 1, name)) return false;
    }
    return false;
}

struct Definitions {
    Definition all[MOST_DEFINITIONS];
    int count;

    const Definition* of(const void* function) const {
        for (int i = 0; function && i < count; i++)
            if (all[i].function == function) return &all[i];
        return nullptr;
    }
};

// The first that is found from there. dlsym also finds what has no version, dlvsym what is not the default version.
const Definition* first_of(const Definitions& found, void* library, const char* name, const char* version) {
    const Definition* definition = found.of(real_dlsym(library, name));
    return definition || !version ? definition : found.of(dlvsym(library, name, version));
}

// The loader's choice: among what all files see, after the shim, then among what the caller's file sees.
const Definition* loaders_choice(const Definitions& found, const char* name, const char* version, const File& caller) {
    const Definition* definition = first_of(found, RTLD_NEXT, name, version);
    void* file = definition || !*caller.path ? nullptr : real_dlopen(caller.path, RTLD_LAZY | RTLD_NOLOAD);
    if (!file) return definition;
    definition = first_of(found, file, name, version);
    real_dlclose(file);
    return definition;
}

// What the loader would have led the caller to, if the shim did not export the symbol.
Definition definition_for(const char* name, const void* caller, const File& file) {
    const char* version = imported_version(caller, name);
    Definitions found;
    found.count = definitions(name, version, own_code(), found.all, MOST_DEFINITIONS);
    const Definition* chosen = found.count > 1 ? loaders_choice(found, name, version, file) : nullptr;
    return chosen ? *chosen : found.count ? found.all[0] : Definition{};
}

bool is_program(void* library) {
    const link_map* map = nullptr;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && !*map->l_name;
}

bool is_own(const void* function) {
    File file;
    return file_at(function, &file) && file.load_bias == own_bias();
}

// What the real dlsym would give if the shim exported no such symbol.
void* look_up(void* library, const char* name, const void* caller, const File& file) {
    if (library != RTLD_NEXT) {
        void* function = real_dlsym(library, name);
        if (!is_own(function)) return function;
    }
    const bool of_all = library == RTLD_NEXT || (library == RTLD_DEFAULT ? !*file.path : is_program(library));
    void* next = real_dlsym(RTLD_NEXT, name);
    if (next || of_all) return next;
    if (library == RTLD_DEFAULT) {
        library = real_dlopen(file.path, RTLD_LAZY | RTLD_NOLOAD);
        if (!library) return nullptr;
        real_dlclose(library);  // it stays: the caller is in it
        void* function = real_dlsym(library, name);
        if (!is_own(function)) return function;
    }
    return definition_for(name, caller, file).function;
}

}  // namespace

uint32_t library_symbol(const char* name) {
    if (!may_be_ours(name)) return NO_LIBRARY_SYMBOL;
    const LibrarySymbol* end = library_symbols + LIBRARY_SYMBOL_COUNT;
    const auto is_before = [](const LibrarySymbol& symbol, const char* wanted) {
        return strcmp(library_names + symbol.name, wanted) < 0;
    };
    const uint32_t found =
        static_cast<uint32_t>(std::lower_bound(library_symbols, end, name, is_before) - library_symbols);
    return found < LIBRARY_SYMBOL_COUNT && strcmp(name_of(found), name) == 0 ? found : NO_LIBRARY_SYMBOL;
}

CallSite* call_site(uint64_t key) { return call_sites.insert(key); }

RealFunction bound_function(CallSite* site, uint32_t symbol, const void* caller) {
    const uint64_t now = unloads();
    const uint64_t state = site ? site->state.load(std::memory_order_acquire) : 0;
    if ((state & ~WATCHED) == now) return {site->function.load(std::memory_order_relaxed), (state & WATCHED) != 0};
    File file;
    if (file_at(caller, &file) && file.load_bias == own_bias())
        return {};  // an emulated library leads back to the shim
    const Definition definition = definition_for(name_of(symbol), caller, file);
    const bool watched = definition.function && !is_nvidias(file) && is_watched(definition.file, name_of(symbol));
    if (site && definition.function) {
        site->function.store(definition.function, std::memory_order_relaxed);
        site->state.store(now | (watched ? WATCHED : 0), std::memory_order_release);
    }
    return {definition.function, watched};
}

RealFunction asked_function(uint32_t symbol) { return {asked_functions[symbol].load(std::memory_order_relaxed), true}; }

bool answer_dlsym(void* library, const char* name, const void* caller, void** answer) {
    const uint32_t symbol = library_symbol(name);
    if (symbol == NO_LIBRARY_SYMBOL) return false;
    File file, shim, found;
    const bool known = file_at(caller, &file) && file_at(own_code(), &shim);
    if (library == RTLD_NEXT && known && file.position > shim.position) return false;  // ours is not in the way
    void* function = *answer = look_up(library, name, caller, file);
    if (!function || is_nvidias(file) || !file_at(function, &found) || !is_watched(found, name)) return true;
    asked_functions[symbol].store(function, std::memory_order_relaxed);
    *answer = entrance_of_asked(symbol);
    return true;
}

}  // namespace cuvet
