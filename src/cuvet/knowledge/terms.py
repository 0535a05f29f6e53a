"""The terms of a text: what is compared with public cases (``cuvet.knowledge.cases``).

A term is a word in lower case, a part of a name, an error (``error:CUDA_ERROR_NO_DEVICE``, whichever of its names or numbers stands
there) or a function (``call:EventRecord``, the same for the driver's, the runtime's and all versions). Addresses and most numbers are none.
"""

import re
from collections.abc import Iterable

from cuvet.knowledge.errors import Error

_MOST_TERMS = 400
_MOST_WORD = 40
_WORD = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]")
_ARCHITECTURE = re.compile(r"\b(sm|compute|sm_|compute_)\d+[af]?\b")
_HEX = re.compile(r"0x[0-9a-f]+")


def terms_of(text: str, errors: Iterable[Error], calls: Iterable[str]) -> frozenset[str]:
    """Of a long text, those of its beginning."""
    lower = _HEX.sub(" ", _ARCHITECTURE.sub(r"\1n", text.lower()))
    found: dict[str, None] = {f"error:{error.names[0]}": None for error in errors}
    found.update((f"call:{core(call)}", None) for call in calls)
    for match in _WORD.finditer(lower):
        word = match[0]
        if len(word) <= _MOST_WORD:
            found[word] = None
        if "_" in word:
            found.update((part, None) for part in word.split("_") if 2 < len(part) <= _MOST_WORD)
        if len(found) >= _MOST_TERMS:
            break
    return frozenset(found)


def core(call: str) -> str:
    """The same for the driver's and the runtime's function, and for all its versions: ``EventRecord``."""
    return re.sub(r"^(?:cuda|cu)(?=[A-Z])|(?:_v\d+)?(?:_pt[ds][sz])?$", "", call)
