"""What /proc/self/maps says about a range: the lines that a failed host registration brings along."""

from typing import NamedTuple


class Mapping(NamedTuple):
    """Addresses [start, end). ``access`` is four letters, for example ``rw-p`` (``s``: shared). ``path`` is empty for anonymous memory."""

    start: int
    end: int
    access: str
    path: str

    @property
    def readable(self) -> bool:
        return self.access.startswith("r")

    @property
    def writable(self) -> bool:
        return self.access[1:2] == "w"

    @property
    def shared(self) -> bool:
        return self.access.endswith("s")

    @property
    def file(self) -> bool:
        """A file on a disk: not anonymous, not shared memory, not a device."""
        return self.path.startswith("/") and not self.path.startswith(("/dev/", "/memfd:", "/SYSV"))

    @property
    def device(self) -> bool:
        """A device file, other than those that stand for ordinary memory."""
        return self.path.startswith("/dev/") and not self.path.startswith(("/dev/shm/", "/dev/zero", "/dev/hugepages/"))


def mappings(lines: tuple[str, ...]) -> tuple[Mapping, ...]:
    """The mappings of lines of /proc/self/maps, by address. Lines that are none are left out."""
    found = []
    for line in lines:
        fields = line.split(maxsplit=5)
        start, _, end = fields[0].partition("-") if fields else ("", "", "")
        if len(fields) < 5 or not _hexadecimal(start) or not _hexadecimal(end):
            continue
        found.append(Mapping(int(start, 16), int(end, 16), fields[1], fields[5].strip() if len(fields) > 5 else ""))
    return tuple(sorted(found, key=lambda mapping: mapping.start))


def touching(found: tuple[Mapping, ...], start: int, end: int) -> tuple[Mapping, ...]:
    """The mappings that share addresses with [start, end)."""
    return tuple(mapping for mapping in found if mapping.start < end and start < mapping.end)


def first_hole(found: tuple[Mapping, ...], start: int, end: int) -> int | None:
    """The first address of [start, end) that is not mapped; None if all are."""
    reached = start
    for mapping in touching(found, start, end):
        if mapping.start > reached:
            return reached
        reached = mapping.end
    return reached if reached < end else None


def _hexadecimal(text: str) -> bool:
    return bool(text) and all(letter in "0123456789abcdef" for letter in text)
