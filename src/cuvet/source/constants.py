"""Numbers of the names that source code passes."""

from functools import cache

from cuvet.catalog import driver, runtime
from cuvet.catalog.statuses import library_statuses


def enumerator(name: str) -> int | None:
    """The number that CUDA's headers give to the name; None if they have no such name."""
    return _enumerators().get(name) if name[:2] in ("cu", "CU", "nc", "NV", "nv") else None


@cache
def _enumerators() -> dict[str, int]:
    """Enumerators and integer macros of the runtime and the driver, and the statuses of libraries."""
    found = dict(library_statuses())
    for catalog in (runtime(), driver()):
        found.update(catalog.constants)
        for values in catalog.enumerations.values():
            found.update(values)
    return found
