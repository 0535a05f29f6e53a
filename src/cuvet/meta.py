"""``meta.json``: what the launcher knows of a recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from cuvet import CuvetError
from cuvet.findings import MachineCause, ProcessRank, Program, Rank
from cuvet.regular import read_regular

MOST_META = 16 << 20
"""Bytes. The arguments of a program take 2 MiB at most on Linux's default stack."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """In nanoseconds, of the clock that counts from the start of the machine (CLOCK_MONOTONIC), and of the wall clock."""

    monotonic_ns: int
    realtime_ns: int


class Stood(msgspec.Struct, frozen=True, kw_only=True):
    """The call number ``call`` of a thread had not returned at ``since_ns`` of CLOCK_MONOTONIC, nor ever since."""

    process: int
    thread: int
    call: int
    since_ns: int


class Meta(msgspec.Struct, kw_only=True):
    """``meta.json``: what the launcher knows. ``pid`` is the process that it started; ``exit_code`` and ``signal`` are how that
    ended; ``notes`` are sentences about what could not be seen, ``hints`` what would make the next recording better; ``machine``: what
    was wrong with the machine when it failed. ``host`` and ``boot`` (its boot id) name the machine; ``rank`` is what the environment of
    ``cuvet run`` told, ``ranks`` what those of processes told; ``ended``: when the program ended; ``stood``: calls that
    had not returned then."""

    argv: tuple[str, ...] = ()
    pid: int = 0
    device: Literal["real", "emulated", "unknown"] = "real"
    gpus: tuple[str, ...] = ()
    driver: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    machine: tuple[MachineCause, ...] = ()
    host: str = ""
    boot: str = ""
    rank: Rank | None = None
    ranks: tuple[ProcessRank, ...] = ()
    ended: Moment | None = None
    stood: tuple[Stood, ...] = ()

    @property
    def rank_of(self) -> Callable[[int], Rank | None]:
        """The rank of a process, whose own environment tells best. Where those of others told another rank than ``rank``, a launcher was
        started here, and ``rank`` is not that of a process whose environment was not seen."""
        own = {each.process: each.rank for each in self.ranks}
        other = self.rank if all(each == self.rank for each in own.values()) else None
        return lambda process: own.get(process, other)

    @property
    def program(self) -> Program:
        """What a report says of the program."""
        return Program(
            argv=self.argv,
            exit_code=self.exit_code,
            signal=self.signal,
            device=self.device,
            gpus=self.gpus,
            driver=self.driver,
        )


def require_directory(directory: Path) -> None:
    """CuvetError if it is none."""
    if not directory.is_dir():
        raise CuvetError(f"{directory}: {'not a directory' if directory.exists() else 'no such directory'}")


def read_meta(directory: Path) -> Meta:
    """``meta.json``; an empty one if there are recordings without it. CuvetError if there is no recording."""
    path = directory / "meta.json"
    require_directory(directory)
    try:
        data = read_regular(path, MOST_META + 1, follow=False)
        if len(data) > MOST_META:
            raise CuvetError(f"{path}: larger than any that cuvet writes")
        if not data:
            notes = (f"{path} is empty, since it could not be written: how the program ended is not known",)
            return Meta(device="unknown", notes=notes)
        return msgspec.json.decode(data, type=Meta)
    except FileNotFoundError:
        if not any(directory.glob("*.cuvet")):
            raise CuvetError(f"{directory}: no recording here") from None
        return Meta(device="unknown")
    except RecursionError:
        raise CuvetError(f"{path}: it is nested too deeply") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CuvetError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
