"""What a rule's docstring says, by its headings."""

from __future__ import annotations

import inspect
import re

from cuvet.rules.rule import Rule


def sections(rule: type[Rule]) -> dict[str, str]:
    """The headings of the rule's docstring and the text below each."""
    _, *parts = re.split(r"^## +(.+)$", inspect.cleandoc(rule.__doc__ or ""), flags=re.M)
    return {heading.strip(): text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}
