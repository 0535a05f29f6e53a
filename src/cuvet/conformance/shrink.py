"""The smallest program that shows a disagreement."""

from dataclasses import replace

from msgspec import structs

from cuvet.catalog import driver
from cuvet.conformance.compare import Disagreement, judge
from cuvet.conformance.recording import Header, Row

_LEAST_HANDLE = 1 << 16


def shrink(header: Header, found: Disagreement) -> Disagreement:
    """Leaves out every call before the one at fault without which the model still says the same of it, but those that made what the
    others name.

    What the driver would do without them is not asked: the calls that are left are those that the model's answer rests on.
    """
    rows = found.session.rows[: found.index + 1]
    size = max(1, len(rows) // 2)
    while size:
        stop = len(rows) - 1
        while stop > 0:  # from the end, so that what made a thing comes after what uses it
            start = max(0, stop - size)
            shorter = rows[:start] + rows[stop:]
            if _made(rows, start, stop).isdisjoint(_named(rows[stop:])) and _same(header, found, shorter):
                rows = shorter
            stop = start
        size //= 2
    return replace(found, session=structs.replace(found.session, rows=rows), index=len(rows) - 1)


def _made(rows: tuple[Row, ...], start: int, stop: int) -> set[int]:
    """What nothing would have made without the rows from ``start`` to ``stop``."""
    made = {word for row in rows[start:stop] for word in row.outputs.values() if word >= _LEAST_HANDLE}
    return made.difference(*(row.outputs.values() for row in rows[:start]))


def _named(rows: tuple[Row, ...]) -> set[int]:
    """The words that these calls pass, also in structs and arrays, and have not made themselves."""
    named: set[int] = set()
    made: set[int] = set()
    for row in rows:
        parameters = driver()[row.name].parameters
        given = (word for index, word in enumerate(row.args) if not parameters[index].out and index not in row.inputs)
        words = {*given, *row.pointers}
        for data in row.inputs.values():
            words.update(int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) - 7, 8))
        named |= words - made
        made.update(row.outputs.values())
    return named


def _same(header: Header, found: Disagreement, rows: tuple[Row, ...]) -> bool:
    *_, judged = judge(header, structs.replace(found.session, rows=rows))
    last = judged.disagreement
    return last is not None and last.index == len(rows) - 1 and last.predicted == found.predicted
