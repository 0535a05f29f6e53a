"""Which entry points the model treats as one sort of call, as text: ``kinds_of_calls.txt``.

``python -m tests.model.kinds_of_calls`` writes it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from cuvet.catalog import EntryPoint, driver, recorded
from cuvet.model import capturing, current, library, nodes, precedence, statuses
from cuvet.model.naming import role_on
from cuvet.model.transitions import plan, stream

FILE = Path(__file__).parent / "kinds_of_calls.txt"
HEAD = """# Which entry points the model treats as one sort of call. Written by `make generate`; a test asks that it is still so.
"""
Asked = Callable[[EntryPoint], object]
OF_THE_DRIVER: dict[str, Asked] = {
    "a capture can forbid them to a thread": capturing.is_unsafe,
    "copies and sets on the default stream": capturing.is_synchronous_copy,
    "they name a stream": capturing.names_stream,
    "they need a current context": current._needs_context,
    "they end memory that is not mapped": current._ends_memory,
    "they wait for a context, or end one": statuses._ends_or_waits,
    "they tell how earlier work has ended": statuses._tells_faults,
    "they are about streams or functions": statuses._names_working,
    "they wait for kernels": statuses._waits,
    "they enqueue more than a mark": lambda each: role_on(each) and stream.is_work(each),
    "they manage memory": stream.manages_memory,
    "they change the model": lambda each: any(plan(each)),
    "they look in another order": lambda each: each.name in precedence.EXCEPTIONS,
    "they do not need cuInit": lambda each: each.name in statuses.BEFORE_INIT,
}
OF_LIBRARIES: dict[str, Asked] = {
    "they make what is not made without CUDA": library.makes_handle,
}


def text() -> str:
    return HEAD + "".join(f"\n## {title}\n{names}\n" for title, names in _sections())


def _sections() -> Iterator[tuple[str, str]]:
    of_libraries = [each for each in recorded() if each.api != "driver"]
    for asked, entry_points in ((OF_THE_DRIVER, driver().entry_points), (OF_LIBRARIES, of_libraries)):
        for title, is_one in asked.items():
            yield title, _names(is_one, entry_points)
    roles = {each.name: capturing.stream_roles(each) for each in driver().entry_points}
    yield (
        "parameters that name streams",
        _values({name: [it.parameter for it in of] for name, of in roles.items() if of}),
    )
    types = {each.name: nodes.type_in_name(each.name) for each in driver().entry_points}
    yield "types of nodes that they are for", _values({name: it for name, it in types.items() if it is not None})
    missing = {each.name: library.cuda_missing(each) for each in of_libraries if library.makes_handle(each)}
    yield "what they return when CUDA does not start", _values(missing)


def _names(is_one: Asked, entry_points: Iterable[EntryPoint]) -> str:
    asked = getattr(is_one, "__wrapped__", is_one)  # itself, and not what it said before
    return textwrap.fill(" ".join(each.name for each in entry_points if asked(each)), 138)


def _values(found: Mapping[str, object]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in found.items())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
