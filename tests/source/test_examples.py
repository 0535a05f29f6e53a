"""The sources of each rule, and the programs beside this file: exactly the marked lines are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuvet.rules import all_rules
from cuvet.rules.examples import Source, invalid, read, sources, valid
from cuvet.source import check_project, check_source, findings_of_files

_ENDINGS = {"cuda": ".cu", "c++": ".cpp", "python": ".py", "c#": ".cs"}
_HABITS = ("source-status-dropped", "source-launch-unchecked")
"""Rules that most examples of others break: they do not check statuses, to be short."""
_EVERY = [
    pytest.param(example, rule.name, wrong, id=f"{rule.name}: {example.name}")
    for rule in all_rules()
    for wrong, examples in ((False, valid(rule)), (True, invalid(rule)))
    for example in sources(examples)
]


_PROGRAMS = [
    pytest.param(example, id=f"{file.stem}: {example.name}")
    for file in sorted((Path(__file__).parent / "programs").glob("*.txt"))
    for example in sources(tuple(read(file.read_text(encoding="utf-8"))))
]


def found(example: Source, rule: str = "") -> list[tuple[int, str, str]]:
    """(line, severity, rule) of each finding in the example, in order."""
    path = Path(f"example{_ENDINGS[example.language]}")
    file = check_source(path, example.program.encode())
    findings = (
        each
        for each in (*findings_of_files([file]), *check_project([file]))
        if each.name not in _HABITS or each.name == rule
    )
    return sorted((finding.site.frames[0].line or 0, finding.severity, finding.name) for finding in findings)


def marked(example: Source) -> list[tuple[int, str, str]]:
    """What the example's comments say is found."""
    return sorted(
        (number, severity, name)
        for number, line in enumerate(example.program.split("\n"), 1)
        for severity, name in re.findall(r"(?://|#) (error|warning|note): \[([\w-]+)\]", line)
    )


@pytest.mark.parametrize(("example", "rule", "wrong"), _EVERY)
def test_the_marked_lines_are_found(example: Source, rule: str, wrong: bool) -> None:
    assert found(example, rule) == marked(example)
    assert wrong == any(name == rule for _, _, name in marked(example))


@pytest.mark.parametrize("example", _PROGRAMS)
def test_the_marked_lines_of_a_program_are_found(example: Source) -> None:
    assert found(example) == marked(example)
