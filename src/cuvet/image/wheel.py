"""Members of wheels and other zip files, read where they are: nothing is extracted to disk."""

import struct
import zipfile
import zlib
from pathlib import Path

from cuvet.image.errors import ImageError
from cuvet.image.source import Source

MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
_CHUNK = 1 << 20
_MOST_BYTES = 8 << 30
"""Of a member: more is a zip bomb."""
_BROKEN = (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OSError, struct.error)
"""What zipfile raises for a broken directory."""


def members(path: Path) -> list[zipfile.ZipInfo]:
    """The files in a zip. ImageError if it is broken."""
    try:
        with zipfile.ZipFile(path) as file:
            return [member for member in file.infolist() if not member.is_dir()]
    except _BROKEN as error:
        raise ImageError(f"a broken zip: {error}") from error


def contents(archive: Source, member: zipfile.ZipInfo) -> Source:
    """The bytes of a member; reading them raises ImageError where they are broken, and so does this for a method not known."""
    if member.file_size > _MOST_BYTES:
        raise ImageError(f"claims to have {member.file_size:,} bytes")
    header = archive.read(member.header_offset, _LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(MAGIC):
        raise ImageError("is not where the zip's directory says")
    _, name, extra = _LOCAL_HEADER.unpack(header)
    packed = archive.part(member.header_offset + _LOCAL_HEADER.size + name + extra, member.compress_size)
    if member.flag_bits & _ENCRYPTED:
        raise ImageError("is encrypted")
    if member.compress_type == zipfile.ZIP_STORED:
        return packed
    if member.compress_type != zipfile.ZIP_DEFLATED:
        raise ImageError(f"is packed by method {member.compress_type}, which cuvet does not read")
    return Source(_Inflating(packed).read, member.file_size)


class _Inflating:
    """A deflated member, decompressed as far as it is read. The last megabyte is kept; reading before it begins anew, so that
    headers that stand together cost one pass whatever their order, and memory does not grow with the member."""

    def __init__(self, packed: Source) -> None:
        self._packed = packed
        self._restart()

    def _restart(self) -> None:
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._taken = 0
        self._kept, self._kept_at = bytearray(), 0

    def read(self, size: int, offset: int) -> bytes:
        if offset < self._kept_at:
            self._restart()
        while self._kept_at + len(self._kept) < offset + size and not self._inflate.eof:
            self._drop(min(offset, self._kept_at + len(self._kept) - _CHUNK))
            self._kept += self._next()
        start = offset - self._kept_at
        return bytes(self._kept[start : start + size])

    def _drop(self, before: int) -> None:
        if before > self._kept_at:
            del self._kept[: before - self._kept_at]
            self._kept_at = before

    def _next(self) -> bytes:
        packed = self._inflate.unconsumed_tail
        if not packed:
            packed = self._packed.read(self._taken, _CHUNK // 4)
            self._taken += len(packed)
        if not packed:
            raise ImageError("the compressed data ends early")
        try:
            return self._inflate.decompress(packed, _CHUNK)
        except zlib.error as error:
            raise ImageError(f"the compressed data is broken: {error}") from error
