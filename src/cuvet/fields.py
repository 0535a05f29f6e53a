"""Text that people write as fields: ``name: value``, where a value goes on in lines that are indented.

The evidence of rules and the causes of errors are written so: prose needs no quotes and no escapes.
"""

from __future__ import annotations

import re
import textwrap


def fields(text: str) -> list[tuple[str, str]]:
    """Name and value of each field, in order; a value is one line, with single spaces. ValueError for a line that is no field."""
    return [_field(part) for part in re.split(r"\n+(?=\S)", textwrap.dedent(text).strip()) if part]


def _field(text: str) -> tuple[str, str]:
    name, colon, value = " ".join(text.split()).partition(": ")
    if not colon:
        raise ValueError(f"`{name}` is no field `name: value`; indent a line that goes on")
    return name, value


def bracketed(value: str) -> tuple[str, str]:
    """The value without the parentheses at its end, and what stands in them. ValueError if it does not end in parentheses."""
    depth = 0
    for at in range(len(value) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(value[at], 0)
        if depth <= 0:
            break
    if depth or not value.endswith(")") or not value[:at].strip():
        raise ValueError(f"`{value}` does not end in its source in parentheses")
    return value[:at].rstrip(), value[at + 1 : -1]
