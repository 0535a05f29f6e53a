"""Describe an image for a message, also from its first bytes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cuvet.image import cubin, elf, fatbin, ptx
from cuvet.image.errors import ImageError

_FATBIN_MAGICS = {fatbin.MAGIC, fatbin.WRAPPER_MAGIC}
_EXCERPT = 4096


@dataclass(frozen=True, slots=True)
class ImageDescription:
    """``arch``: SM number of a cubin (90), or the highest in a fatbin. ``ptx_version``: "8.0". ``target``: "sm_90".
    ``truncated``: the image says that it is longer than the bytes given. ``reason``: what is wrong with it, in words; "" if nothing
    is seen to be."""

    kind: Literal["cubin", "cpu-elf", "fatbin", "ptx", "empty", "unknown"]
    arch: int | None = None
    ptx_version: str | None = None
    target: str | None = None
    truncated: bool = False
    reason: str = ""


def describe(data: bytes) -> ImageDescription:
    """Never raises. An excerpt is called truncated if it ends before the image does: the caller knows whether it cut it."""
    if not data.strip(b"\0"):
        return ImageDescription("empty", reason="all bytes are zero" if data else "there are no bytes")
    if data.startswith(elf.MAGIC):
        return _describe_elf(data)
    if int.from_bytes(data[:4], "little") in _FATBIN_MAGICS:
        return _describe_fatbin(data)
    return _describe_text(data)


def _describe_elf(data: bytes) -> ImageDescription:
    if len(data) < 64:
        return ImageDescription("cubin", truncated=True, reason="an ELF file that ends within its header")
    machine = int.from_bytes(data[18:20], "little")
    size = elf.size_of(data)
    short = size > len(data)
    if machine != cubin.EM_CUDA:
        kind: Literal["cpu-elf", "cubin"] = "cpu-elf" if machine else "cubin"
        reason = "an ELF file for a CPU, not for a GPU" if machine else "an ELF header without contents"
        return ImageDescription(kind, truncated=short, reason=reason)
    arch = cubin.architecture(int.from_bytes(data[48:52], "little"), data[8])
    reason = f"a cubin of {size} bytes that ends after {len(data)}" if short else ""
    if not short:
        try:
            cubin.parse(data)
        except ImageError as error:
            reason = str(error)
    return ImageDescription("cubin", arch=arch, target=f"sm_{arch}", truncated=short, reason=reason)


def _describe_fatbin(data: bytes) -> ImageDescription:
    if int.from_bytes(data[:4], "little") == fatbin.WRAPPER_MAGIC:
        return ImageDescription("fatbin")
    found: list[int] = []
    try:
        for entry in fatbin.entries(data):
            found.append(entry.sm)
        size = fatbin.container_bytes(data)
    except ImageError as error:
        return ImageDescription(
            "fatbin", arch=max(found, default=None), truncated="truncated" in str(error), reason=str(error)
        )
    reason = "" if found else "a fatbin without code"
    return ImageDescription("fatbin", arch=max(found, default=None), truncated=size > len(data), reason=reason)


def _describe_text(data: bytes) -> ImageDescription:
    text = data.split(b"\0", 1)[0].decode("utf-8", "replace")
    try:
        head = ptx.header(text)
    except ImageError as error:
        if ".version" in text or ".target" in text:
            return ImageDescription("ptx", reason=str(error))
        return ImageDescription("unknown", reason="neither ELF, fatbin nor PTX")
    reason = ""
    if len(data) < _EXCERPT:
        try:
            ptx.parse(text)
        except ImageError as error:
            reason = str(error)
    version = ".".join(str(part) for part in head.version)
    return ImageDescription("ptx", arch=head.arch, ptx_version=version, target=head.target, reason=reason)
