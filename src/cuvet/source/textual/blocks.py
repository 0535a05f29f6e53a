"""Launches whose block is written down in numbers, and is larger than any device's."""

import re
from collections.abc import Iterator
from functools import cache

from cuvet.findings import Finding
from cuvet.rules.launch.impossible_configuration import LaunchImpossibleConfiguration, problem_of
from cuvet.source.syntax.parsing import field_text, text_of, without_comments
from cuvet.source.textual.declared import constant
from cuvet.source.textual.written import Body

_MADE = re.compile(r"\bdim3\s+(?P<name>\w+)\s*(?:=\s*dim3\s*)?[({](?P<sizes>[^(){};]{1,200})[)}]\s*;")
_DIM3 = re.compile(r"dim3\s*[({]([^(){};]{1,200})[)}]")


def too_large(body: Body) -> Iterator[Finding]:
    """Launches with ``<<<>>>``."""
    if b"cudaErrorInvalid" in body.text:
        return  # a test, perhaps, that it fails
    problem_of_block = cache(lambda text: _problem(text, body))
    for launch in body.launches:
        syntax = next((child for child in launch.children if child.type == "kernel_call_syntax"), None)
        given = without_comments(syntax)
        problem = problem_of_block(text_of(given[1])) if len(given) > 1 else None
        if problem is not None:
            yield body.finding(LaunchImpossibleConfiguration, launch, problem, api=field_text(launch, "function"))


def _problem(text: str, body: Body) -> str | None:
    """Of a block that is given as this text."""
    block = _block(text, body)
    problem = problem_of((1, 1, 1, *block, 0)) if block is not None else None
    return problem[1] if problem is not None else None


def _block(text: str, body: Body) -> tuple[int, int, int] | None:
    """Threads of a block in x, y and z; None if they are not known."""
    dim3 = _DIM3.fullmatch(text)
    if dim3 is not None:
        sizes = dim3[1].split(",")
    elif re.fullmatch(r"[A-Za-z_]\w*", text) and (variable := _variable(text, body)):
        sizes = variable.split(",")
    else:
        sizes = [text]
    known = [constant(each, body) for each in sizes]
    x, y, z = [*known, 1, 1][:3]
    if len(known) > 3 or x is None or y is None or z is None or min(x, y, z) < 1:
        return None
    return x, y, z


def _variable(name: str, body: Body) -> str:
    """How the function makes the one ``dim3`` of the name, which it gives to launches and to nothing else."""
    if b"dim3" not in body.text:
        return ""
    code = body.code.decode(errors="replace")
    made = [match["sizes"] for match in _MADE.finditer(code) if match["name"] == name]
    launched = sum(re.findall(r"\w+", each).count(name) for each in re.findall(r"<<<.*?>>>", code, re.S))
    return made[0] if len(made) == 1 and len(body.words(name)) == launched + 1 else ""
