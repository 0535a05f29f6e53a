"""What a module or library is loaded from: which argument it is, and what its bytes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuvet.image import ImageDescription, describe

if TYPE_CHECKING:
    from cuvet.model import Call

BYTES = {
    "cuModuleLoadData": "image",
    "cuModuleLoadDataEx": "image",
    "cuModuleLoadFatBinary": "fatCubin",
    "cuLibraryLoadData": "code",
}
"""Entry points that load from memory, and the parameter that points to it."""

FILES = {"cuModuleLoad": "fname", "cuLibraryLoadFromFile": "fileName"}
"""Entry points that load from a file, and the parameter that names it."""

PTX_RELEASES: dict[tuple[int, int], tuple[int, int]] = {
    (6, 0): (9, 0),
    (6, 1): (9, 1),
    (6, 2): (9, 2),
    (6, 3): (10, 0),
    (6, 4): (10, 1),
    (6, 5): (10, 2),
    (7, 0): (11, 0),
    (7, 1): (11, 1),
    (7, 2): (11, 2),
    (7, 3): (11, 3),
    (7, 4): (11, 4),
    (7, 5): (11, 5),
    (7, 6): (11, 6),
    (7, 7): (11, 7),
    (7, 8): (11, 8),
    (8, 0): (12, 0),
    (8, 1): (12, 1),
    (8, 2): (12, 2),
    (8, 3): (12, 3),
    (8, 4): (12, 4),
    (8, 5): (12, 5),
    (8, 6): (12, 7),
    (8, 7): (12, 8),
    (8, 8): (12, 9),
    (9, 0): (13, 0),
    (9, 1): (13, 1),
}
"""PTX ISA version, and the CUDA release whose driver is the first to take it (PTX ISA, Release Notes, PTX Release History)."""


@dataclass(frozen=True, slots=True)
class Image:
    """``readable``: how many bytes of it can be read. ``data``: the first of them. ``terminated``: a NUL is among them."""

    argument: int
    data: bytes
    readable: int
    terminated: bool
    description: ImageDescription

    @property
    def broken_off(self) -> bool:
        """Whether it says that it is longer than what can be read."""
        return self.description.truncated and self.readable <= len(self.data)

    @property
    def unterminated(self) -> bool:
        """PTX without a NUL at its end: none follows, or other bytes than text stand before it."""
        text = self.data.split(b"\0", 1)[0]
        return self.description.kind == "ptx" and (
            not self.terminated or any(byte < 9 or 13 < byte < 32 for byte in text)
        )

    @property
    def what(self) -> str:
        """``PTX 8.0 for sm_90``, ``a cubin for sm_90``, ``what is loaded``."""
        found = self.description
        if found.kind == "ptx":
            return f"PTX {found.ptx_version} for {found.target}" if found.ptx_version else "PTX"
        if found.kind in ("cubin", "fatbin"):
            return f"a {found.kind}" + (f" for sm_{found.arch}" if found.arch else "")
        return "what is loaded"


def image_of(call: Call) -> Image | None:
    """What a load is given; None if its bytes are not known."""
    parameter = BYTES.get(call.name) or FILES.get(call.name)
    if parameter is None or call.image_readable < 0 or not (call.image or call.image_readable):
        return None
    argument = call.entry_point.index[parameter]
    return Image(argument, call.image, call.image_readable, call.image_terminated, describe(call.image))


def ptx_version(text: str) -> tuple[int, int]:
    """(8, 0) for ``8.0``."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def newest_ptx(driver_version: int) -> tuple[int, int] | None:
    """The newest PTX ISA version that a driver takes (``driver_version`` as cuDriverGetVersion tells); None if not known."""
    release = divmod(driver_version // 10, 100)
    taken = [ptx for ptx, needed in PTX_RELEASES.items() if needed <= release]
    return max(taken) if taken and release <= max(PTX_RELEASES.values()) else None
