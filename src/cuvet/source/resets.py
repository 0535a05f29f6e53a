"""Resets of the device by a class, which the calls of a function show without following its paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuvet.catalog import Verb
from cuvet.findings import Finding
from cuvet.rules.source.reset_in_class import SourceResetInClass
from cuvet.source.calls import meaning
from cuvet.source.program import Call, Function
from cuvet.source.reporting import Reporter

_TEST = re.compile(r"(?i)test|bench|example|sample|app|main")


def resets(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """The first reset of the device in a function of a class that is not the program itself, nor a test."""
    if not function.owner or _TEST.search(function.owner) or _TEST.search(str(reporter.source.path.parent)):
        return
    for call in (
        operation for block in function.blocks for operation in block.operations if isinstance(operation, Call)
    ):
        found = meaning(call.name)
        if found is not None and any(role.verb is Verb.RESETS for role in found.entry_point.roles):
            message = f"{function.owner} resets the device, which belongs to the whole process"
            yield reporter.plain(SourceResetInClass, call, message)
            return
