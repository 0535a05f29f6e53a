"""Names an image in a message, also from its first bytes only."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from cuvet.image import cubin, elf, fatbin, ptx
from cuvet.image.errors import ImageError

_FATBIN_MAGICS = {fatbin.MAGIC, fatbin.WRAPPER_MAGIC}


@dataclass(frozen=True, slots=True)
class ImageDescription:
    """``arch``: SM number of a cubin (90), or the highest in a fatbin. ``ptx_version``: "8.0". ``target``: "sm_90". None if unknown."""

    kind: Literal["cubin", "fatbin", "ptx", "other"]
    arch: int | None = None
    ptx_version: str | None = None
    target: str | None = None


def describe(data: bytes) -> ImageDescription:
    """Never raises."""
    if data.startswith(elf.MAGIC):
        return _describe_elf(data)
    if int.from_bytes(data[:4], "little") in _FATBIN_MAGICS:
        found: list[int] = []
        with suppress(ImageError):
            found.extend(entry.sm for entry in fatbin.entries(data))
        return ImageDescription("fatbin", max(found, default=None))
    text = data.split(b"\0", 1)[0].decode("utf-8", "replace")
    try:
        head = ptx.header(text)
    except ImageError:
        return ImageDescription("ptx" if ".version" in text or ".target" in text else "other")
    return ImageDescription("ptx", head.arch, ".".join(map(str, head.version)), head.target)


def _describe_elf(data: bytes) -> ImageDescription:
    """A header that is cut, or all zero, is that of a cubin: where would another come from?"""
    machine = int.from_bytes(data[18:20], "little") if len(data) >= 64 else 0
    if machine != cubin.EM_CUDA:
        return ImageDescription("other" if machine else "cubin")
    arch = cubin.architecture(int.from_bytes(data[48:52], "little"), data[8])
    return ImageDescription("cubin", arch, target=f"sm_{arch}")
