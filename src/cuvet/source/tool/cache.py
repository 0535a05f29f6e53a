"""Results of files, kept from run to run: in ``$XDG_CACHE_HOME/cuvet/check``, readable by the user alone.

A result is found by what it depends on: the file's bytes and name, the options, cuvet itself and the parsers. For each working
directory it is also kept how its files were when they were read, so that those that are so still need not be read again.
"""

import os
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

import cuvet
from cuvet.source import FileResult, Options, Summaries
from cuvet.source.tool.ignores import IgnoreComment

UNUSED_S = 30 * 86400
"""A result that nobody asked for in this time is deleted."""
_PARSERS = ("tree-sitter", "tree-sitter-cpp", "tree-sitter-cuda", "tree-sitter-python", "tree-sitter-c-sharp")
_TOUCHED_S = 86400
"""A result that is older when it is used is marked as used; so long, it need not be."""


_UNSETTLED_NS = 2_000_000_000
"""A file that was changed so shortly before it was read could be changed once more within the same tick of its clock."""

Status = tuple[int, int, int, int, int]
"""Device, inode, size, and when content and inode were changed last, in ns."""


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was read. ``key`` is that of its result, empty if the file has nothing to do with CUDA."""

    status: Status
    key: str
    stats: dict[str, int]
    ignores: tuple[IgnoreComment, ...]


def status_of(status: os.stat_result) -> Status:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def settled(status: Status) -> bool:
    """Whether every later change of the file will change its status."""
    return time.time_ns() - max(status[3:]) > _UNSETTLED_NS


class Cache:
    """Reading and writing never fail: what is missing, damaged or cannot be kept is computed again."""

    def __init__(self, options: Options) -> None:
        self._directory = home() / "check"
        self._salt = msgspec.msgpack.encode((_tool(), options))
        self._decoder = msgspec.msgpack.Decoder(FileResult)
        self._seen = self.key("", os.fsencode(os.getcwd()))

    def key(self, name: str, text: bytes) -> str:
        digest = blake2b(self._salt, digest_size=24)
        digest.update(f"{len(name)}:{name}".encode())
        digest.update(text)
        return digest.hexdigest()

    def key_with(self, key: str, callees: Summaries) -> str:
        """Of the same file, checked with functions of other files in mind."""
        named = msgspec.to_builtins(callees, str_keys=True)
        return self.key(key, msgspec.msgpack.encode(named, order="deterministic"))

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
        self._write(key, msgspec.msgpack.encode(result))

    def seen(self) -> dict[str, Seen]:
        """By name, the files that were checked from this working directory."""
        try:
            return msgspec.msgpack.decode(self._path(self._seen).read_bytes(), type=dict[str, Seen])
        except (OSError, msgspec.MsgspecError):
            return {}

    def see(self, seen: dict[str, Seen]) -> None:
        """Keep it, without files that are gone."""
        there = {name: each for name, each in seen.items() if os.path.exists(name)}
        self._write(self._seen, msgspec.msgpack.encode(there))

    def _write(self, key: str, content: bytes) -> None:
        path = self._path(key)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(new, "wb", opener=_private) as file:
                    file.write(content)
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
