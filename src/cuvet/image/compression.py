"""Compressed device code: LZ4 blocks and Zstandard frames, with bounds on what they may grow to."""

from cuvet.image.errors import ImageError
from cuvet.image.source import Source

MOST_BYTES = 1 << 30
_LZ4_RATIO = 255
"""An LZ4 block cannot grow more: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md."""


def unpacked(source: Source, compression: str | None, size: int) -> bytes:
    """The bytes of ``source``, of which there are ``size`` when decompressed. ImageError if there are not."""
    if size > MOST_BYTES:
        raise ImageError(f"an entry of {size} bytes is too large")
    packed = source.read(0, source.size)
    if compression is None:
        return packed
    if compression == "lz4" and size > _LZ4_RATIO * (len(packed) + 1):
        raise ImageError(f"the compressed code is broken: {len(packed)} bytes cannot become {size}")
    data = _unlz4(packed, size) if compression == "lz4" else _unzstd(packed, size)
    if len(data) < size:
        raise ImageError(f"the compressed code is broken: {len(data)} bytes instead of {size}")
    return data


def _unlz4(packed: bytes, size: int) -> bytes:
    import lz4.block

    try:
        return bytes(lz4.block.decompress(packed, uncompressed_size=size))
    except (lz4.block.LZ4BlockError, ValueError, OverflowError) as error:
        raise ImageError(f"the compressed code is broken: {error}") from error


def _unzstd(packed: bytes, size: int) -> bytes:
    """Through a stream, because the frame's own header may claim any size."""
    import zstandard

    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed) as stream:
            return bytes(stream.read(size))
    except zstandard.ZstdError as error:
        raise ImageError(f"the compressed code is broken: {error}") from error
