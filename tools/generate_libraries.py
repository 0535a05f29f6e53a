"""Generate ``src/cuvet/catalog/generated/<library>.json`` from the headers of CUDA's libraries.

What is stored of each entry point is its prototypes as C text, with the symbols that have them, and beside them how
each type is passed. Only symbols that the library exports and a header declares are listed.

Usage: ``python tools/generate_libraries.py [LIBRARY ...]``. A library whose wheels were not fetched before stays as it is, unless it is
named: then its wheels are downloaded (``library_wheels.py``).
"""

# clang's Python bindings declare their enumerations dynamically.
# mypy: disable-error-code="attr-defined, no-untyped-call"

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clang.cindex import Index, TranslationUnit

from cuvet.catalog.apis import LIBRARIES, Library
from generate_catalog import CACHE, NEWEST, OUTPUT, STUBS, prototypes, share_names, write
from library_wheels import exports, fetched, is_fetched, versions

# Headers that the libraries' headers include, reduced to the types that these mention.
LIBRARY_STUBS = {
    **STUBS,
    "inttypes.h": "#include <stdint.h>\n",
    "limits.h": STUBS["limits.h"] + "#define INT_MIN (-2147483647 - 1)\n",
    "math.h": "",
    "stdio.h": "typedef struct _IO_FILE FILE;\n",
    "cuda_runtime.h": "#include <cuda_runtime_api.h>\n#include <library_types.h>\n",
    "cuda_fp16.h": "#pragma once\ntypedef struct { unsigned short x; } __half; typedef __half half;\n",
    "cuda_fp8.h": "",
    "cuda_bf16.h": "#pragma once\ntypedef struct { unsigned short x; } __nv_bfloat16;\n",
}


Prototype = dict[str, Any]
NAMING = ("name", "type", "scalar")


def canonical_name(symbol: str) -> str:
    """The name that users write: ``cublasSgemm_v2_64`` is ``cublasSgemm``, ``__nvJitLinkCreate_12_9`` is ``nvJitLinkCreate``.
    cuDNN's users write ``cudnnRNNForward`` and ``cudnnSetRNNDescriptor_v8``, and what parameters mean differs between revisions."""
    if symbol.startswith("cudnn"):
        return symbol
    if symbol.startswith("__nvJitLink"):
        return re.sub(r"_\d+_\d+$", "", symbol).lstrip("_")
    return re.sub(r"(_v\d+)?(_64)?$", "", symbol)


def revision(symbol: str) -> tuple[int, ...]:
    """The highest is the newest; of one revision, that without 64-bit sizes comes before the other."""
    found = re.search(r"_v(\d+)(_64)?$", symbol)
    release = re.search(r"_(\d+)_(\d+)$", symbol)
    numbers = tuple(map(int, release.groups())) if release else (int(found.group(1)) if found else 1,)
    return (0 if symbol.endswith("_64") else 1, *numbers)


def parse(folders: list[Path], headers: tuple[str, ...]) -> TranslationUnit:
    stubs = CACHE / "stubs" / "libraries"
    for name, text in LIBRARY_STUBS.items():
        path = stubs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    includes = {path.parent for folder in folders for path in folder.rglob("include/*.h")}
    runtime = [path.parent for path in (CACHE / NEWEST).rglob("cuda_runtime_api.h")]
    toolkit = [path.parent.parent for path in (CACHE / NEWEST).rglob("crt/host_runtime.h")]
    arguments = ["-x", "c++", "-std=c++17", "-nostdinc", "--target=x86_64-linux-gnu"]
    arguments += [f"-I{path}" for path in (stubs, *sorted(includes), *runtime, *toolkit)]
    source = "".join(f"#include <{header}>\n" for header in headers)
    unit: TranslationUnit = Index.create().parse(
        "libraries.cpp",
        arguments,
        unsaved_files=[("libraries.cpp", source)],
        options=TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )
    errors = [str(diagnostic) for diagnostic in unit.diagnostics if diagnostic.severity >= 3]
    if errors:
        raise SystemExit(f"headers below {folders[0]} do not parse:\n" + "\n".join(errors[:20]))
    return unit


def released(described: Library) -> Iterator[tuple[dict[str, Prototype], dict[str, list[str]]]]:
    """For each release, oldest first: symbol to prototype, and shared object to the symbols that it exports."""
    needed = (LIBRARIES[library] for library in described.needs)
    for wheels in zip(described.wheels, *(each.wheels for each in needed), strict=True):
        folders = [fetched(wheel.requirement) for wheel in wheels]
        found = prototypes(parse(folders, described.headers), re.compile(rf"(__)?{described.prefix}[A-Z]\w*$"))
        plain_types(found)
        versioned = {canonical_name(symbol): row for symbol, row in found.items() if symbol.startswith("__nvJitLink")}
        file_name = re.compile(rf"{described.shared_objects}\.so\.\d+$")
        shared = {name: symbols for name, symbols in exports(folders[0]).items() if file_name.match(name)}
        for symbol in {symbol for symbols in shared.values() for symbol in symbols} - found.keys():
            if canonical_name(symbol) in versioned:
                found[symbol] = versioned[canonical_name(symbol)]
        yield found, shared


def plain_types(rows: dict[str, Prototype]) -> None:
    """A value's own const is no part of the prototype: releases of cuDNN differ in it. ", " separates parameters only."""
    for parameter in (parameter for row in rows.values() for parameter in row["parameters"]):
        parameter["type"] = parameter["type"].replace(", ", ",")
        if "pointee" not in parameter:
            parameter["type"] = parameter["type"].removeprefix("const ")


def merged(described: Library) -> tuple[list[str], dict[tuple[str, str], Prototype]]:
    """The shared objects, oldest first, and (symbol, shared object) to prototype: of several releases, the newest counts."""
    sonames: list[str] = []
    rows: dict[tuple[str, str], Prototype] = {}
    for found, shared in released(described):
        sonames += [name for name in sorted(shared) if name not in sonames]
        for soname, symbols in shared.items():
            rows.update({(symbol, soname): found[symbol] for symbol in symbols if symbol in found})
    return sonames, rows


def entry_point(
    described: Library, name: str, members: list[tuple[str, str, Prototype]], sonames: list[str]
) -> Prototype:
    """One entry point; its first signature is the newest. ``members`` are (symbol, shared object, prototype)."""
    members.sort(key=lambda member: (revision(member[0]), sonames.index(member[1])), reverse=True)
    first = members[0][2]
    signatures: dict[str, dict[str, str]] = {}
    for symbol, soname, row in members:
        share_names(row["parameters"], first["parameters"])
        text = ", ".join(f"{parameter['type']} {parameter['name']}" for parameter in row["parameters"])
        symbols = signatures.setdefault(text, {})
        symbols[symbol] = "".join(sorted(symbols.get(symbol, "") + str(sonames.index(soname))))
    rows = [{"symbols": symbols, "parameters": text} for text, symbols in signatures.items()]
    returned = {} if first["returns"] == described.status_type else {"returns": first["returns"]}
    return {"name": name, **returned, "signatures": rows}


def types(rows: dict[tuple[str, str], Prototype]) -> dict[str, Prototype]:
    """How each type of a parameter or of a returned value is passed, without what is so by default."""
    found: dict[str, Prototype] = {}
    for row in rows.values():
        found[row["returns"]] = row["return_abi"]
        for parameter in row["parameters"]:
            found[parameter["type"]] = {key: value for key, value in parameter.items() if key not in NAMING}
    defaults = {"abi": "word", "bytes": 8}
    return {
        kind: {key: value for key, value in row.items() if defaults.get(key) != value}
        for kind, row in sorted(found.items())
    }


def definitions(described: Library, soname: str) -> dict[str, Any]:
    """Of a library with one shared object whose symbols have versions of their own: version to names, and the names that are data."""
    found = versions(fetched(described.wheels[-1].requirement), soname)
    if not found:
        return {}
    names: dict[str, list[str]] = {}
    for symbol, (version, _) in sorted(found.items()):
        names.setdefault(version, []).append(symbol)
    data = [symbol for symbol, (_, is_data) in sorted(found.items()) if is_data]
    return {
        "versions": {version: " ".join(symbols) for version, symbols in sorted(names.items())},
        "data": " ".join(data),
    }


def generate(api: str) -> None:
    described = LIBRARIES[api]
    sonames, rows = merged(described)
    grouped: dict[str, list[tuple[str, str, Prototype]]] = {}
    for (symbol, soname), row in rows.items():
        grouped.setdefault(canonical_name(symbol), []).append((symbol, soname, row))
    tables = {
        "sonames": sonames,
        **definitions(described, sonames[-1]),
        "entry_points": [entry_point(described, name, grouped[name], sonames) for name in sorted(grouped)],
        "types": types(rows),
    }
    write(OUTPUT / f"{api}.json", tables)
    print(f"{api}: {len(grouped)} entry points, {len(rows)} symbols")


if __name__ == "__main__":
    for selected in sys.argv[1:] or LIBRARIES:
        needed = (LIBRARIES[selected], *(LIBRARIES[library] for library in LIBRARIES[selected].needs))
        if sys.argv[1:] or all(is_fetched(wheel.requirement) for each in needed for wheel in each.wheels):
            generate(selected)
        else:
            print(f"{selected}: kept as it is; tools/generate_libraries.py {selected} downloads its wheels")
