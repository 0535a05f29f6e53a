"""Faults of functions by their names, for ``cuvet.fail``."""

from __future__ import annotations

import difflib

from cuvet import CuvetError
from cuvet.catalog import driver, recorded_entry_point, runtime
from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.statuses import api_of, status_name, status_value
from cuvet.model.statuses import STICKY


def fault_text(function: str, status: str | int, first: int, last: int) -> str:
    """The fault as ``native/inject.h`` says. CuvetError if the function or the status is not known."""
    if not isinstance(function, str):
        raise CuvetError(f"{function!r} is no name of a function")
    if not isinstance(first, int) or not 1 <= first < 1 << 31:
        raise CuvetError(f"nth is {first}: calls are counted from 1, in whole numbers")
    return f"{_meant(function)}:{first}:{last}:{_number(function, status)}:0"


def _meant(function: str) -> str:
    if function.startswith("cuda") and function in runtime():
        return f"={function}"
    found = recorded_entry_point(function)
    if found is None:
        names = [each.name for each in (*runtime().entry_points, *driver().entry_points)]
        near = difflib.get_close_matches(function, names, n=1)
        raise CuvetError(f"{function[:100]!r} is no function of CUDA{f'; did you mean {near[0]}?' if near else ''}")
    return f"0:{found.id}"


def _number(function: str, status: str | int) -> int:
    api = api_of(function)
    if isinstance(status, int):
        number = status
    else:
        try:
            number = status_value(api, status)
        except KeyError:
            of = LIBRARIES[api].title if api in LIBRARIES else f"the CUDA {api}"
            raise CuvetError(f"{status[:100]!r} is no status of {of}") from None
    if not 0 < number < 1 << 16:
        raise CuvetError(f"status {number} is no failure")
    if api in ("driver", "runtime") and number in STICKY:
        name = status_name(api, number)
        raise CuvetError(
            f"after {name} all calls of the process fail, also behind the block: cuvet inject tries that in a run of its own"
        )
    return number
