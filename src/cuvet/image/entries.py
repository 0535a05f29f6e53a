"""Lists what a binary holds: one entry per cubin, PTX text or LTO-IR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cuvet.image.source import Source

if TYPE_CHECKING:
    from cuvet.image.cubin import DeviceCode

Kind = Literal["cubin", "ptx", "ltoir"]
Compression = Literal["lz4", "zstd"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Device code for one architecture.

    ``arch`` is as nvcc's ``code=`` has it: ``sm_90``, ``sm_90a``, ``sm_100f``; for PTX its ``.target``, for LTO-IR
    ``sm_`` too. ``size_bytes`` as it stands, ``decompressed_bytes`` as the driver sees it. ``ptx_version`` is
    ``8.0``, of PTX only. ``container`` says where it is: the file's path, then the archive's or wheel's member and the
    section, joined by ``:``; ``offset`` is the code's within the innermost file, ``fatbin`` that of the fatbin which it belongs to.
    """

    kind: Kind
    arch: str
    size_bytes: int
    decompressed_bytes: int
    compression: Compression | None = None
    ptx_version: str | None = None
    address_bits: int = 64
    container: str = ""
    offset: int = 0
    fatbin: int | None = None
    source: Source = field(kw_only=True, repr=False, compare=False)
    """The code as it stands, compressed or not."""

    @property
    def sm(self) -> int:
        """90 for sm_90a."""
        return int(self.arch.removeprefix("sm_").rstrip("af") or 0)

    def data(self) -> bytes:
        """The cubin or the PTX text, decompressed; LTO-IR that is compressed is encoded too. ImageError if it cannot be."""
        from cuvet.image import compression  # start: only for what is compressed

        return compression.unpacked(self.source, self.compression, self.decompressed_bytes)

    def kernels(self) -> tuple[str, ...]:
        """Mangled names of the kernels, in the order of the file; of LTO-IR none can be told. ImageError if it is broken."""
        from cuvet.image import ptx  # start: only if kernels are asked for

        if self.kind == "cubin":
            return tuple(self.code().kernels)
        return ptx.kernel_names(self.data()) if self.kind == "ptx" else ()

    def code(self) -> DeviceCode:
        """What the cubin holds. ImageError if it is broken, or none."""
        from cuvet.image import cubin  # start: only if kernels are asked for

        return cubin.parse(self.data())

    def toolkit(self) -> tuple[int, int] | None:
        """(13, 0): the release that made the cubin; None if it does not say, or is none. ImageError if it is broken."""
        from cuvet.image import cubin  # start: only if kernels are asked for

        return cubin.toolkit(self.data()) if self.kind == "cubin" else None
