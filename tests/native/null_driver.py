"""A CUDA driver without a GPU: every exported symbol of the catalog answers CUDA_SUCCESS.

Creating calls hand out addresses that are re-issued as soon as they are destroyed, as the real driver does. The environment steers it:

* ``NULL_DRIVER_LOG``: file to which each call appends its name, words and by-value structs as they arrived;
* ``NULL_DRIVER_FAIL``: ``cuMemHostRegister_v2=712,…``: statuses to answer;
* ``NULL_DRIVER_FAIL_ONCE``: the same, each time but the second, fourth …;
* ``NULL_DRIVER_STRICT``: abort when something is destroyed that does not live;
* ``NULL_DRIVER_LOSE``: number of a launch, after which all calls but cuCtxGetCurrent return 700, as after a kernel that used
  an address without memory;
* ``NULL_DRIVER_ACTIVE``: somebody else retains the primary context;
* ``NULL_DRIVER_CAPTURING``: all streams say that they capture;
* ``NULL_DRIVER_SIGNAL``: ``cuStreamSynchronize=11,…``: signals to raise inside the call.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cuvet.catalog import EntryPoint, Kind, Parameter, Signature, Verb, driver

HEAD = r"""
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOST_FREE = 4096 };
static char *next_handle;
static uint64_t freed[MOST_FREE];
static unsigned freed_count;
static char lock;
static __thread uint64_t current_context;
static __thread uint64_t pushed_over;
static __thread uint32_t capture_mode;
static uint64_t primary_context;
static int log_file = -2;
static const char *failing, *failing_once, *signalling;
static char strict;
static unsigned failures;
static unsigned to_lose, launched;
static char lost;

static void acquire(void) { while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {} }
static void release(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

static uint64_t create(void) {
    acquire();
    if (!next_handle) next_handle = aligned_alloc(4096, 1 << 28);
    uint64_t handle = freed_count ? freed[--freed_count] : (uint64_t)(next_handle += 256);
    release();
    return handle;
}

static void destroy(uint64_t handle) {
    acquire();
    for (unsigned i = 0; strict && i < freed_count; i++)
        if (freed[i] == handle) abort();
    if (freed_count < MOST_FREE) freed[freed_count++] = handle;
    release();
}

static void start(void) {
    const char *path = getenv("NULL_DRIVER_LOG");
    failing = getenv("NULL_DRIVER_FAIL");
    failing_once = getenv("NULL_DRIVER_FAIL_ONCE");
    signalling = getenv("NULL_DRIVER_SIGNAL");
    strict = getenv("NULL_DRIVER_STRICT") != 0;
    to_lose = getenv("NULL_DRIVER_LOSE") ? atoi(getenv("NULL_DRIVER_LOSE")) : 0;
    log_file = path ? dup(fileno(fopen(path, "a"))) : -1;
}

static int setting(const char *list, const char *name) {
    size_t length = strlen(name);
    for (; list && *list; list = strchr(list, ',') ? strchr(list, ',') + 1 : 0)
        if (!strncmp(list, name, length) && list[length] == '=') return atoi(list + length + 1);
    return 0;
}

static uint32_t called(const char *name, int count, const uint64_t *words, int bytes, const char *structure) {
    if (log_file == -2) start();
    if (log_file >= 0) {
        char line[2048];
        int used = sprintf(line, "%s", name);
        for (int i = 0; i < count; i++) used += sprintf(line + used, " %llx", (unsigned long long)words[i]);
        for (int i = 0; i < bytes; i++) used += sprintf(line + used, i ? "%02x" : " :%02x", (unsigned char)structure[i]);
        line[used++] = '\n';
        if (write(log_file, line, used) < 0) abort();
    }
    if (signalling) { int number = setting(signalling, name); if (number) raise(number); }
    if (lost && strcmp(name, "cuCtxGetCurrent")) return 700;
    if (to_lose && (!strncmp(name, "cuLaunchKernel", 14) || !strncmp(name, "cuGraphLaunch", 13)))
        lost = __atomic_add_fetch(&launched, 1, __ATOMIC_RELAXED) == to_lose;
    const int once = failing_once ? setting(failing_once, name) : 0;
    if (once && __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED) % 2 == 0) return once;
    return failing ? setting(failing, name) : 0;
}
static void put(uint64_t address, unsigned bytes, uint64_t value) { if (address) memcpy((void *)address, &value, bytes); }
"""

# What the shim or its clients rely on. `status` is what called() said.
BODIES = {
    "cuCtxGetCurrent": "if (!status) put(words[0], 8, current_context);",
    "cuCtxSetCurrent": "if (!status) current_context = words[0];",
    "cuCtxCreate_v2": "if (!status) put(words[0], 8, current_context = create());",
    "cuCtxCreate_v4": "if (!status) put(words[0], 8, current_context = create());",
    "cuCtxPushCurrent_v2": "if (!status) { pushed_over = current_context; current_context = words[0]; }",
    "cuCtxPopCurrent_v2": "if (!status) { put(words[0], 8, current_context); current_context = pushed_over; pushed_over = 0; }",
    "cuMemGetInfo_v2": "if (!status) { put(words[0], 8, 1ull << 30); put(words[1], 8, 80ull << 30); }",
    "cuStreamIsCapturing": 'if (!status) put(words[1], 4, getenv("NULL_DRIVER_CAPTURING") != 0);',
    "cuThreadExchangeStreamCaptureMode": "uint32_t mode = *(uint32_t *)words[0]; put(words[0], 4, capture_mode); capture_mode = mode;",
    "cuStreamGetCtx": "if (!status) put(words[1], 8, current_context);",
    "cuDevicePrimaryCtxRetain": "if (!primary_context) primary_context = create(); put(words[0], 8, primary_context);",
    "cuDevicePrimaryCtxGetState": 'if (!status) put(words[2], 4, getenv("NULL_DRIVER_ACTIVE") != 0);',
    "cuDeviceGetCount": "put(words[0], 4, 1);",
    # The client says what they hand out: it stands there already.
    "cuStreamGetCaptureInfo_v3": "",
    "cuGraphGetNodes": "",
    "cuStreamEndCapture": "",
    "cuDeviceTotalMem_v2": "put(words[0], 8, 80ull << 30);",
    "cuDeviceGetAttribute": "put(words[0], 4, words[1] == 75 ? 9 : words[1] == 76 ? 1 : 0);",
    "cuDriverGetVersion": "put(words[0], 4, 13000);",
    "cuFuncGetParamInfo": "if (words[1] > 2) return 1; put(words[2], 8, words[1] * 8); put(words[3], 8, words[1] == 1 ? 4 : 8);",
    "cuKernelGetParamInfo": "if (words[1] > 2) return 1; put(words[2], 8, words[1] * 8); put(words[3], 8, words[1] == 1 ? 4 : 8);",
    "cuGetProcAddress_v2": "*(void **)words[1] = lookup((const char *)words[0]); return *(void **)words[1] ? 0 : 500;",
    "cuGetProcAddress": "*(void **)words[1] = lookup((const char *)words[0]); return *(void **)words[1] ? 0 : 500;",
}


def c_type(parameter: Parameter) -> str:
    if parameter.abi == "word":
        return f"{'' if parameter.signed else 'u'}int{parameter.bytes * 8}_t"
    if parameter.abi == "struct":
        return f"struct {{ _Alignas({parameter.align}) char bytes[{parameter.bytes}]; }}"
    return parameter.abi


def body_of(entry_point: EntryPoint, symbol: str, parameters: tuple[Parameter, ...]) -> str:
    if symbol in BODIES:
        return BODIES[symbol]
    position = {parameter.name: index for index, parameter in enumerate(parameters)}
    lines = []
    made = set()
    for role in entry_point.roles:
        index = position.get(role.parameter)
        if index is None or role.field or role.count or parameters[index].abi != "word":
            continue
        if role.verb in (Verb.CREATES, Verb.ALLOCATES, Verb.RETURNS) and parameters[index].pointee_bytes in (0, 4, 8):
            made.add(index)
            lines.append(f"if (!status) put(words[{index}], {parameters[index].pointee_bytes or 8}, create());")
        if role.verb in (Verb.DESTROYS, Verb.FREES) and role.kind is not Kind.NONE:
            lines.append(f"if (!status) destroy(words[{index}]);")
    for index, parameter in enumerate(parameters):
        if parameter.out and index not in made:
            lines.append(f"if (!status) put(words[{index}], {parameter.pointee_bytes}, 0);")
    return "\n    ".join(lines)


def function_of(entry_point: EntryPoint, symbol: str, signature: Signature) -> str:
    parameters = signature.parameters
    types, words, structure = [], [], ("0", "0")
    declarations = []
    for i, parameter in enumerate(parameters):
        spelled = c_type(parameter)
        if parameter.abi == "struct":
            declarations.append(f"typedef {spelled} {symbol}_{i};")
            spelled, structure = f"{symbol}_{i}", (str(parameter.bytes), f"a{i}.bytes")
            words.append("0")
        elif parameter.abi == "float":
            words.append(f"float_bits(a{i})")
        else:
            words.append(f"(uint64_t)a{i}")
        types.append(f"{spelled} a{i}")
    return "\n".join(
        [
            *declarations,
            f"EXPORT uint32_t {symbol}({', '.join(types) or 'void'}) {{",
            f"    const uint64_t words[] = {{{', '.join(words) or '0'}}};",
            f'    const uint32_t status = called("{symbol}", {len(words)}, words, {structure[0]}, {structure[1]});',
            f"    {body_of(entry_point, symbol, parameters)}",
            "    return status;\n}",
        ]
    )


def source() -> str:
    functions, names = [], []
    for entry_point in driver().entry_points:
        names.append(f'    {{"{entry_point.name}", (void *){entry_point.symbol}}},')
        seen: set[str] = set()
        for signature in entry_point.signatures:
            functions += [function_of(entry_point, s, signature) for s in signature.symbols if s not in seen]
            seen.update(signature.symbols)
    helpers = r"""
static void *lookup(const char *name);
static uint64_t float_bits(float value) { uint32_t bits; memcpy(&bits, &value, 4); return bits; }
static uint32_t unknown_to_the_catalog(void) { return 4242; }
"""
    names.append('    {"cuUnknownToTheCatalog", (void *)unknown_to_the_catalog},')
    table = ["static const struct { const char *name; void *function; } newest[] = {", *names, "};"]
    lookup = r"""
static void *lookup(const char *name) {
    for (unsigned i = 0; i < sizeof newest / sizeof *newest; i++)
        if (!strcmp(newest[i].name, name)) return newest[i].function;
    return 0;
}
"""
    return "\n".join([HEAD, helpers, *functions, *table, lookup])


def build(path: Path) -> None:
    code = path.with_suffix(".c")
    code.write_text(source())
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-w", "-fvisibility=hidden", "-Wl,-Bsymbolic", "-o", str(path), str(code)],
        check=True,
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]))
