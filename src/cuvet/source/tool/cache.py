"""Results of files, kept from run to run: in ``$XDG_CACHE_HOME/cuvet/check``, readable by the user alone.

A result is found by what it depends on: the file's bytes and name, the options, cuvet itself and the parsers.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

import cuvet
from cuvet.source import FileResult, Options

UNUSED_S = 30 * 86400
"""A result that nobody asked for in this time is deleted."""
_PARSERS = ("tree-sitter", "tree-sitter-cpp", "tree-sitter-cuda", "tree-sitter-python", "tree-sitter-c-sharp")
_TOUCHED_S = 86400
"""A result that is older when it is used is marked as used; so long, it need not be."""


class Cache:
    """Reading and writing never fail: what is missing, damaged or cannot be kept is computed again."""

    def __init__(self, options: Options) -> None:
        self._directory = home() / "check"
        self._salt = msgspec.msgpack.encode((_tool(), options))
        self._decoder = msgspec.msgpack.Decoder(FileResult)

    def key(self, name: str, text: bytes) -> str:
        digest = blake2b(self._salt, digest_size=24)
        digest.update(f"{len(name)}:{name}".encode())
        digest.update(text)
        return digest.hexdigest()

    def get(self, key: str) -> FileResult | None:
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                old = time.time() - os.fstat(file.fileno()).st_mtime > _TOUCHED_S
                result = self._decoder.decode(file.read())
            if old:
                os.utime(path)
        except (OSError, msgspec.MsgspecError):
            return None
        return result

    def put(self, key: str, result: FileResult) -> None:
        path = self._path(key)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(new, "wb", opener=_private) as file:
                    file.write(msgspec.msgpack.encode(result))
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)

    def prune(self) -> None:
        """Once a day, delete what was not used for long."""
        stamp = self._directory / "pruned"
        try:
            if time.time() - stamp.stat().st_mtime < _TOUCHED_S:
                return
        except OSError:
            pass
        try:
            for path in self._directory.glob("??/*"):
                if time.time() - path.stat().st_mtime > UNUSED_S:
                    path.unlink()
            stamp.touch(0o600)
        except OSError:  # another run prunes at the same time, or nothing can be written
            return

    def _path(self, key: str) -> Path:
        return self._directory / key[:2] / key[2:]


def home() -> Path:
    kept = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(kept) if os.path.isabs(kept) else Path.home() / ".cache") / "cuvet"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@cache
def _tool() -> str:
    """What tells this cuvet and its parsers from others: versions, and when the files of the checker were changed."""
    root = Path(cuvet.__file__).parent
    digest = blake2b(cuvet.__version__.encode(), digest_size=16)
    for package in _PARSERS:
        try:
            digest.update(f"{package} {version(package)}".encode())
        except PackageNotFoundError:
            digest.update(f"no {package}".encode())
    for part in ("source", "rules", "model", "catalog", "findings.py"):
        for path in sorted([root / part, *(root / part).rglob("*")]):
            if path.suffix in (".py", ".json"):
                status = path.stat()
                digest.update(f"{path.relative_to(root)} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()
