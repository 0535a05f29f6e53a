"""What checking source files gives: findings, what could not be checked, and what other files need to know."""

from __future__ import annotations

import msgspec

from cuvet.findings import Finding, Frame


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """``cuda`` is the CUDA release that entry points are looked up in, ``13.0``; None: the newest that is known."""

    cuda: str | None = None


class NotChecked(msgspec.Struct, frozen=True, kw_only=True):
    """Lines [first, last] of a file that could not be checked, and why, in one sentence."""

    file: str
    first: int
    last: int
    why: str


class ClassOutline(msgspec.Struct, frozen=True, kw_only=True):
    """A class as its definition shows it. ``members`` maps data members to their types; ``declared`` has its functions' names
    (``__init__``, ``__del__``), ``undefined`` those without a body in the class. ``copies``: it says itself how it is copied, or that
    it cannot be."""

    name: str
    members: dict[str, str]
    declared: tuple[str, ...]
    undefined: tuple[str, ...]
    copies: bool
    bases: bool
    initialised: tuple[str, ...]
    """Data members with a value in the class."""
    broken: bool = False
    """It holds text that could not be parsed."""
    frame: Frame


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What a function does with a member of a class. ``verb``: ``makes``, ``ends``, ``sets``, ``clears``, ``tests`` or ``gives`` (to
    somebody of whom nothing is known). ``kind`` is the noun of the object's kind, ``api`` the function that was called."""

    owner: str
    member: str
    verb: str
    function: str
    method: bool
    guarded: bool
    """It happens under a condition."""
    kind: str = ""
    api: str = ""
    frame: Frame


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """What the other files of a project need to know of a file. ``functions`` are the (class, function) that it defines;
    ``handed`` are names that stand among the arguments of functions that sound as if they took something over."""

    file: str
    classes: tuple[ClassOutline, ...] = ()
    effects: tuple[Effect, ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    handed: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    """Members that are made somewhere in the file, and assigned something else in it."""


class FileResult(msgspec.Struct, frozen=True, kw_only=True):
    """All of it is plain data (msgspec encodes and decodes it), and depends on the file's bytes, its path and the options alone."""

    file: str
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    outline: Outline | None = None
    stats: dict[str, int] = {}
    """``lines``, ``functions`` (with CUDA), ``calls``, ``paths``, ``bytes``."""
