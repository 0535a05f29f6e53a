"""Text that people write as fields: ``name: value``, where a value goes on in lines that are indented.

The evidence of rules and the causes of errors are written so: prose needs no quotes and no escapes.
"""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from cuvet import CuvetError


class TextError(CuvetError, ValueError):
    """A mistake in a text of cuvet's own, in one line: file, section, what is wrong or what to write."""


@contextmanager
def mistakes_in(place: str) -> Iterator[None]:
    """Makes a ``TextError`` of each ValueError, which says at which place of the sources the mistake is."""
    try:
        yield
    except ValueError as error:
        raise TextError(f"{place}: {error}") from None


def fields(text: str) -> list[tuple[str, str]]:
    """Name and value of each field, in order; a value is one line, with single spaces. ValueError for a line that is no field."""
    return [(name, " ".join(value.split())) for name, value in paragraphs(text)]


def paragraphs(text: str) -> list[tuple[str, str]]:
    """The same with the values as they are written: in several lines, without the indentation. A value may begin below its name."""
    return [_field(part) for part in re.split(r"\n+(?=\S)", textwrap.dedent(text).strip()) if part]


def _field(text: str) -> tuple[str, str]:
    match = re.match(r"([^:\n]+):[ \n]", text)
    if match is None:
        raise ValueError(f"`{text.splitlines()[0]}` is no field `name: value`; indent a line that goes on")
    first, _, rest = text[match.end() :].partition("\n")
    return match[1], "\n".join([*filter(None, [first.strip()]), *textwrap.dedent(rest).splitlines()])


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
