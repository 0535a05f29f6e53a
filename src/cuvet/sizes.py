"""How numbers of bytes are written."""

from __future__ import annotations


def binary_size(size: int) -> str:
    """Four digits of it, ``139.8 GiB``; below 1 KiB ``512 bytes``."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}" if size < 9999 * factor else f"{size / factor:,.0f} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"
