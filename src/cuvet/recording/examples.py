"""The launches that CALL_LIKE records are told by. FORMAT.md describes both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cuvet.recording import layout
from cuvet.recording.layout import CallFlag, RecordType

_FLAGS_AT = 6
_MOST = 2 * layout.EXAMPLES
"""Of each writer. Chunks may be read, and freed, in another order than that in which they were left."""


@dataclass
class Examples:
    """The newest of each writer, by their places in the file."""

    _records: dict[int, bytes] = field(default_factory=dict)
    _of_writer: dict[int, dict[int, None]] = field(default_factory=dict)

    def add(self, writer: int, place: int, record: bytes) -> None:
        """A CALL record, whole. Others are no examples."""
        if not is_call(record) or place in self._records:
            return
        self._records[place] = record
        places = self._of_writer.setdefault(writer, {})
        places[place] = None
        if len(places) > _MOST:
            oldest = next(iter(places))
            del places[oldest], self._records[oldest]

    def get(self, place: int) -> bytes | None:
        return self._records.get(place)

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        """Writer, place and record of each; of a writer the oldest first."""
        for writer, places in self._of_writer.items():
            yield from ((writer, place, self._records[place]) for place in places)


def is_call(record: bytes) -> bool:
    """Whether it is a CALL that can be an example."""
    if not layout.CALL.itemsize <= len(record) <= layout.EXAMPLE_BYTES or len(record) % 8:
        return False
    size, kind, _ = layout.RECORD_HEADER.unpack_from(record)
    return bool(size == len(record) and kind == RecordType.CALL)


def without_mark(record: bytes) -> bytes:
    """The same CALL, but that it is no example."""
    flags = int.from_bytes(record[_FLAGS_AT : _FLAGS_AT + 2], "little") & ~CallFlag.EXAMPLE
    return record[:_FLAGS_AT] + flags.to_bytes(2, "little") + record[_FLAGS_AT + 2 :]
