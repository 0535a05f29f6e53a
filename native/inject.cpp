#include "inject.h"

#include <stdlib.h>
#include <string.h>

#include "protect.h"

namespace cuvet {

std::atomic<bool> is_injecting;

namespace {

constexpr uint32_t MOST_FAULTS = 64;
constexpr uint32_t MOST_STACKS = 64;  // of a site: code that was compiled anew, a file that was loaded anew

struct Fault {
    uint64_t site;
    uint32_t entry_point;
    uint32_t first;
    uint32_t last;
    uint32_t status;
    bool later;
    std::atomic<uint32_t> calls;
    std::atomic<uint32_t> stack_count;
    std::atomic<uint32_t> stacks[MOST_STACKS];
};

Fault faults[MOST_FAULTS];
std::atomic<uint32_t> fault_count;

// The next number of the text, and past what ends it. False: there is none.
bool take(const char** text, int base, char ends, uint64_t* number) {
    char* end;
    *number = strtoull(*text, &end, base);
    const bool found = end != *text && (*end == ends || (ends == '\0' && *end == ','));
    *text = *end ? end + 1 : end;
    return found;
}

bool add_fault(const char** text) {
    const uint32_t at = fault_count.load(std::memory_order_relaxed);
    uint64_t site, entry_point, first, last, status, later;
    const bool read = take(text, 16, ':', &site) && take(text, 10, ':', &entry_point) && take(text, 10, ':', &first) &&
                      take(text, 10, ':', &last) && take(text, 10, ':', &status) && take(text, 10, '\0', &later);
    if (!read || at == MOST_FAULTS) return false;
    Fault& fault = faults[at];
    fault.site = site;
    fault.entry_point = static_cast<uint32_t>(entry_point);
    fault.first = static_cast<uint32_t>(first);
    fault.last = static_cast<uint32_t>(last);
    fault.status = static_cast<uint32_t>(status);
    fault.later = later != 0;
    fault.calls.store(0, std::memory_order_relaxed);
    fault.stack_count.store(0, std::memory_order_relaxed);
    fault_count.store(at + 1, std::memory_order_release);
    return true;
}

bool has_stack(const Fault& fault, uint32_t stack) {
    const uint32_t count = fault.stack_count.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count && i < MOST_STACKS; i++)
        if (fault.stacks[i].load(std::memory_order_acquire) == stack) return true;
    return false;
}

}  // namespace

void start_injecting() {
    const char* text = getenv("CUVET_INJECT");
    if (!text) return;
    fault_count.store(0, std::memory_order_relaxed);
    while (*text && add_fault(&text)) {
    }
    is_injecting.store(true);
    may_refuse.store(true);
}

void note_site(uint32_t stack, uint64_t site) {
    for (uint32_t i = 0; i < fault_count.load(std::memory_order_acquire); i++) {
        Fault& fault = faults[i];
        if (fault.site != site) continue;
        const uint32_t at = fault.stack_count.fetch_add(1, std::memory_order_acq_rel);
        if (at < MOST_STACKS) fault.stacks[at].store(stack, std::memory_order_release);
    }
}

Injection injection_of(const EntryPoint& entry_point, uint32_t stack) {
    for (uint32_t i = 0; i < fault_count.load(std::memory_order_acquire); i++) {
        Fault& fault = faults[i];
        if (fault.entry_point != entry_point.id) continue;
        if (fault.site != ANY_SITE && !has_stack(fault, stack)) continue;
        const uint32_t call = fault.calls.fetch_add(1, std::memory_order_relaxed) + 1;
        if (call >= fault.first && (!fault.last || call <= fault.last)) return {fault.status, fault.later};
    }
    return {ASK, false};
}

// For tests that make one call fail (cuvet.fail). 0: the text is no fault, or nothing is injected; else how many faults
// there are. An empty text: none from now on.
extern "C" __attribute__((visibility("default"))) uint32_t cuvet_inject(const char* text) {
    if (!injects() || !text) return 0;
    if (!*text) {
        fault_count.store(0, std::memory_order_release);
        return 1;
    }
    return add_fault(&text) ? fault_count.load(std::memory_order_relaxed) : 0;
}

}  // namespace cuvet
