"""Generate ``src/cuvet/knowledge/generated/errors.json``: every enumerator of the error types of CUDA's APIs, and its values.

The driver's and the runtime's come from the headers that ``generate_catalog.py`` keeps in ``.cache/headers``. The other
libraries' come from ``library_wheels.py`` on request.

Usage: ``python tools/generate_errors.py [LIBRARY ...]``. The rows of libraries that are not named stay as they are.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cuvet.catalog.apis import LIBRARIES
from cuvet.knowledge import APIS as KNOWN
from generate_catalog import CACHE, ROOT, WHEELS
from library_wheels import fetched

OUTPUT = ROOT / "src" / "cuvet" / "knowledge" / "generated" / "errors.json"

# API: its error type and what it is called.
APIS = {
    "driver": ("CUresult", "CUDA driver"),
    "runtime": ("cudaError_t", "CUDA runtime"),
    **{api: (LIBRARIES[api].status_type, LIBRARIES[api].title) for api in KNOWN[2:]},
}
LOCAL = ("driver", "runtime")
TAGS = {"cudaError_t": "cudaError", "curandStatus_t": "curandStatus"}
"""Types that are declared by the tag of their enumeration."""
Row = dict[str, Any]


def enumerators(text: str, type_name: str) -> dict[str, tuple[int, str | None]] | None:
    """Name to value, and to the enumerator that it is defined to be, of this enumeration in a C header. None if it is not there."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    for tag, body, typedef in re.findall(r"\benum\b([^{};()]*)\{([^{}]*)\}\s*(\w*)\s*;", text):
        if type_name in (typedef, *tag.split()):
            return dict(_members(re.sub(r"^\s*#.*$", "", body, flags=re.M)))
    return None


def _members(body: str) -> Iterator[tuple[str, tuple[int, str | None]]]:
    values: dict[str, int] = {}
    following = 0
    for member in filter(None, map(str.strip, body.split(","))):
        name, _, definition = (part.strip() for part in member.partition("="))
        name = name.split()[0]
        same = definition if definition in values else None
        value = values[same] if same else int(definition, 0) if definition else following
        values[name], following = value, value + 1
        yield name, (value, same)


def read(folder: Path, type_name: str) -> dict[str, tuple[int, str | None]]:
    for header in sorted(folder.rglob("*.h")):
        found = enumerators(header.read_text(encoding="utf-8", errors="replace"), TAGS.get(type_name, type_name))
        if found:
            return found
    raise SystemExit(f"no header below {folder} defines {type_name}")


def table(api: str) -> Row:
    type_name, title = APIS[api]
    if api in LOCAL:
        sources = {release: wheels[0] for release, wheels in WHEELS.items()}
        found = {release: read(CACHE / release, type_name) for release in sources}
    else:
        sources = {wheel.release: wheel.requirement for wheel in LIBRARIES[api].wheels}
        found = {release: read(fetched(wheel), type_name) for release, wheel in sources.items()}
    newest = list(found.values())[-1]
    names = {name: None for members in found.values() for name in members}
    order = sorted(names, key=lambda name: next(m[name][0] for m in reversed(found.values()) if name in m))
    rows = []
    for name in order:
        row: Row = {
            "name": name,
            "values": [members[name][0] if name in members else None for members in found.values()],
        }
        if name in newest and newest[name][1]:
            row["same_as"] = newest[name][1]
        rows.append(row)
    releases = {"releases": list(found), "wheels": list(sources.values())}
    return {"type": type_name, "title": title, **releases, "enumerators": rows}


def write(tables: dict[str, Row]) -> None:
    """JSON with one enumerator a line."""
    parts = []
    for api, row in tables.items():
        lines = ",\n".join(json.dumps(member, separators=(",", ":")) for member in row["enumerators"])
        head = json.dumps({key: value for key, value in row.items() if key != "enumerators"}, separators=(",", ":"))
        parts.append(f'"{api}":{head[:-1]},"enumerators":[\n{lines}\n]}}')
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="*", choices=[*APIS, []], metavar="LIBRARY", help="whose wheels are read, too")
    named = {*LOCAL, *parser.parse_args().library}
    kept = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    write({api: table(api) if api in named else kept[api] for api in APIS})


if __name__ == "__main__":
    main()
