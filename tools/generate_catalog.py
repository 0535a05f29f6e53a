"""Generate ``src/cuvet/catalog/generated/{driver,runtime}.json`` from the CUDA header wheels on PyPI.

The newest release of each supported major version is read with libclang. What is stored are facts of the ABI: names,
types, sizes, offsets and values. One line of output is one entry point, enumeration or struct, so that a new CUDA
release shows up as a readable diff.

Usage: ``python tools/generate_catalog.py`` (downloads into ``.cache/headers`` on the first run).
"""

# clang's Python bindings declare their enumerations dynamically.
# mypy: disable-error-code="attr-defined, no-untyped-call"

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit, Type, TypeKind

from cuvet.image import dynamic
from cuvet.image.source import opened

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "headers"
OUTPUT = ROOT / "src" / "cuvet" / "catalog" / "generated"

WHEELS = {
    "12.9": (
        "nvidia-cuda-runtime-cu12==12.9.79",
        "nvidia-cuda-nvcc-cu12==12.9.86",
        "nvidia-cuda-profiler-api-cu12==12.9.79",
    ),
    "13.5": ("nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37", "nvidia-cuda-profiler-api==13.5.25"),
}
VERSIONS = tuple(WHEELS)
NEWEST = VERSIONS[-1]

# Headers of other vendors that CUDA's interoperability headers include, reduced to the types that these mention.
STUBS = {
    "stddef.h": "typedef unsigned long size_t; typedef long ptrdiff_t; typedef int wchar_t_;\n#define NULL 0\n",
    "stdint.h": "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;"
    "typedef unsigned long uint64_t; typedef signed char int8_t; typedef short int16_t; typedef int int32_t;"
    "typedef long int64_t; typedef unsigned long uintptr_t; typedef long intptr_t;\n",
    "stdlib.h": "#include <stddef.h>\n",
    "string.h": "#include <stddef.h>\n",
    "limits.h": "#define INT_MAX 2147483647\n#define UINT_MAX 4294967295U\n",
    "GL/gl.h": "typedef unsigned GLuint; typedef unsigned GLenum;\n",
    "EGL/egl.h": "typedef int EGLint;\n",
    "EGL/eglext.h": "typedef void *EGLImageKHR; typedef void *EGLStreamKHR; typedef void *EGLSyncKHR;\n",
    "vdpau/vdpau.h": "#include <stdint.h>\ntypedef uint32_t VdpDevice; typedef uint32_t VdpStatus;"
    "typedef uint32_t VdpFuncId; typedef uint32_t VdpVideoSurface; typedef uint32_t VdpOutputSurface;"
    "typedef VdpStatus VdpGetProcAddress(VdpDevice, VdpFuncId, void **);\n",
}

DRIVER_SOURCE = """
#include <cuda.h>
#include <cudaGL.h>
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <cudaEGL.h>
#include <vdpau/vdpau.h>
#include <cudaVDPAU.h>
#include <cudaProfiler.h>
#include <cudaTypedefs.h>
#include <cudaGLTypedefs.h>
#include <cudaEGLTypedefs.h>
#include <cudaVDPAUTypedefs.h>
#include <cudaProfilerTypedefs.h>
"""

# What nvcc's generated host code calls is declared in crt/host_runtime.h and crt/device_functions.h, which only nvcc's
# own front end can parse; the prototypes are restated here.
RUNTIME_SOURCE = """
#include <cuda_runtime_api.h>
#include <cuda_profiler_api.h>
#include <cuda_gl_interop.h>
#include <EGL/egl.h>
#include <EGL/eglext.h>
#define __CUDA_RUNTIME_H__
#include <cuda_egl_interop.h>
#include <cuda_vdpau_interop.h>
extern "C" {
unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFun);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                    cudaStream_t stream);
void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName, int ext,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant, int global);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
char __cudaInitModule(void **fatCubinHandle);
}
"""

APIS = {
    "driver": (DRIVER_SOURCE, re.compile(r"cu[A-Z]\w*$")),
    "runtime": (RUNTIME_SOURCE, re.compile(r"(cuda|__cuda)[A-Z]\w*$")),
}
STATUS_TYPES = ("CUresult", "cudaError_t")
Prototypes = dict[str, dict[str, dict[str, Any]]]
"""Release to symbol to prototype."""

# Pointers to scalars that are not one output: arrays, and values that are also read. By parameter, or entry point and
# parameter; all other pointers to non-const scalars of at most 8 bytes are outputs.
INPUTS = """
    kernelParams extra args jitOptions jitOptionsValues libraryOptions libraryOptionValues options optionValues
    dptrs sizes prefetchLocIdxs dsts srcs attrsIdxs data dataSizes attributes resources capabilities
    nodes from to rootNodes pRootNodes dependencies pDependencies dependentNodes pDependentNodes functions kernels
    fatCubinHandle hostVarPtrAddress wSize d device_arr pBorderColor pCudaDevices iterator nbGroups
    cuThreadExchangeStreamCaptureMode.mode cudaThreadExchangeStreamCaptureMode.mode
    cuCoredumpGetAttribute.size cuCoredumpGetAttributeGlobal.size cuCoredumpSetAttribute.size
    cuCoredumpSetAttributeGlobal.size cuLogsDumpToMemory.size cudaLogsDumpToMemory.size cuDeviceGetCliqueInfo.count
""".split()


def is_input(entry_point: str, parameter: str) -> bool:
    if parameter == "conn":
        return "Connect" not in entry_point
    if parameter == "pStream":
        return "EGL" in entry_point
    return parameter in INPUTS or f"{entry_point}.{parameter}" in INPUTS


# Types that belong to an API: its own, and the vector types that it passes by value.
TYPE_NAME = re.compile(r"(CU|cu|dim3$|uint3$|textureReference$|surfaceReference$)")


def download() -> None:
    """Fetch the pinned wheels and unpack their headers and libcudart into the cache."""
    for version, requirements in WHEELS.items():
        folder = CACHE / version
        done = folder / "done"
        if done.exists() and done.read_text() == "\n".join(requirements):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        platform = ["--platform", "manylinux2014_x86_64", "--platform", "manylinux2010_x86_64"]
        subprocess.run([*pip, *platform, "--dest", str(folder), *requirements], check=True)
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                wanted = [name for name in archive.namelist() if "/include/" in name or "/libcudart.so" in name]
                archive.extractall(folder, wanted)
            wheel.unlink()
        done.write_text("\n".join(requirements))


def parse(version: str, source: str, *, every_symbol: bool) -> TranslationUnit:
    """``every_symbol`` declares all versioned and per-thread symbols; otherwise macros stand as users see them."""
    stubs = CACHE / "stubs"
    for name, text in STUBS.items():
        path = stubs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    includes = sorted(path.parent for path in (CACHE / version).rglob("cuda*.h") if path.parent.name == "include")
    includes += sorted(path.parent.parent for path in (CACHE / version).rglob("crt/host_runtime.h"))
    arguments = ["-x", "c++", "-std=c++17", "-nostdinc", "--target=x86_64-linux-gnu", f"-I{stubs}"]
    arguments += [f"-I{path}" for path in dict.fromkeys(includes)]
    if every_symbol:
        arguments.append("-D__CUDA_API_VERSION_INTERNAL")
    unit: TranslationUnit = Index.create().parse(
        "catalog.cpp",
        arguments,
        unsaved_files=[("catalog.cpp", source)],
        options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD | TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )
    errors = [str(diagnostic) for diagnostic in unit.diagnostics if diagnostic.severity >= 3]
    if errors:
        raise SystemExit(f"CUDA {version} headers do not parse:\n" + "\n".join(errors))
    return unit


def declarations(cursor: Cursor) -> Iterator[Cursor]:
    for child in cursor.get_children():
        if child.kind in (CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
            yield from declarations(child)
        else:
            yield child


# ---------------------------------------------------------------------------------------------------------- types


def spelling(kind: Type) -> str:
    """C spelling without elaboration (``enum``, ``struct``) and with a top-level ``const`` dropped."""
    text = re.sub(r"\b(enum|struct|union) ", "", kind.spelling)
    return re.sub(r"\s+", " ", text).strip()


def bare(kind: Type) -> str:
    """Spelling without the type's own const."""
    text = re.sub(r"\*const$", "*", spelling(kind))
    return text if text.endswith("*") else re.sub(r"^(const|volatile) ", "", text)


INTEGERS_SIGNED = {TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.SHORT, TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG}


def has_floats(kind: Type) -> bool:
    return any(
        field.type.get_canonical().kind in (TypeKind.FLOAT, TypeKind.DOUBLE) or has_floats(field.type.get_canonical())
        for field in kind.get_canonical().get_fields()
    )


def abi_of(kind: Type) -> dict[str, Any]:
    """How a value of this type is passed: class, bytes, and what else the class needs."""
    canonical = kind.get_canonical()
    if canonical.kind == TypeKind.VOID:
        return {"abi": "void", "bytes": 0}
    if canonical.kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
        return {"abi": canonical.kind.name.lower(), "bytes": canonical.get_size()}
    if canonical.kind == TypeKind.RECORD:
        in_float_registers = has_floats(canonical) and canonical.get_size() <= 16
        return {
            "abi": "complex" if in_float_registers else "struct",
            "bytes": canonical.get_size(),
            "align": canonical.get_align(),
        }
    if canonical.kind == TypeKind.ENUM:
        canonical = canonical.get_declaration().enum_type.get_canonical()
    if canonical.kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY):
        return {"abi": "word", "bytes": 8}
    result: dict[str, Any] = {"abi": "word", "bytes": canonical.get_size()}
    if canonical.kind in INTEGERS_SIGNED:
        result["signed"] = True
    return result


def pointed_at(kind: Type) -> dict[str, Any]:
    """For a pointer written as such (a handle typedef is not): what it points to."""
    if kind.kind == TypeKind.ELABORATED:
        return {}
    if kind.kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY):
        target = kind.element_type
    elif kind.kind == TypeKind.POINTER:
        target = kind.get_pointee()
    else:
        return {}
    canonical = target.get_canonical()
    result: dict[str, Any] = {"pointee": bare(target)}
    if canonical.kind == TypeKind.FUNCTIONPROTO:
        return {}
    result["pointee_bytes"] = 0 if canonical.kind == TypeKind.VOID else max(canonical.get_size(), 0)
    if target.is_const_qualified():
        result["const"] = True
    scalars = canonical.kind not in (TypeKind.RECORD, TypeKind.VOID, TypeKind.CHAR_S)
    if scalars and "const" not in result and result["pointee_bytes"] <= 8:
        result["scalar"] = True
    return result


# ---------------------------------------------------------------------------------------------------- entry points


def prototype(cursor: Cursor) -> dict[str, Any]:
    parameters = []
    for position, argument in enumerate(cursor.get_arguments()):
        row = {"name": argument.spelling or f"argument{position}", "type": spelling(argument.type)}
        row.update(abi_of(argument.type))
        row.update(pointed_at(argument.type))
        parameters.append(row)
    returned = abi_of(cursor.result_type)
    return {"returns": spelling(cursor.result_type), "return_abi": returned, "parameters": parameters}


def prototypes(unit: TranslationUnit, name: re.Pattern[str]) -> dict[str, dict[str, Any]]:
    found = {}
    for cursor in declarations(unit.cursor):
        if cursor.kind != CursorKind.FUNCTION_DECL or not name.match(cursor.spelling):
            continue
        inline = any(token.spelling in ("inline", "__inline__", "static") for token in cursor.get_tokens())
        if not inline:
            found[cursor.spelling] = prototype(cursor)
    return found


def canonical_name(symbol: str) -> str:
    """``cuMemcpyHtoDAsync_v2_ptsz`` is ``cuMemcpyHtoDAsync``."""
    return re.sub(r"(_v\d+)?(_ptds|_ptsz)?$", "", symbol)


def revision(symbol: str) -> int:
    found = re.search(r"_v(\d+)(_pt[ds][sz])?$", symbol)
    return int(found.group(1)) if found else 1


def plain_names(unit: TranslationUnit, name: re.Pattern[str]) -> dict[str, str]:
    """The symbol that a name in source code stands for, where a macro of the header says so."""
    found = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind != CursorKind.MACRO_DEFINITION or not name.match(cursor.spelling):
            continue
        body = [token.spelling for token in cursor.get_tokens()][1:]
        symbols = [token for token in body if name.match(token)]
        if len(symbols) == 1 and len(body) in (1, 4) and symbols[0] != cursor.spelling:
            found[cursor.spelling] = symbols[0]
    return found


def introduced(units: dict[str, TranslationUnit], found: Prototypes) -> dict[str, int]:
    """CUDA version that brought each symbol, as cuGetProcAddress counts (12040). ``PFN_cuMemAlloc_v3020`` names the version of
    one revision of cuMemAlloc; the n-th oldest version is the n-th oldest revision."""
    versions: dict[tuple[str, str], set[int]] = {}
    for unit in units.values():
        for cursor in declarations(unit.cursor):
            parts = re.fullmatch(r"PFN_(\w+?)_v(\d{4,5})(_ptds|_ptsz|)", cursor.spelling)
            if cursor.kind == CursorKind.TYPEDEF_DECL and parts:
                versions.setdefault((parts.group(1), parts.group(3)), set()).add(int(parts.group(2)))
    revisions: dict[tuple[str, str], list[str]] = {}
    for symbol in {symbol for table in found.values() for symbol in table}:
        suffix = re.search(r"(_ptds|_ptsz|)$", symbol)
        revisions.setdefault((canonical_name(symbol), suffix.group(1) if suffix else ""), []).append(symbol)
    known: dict[str, int] = {}
    for key, symbols in revisions.items():
        numbers = sorted(versions.get(key, ()))
        if len(numbers) == len(symbols):
            known.update(zip(sorted(symbols, key=revision), numbers, strict=True))
    return known


def share_names(parameters: list[dict[str, Any]], newest: list[dict[str, Any]]) -> None:
    """Give a parameter of an older signature the newest signature's name where only the name changed."""
    known = {row["name"] for row in newest}
    own = {row["name"] for row in parameters}
    for row, other in zip(parameters, newest, strict=False):
        if row["name"] not in known and other["name"] not in own and row["type"] == other["type"]:
            row["name"] = other["name"]


def definitions(found: Prototypes, exports: dict[str, set[str]]) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """(symbol, releases, prototype). A driver symbol keeps its ABI over releases; a runtime symbol means what the
    libcudart of its major version says, if that exports it."""
    for symbol in sorted({symbol for table in found.values() for symbol in table}):
        releases = [version for version in VERSIONS if symbol in found[version]]
        if not exports:
            yield symbol, releases, found[releases[-1]][symbol]
            continue
        for version in releases:
            if symbol in exports[version]:
                yield symbol, [version], found[version][symbol]


def entry_point(name: str, members: list[tuple[str, list[str], dict[str, Any]]]) -> dict[str, Any]:
    """One entry point. Its first signature is the newest release's, and there that of the highest revision."""
    members.sort(key=lambda member: (-VERSIONS.index(member[1][-1]), -revision(member[0]), member[0]))
    first = members[0][2]
    signatures: dict[str, dict[str, Any]] = {}
    for symbol, releases, signature in members:
        share_names(signature["parameters"], first["parameters"])
        shape = json.dumps([{**row, "type": ""} for row in signature["parameters"]])
        known = signatures.setdefault(shape, {"symbols": {}, "parameters": signature["parameters"]})
        known["symbols"][symbol] = sorted({*known["symbols"].get(symbol, []), *releases})
    row = {"name": name, "returns": first["returns"]}
    if first["returns"] not in STATUS_TYPES:
        row["return_abi"] = first["return_abi"]
    return {**row, "signatures": list(signatures.values())}


def entry_points(found: Prototypes, plain: dict[str, str], exports: dict[str, set[str]]) -> list[dict[str, Any]]:
    grouped: dict[str, list[tuple[str, list[str], dict[str, Any]]]] = {}
    for symbol, releases, signature in definitions(found, exports):
        grouped.setdefault(canonical_name(symbol), []).append((symbol, releases, signature))
    rows = []
    for name in sorted(grouped):
        row = entry_point(name, grouped[name])
        for signature in row["signatures"]:
            for parameter in signature["parameters"]:
                if parameter.pop("scalar", False) and not is_input(name, parameter["name"]):
                    parameter["out"] = True
        if plain.get(name, name) != name:
            row["plain"] = plain[name]
        rows.append(row)
    return rows


# ------------------------------------------------------------------------------------------- enumerations and structs


def type_names(unit: TranslationUnit) -> dict[int, str]:
    """Hash of a type's declaration to its first typedef, the name that users write."""
    names: dict[int, str] = {}
    for cursor in declarations(unit.cursor):
        if cursor.kind == CursorKind.TYPEDEF_DECL:
            target = cursor.underlying_typedef_type
            declaration = target.get_canonical().get_declaration()
            if target.kind == TypeKind.ELABORATED and declaration.kind in (
                CursorKind.STRUCT_DECL,
                CursorKind.UNION_DECL,
                CursorKind.ENUM_DECL,
            ):
                names.setdefault(declaration.hash, cursor.spelling)
    return names


def enumerations(unit: TranslationUnit) -> dict[str, dict[str, int]]:
    names = type_names(unit)
    found = {}
    for cursor in declarations(unit.cursor):
        if cursor.kind == CursorKind.ENUM_DECL and cursor.is_definition():
            tagged = not cursor.is_anonymous() and "unnamed" not in cursor.spelling
            name = names.get(cursor.hash) or (cursor.spelling if tagged else "")
            if TYPE_NAME.match(name):
                found[name] = {child.spelling: child.enum_value for child in cursor.get_children()}
    return found


def constants(unit: TranslationUnit) -> dict[str, int]:
    """Integer macros: flags (``cudaEventDisableTiming``) and reserved handles (``CU_STREAM_LEGACY``)."""
    found = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind != CursorKind.MACRO_DEFINITION or not re.match(r"(CU|cuda)[A-Z_]", cursor.spelling):
            continue
        body = "".join(token.spelling for token in list(cursor.get_tokens())[1:])
        literal = re.fullmatch(r"\(*(?:\([A-Za-z_]\w*\))?(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)*", body)
        if literal:
            found[cursor.spelling] = int(literal.group(1), 0)
    return found


def members(kind: Type, prefix: str, base: int) -> Iterator[tuple[str, int, int, str]]:
    """(name, offset, bytes, type) of every member; members of unnamed structs and unions stand under dotted names."""
    for field in kind.get_canonical().get_fields():
        offset = base + field.get_field_offsetof() // 8
        inner = field.type.get_canonical()
        unnamed = inner.kind == TypeKind.RECORD and ("unnamed" in inner.spelling or "anonymous" in inner.spelling)
        if unnamed:
            path = f"{prefix}{field.spelling}." if field.spelling.isidentifier() else prefix
            if path != prefix:
                yield path[:-1], offset, inner.get_size(), ""
            yield from members(inner, path, offset)
        elif field.spelling:
            yield f"{prefix}{field.spelling}", offset, field.type.get_size(), spelling(field.type)


def structs(unit: TranslationUnit) -> dict[str, dict[str, Any]]:
    names = type_names(unit)
    found = {}
    for cursor in declarations(unit.cursor):
        if cursor.kind not in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL) or not cursor.is_definition():
            continue
        tagged = "unnamed" not in cursor.spelling and "anonymous" not in cursor.spelling
        name = names.get(cursor.hash) or (cursor.spelling if tagged else "")
        if TYPE_NAME.match(name):
            kind = cursor.type
            rows = [list(row) for row in members(kind, "", 0)]
            found[name] = {"bytes": kind.get_size(), "align": kind.get_align(), "fields": rows}
    return found


def typedefs(unit: TranslationUnit) -> dict[str, str]:
    """Names for one type: ``cudaError_t`` is ``cudaError``, ``CUDA_MEMCPY2D`` is ``CUDA_MEMCPY2D_v2``."""
    names = type_names(unit)
    found = {}
    for cursor in declarations(unit.cursor):
        if cursor.kind != CursorKind.TYPEDEF_DECL or not TYPE_NAME.match(cursor.spelling):
            continue
        declaration = cursor.underlying_typedef_type.get_canonical().get_declaration()
        name = names.get(declaration.hash)
        if name and name != cursor.spelling:
            found[cursor.spelling] = name
        if name and declaration.spelling and declaration.spelling != name and TYPE_NAME.match(declaration.spelling):
            found[declaration.spelling] = name
    return found


def merged_enumerations(per_version: dict[str, dict[str, dict[str, int]]]) -> list[dict[str, Any]]:
    """Names of all releases with their newest value (only counts such as ``CU_LIMIT_MAX`` ever change)."""
    rows = []
    for name in sorted({name for table in per_version.values() for name in table}):
        values: dict[str, int] = {}
        for table in per_version.values():
            values.update(table.get(name, {}))
        rows.append({"name": name, "values": dict(sorted(values.items(), key=lambda item: item[1]))})
    return rows


def merged_structs(per_version: dict[str, dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row per name and layout, the newest first, each with the releases in which it holds."""
    rows: list[dict[str, Any]] = []
    for name in sorted({name for table in per_version.values() for name in table}):
        layouts: list[dict[str, Any]] = []
        for version in reversed(VERSIONS):
            layout = per_version[version].get(name)
            if layout is None:
                continue
            known = next((row for row in layouts if all(row[key] == layout[key] for key in layout)), None)
            if known:
                known["versions"].insert(0, version)
            else:
                layouts.append({"name": name, "versions": [version], **layout})
        rows += layouts
    return rows


# ---------------------------------------------------------------------------------------------------------- output


def exported(version: str) -> set[str]:
    """Symbols that this release's libcudart exports."""
    (library,) = (CACHE / version).rglob("libcudart.so.*")
    with opened(library) as source:
        return {symbol.name for symbol in dynamic.symbols(source) if symbol.defined}


def write(path: Path, tables: dict[str, Any]) -> None:
    """JSON with one row per line."""
    lines = []
    for key, table in tables.items():
        if isinstance(table, list) and table and isinstance(table[0], dict):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in table)
            lines.append(f"{json.dumps(key)}:[\n{rows}\n]")
        elif isinstance(table, dict):
            rows = ",\n".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in sorted(table.items()))
            lines.append(f"{json.dumps(key)}:{{\n{rows}\n}}")
        else:
            lines.append(f"{json.dumps(key)}:{json.dumps(table)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n".join(lines) + "}\n")


def generate(api: str) -> None:
    source, name = APIS[api]
    units = {version: parse(version, source, every_symbol=True) for version in VERSIONS}
    user = {version: parse(version, source, every_symbol=False) for version in VERSIONS}
    exports = {version: exported(version) for version in VERSIONS} if api == "runtime" else {}
    values: dict[str, int] = {}
    aliases: dict[str, str] = {}
    for version in VERSIONS:
        values.update(constants(user[version]))
        aliases.update(typedefs(units[version]))
    found = {version: prototypes(units[version], name) for version in VERSIONS}
    for version in VERSIONS:
        for symbol, row in prototypes(user[version], name).items():
            found[version].setdefault(symbol, row)
    tables: dict[str, Any] = {
        "versions": list(VERSIONS),
        "entry_points": entry_points(found, plain_names(user[NEWEST], name), exports),
        "enumerations": merged_enumerations({version: enumerations(units[version]) for version in VERSIONS}),
        "structs": merged_structs({version: structs(units[version]) for version in VERSIONS}),
        "typedefs": aliases,
        "constants": values,
    }
    if api == "driver":
        tables["introduced"] = introduced(units, found)
    if exports:
        declared = {symbol for table in found.values() for symbol in table}
        tables["undeclared"] = sorted(
            symbol for symbol in set().union(*exports.values()) - declared if name.match(symbol)
        )
    write(OUTPUT / f"{api}.json", tables)
    print(f"{api}: {len(tables['entry_points'])} entry points")


if __name__ == "__main__":
    download()
    for selected in sys.argv[1:] or APIS:
        generate(selected)
