"""The enumerators of CUDA's error types, found by name, number or message.

``generated/errors.json`` has them with their value in each release (``tools/generate_errors.py``). An error of the driver and one of the
runtime with one number are one error here: since CUDA 10.1 the runtime's numbers are the driver's (``driver_types.h`` and ``cuda.h``).
"""

import re
from functools import cache
from pathlib import Path

import msgspec

from cuvet.knowledge import APIS


class Enumerator(msgspec.Struct, frozen=True):
    """``values``: its number in each release of the API, None where it does not exist. ``same_as``: what its header defines it to be."""

    name: str
    values: tuple[int | None, ...]
    same_as: str | None = None


class Api(msgspec.Struct, frozen=True):
    """An error type: ``cudnnStatus_t`` of ``cuDNN`` in ``releases``, oldest first, as the headers in ``wheels`` declare it."""

    type: str
    title: str
    releases: tuple[str, ...]
    wheels: tuple[str, ...]
    enumerators: tuple[Enumerator, ...]


class Error(msgspec.Struct, frozen=True):
    """One error under all its names: the driver's before the runtime's, the newest before those that it replaced.
    ``numbers``: (release, number), oldest first."""

    apis: tuple[str, ...]
    title: str
    names: tuple[str, ...]
    numbers: tuple[tuple[str, int], ...]

    @property
    def number(self) -> int:
        """In the newest release."""
        return self.numbers[-1][1]


_SIGNALS = {"SIGSEGV": 11, "SIGABRT": 6, "SIGBUS": 7, "SIGKILL": 9}
_ACCESS_VIOLATION = 0xC0000005

# cudaError_t of CUDA 10.0 and older, where the number was another one: https://docs.nvidia.com/cuda/archive/10.0/cuda-runtime-api
_UNTIL_10_0 = {
    1: "cudaErrorMissingConfiguration",
    4: "cudaErrorLaunchFailure",
    5: "cudaErrorPriorLaunchFailure",
    6: "cudaErrorLaunchTimeout",
    7: "cudaErrorLaunchOutOfResources",
    8: "cudaErrorInvalidDeviceFunction",
    10: "cudaErrorInvalidDevice",
    11: "cudaErrorInvalidValue",
    14: "cudaErrorMapBufferObjectFailed",
    15: "cudaErrorUnmapBufferObjectFailed",
    29: "cudaErrorCudartUnloading",
    30: "cudaErrorUnknown",
    33: "cudaErrorInvalidResourceHandle",
    34: "cudaErrorNotReady",
    36: "cudaErrorSetOnActiveProcess",
    38: "cudaErrorNoDevice",
    39: "cudaErrorECCUncorrectable",
    40: "cudaErrorSharedObjectSymbolNotFound",
    41: "cudaErrorSharedObjectInitFailed",
    42: "cudaErrorUnsupportedLimit",
    47: "cudaErrorInvalidKernelImage",
    48: "cudaErrorNoKernelImageForDevice",
    50: "cudaErrorPeerAccessAlreadyEnabled",
    51: "cudaErrorPeerAccessNotEnabled",
    54: "cudaErrorDeviceAlreadyInUse",
    55: "cudaErrorProfilerDisabled",
    56: "cudaErrorProfilerNotInitialized",
    57: "cudaErrorProfilerAlreadyStarted",
    58: "cudaErrorProfilerAlreadyStopped",
    59: "cudaErrorAssert",
    60: "cudaErrorTooManyPeers",
    61: "cudaErrorHostMemoryAlreadyRegistered",
    62: "cudaErrorHostMemoryNotRegistered",
    63: "cudaErrorOperatingSystem",
    64: "cudaErrorPeerAccessUnsupported",
    70: "cudaErrorNotPermitted",
    71: "cudaErrorNotSupported",
}

INTEGER = r"(-?(?:0x[0-9a-f]{1,16}|\d{1,19}))(?!(?!at\b)[\w%]|\.\w|\s?(?:[KMG]i?B|bytes|ms|s)\b)"
"""A number as people write it: decimal or hexadecimal, and no size, version or percentage."""


@cache
def tables() -> dict[str, Api]:
    """API to its error type."""
    file = Path(__file__).parent / "generated" / "errors.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Api])


@cache
def all_errors() -> tuple[Error, ...]:
    """Every error of every API, in the order of their numbers."""
    found = [Error(("signal",), "signal", (name,), (("Linux", number),)) for name, number in _SIGNALS.items()]
    return (*_cuda_errors(), *(error for api in APIS[2:] for error in _library_errors(api)), *found)


def _cuda_errors() -> list[Error]:
    """Errors of the driver and the runtime, paired by number."""
    members: dict[int, list[tuple[str, Enumerator]]] = {}
    for api in APIS[:2]:
        for row in tables()[api].enumerators:
            members.setdefault(max(value for value in row.values if value is not None), []).append((api, row))
    old = {name: number for number, name in _UNTIL_10_0.items()}
    errors = []
    for _, pair in sorted(members.items()):
        names = tuple(row.name for _, row in pair)
        oldest = (("10.0", old[names[-1]]),) if names[-1] in old else ()
        numbers = _numbers(tables()["driver"].releases, [row for _, row in pair])
        errors.append(Error(tuple(api for api, _ in pair), "CUDA", names, (*oldest, *numbers)))
    return errors


def _library_errors(api: str) -> list[Error]:
    table = tables()[api]
    same: dict[str, list[Enumerator]] = {}
    for row in table.enumerators:
        same.setdefault(row.same_as or row.name, []).append(row)
    return [
        Error(
            (api,), table.title, (name, *(row.name for row in rows if row.name != name)), _numbers(table.releases, rows)
        )
        for name, rows in same.items()
    ]


def _numbers(releases: tuple[str, ...], rows: list[Enumerator]) -> tuple[tuple[str, int], ...]:
    """The error's number in each release that has it under any of its names."""
    return tuple(
        (release, value)
        for position, release in enumerate(releases)
        for value in {row.values[position] for row in rows}
        if value is not None
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


@cache
def _by_name() -> dict[str, Error]:
    return {_plain(name): error for error in all_errors() for name in error.names}


def named(word: str) -> Error | None:
    """The error of that name, in any case and with or without the API's prefix: ``ErrorInvalidPtx``, ``ERROR_INVALID_HANDLE``; also as some
    programs shorten it: ``cudaErrInvalidValue``, ``CUDA_TOO_MANY_PEERS``."""
    plain = _plain(word)
    written = [plain, f"cuda{plain}"]
    if plain.startswith("cuda"):
        written.append("cudaerror" + plain.removeprefix("cuda").removeprefix("err"))
    return next((_by_name()[name] for name in written if name in _by_name()), None)


def numbered(number: int) -> tuple[Error, ...]:
    """The errors that have this number in some release, those first that have it in the newest. Exit codes of processes count as
    well: 139 and -11 are SIGSEGV."""
    number = number - (1 << 32) if 1 << 31 <= number < 1 << 32 and number != _ACCESS_VIOLATION else number
    died = signalled(number)
    return (*([died] if died else []), *_by_number().get(number, ()))


@cache
def _by_number() -> dict[int, tuple[Error, ...]]:
    """Number to the errors that have it in some release, those first that have it in the newest; no signals."""
    found: dict[int, list[Error]] = {}
    for error in all_errors():
        for number in {number for _, number in error.numbers} if error.title != "signal" else ():
            found.setdefault(number, []).append(error)
    return {number: tuple(sorted(errors, key=lambda error: error.number != number)) for number, errors in found.items()}


def signalled(status: int) -> Error | None:
    """The signal in a process's exit status: as shells, Python and Windows tell it."""
    number = 11 if status == _ACCESS_VIOLATION else status - 128 if status > 128 else -status
    return next((_by_name()[name.lower()] for name, value in _SIGNALS.items() if value == number), None)


def integer(word: str) -> int | None:
    """The number that the word is, decimal or hexadecimal."""
    match = re.fullmatch(INTEGER, word.strip(), re.I)
    return value(match[1]) if match else None


def value(digits: str) -> int:
    """Of what ``INTEGER`` matches."""
    return int(digits, 16 if "x" in digits.lower() else 10)
