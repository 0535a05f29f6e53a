"""Members of static archives (ar), as GNU and BSD write them: https://man7.org/linux/man-pages/man5/ar.5.html, ``<ar.h>``."""

from collections.abc import Iterator

from cuvet.image.errors import ImageError
from cuvet.image.source import Source

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_HEADER_BYTES = 60
_MOST_MEMBERS = 1 << 18
_MOST_NAMES = 64 << 20
_LONG_NAMES, _SYMBOLS = "//", ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")


def members(archive: Source) -> Iterator[tuple[str, Source]]:
    """(name, contents) of each member that is no index. ImageError where the archive is broken."""
    position, long_names = len(MAGIC), b""
    for _ in range(_MOST_MEMBERS):
        header = archive.read(position, _HEADER_BYTES)
        if not header.strip(b"\n"):
            return
        name, size = _header(header)
        start = position + _HEADER_BYTES
        if start + size > archive.size:
            raise ImageError(f"truncated: a member ends at {start + size}, the archive at {archive.size}")
        contents = archive.part(start, size)
        if name == _LONG_NAMES:
            long_names = contents.read(0, _MOST_NAMES)
        elif name not in _SYMBOLS:
            name, skipped = _full_name(name, long_names, contents)
            if name not in _SYMBOLS:
                yield name, contents.part(skipped, size)
        position = start + size + size % 2
    raise ImageError(f"the archive has more than {_MOST_MEMBERS} members")


def _header(header: bytes) -> tuple[str, int]:
    size = header[48:58].strip()
    if len(header) < _HEADER_BYTES or header[58:] != b"`\n" or not size.isdigit():
        raise ImageError("the archive is broken: a member has no header")
    return header[:16].decode("utf-8", "replace").rstrip(), int(size)


def _full_name(name: str, long_names: bytes, contents: Source) -> tuple[str, int]:
    """The name, and how many bytes of the contents it takes: BSD's long names stand there, GNU's in a member of their own."""
    length = name.removeprefix("#1/")
    if name.startswith("#1/") and length.isdecimal():
        taken = min(int(length), contents.size, 4096)
        return contents.read(0, taken).rstrip(b"\0").decode("utf-8", "replace"), taken
    if name.startswith("/") and name[1:].isdecimal():
        start = int(name[1:])
        end = long_names.find(b"/\n", start)
        return long_names[start : end if end >= 0 else start].decode("utf-8", "replace"), 0
    return name.removesuffix("/"), 0
