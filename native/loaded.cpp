#include "loaded.h"

#include <elf.h>
#include <link.h>
#include <string.h>

namespace cuvet {

namespace {

constexpr uint16_t VERSION_MASK = 0x7fff;  // the bit above says that the version is not the default one

// The dynamic section of a loaded file.
struct Tables {
    const ElfW(Sym) * symbols;
    const char* strings;
    const uint32_t* hash;  // DT_GNU_HASH
    const uint16_t* versions;
    const char* defined;  // DT_VERDEF
    const char* needed;   // DT_VERNEED
};

// glibc has added the bias to what the dynamic section says, but for the kernel's own file.
template <class Pointer>
void set(Pointer* pointer, uint64_t bias, uint64_t address) {
    *pointer = reinterpret_cast<Pointer>(address < bias ? address + bias : address);
}

bool read_tables(const dl_phdr_info* info, Tables* tables) {
    *tables = {};
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const uint64_t bias = info->dlpi_addr, address = entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) set(&tables->symbols, bias, address);
        if (entry->d_tag == DT_STRTAB) set(&tables->strings, bias, address);
        if (entry->d_tag == DT_GNU_HASH) set(&tables->hash, bias, address);
        if (entry->d_tag == DT_VERSYM) set(&tables->versions, bias, address);
        if (entry->d_tag == DT_VERDEF) set(&tables->defined, bias, address);
        if (entry->d_tag == DT_VERNEED) set(&tables->needed, bias, address);
    }
    return tables->symbols && tables->strings && tables->hash;
}

bool holds(const dl_phdr_info* info, const void* address) {
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && offset - segment.p_vaddr < segment.p_memsz) return true;
    }
    return false;
}

const char* name_of(const dl_phdr_info* info) { return info->dlpi_name ? info->dlpi_name : ""; }

const char* defined_version(const Tables& tables, uint16_t index) {
    const char* at = tables.defined;
    for (ElfW(Verdef) version = {}; at; at = version.vd_next ? at + version.vd_next : nullptr) {
        memcpy(&version, at, sizeof version);
        if (version.vd_ndx != index || version.vd_flags & VER_FLG_BASE) continue;
        ElfW(Verdaux) name;
        memcpy(&name, at + version.vd_aux, sizeof name);
        return tables.strings + name.vda_name;
    }
    return nullptr;
}

const char* needed_version(const Tables& tables, uint16_t index) {
    const char* at = tables.needed;
    for (ElfW(Verneed) file = {}; at; at = file.vn_next ? at + file.vn_next : nullptr) {
        memcpy(&file, at, sizeof file);
        const char* next = at + file.vn_aux;
        for (int i = 0; i < file.vn_cnt; i++) {
            ElfW(Vernaux) version;
            memcpy(&version, next, sizeof version);
            if (version.vna_other == index) return tables.strings + version.vna_name;
            next += version.vna_next;
        }
    }
    return nullptr;
}

// As the loader sees it: a symbol without a version has every version.
bool has_version(const Tables& tables, uint32_t symbol, const char* version) {
    if (!tables.versions) return true;
    const uint16_t index = tables.versions[symbol];
    const char* own = version ? defined_version(tables, index & VERSION_MASK) : nullptr;
    return own ? strcmp(own, version) == 0 : index <= VERSION_MASK;
}

uint32_t gnu_hash(const char* name) {
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

void* find_definition(const Tables& tables, uint64_t bias, const char* name, const char* version) {
    const uint32_t buckets = tables.hash[0], first = tables.hash[1], words = tables.hash[2];
    const uint32_t* bucket = tables.hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* chain = bucket + buckets;
    const uint32_t hash = gnu_hash(name);
    uint32_t symbol = buckets ? bucket[hash % buckets] : 0;
    if (symbol < first) return nullptr;
    for (;; symbol++) {
        const uint32_t other = chain[symbol - first];
        const ElfW(Sym) & found = tables.symbols[symbol];
        if ((other | 1) == (hash | 1) && strcmp(tables.strings + found.st_name, name) == 0 &&
            found.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(found.st_info) == STT_FUNC &&
            has_version(tables, symbol, version))
            return reinterpret_cast<void*>(bias + found.st_value);
        if (other & 1) return nullptr;
    }
}

// What a file imports comes before what it exports.
const char* find_import(const Tables& tables, const char* name) {
    for (uint32_t symbol = 1; symbol < tables.hash[1]; symbol++)
        if (strcmp(tables.strings + tables.symbols[symbol].st_name, name) == 0)
            return tables.versions ? needed_version(tables, tables.versions[symbol] & VERSION_MASK) : nullptr;
    return nullptr;
}

// Calls `visit` with each file, until it says true.
template <class Visit>
void each_file(Visit visit) {
    struct Walk {
        Visit& visit;
        int position;
    } walk = {visit, 0};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
            Walk* at = static_cast<Walk*>(argument);
            return at->visit(info, at->position++) ? 1 : 0;
        },
        &walk);
}

}  // namespace

const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool file_at(const void* address, File* file) {
    bool found = false;
    each_file([&](const dl_phdr_info* info, int position) {
        if (!holds(info, address)) return false;
        *file = {info->dlpi_addr, name_of(info), position};
        return found = true;
    });
    return found;
}

bool is_loaded(uint64_t load_bias) {
    bool found = false;
    each_file([&](const dl_phdr_info* info, int) { return found = info->dlpi_addr == load_bias; });
    return found;
}

const char* imported_version(const void* caller, const char* name) {
    const char* version = nullptr;
    each_file([&](const dl_phdr_info* info, int) {
        Tables tables;
        if (!holds(info, caller)) return false;
        if (read_tables(info, &tables)) version = find_import(tables, name);
        return true;
    });
    return version;
}

int definitions(const char* name, const char* version, const void* except, Definition* found, int most) {
    int count = 0;
    each_file([&](const dl_phdr_info* info, int position) {
        Tables tables;
        if (holds(info, except) || !read_tables(info, &tables)) return false;
        void* function = find_definition(tables, info->dlpi_addr, name, version);
        if (function) found[count++] = {function, {info->dlpi_addr, name_of(info), position}};
        return count == most;
    });
    return count;
}

bool exports(uint64_t load_bias, const char* name) {
    bool found = false;
    each_file([&](const dl_phdr_info* info, int) {
        Tables tables;
        if (info->dlpi_addr != load_bias) return false;
        found = read_tables(info, &tables) && find_definition(tables, load_bias, name, nullptr);
        return true;
    });
    return found;
}

}  // namespace cuvet
