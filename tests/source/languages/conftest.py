from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.source import check_project, check_source

Marks = list[tuple[int, str]]


@pytest.fixture
def found_and_marked() -> Callable[[str, str], tuple[Marks, Marks]]:
    """(line, rule) of the findings in a file of that name, and of its comments ``error: [rule]``. Statuses thrown away count where the
    source marks one."""

    def both(name: str, program: str) -> tuple[Marks, Marks]:
        marked = [
            (number, rule)
            for number, line in enumerate(program.split("\n"), 1)
            for rule in re.findall(r"(?://|#) (?:error|warning|note): \[([\w-]+)\]", line)
        ]
        file = check_source(Path(name), program.encode())
        assert not file.not_checked
        rules = [
            (finding.site.frames[0].line or 0, finding.name) for finding in (*file.findings, *check_project([file]))
        ]
        counted = {rule for _, rule in marked} | {rule for _, rule in rules if rule != "source-status-dropped"}
        return sorted(each for each in rules if each[1] in counted), sorted(marked)

    return both
