"""What a child process has done so far, in memory that its parent reads while it runs and after it has died."""

import mmap
from collections.abc import Iterator

_BYTES = 64 << 20
_WORD = 8


class Log:
    """Records, one after the other; one that is not finished is replaced by the next.

    Made before the fork. Only pages that are written take memory. ValueError if there is no room for a record.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BYTES)
        self._end = _WORD
        self._told = 0

    def tell(self, record: bytes, finished: bool) -> None:
        """Append; the word after it is 0, where the next one's length will be."""
        body = self._end + _WORD
        if body + len(record) + _WORD > _BYTES:
            raise ValueError(f"more than {_BYTES} bytes of calls in one process")
        self._memory[body : body + len(record) + _WORD] = record + bytes(_WORD)
        self._put(self._end, len(record))
        if finished:
            self._end = body + len(record)
        self._told += 1
        self._put(0, self._told)

    @property
    def told(self) -> int:
        """How often something was told: it grows while the child makes calls."""
        return self._get(0)

    def records(self) -> Iterator[bytes]:
        """All that were finished, and the one that was not."""
        at = _WORD
        while length := self._get(at):
            at += _WORD
            yield self._memory[at : at + length]
            at += length

    def close(self) -> None:
        self._memory.close()

    def _put(self, at: int, word: int) -> None:
        self._memory[at : at + _WORD] = word.to_bytes(_WORD, "little")

    def _get(self, at: int) -> int:
        return int.from_bytes(self._memory[at : at + _WORD], "little")
