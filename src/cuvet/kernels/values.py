"""What a followed thread knows: integers, pointers into its own parameters and local memory; everything else is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Argument = bytes | Mapping[int, int]
"""Of a kernel: its bytes, or those that are known by their offsets."""


@dataclass(slots=True, eq=False)
class Block:
    """A parameter or a local variable. ``known`` holds its bytes by offset, ``pointers`` those that start at an offset."""

    known: dict[int, int] = field(default_factory=dict)
    pointers: dict[int, Pointer] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Argument) -> Block:
        return cls(dict(enumerate(data)) if isinstance(data, bytes) else dict(data))

    def load(self, offset: int, size: int) -> Value:
        """The unsigned integer or the pointer of ``size`` bytes there."""
        if size == _POINTER_BYTES and offset in self.pointers:
            return self.pointers[offset]
        data = [self.known.get(offset + position) for position in range(size)]
        found = bytes(byte for byte in data if byte is not None)
        return int.from_bytes(found, "little") if len(found) == size else None

    def store(self, offset: int, size: int, value: Value) -> None:
        for start in range(offset - _POINTER_BYTES + 1, offset + size):
            self.pointers.pop(start, None)
        for position in range(offset, offset + size):
            self.known.pop(position, None)
        if isinstance(value, Pointer):
            if size == _POINTER_BYTES:
                self.pointers[offset] = value
        elif value is not None:
            data = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            self.known.update(enumerate(data, offset))

    def forget(self) -> None:
        self.known.clear()
        self.pointers.clear()


class Pointer(NamedTuple):
    """To a place within a block, whose address is not known."""

    block: Block
    offset: int


Value = int | Pointer | None
_POINTER_BYTES = 8


class Type(NamedTuple):
    """Of an instruction: ``.u32``, ``.f64``, ``.pred`` …"""

    bits: int
    signed: bool = False
    integer: bool = True

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(self.bits // 8, 1)

    def of(self, value: int) -> int:
        """The number that the lowest bits of ``value`` stand for."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def unsigned(self, value: int) -> int:
        return value & (1 << self.bits) - 1


TYPES = {
    **{f"{kind}{bits}": Type(bits, kind == "s") for kind in "bus" for bits in (8, 16, 32, 64, 128)},
    **{f"f{bits}": Type(bits, integer=False) for bits in (16, 32, 64)},
    **{f"{kind}x2": Type(bits, integer=False) for kind, bits in (("f16", 32), ("bf16", 32), ("f32", 64))},
    "bf16": Type(16, integer=False),
    "tf32": Type(32, integer=False),
    "pred": Type(1),
}
"""By the qualifier that names them."""
