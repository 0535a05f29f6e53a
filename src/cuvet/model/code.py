"""What is known of the code of modules and libraries: of PTX that a call passed, if all of the text was seen."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from cuvet.catalog.kinds import FUNCTIONS
from cuvet.model.objects import Function

if TYPE_CHECKING:
    from cuvet.image.cubin import DeviceCode
    from cuvet.model.call import Call
    from cuvet.model.objects import Object

_DOES_NOTHING = re.compile(r"\.entry\s+([\w$%]+)\s*\([^)]*\)\s*\{\s*ret\s*;\s*\}")


def text_of(call: Call | None) -> bytes:
    """The PTX that a load passed, up to its NUL; empty if it is none, or not all of it is known."""
    if call is None or not call.image_terminated or b"\0" not in call.image:
        return b""
    text = call.image.split(b"\0", 1)[0]
    return text if text.lstrip().startswith(b".version") else b""


def loaded_from(found: Object | None) -> bytes:
    """The PTX behind a module, a library, or a function of one."""
    while found is not None and found.kind in FUNCTIONS:
        found = found.parent
    return text_of(None if found is None else found.created_by)


def code_of(found: Object | None) -> DeviceCode | None:
    """The kernels and variables of that PTX; None if they are not known."""
    text = loaded_from(found)
    return _parse(text) if text else None


def does_nothing(function: Object | None) -> bool:
    """Whether the kernel certainly returns at once, so that it cannot fail."""
    return isinstance(function, Function) and function.symbol in _idle_kernels(loaded_from(function))


@lru_cache(maxsize=64)
def _idle_kernels(text: bytes) -> frozenset[str]:
    return frozenset(_DOES_NOTHING.findall(text.decode("utf-8", "replace")))


@lru_cache(maxsize=64)
def _parse(text: bytes) -> DeviceCode | None:
    from cuvet.image.errors import ImageError  # start: only if code is looked into
    from cuvet.image.ptx import parse  # start: only if code is looked into

    try:
        return parse(text.decode("utf-8", "replace"))
    except ImageError:
        return None
