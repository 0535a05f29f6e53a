"""HTML of which all text is escaped, whoever wrote it: only what ``tag`` made is taken as it is."""

from __future__ import annotations

import json
from html import escape

from cuvet.printable import printable

MOST_CHARACTERS = 2000
"""Of a text on the page."""
MOST_IN_DATA = 300
"""Of a text that the script shows."""
_EMPTY = frozenset({"meta", "input", "br", "link"})


class Markup(str):
    """HTML that ``tag`` or ``join`` made."""

    __slots__ = ()


def text(value: object) -> Markup:
    """As it is shown: without characters that control anything, and without markup; not longer than anybody reads."""
    return value if isinstance(value, Markup) else Markup(escape(cut(str(value), MOST_CHARACTERS)))


def cut(text: str, most: int = MOST_IN_DATA) -> str:
    """At most so many characters of it, printable."""
    shown = printable(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[:most]}…"


def join(*parts: object) -> Markup:
    return Markup("".join(map(text, parts)))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element. In names of attributes ``_`` stands for ``-``, and one at the end is left out (``class_``). An attribute is left out
    if its value is None or False, and has none if that is True."""
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None and value is not False:
            shown = key.rstrip("_").replace("_", "-")
            parts.append(f" {shown}" if value is True else f' {shown}="{text(value)}"')
    parts.append(">")
    if name not in _EMPTY:
        parts += [*map(text, content), f"</{name}>"]
    return Markup("".join(parts))


def embedded(identifier: str, data: object) -> Markup:
    """Data for the page's script. It is not run: browsers run no script of this type, and nothing in it can end the element."""
    document = (
        json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )
    return Markup(f'<script type="application/json" id="{identifier}">{document}</script>')
