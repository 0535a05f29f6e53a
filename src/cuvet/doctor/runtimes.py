"""Which CUDA runtime a program brings: its libcudart, or the CUDA that its Python frameworks were built for."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cuvet.doctor import frameworks, loader
from cuvet.doctor.frameworks import Framework
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine


@dataclass(frozen=True)
class Runtime:
    """``who`` brings it; ``cuda``: (13, 0), or (12, None) where only the major version can be told; ``evidence``: one line with a path."""

    who: str
    cuda: tuple[int, int | None]
    evidence: str


def find(machine: Machine) -> tuple[Runtime, ...]:
    if machine.loaded:
        return tuple(_of_loaded(machine, machine.program or "the program"))
    if machine.program and not machine.python:
        return tuple(_of_program(machine, machine.program))
    installed = frameworks.installed(machine)
    return tuple(_of_framework(each, each.cuda) for each in installed if each.cuda and not each.cpu_only)


def _of_loaded(machine: Machine, program: str) -> Iterator[Runtime]:
    for copy in loader.mapped(machine, r"libcudart(?:-[0-9a-f]+)?\.so\.[\d.]+"):
        cuda = version_of(copy)
        if cuda:
            yield Runtime(program, cuda, f"{program} loaded {copy.real}")


def _of_program(machine: Machine, program: str) -> Iterator[Runtime]:
    for library in loader.closure(machine, program).find("libcudart"):
        cuda = version_of(library.copy)
        if cuda:
            yield Runtime(program, cuda, f"{library.needed_by} needs {library.soname}: {library.copy.real}")


def version_of(cudart: Copy) -> tuple[int, int | None] | None:
    """By the name of the file: ``libcudart.so.12.9.79``, ``libcudart-d0da41ae.so.11.0``."""
    found = re.search(r"libcudart(?:-[0-9a-f]+)?\.so\.(\d+)(?:\.(\d+))?", os.path.basename(cudart.real))
    if not found:
        return None
    return int(found[1]), int(found[2]) if found[2] else None


def _of_framework(framework: Framework, cuda: tuple[int, ...]) -> Runtime:
    evidence = f"{framework.distribution.dist_info}: built for CUDA {frameworks.text(cuda)}"
    return Runtime(framework.title, (cuda[0], cuda[1] if len(cuda) > 1 else None), evidence)
