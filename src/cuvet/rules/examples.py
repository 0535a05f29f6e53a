"""The examples of rules: from the text in ``Rule.VALID`` and ``Rule.INVALID`` to programs.

Each begins with a line ``## title``, and its program follows. In brackets after the title stands what is special about it; a line below
may have a note, which says in a few words what it shows::

    ## destroyed with work pending
    note: work enqueued before the destruction completes
    stream = cu.cuStreamCreate(0)
    cu.cuStreamDestroy(stream)

    ## initialised by the program itself [devices=2, no-setup]
    cu.cuInit(0)

    ## C++: waited for after the destruction [cuda]
    cudaStreamDestroy(stream);
    cudaStreamSynchronize(stream);  // error: [stream-use-after-destroy]

* A language (``cuda``, ``c++``, ``python``, ``c#``): the program is a source file, which is checked and never run. Behind the language may
  stand what is put around the program (``_FRAMES``): ``python cupy`` an import above it, ``c# method`` and ``c# class`` a class around it.
* Otherwise it is a program over the driver API (``cuvet.rules.programs``). ``devices=2``: it needs two GPUs. ``no-setup``: it does not
  start with the primary context of device 0 current.

The text is read when somebody asks for the examples: pages and tests.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from textwrap import indent
from typing import Literal, get_args

from cuvet.fields import mistakes_in
from cuvet.rules.rule import Rule

Language = Literal["cuda", "c++", "python", "c#"]

_TITLE = re.compile(r"^## +(.*?)(?: \[([^\]]*)\])?$", re.MULTILINE)
_NOTE = re.compile(r"\nnote: (.*)")
_DEVICES = re.compile(r"devices=([1-9])")
_FRAMES: dict[str, tuple[Language, str, str, str]] = {
    "python driver": ("python", "from cuda.bindings import driver\n\n", "", ""),
    "python runtime": ("python", "from cuda.bindings import runtime\n\n", "", ""),
    "python cudart": ("python", "from cuda.bindings import runtime as cudart\n\n", "", ""),
    "python cupy": ("python", "from cupy.cuda import runtime\n\n", "", ""),
    "c# method": ("c#", "using static ManagedCuda.DriverAPINativeMethods;\n\nclass Worker {\n", " " * 4, "\n}"),
    "c# class": ("c#", "class Worker {\n", " " * 4, "\n}"),
    **{language: (language, "", "", "") for language in get_args(Language)},
}
"""By what stands in brackets: the language, and what is put above the program, before each line, and below it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A program. ``devices`` is how many GPUs it needs; ``note`` says what it shows, in a few words;
    with ``setup`` it starts with the primary context of device 0 current (see ``cuvet.rules.programs``)."""

    name: str
    program: str
    devices: int = 1
    note: str = ""
    setup: bool = True


@dataclass(frozen=True, slots=True)
class Source(Example):
    """``program`` is a source file; its lines at fault are marked ``// error: [slug]`` (``#`` in Python)."""

    language: Language = "cuda"


@cache
def valid(rule: type[Rule]) -> tuple[Example, ...]:
    """The programs that the rule allows. TextError if their text cannot be read."""
    with mistakes_in(rule.where("VALID")):
        return tuple(read(rule.VALID))


@cache
def invalid(rule: type[Rule]) -> tuple[Example, ...]:
    """The programs that break the rule. TextError if their text cannot be read."""
    with mistakes_in(rule.where("INVALID")):
        return tuple(read(rule.INVALID))


def sources(examples: tuple[Example, ...]) -> tuple[Source, ...]:
    return tuple(example for example in examples if isinstance(example, Source))


def runnable(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """Those that can be run (see ``cuvet.rules.programs``)."""
    return tuple(example for example in examples if not isinstance(example, Source))


def read(text: str) -> Iterator[Example]:
    """The programs of a text. ValueError if it cannot be read."""
    before, *parts = _TITLE.split(text)
    if before.strip():
        raise ValueError(f"text before the first `## title`: {before.strip().splitlines()[0]}")
    for title, flags, below in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        with mistakes_in(f"example `{title}`"):
            yield _example(title, flags, below)


def _example(title: str, flags: str | None, below: str) -> Example:
    note = _NOTE.match(below)
    text = below[note.end() if note else 0 :].strip("\n")
    if not title or not text:
        raise ValueError("an example is a title with a program below it")
    example = Example(title, f"\n{text}\n", note=note[1] if note else "")
    if flags in _FRAMES:
        language, above, before, below = _FRAMES[flags]
        program = f"\n{above}{indent(text, before)}{below}\n"
        return Source(example.name, program, note=example.note, language=language)
    for flag in flags.split(", ") if flags is not None else []:
        if devices := _DEVICES.fullmatch(flag):
            example = replace(example, devices=int(devices[1]))
        elif flag == "no-setup":
            example = replace(example, setup=False)
        else:
            languages = ", ".join(_FRAMES)
            raise ValueError(f"[{flags}] is neither a language ({languages}) nor made of devices=N and no-setup")
    return example
