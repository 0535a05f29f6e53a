"""With which statuses a call is made to fail: those that NVIDIA documents for it, one of each class.

``catalog/generated/returns.json`` has what the headers list for each function of the driver and of the runtime. Of libraries the class
alone decides, by the names of their enumerators; what ends objects does not fail for want of memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from cuvet.catalog import EntryPoint, Verb
from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.results import (
    GRAPH_EXEC_UPDATE_FAILURE,
    ILLEGAL_ADDRESS,
    INVALID_CONTEXT,
    INVALID_HANDLE,
    INVALID_VALUE,
    LAUNCH_FAILED,
    NOT_PERMITTED,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    PEER_ACCESS_ALREADY_ENABLED,
)
from cuvet.catalog.roles import ENDS, MAKES
from cuvet.catalog.statuses import status_name, status_value
from cuvet.inject.outcome import Class
from cuvet.knowledge.errors import tables

LAUNCH_OUT_OF_RESOURCES = 701
_RESOURCE = (OUT_OF_MEMORY, LAUNCH_OUT_OF_RESOURCES)
_REFUSED = (NOT_SUPPORTED, NOT_PERMITTED, INVALID_VALUE, INVALID_HANDLE, INVALID_CONTEXT)
_OF_FEW = frozenset({GRAPH_EXEC_UPDATE_FAILURE, PEER_ACCESS_ALREADY_ENABLED})
"""Statuses of single functions, which programs treat as answers."""
_OF_LIBRARY: dict[Class, tuple[str, ...]] = {
    "resource": ("ALLOC_FAILED", "SYSTEM_ERROR", "ncclSystemError"),
    "refused": ("NOT_SUPPORTED", "INVALID_VALUE", "BAD_PARAM", "ncclInvalidArgument"),
    "sticky": ("EXECUTION_FAILED", "EXEC_FAILED", "LAUNCH_FAILURE", "ncclUnhandledCudaError"),
}
"""Ends of the names of enumerators, the first that there is."""


class Code(NamedTuple):
    """``later``: the call succeeds, and the work that it gives to a stream fails: a later call is told."""

    kind: Class
    status: int
    later: bool = False


class Returns(NamedTuple):
    statuses: frozenset[int] = frozenset()
    earlier_work: bool = False
    """It may also return the error of work that was enqueued before."""


@cache
def _documented() -> dict[str, dict[str, Returns]]:
    found = json.loads((files("cuvet.catalog") / "generated" / "returns.json").read_text(encoding="utf-8"))
    return {
        api: {name: Returns(frozenset(each["statuses"]), each["earlier_work"]) for name, each in table.items()}
        for api, table in found.items()
    }


def returns(entry_point: EntryPoint, api: str) -> Returns:
    """What is documented for a call of the driver and for the function of the runtime, ``api``, by which the program made it."""
    driver = _documented()["driver"].get(entry_point.name, Returns())
    runtime = _documented()["runtime"].get(api, Returns())
    return Returns(driver.statuses | runtime.statuses, driver.earlier_work or runtime.earlier_work)


def codes(entry_point: EntryPoint, api: str) -> tuple[Code, ...]:
    """One of each class that applies. ``api``: the function that the program called."""
    if entry_point.api in LIBRARIES:
        return tuple(
            code for code in _of_library(entry_point.api) if code.kind != "resource" or not entry_point.does(*ENDS)
        )
    documented = returns(entry_point, api)
    return tuple(_of_driver(entry_point, documented))


def _of_driver(entry_point: EntryPoint, documented: Returns) -> Iterator[Code]:
    launches = entry_point.does(Verb.LAUNCHES)
    resource = next((each for each in _RESOURCE if each in documented.statuses), None)
    if resource is None and entry_point.does(*MAKES):
        resource = OUT_OF_MEMORY
    if resource is not None:
        yield Code("resource", resource)
    for own in sorted(documented.statuses & _OF_FEW):
        yield Code("refused", own)
    yield Code("refused", next((each for each in _REFUSED if each in documented.statuses), INVALID_VALUE))
    if launches:
        yield Code("sticky", ILLEGAL_ADDRESS, later=True)
    elif documented.earlier_work:
        yield Code("sticky", LAUNCH_FAILED)


def _of_library(api: str) -> Iterator[Code]:
    names = [row.name for row in tables()[LIBRARIES[api].status_of or api].enumerators]
    for kind, ends in _OF_LIBRARY.items():
        name = next((name for end in ends for name in names if name.endswith(end)), None)
        if name is not None:
            yield Code(kind, status_value(api, name))


def name_of(entry_point: EntryPoint, api: str, status: int) -> str:
    """As the program is told: ``cudaErrorMemoryAllocation`` of a function of the runtime."""
    if entry_point.api in LIBRARIES:
        return status_name(entry_point.api, status)
    return status_name("runtime" if api.startswith("cuda") else "driver", status)
