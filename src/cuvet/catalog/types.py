"""Names of the types that CUDA's headers declare."""

from functools import cache
from pathlib import Path

import msgspec


class Declared(msgspec.Struct, frozen=True):
    """Of all releases that the tables were generated from, driver, runtime and libraries together. ``types`` are typedefs, tags of structs,
    unions and enumerations, and macros for these; ``headers`` are the files that declare them, ``folders`` those that declare none."""

    types: frozenset[str]
    headers: frozenset[str]
    folders: frozenset[str]


@cache
def declared_types() -> Declared:
    file = Path(__file__).parent / "generated" / "types.json"
    return msgspec.json.decode(file.read_bytes(), type=Declared)
