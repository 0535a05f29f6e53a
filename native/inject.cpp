#include "inject.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <iterator>

#include "backend.h"
#include "driver.h"
#include "hot.h"
#include "process.h"
#include "protect.h"
#include "stacks.h"

namespace cuvet {

std::atomic<bool> is_injecting;

namespace {

#include "generated/acting.inc"

constexpr uint32_t MOST_FAULTS = 64;
constexpr uint32_t MOST_STACKS = 64;  // of a site: code that was compiled anew, a file that was loaded anew

constexpr uint32_t LONGEST_NAME = 96;

struct Fault {
    char function[LONGEST_NAME];  // of the runtime; empty: an entry point and a site are named
    uint64_t site;
    uint32_t entry_point;
    uint32_t first;
    uint32_t last;
    uint32_t status;
    bool later;
    std::atomic<uint32_t> calls;
    std::atomic<uint32_t> failed;
    std::atomic<uint32_t> stack_count;
    std::atomic<uint32_t> stacks[MOST_STACKS];
};

Fault faults[MOST_FAULTS];
// Those from `fault_first` on are in force: others may still be looked at by a call under way.
std::atomic<uint32_t> fault_first;
std::atomic<uint32_t> fault_count;

// The next number of the text, and past what ends it. False: there is none.
bool take(const char** text, int base, char ends, uint64_t* number) {
    char* end;
    *number = strtoull(*text, &end, base);
    const bool found = end != *text && (*end == ends || (ends == '\0' && *end == ','));
    *text = *end ? end + 1 : end;
    return found;
}

// `=NAME:`, or SITE:ENTRY_POINT:
bool take_function(const char** text, Fault* fault) {
    uint64_t entry_point = 0;
    fault->site = ANY_SITE;
    fault->function[0] = '\0';
    if (**text == '=') {
        const size_t bytes = strcspn(++*text, ":,");
        if (!bytes || bytes >= LONGEST_NAME || (*text)[bytes] != ':') return false;
        memcpy(fault->function, *text, bytes);
        fault->function[bytes] = '\0';
        *text += bytes + 1;
    } else if (!take(text, 16, ':', &fault->site) || !take(text, 10, ':', &entry_point)) {
        return false;
    }
    fault->entry_point = static_cast<uint32_t>(entry_point);
    return true;
}

bool add_fault(const char** text) {
    const uint32_t at = fault_count.load(std::memory_order_relaxed);
    if (at == MOST_FAULTS) return false;
    Fault& fault = faults[at];
    uint64_t first, last, status, later;
    const bool read = take_function(text, &fault) && take(text, 10, ':', &first) && take(text, 10, ':', &last) &&
                      take(text, 10, ':', &status) && take(text, 10, '\0', &later);
    if (!read) return false;
    fault.first = static_cast<uint32_t>(first);
    fault.last = static_cast<uint32_t>(last);
    fault.status = static_cast<uint32_t>(status);
    fault.later = later != 0;
    fault.calls.store(0, std::memory_order_relaxed);
    fault.failed.store(0, std::memory_order_relaxed);
    fault.stack_count.store(0, std::memory_order_relaxed);
    fault_count.store(at + 1, std::memory_order_release);
    return true;
}

bool by_environment;  // then it does not end

void begin() {
    is_injecting.store(true);
    may_refuse.store(true);
}

bool has_stack(const Fault& fault, uint32_t stack) {
    const uint32_t count = fault.stack_count.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count && i < MOST_STACKS; i++)
        if (fault.stacks[i].load(std::memory_order_acquire) == stack) return true;
    return false;
}

// Of what the runtime does for a function, what it was called for: not that it initialises, asks and loads.
bool acts(const EntryPoint& entry_point) {
    return !(entry_point.flags & LIBRARY) && std::binary_search(std::begin(ACTING), std::end(ACTING), entry_point.id);
}

bool is_meant(const Fault& fault, const EntryPoint& entry_point, uint32_t stack) {
    if (!fault.function[0])
        return fault.entry_point == entry_point.id && (fault.site == ANY_SITE || has_stack(fault, stack));
    if (!acts(entry_point)) return false;
    char function[LONGEST_NAME];
    return runtime_function(function, sizeof function) && strcmp(function, fault.function) == 0;
}

}  // namespace

void start_injecting() {
    const char* text = getenv("CUVET_INJECT");
    by_environment = text != nullptr;
    if (!text) return;
    fault_count.store(0, std::memory_order_relaxed);
    while (*text && add_fault(&text)) {
    }
    begin();
}

void note_site(uint32_t stack, uint64_t site) {
    for (uint32_t i = fault_first.load(std::memory_order_acquire); i < fault_count.load(std::memory_order_acquire);
         i++) {
        Fault& fault = faults[i];
        if (fault.site != site) continue;
        const uint32_t at = fault.stack_count.fetch_add(1, std::memory_order_acq_rel);
        if (at < MOST_STACKS) fault.stacks[at].store(stack, std::memory_order_release);
    }
}

Injection injection_of(const EntryPoint& entry_point, uint32_t stack) {
    for (uint32_t i = fault_first.load(std::memory_order_acquire); i < fault_count.load(std::memory_order_acquire);
         i++) {
        Fault& fault = faults[i];
        if (!is_meant(fault, entry_point, stack)) continue;
        const uint32_t call = fault.calls.fetch_add(1, std::memory_order_relaxed) + 1;
        if (call < fault.first || (fault.last && call > fault.last)) continue;
        fault.failed.fetch_add(1, std::memory_order_relaxed);
        return {fault.status, fault.later};
    }
    return {ASK, false};
}

// For tests that let a call fail (cuvet.fail). How many faults there are with this one; 0: the text is none, or nothing
// is recorded. An empty text: there are none from now on.
extern "C" __attribute__((visibility("default"))) uint32_t cuvet_inject(const char* text) {
    if (!text || !is_recording()) return 0;
    if (!*text) {
        const uint32_t count = fault_count.load(std::memory_order_relaxed);
        fault_first.store(count, std::memory_order_release);
        if (count == MOST_FAULTS) {
            fault_count.store(0, std::memory_order_release);
            fault_first.store(0, std::memory_order_release);
        }
        is_injecting.store(by_environment);
        return 1;
    }
    if (!add_fault(&text)) return 0;
    if (!injects()) {
        if (is_emulated()) cuvet_emulate_carefully();
        let_quiet_calls_pass(false);
        note_change();  // nothing is known any more that calls of libraries were let pass by
        begin();
    }
    return fault_count.load(std::memory_order_relaxed);
}

// How many calls that fault has let fail.
extern "C" __attribute__((visibility("default"))) uint32_t cuvet_injected(uint32_t fault) {
    return fault && fault <= fault_count.load() ? faults[fault - 1].failed.load() : 0;
}

}  // namespace cuvet
