"""Numbers of the names that source code passes."""

from __future__ import annotations

from functools import cache

from cuvet.catalog import driver, runtime


@cache
def enumerators() -> dict[str, int]:
    """Enumerators and integer macros of the runtime and the driver."""
    found: dict[str, int] = {}
    for catalog in (runtime(), driver()):
        found.update(catalog.constants)
        for values in catalog.enumerations.values():
            found.update(values)
    return found
