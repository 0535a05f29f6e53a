"""Names of the numbers that entry points return."""

from collections.abc import Iterator
from functools import cache

from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.catalog import Api, driver, runtime

_PREFIXES: dict[str, Api] = {"cuda": "runtime"} | {library.prefix: api for api, library in LIBRARIES.items()}


def api_of(name: str) -> Api:
    """The API that has an entry point of that name: ``cublasCreate`` is cuBLAS's."""
    prefixes = [prefix for prefix in _PREFIXES if name.startswith(prefix)]
    return _PREFIXES[max(prefixes, key=len)] if prefixes else "driver"


def status_name(api: Api, number: int) -> str:
    """``CUDA_ERROR_INVALID_HANDLE`` for ("driver", 400); an unknown number is named as such."""
    return _names(api).get(number, f"unknown status {number}")


def status_value(api: Api, name: str) -> int:
    """Number of a status, in the newest release that has it. KeyError if the API has none of that name."""
    return _values(api)[name]


@cache
def library_statuses() -> dict[str, int]:
    """The numbers of the statuses of all libraries, by their names."""
    return {name: number for api in LIBRARIES for name, number in _values(api).items()}


@cache
def _values(api: Api) -> dict[str, int]:
    return dict(_statuses(api))


@cache
def _names(api: Api) -> dict[int, str]:
    names: dict[int, str] = {}
    for name, number in _statuses(api):
        names.setdefault(number, name)
    return names


def _statuses(api: Api) -> Iterator[tuple[str, int]]:
    """(name, number); of a number's names the first counts, of a name's numbers the last."""
    if api == "driver":
        yield from driver().enumerations["CUresult"].items()
    elif api == "runtime":
        yield from runtime().enumerations["cudaError_t"].items()
    else:
        from cuvet.knowledge.errors import tables  # start: only for what libraries return

        rows = tables()[LIBRARIES[api].status_of or api].enumerators
        for row in sorted(rows, key=lambda row: bool(row.same_as)):
            for number in row.values:
                if number is not None:
                    yield row.name, number
