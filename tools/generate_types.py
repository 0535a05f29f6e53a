"""Generate ``src/cuvet/catalog/generated/types.json``: the names of the types that CUDA's headers declare, and those of the headers.

The headers of the wheels that ``generate_catalog.py`` and ``generate_libraries.py`` name are read as text, because many of them (what
is for kernels) can be compiled by nvcc alone. Of types only those are kept that are spelt like CUDA's, in all releases.

Usage: ``python tools/generate_types.py [download]``. If wheels of libraries were not fetched before, the file stays as it is, unless
they may be downloaded (``library_wheels.py``).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

from cuvet.catalog.apis import LIBRARIES
from generate_catalog import CACHE, OUTPUT, VERSIONS, download
from library_wheels import fetched, is_fetched

FOLDERS = ("cooperative_groups", "crt", "cub", "cuda", "nv", "thrust")
"""Of headers that are included by their folder. None of them declares a type that is spelt like those below outside a namespace."""
WHEELS = list(dict.fromkeys(wheel.requirement for library in LIBRARIES.values() for wheel in library.wheels))
NAME = re.compile(r"cu[a-z]{0,10}[A-Z]\w*|CU[a-z]\w*")
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\\\n]|\\.)*", re.M | re.S)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", re.M)
_TAG = re.compile(r"\b(?:struct|union|class|enum)\s+(?:(?:class|__\w+__|[A-Z_]+)\s+)*(?:__\w+__\([^()]*\)\s*)?(\w+)")
_TYPEDEF = re.compile(r"\btypedef\b")
_USING = re.compile(r"\busing\s+(\w+)\s*=")
_CALLBACK = re.compile(r"\*\s*(\w+)\s*\)\s*\(")
_LAST = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:\b[A-Z_]+\s*)?$")


def declared(text: str) -> Iterator[str]:
    """The types that a header declares, without those that are macros."""
    text = _NO_CODE.sub(" ", text)
    yield from _TAG.findall(text)
    yield from _USING.findall(text)
    for match in _TYPEDEF.finditer(text):
        yield from _of_typedef(_statement(text, match.end()))


def _statement(text: str, start: int) -> str:
    """From there to the semicolon, without what stands in braces."""
    kept, depth, at = [], 0, start
    while at < len(text) and (depth or text[at] != ";"):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            kept.append(text[at])
        at += 1
    return "".join(kept)


def _of_typedef(statement: str) -> Iterator[str]:
    callback = _CALLBACK.search(statement)
    if callback is not None:
        yield callback[1]
        return
    for part in statement.split(","):
        last = _LAST.search(part)
        if last is not None:
            yield last[1]


def generate() -> None:
    download()
    folders = [CACHE / version for version in VERSIONS] + [fetched(wheel) for wheel in WHEELS]
    paths = sorted(path for folder in folders for path in folder.rglob("*.h*") if path.suffix in (".h", ".hpp"))
    texts = [path.read_text(errors="replace") for path in paths]
    types = {name for text in texts for name in declared(text)}
    types |= {macro for text in texts for macro, stands_for in _MACRO.findall(text) if stands_for in types}
    tables = {
        "folders": list(FOLDERS),
        "headers": sorted({path.name for path in paths if path.parent.name == "include"}),
        "types": sorted(name for name in types if NAME.fullmatch(name)),
    }
    rows = ",\n".join(f"{json.dumps(key)}:{json.dumps(names, indent=0)}" for key, names in tables.items())
    (OUTPUT / "types.json").write_text(f"{{{rows}}}\n")
    print(", ".join(f"{len(names)} {key}" for key, names in tables.items()))


if __name__ == "__main__":
    if sys.argv[1:] or all(map(is_fetched, WHEELS)):
        generate()
    else:
        print("types: kept as they are; tools/generate_types.py download fetches the wheels of all libraries")
