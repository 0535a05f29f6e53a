"""Generate ``src/cuvet/catalog/generated/returns.json``: the statuses that NVIDIA's headers document for each entry point.

The comments before the prototypes in cuda.h and cuda_runtime_api.h, of the newest release that tools/generate_catalog.py reads, list them
after ``\\return``; ``\\notefnerr`` there means "may also return error codes from previous, asynchronous launches". Numbers are stored,
which are facts; no text is.

Usage: ``python tools/generate_returns.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cuvet.catalog import catalog
from generate_catalog import CACHE, NEWEST, OUTPUT, download, write

HEADERS = {"driver": "cuda.h", "runtime": "cuda_runtime_api.h"}
_COMMENT = re.compile(r"/\*\*(.*?)\*/\s*([^;{]{0,2000})", re.S)
_FUNCTION = re.compile(r"\b(cu[A-Z]\w+|cuda[A-Z]\w+)\s*\(")
_RETURNS = re.compile(r"\\returns?\b(.*?)(?:\\(?!ref|p\b)|\Z)", re.S)
_NAME = re.compile(r"::((?:CUDA_ERROR_|cudaError)\w+)")


def returns(text: str, numbers: Mapping[str, int]) -> Iterator[tuple[str, dict[str, object]]]:
    """Of the functions of a header, by their names there."""
    for comment in _COMMENT.finditer(text):
        function = _FUNCTION.search(comment[2])
        listed = _RETURNS.search(comment[1])
        if function is None or listed is None:
            continue
        found = sorted({numbers[name] for name in _NAME.findall(listed[1]) if name in numbers})
        if found:
            yield function[1], {"statuses": found, "earlier_work": "\\notefnerr" in comment[1]}


def header(name: str) -> str:
    (path,) = (path for path in (CACHE / NEWEST).rglob(name) if path.parent.name == "include")
    return Path(path).read_text(encoding="utf-8", errors="replace")


def main() -> None:
    download()
    numbers = {
        "driver": catalog.driver().enumerations["CUresult"],
        "runtime": catalog.runtime().enumerations["cudaError_t"],
    }
    tables = {api: dict(returns(header(name), numbers[api])) for api, name in HEADERS.items()}
    write(OUTPUT / "returns.json", tables)
    print({api: len(table) for api, table in tables.items()})


if __name__ == "__main__":
    main()
