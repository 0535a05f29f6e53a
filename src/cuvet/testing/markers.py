"""What ``@pytest.mark.cuvet(ignore=[RULE, ...], leaks=BOOL, races=BOOL)`` says of a test: on its function, its class or its module."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest


def _is_list_of_rules(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(each, str) for each in value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


_TAKES: dict[str, Callable[[object], bool]] = {"ignore": _is_list_of_rules, "leaks": _is_bool, "races": _is_bool}
_FORM = 'write @pytest.mark.cuvet(ignore=["CV101"]), with a list of rules, leaks=True or False, races=True or False'


def ignored_rules(item: pytest.Item) -> list[str]:
    """The rules that the test's markers name."""
    return list(chain.from_iterable(marker.kwargs.get("ignore", ()) for marker in _right(item)))


def wanted(item: pytest.Item, key: str) -> bool | None:
    """What the nearest marker that has the key (``leaks``, ``races``) says; None if there is none."""
    return next((marker.kwargs[key] for marker in _right(item) if key in marker.kwargs), None)


def mistakes(item: pytest.Item) -> list[str]:
    """For each marker of another form, what to write instead."""
    return [_FORM for marker in item.iter_markers("cuvet") if not _is_right(marker)]


def _right(item: pytest.Item) -> list[pytest.Mark]:
    return list(filter(_is_right, item.iter_markers("cuvet")))


def _is_right(marker: pytest.Mark) -> bool:
    takes = all(key in _TAKES and _TAKES[key](value) for key, value in marker.kwargs.items())
    return takes and not marker.args and bool(marker.kwargs)
