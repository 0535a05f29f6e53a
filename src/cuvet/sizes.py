"""How numbers of bytes are written, and read; how things are counted."""

import re

_SIZE = re.compile(r"([0-9]{1,15}) ?(?:([KMGT])(?:iB)?)?", re.IGNORECASE)


def binary_size(size: int) -> str:
    """Four digits of it, ``139.8 GiB``; below 1 KiB ``512 bytes``."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}" if size < 9999 * factor else f"{size / factor:,.0f} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"


def counted(number: int, noun: str, several: str = "") -> str:
    """``1 file``, ``5,120 processes``."""
    return f"{number:,} {noun if number == 1 else several or plural(noun)}"


def plural(noun: str) -> str:
    """``files``, ``processes``, ``libraries``, ``arrays``."""
    if noun.endswith("y") and not noun.endswith("ay"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def bytes_of(text: str) -> int:
    """Bytes of ``8GiB``, ``8G``, ``512 MiB`` or ``1048576``: units are powers of 1024. ValueError if it is something else."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no size")
    return int(found[1]) << 10 * (" KMGT".index(found[2].upper()) if found[2] else 0)
