#include "kernel_arguments.h"

#include <string.h>

#include "driver.h"
#include "inputs.h"
#include "liveness.h"
#include "symbols.h"
#include "table.h"

namespace cuvet {

namespace {

struct Arguments {
    std::atomic<uint32_t> known;                   // count + 1
    std::atomic<uint64_t> layout[MOST_ARGUMENTS];  // index << 32 | offset << 16 | bytes
};

constexpr uint32_t MOST_PACKED = 4096;  // bytes of all arguments
constexpr uint64_t PARAM_BUFFER_END = 0, PARAM_BUFFER_POINTER = 1;

Table<Arguments> kernels;

const Arguments* arguments_of(uint64_t function) {
    const Object* object = find_object(Kind::FUNCTION, function);
    const bool is_kernel = !object && (object = find_object(Kind::KERNEL, function));
    if (!object || !is_alive(object)) return nullptr;  // the driver must not be asked about what is none
    const uint64_t generation = generation_of(object->state.load(std::memory_order_relaxed));
    Arguments* arguments = kernels.insert(function ^ generation << 48);
    if (!arguments || arguments->known.load(std::memory_order_acquire)) return arguments;
    const uint32_t symbol = is_kernel ? SYMBOL_cuKernelGetParamInfo : SYMBOL_cuFuncGetParamInfo;
    uint32_t count = 0;
    uint64_t offset = 0, size = 0;
    const auto known_parameter = [&](uint16_t i) {
        return ask_driver(symbol, function, i, address_of(offset), address_of(size)) == 0;
    };
    for (uint16_t i = 0; count < MOST_ARGUMENTS && known_parameter(i); i++)
        arguments->layout[count++].store(
            uint64_t{i} << 32 | uint64_t{static_cast<uint16_t>(offset)} << 16 | static_cast<uint16_t>(size),
            std::memory_order_relaxed);
    arguments->known.store(count + 1, std::memory_order_release);
    return arguments;
}

uint64_t word_at(Thread* thread, uint64_t address) {
    uint64_t value = 0;
    if (address && is_readable(thread, address, 8)) memcpy(&value, reinterpret_cast<const void*>(address), 8);
    return value;
}

}  // namespace

uint64_t launched_function(const EntryPoint& entry_point, const uint64_t* words) {
    for (const Role& role : roles_before(entry_point))
        if (role.action == Action::LAUNCHES) return words[role.parameter];
    return 0;
}

uint64_t packed_arguments(Thread* thread, uint64_t extra) {
    for (; extra && is_readable(thread, extra, 16); extra += 16) {
        const uint64_t* pair = reinterpret_cast<const uint64_t*>(extra);
        if (pair[0] == PARAM_BUFFER_END) return 0;
        if (pair[0] == PARAM_BUFFER_POINTER) return pair[1];
    }
    return 0;
}

int parameters_of(uint64_t function, KernelParameter parameters[MOST_ARGUMENTS]) {
    const Arguments* known = arguments_of(function);
    const int count = known ? static_cast<int>(known->known.load(std::memory_order_acquire)) - 1 : 0;
    for (int i = 0; i < count; i++) {
        const uint64_t word = known->layout[i].load(std::memory_order_relaxed);
        parameters[i] = {static_cast<uint16_t>(word >> 32), static_cast<uint16_t>(word >> 16),
                         static_cast<uint16_t>(word)};
    }
    return count;
}

namespace {

// CUDA_KERNEL_NODE_PARAMS, but for `kern`, which older ones lack.
struct KernelNode {
    uint64_t func;
    uint32_t shape[7];
    uint64_t kernel_params, extra;
};

// What is given for a node: a kernel, its arguments as a launch is given them. False: another node, or not readable.
bool find_node(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, KernelNode* node) {
    const uint64_t address = words[entry_point.node_params];
    const uint32_t bytes = entry_point.parameters[entry_point.node_params].bytes;
    const uint32_t end = entry_point.node_kernel + static_cast<uint32_t>(sizeof *node);
    if (!address || bytes < end || !is_readable(thread, address, bytes)) return false;
    const char* described = reinterpret_cast<const char*>(address);
    uint32_t type = 0;
    if (entry_point.node_kernel) memcpy(&type, described, sizeof type);
    memcpy(node, described + entry_point.node_kernel, sizeof *node);
    if (!node->func && bytes >= end + sizeof node->func) memcpy(&node->func, described + end, sizeof node->func);
    return type == 0;  // CU_GRAPH_NODE_TYPE_KERNEL
}

}  // namespace

void find_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, KernelArguments* found) {
    KernelNode node = {};
    found->bytes = 0;
    if (entry_point.node_params == NO_PARAMETER) {
        const bool given = entry_point.launch_extra != NO_PARAMETER;
        node.func = launched_function(entry_point, words);
        node.kernel_params = words[entry_point.kernel_params];
        node.extra = given ? words[entry_point.launch_extra] : 0;
        found->parameter = entry_point.kernel_params;
    } else {
        if (!find_node(thread, entry_point, words, &node)) return;
        found->parameter = entry_point.parameter_count;
    }
    found->list = node.kernel_params;
    found->packed = found->list ? 0 : packed_arguments(thread, node.extra);
    found->count = node.func && (found->list || found->packed) ? parameters_of(node.func, found->parameters) : 0;
    if (!found->count) return;
    const KernelParameter& last = found->parameters[found->count - 1];
    const uint32_t packed_bytes = padded(last.offset + last.bytes);
    found->before = padded(4 + 4 * static_cast<uint32_t>(found->count));
    if (packed_bytes <= MOST_PACKED) found->bytes = sizeof(InputField) + found->before + packed_bytes;
}

void write_arguments(Thread* thread, const KernelArguments& found, char* at) {
    const InputField field = {found.parameter, 0, found.bytes - static_cast<uint32_t>(sizeof(InputField))};
    memcpy(at, &field, sizeof field);
    at += sizeof field;
    memset(at, 0, field.bytes);
    memcpy(at, &found.count, 4);
    for (int i = 0; i < found.count; i++) {
        const KernelParameter& parameter = found.parameters[i];
        memcpy(at + 4 + 4 * i, &parameter.offset, 2);
        memcpy(at + 6 + 4 * i, &parameter.bytes, 2);
        const uint64_t from =
            found.packed ? found.packed + parameter.offset : word_at(thread, found.list + 8u * parameter.index);
        if (from && is_readable(thread, from, parameter.bytes))
            memcpy(at + found.before + parameter.offset, reinterpret_cast<const void*>(from), parameter.bytes);
    }
}

int argument_words(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                   uint64_t found[MOST_ARGUMENT_WORDS]) {
    const uint64_t function = launched_function(entry_point, words);
    const uint64_t list = words[entry_point.kernel_params];
    const bool given = entry_point.launch_extra != NO_PARAMETER;
    const uint64_t packed = list || !given ? 0 : packed_arguments(thread, words[entry_point.launch_extra]);
    KernelParameter parameters[MOST_ARGUMENTS];
    const int known = function && (list || packed) ? parameters_of(function, parameters) : 0;
    int count = 0;
    for (int i = 0; i < known; i++) {
        const KernelParameter& parameter = parameters[i];
        const uint64_t from = packed ? packed + parameter.offset : word_at(thread, list + 8u * parameter.index);
        for (uint64_t at = 0; from && at + 8 <= parameter.bytes && count < MOST_ARGUMENT_WORDS; at += 8)
            found[count++] = word_at(thread, from + at);
    }
    return count;
}

int pointer_arguments(Thread* thread, const EntryPoint& entry_point, const uint64_t* words,
                      uint64_t arguments[MOST_ARGUMENTS]) {
    const uint64_t function = launched_function(entry_point, words);
    const uint64_t list = words[entry_point.kernel_params];
    uint64_t packed = 0;
    if (!list && entry_point.launch_extra != NO_PARAMETER)
        packed = packed_arguments(thread, words[entry_point.launch_extra]);
    if (!function || (!list && !packed)) return 0;
    KernelParameter parameters[MOST_ARGUMENTS];
    const int known = parameters_of(function, parameters);
    int count = 0;
    for (int i = 0; i < known; i++) {
        const KernelParameter& parameter = parameters[i];
        if (parameter.bytes != 8) continue;
        const uint64_t at = packed ? packed + parameter.offset : word_at(thread, list + 8u * parameter.index);
        arguments[count++] = word_at(thread, at);
    }
    return count;
}

}  // namespace cuvet
