"""What a module or library is loaded from: which argument it is, and what its bytes are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cuvet.model import Call, ModelView

if TYPE_CHECKING:
    from cuvet.image.describe import ImageDescription
    from cuvet.image.verdicts import Verdict

BYTES = {
    "cuModuleLoadData": "image",
    "cuModuleLoadDataEx": "image",
    "cuModuleLoadFatBinary": "fatCubin",
    "cuLibraryLoadData": "code",
}
"""Entry points that load from memory, and the parameter that points to it."""

FILES = {"cuModuleLoad": "fname", "cuLibraryLoadFromFile": "fileName"}
"""Entry points that load from a file, and the parameter that names it."""

_STORED = 4096
"""Bytes that a recording keeps of an image. How many can be read is exact only below it."""
_UNKNOWN_SIZE = 1 << 62


class Image(NamedTuple):
    """``readable``: how many bytes of it can be read. ``data``: the first of them. ``terminated``: a NUL is among them."""

    argument: int
    data: bytes
    readable: int
    terminated: bool
    description: ImageDescription

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
        from cuvet.image.verdicts import ptx_name  # start: only if the bytes of an image are known

        found = self.description
        if found.kind == "ptx":
            return ptx_name(found.ptx_version, found.target)
        if found.kind in ("cubin", "fatbin"):
            return f"a {found.kind}" + (f" for sm_{found.arch}" if found.arch else "")
        return "what is loaded"


def image_of(call: Call) -> Image | None:
    """What a load is given; None if its bytes are not known."""
    parameter = BYTES.get(call.name) or FILES.get(call.name)
    if parameter is None or call.image_readable < 0 or not (call.image or call.image_readable):
        return None
    from cuvet.image.describe import describe  # start: only if the bytes of an image are known

    argument = call.entry_point.index[parameter]
    return Image(argument, call.image, call.image_readable, call.image_terminated, describe(call.image))


def refusal(call: Call, status: int, known: bool = True) -> tuple[int, ...]:
    """What the load may return. A library is loaded when something of it is asked for, so that its load may succeed (recorded on an
    H200 with driver 580.159.04); so may a load of which it is not ``known`` that it fails."""
    return (status,) if known and call.name.startswith("cuModule") else (0, status)


def verdict_on(image: Image, call: Call, model: ModelView) -> Verdict:
    """What ``cuvet inspect`` says of the image, as far as its bytes, the GPU and the driver are known."""
    from cuvet.image.compatibility import driver_of_number  # start: only if the bytes of an image are known
    from cuvet.image.raw import image_verdict  # start: only if the bytes of an image are known

    capability = model.capability(call)
    driver = driver_of_number(model.driver_version) if model.driver_version else None
    return image_verdict(
        image.data,
        f"sm_{capability}" if capability else None,
        driver,
        size=image.readable if image.readable < _STORED else _UNKNOWN_SIZE,
        terminated=image.terminated,
    )
