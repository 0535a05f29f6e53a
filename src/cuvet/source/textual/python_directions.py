"""Copies of Python whose kind says that the memory of a NumPy array is memory of a device."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.copy_direction import SourceCopyDirection
from cuvet.source.calls import copied_by_kind
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, text_of
from cuvet.source.textual.directions import ON_DEVICE, SIDES
from cuvet.source.textual.python_text import call_at, called, finding_at, may_be_meant, only_value

_MENTIONS = re.compile(rb"\b(?:cudaM|m)emcpy(?:Async)?\s*\(")
_ARRAY = re.compile(r"([A-Za-z_]\w*)\.ctypes\.data")
_MAKES = frozenset(
    f"numpy.{name}"
    for name in "empty zeros ones full arange linspace empty_like zeros_like ones_like full_like array ascontiguousarray".split()
)


def copies_from_numpy(text: bytes) -> bool:
    """Whether a file may copy from or to a NumPy array."""
    return b".ctypes.data" in text and _MENTIONS.search(text) is not None


def direction_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Copies of an array that the function itself makes, in the wrong direction."""
    names = Names(source.text)
    for at, api in names.calls(source.text):
        places = copied_by_kind(api.name)
        call = call_at(root, at) if places is not None else None
        given = arguments_of(call) if call is not None else []
        if (
            call is None
            or places is None
            or len(given) <= places[2]
            or any(each.type.endswith("splat") for each in given)
            or may_be_meant(call)
        ):
            continue
        written = text_of(given[places[2]]).rpartition(".")[2].removeprefix("cudaMemcpy").removeprefix("memcpy")
        for side in ON_DEVICE.get(written, ()):
            array = _ARRAY.fullmatch(text_of(given[places[side]]))
            if array is not None and _is_of_numpy(array[1], call, names, root):
                message = (
                    f"the {SIDES[side]} of a copy with {text_of(given[places[2]]).rpartition('.')[2]} is the array `{array[1]}`, "
                    "which is memory of the host"
                )
                yield finding_at(SourceCopyDirection, call, message, source, ())
                break


def _is_of_numpy(name: str, call: Node, names: Names, root: Node) -> bool:
    made = only_value(name, call, root)
    return made is not None and made.type == "call" and called(made, names) in _MAKES
