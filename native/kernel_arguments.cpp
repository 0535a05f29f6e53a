#include "kernel_arguments.h"

#include <string.h>

#include "driver.h"
#include "liveness.h"
#include "symbols.h"
#include "table.h"

namespace cuvet {

namespace {

struct Argument {
    uint16_t index;
    uint16_t offset;
};

struct Arguments {
    std::atomic<uint32_t> known;  // count + 1
    Argument eight_bytes[MOST_ARGUMENTS];
};

constexpr uint64_t PARAM_BUFFER_END = 0, PARAM_BUFFER_POINTER = 1;

Table<Arguments> kernels;

const Arguments* arguments_of(uint64_t function) {
    const Object* object = find_object(Kind::FUNCTION, function);
    const bool is_kernel = !object && (object = find_object(Kind::KERNEL, function));
    const uint64_t generation = object ? generation_of(object->state.load(std::memory_order_relaxed)) : 0;
    Arguments* arguments = kernels.insert(function ^ generation << 56);
    if (!arguments || arguments->known.load(std::memory_order_acquire)) return arguments;
    const uint32_t symbol = is_kernel ? SYMBOL_cuKernelGetParamInfo : SYMBOL_cuFuncGetParamInfo;
    uint32_t count = 0;
    uint64_t offset = 0, size = 0;
    const auto known_parameter = [&](uint16_t i) {
        return ask_driver(symbol, function, i, address_of(offset), address_of(size)) == 0;
    };
    for (uint16_t i = 0; count < MOST_ARGUMENTS && known_parameter(i); i++)
        if (size == 8) arguments->eight_bytes[count++] = {i, static_cast<uint16_t>(offset)};
    arguments->known.store(count + 1, std::memory_order_release);
    return arguments;
}

const char* packed_arguments(const uint64_t* extra) {
    while (extra && *extra != PARAM_BUFFER_END) {
        if (*extra == PARAM_BUFFER_POINTER) return reinterpret_cast<const char*>(extra[1]);
        extra += 2;
    }
    return nullptr;
}

uint64_t launched_function(const EntryPoint& entry_point, const uint64_t* words) {
    for (int i = 0; i < entry_point.before_count; i++)
        if (entry_point.roles[i].action == Action::LAUNCHES) return words[entry_point.roles[i].parameter];
    return 0;
}

}  // namespace

int pointer_arguments(const EntryPoint& entry_point, const uint64_t* words, uint64_t arguments[MOST_ARGUMENTS]) {
    const uint64_t function = launched_function(entry_point, words);
    const uint64_t list = words[entry_point.kernel_params];
    const char* packed = nullptr;
    if (!list && entry_point.launch_extra != NO_PARAMETER)
        packed = packed_arguments(reinterpret_cast<const uint64_t*>(words[entry_point.launch_extra]));
    if (!function || (!list && !packed)) return 0;
    const Arguments* known = arguments_of(function);
    if (!known) return 0;
    const int count = static_cast<int>(known->known.load(std::memory_order_relaxed)) - 1;
    for (int i = 0; i < count; i++) {
        const Argument& argument = known->eight_bytes[i];
        const char* at = packed ? packed + argument.offset : reinterpret_cast<char* const*>(list)[argument.index];
        arguments[i] = 0;
        if (at) memcpy(&arguments[i], at, 8);
    }
    return count;
}

}  // namespace cuvet
