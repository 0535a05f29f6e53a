"""New private files that take the place of others only if the user says so."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cuvet import CuvetError


@contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[Path]:
    """A new empty file beside ``path``, which takes its place when the block ends without an error. CuvetError if ``path`` is there
    already and not a regular file that may be replaced, or cannot be written."""
    made = _reserve(path, force=force)
    new = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    done = False
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield new
        new.replace(path)
        done = True
    finally:
        if not done:
            for each in (new, path) if made else (new,):
                with suppress(OSError):
                    each.unlink()


def _reserve(path: Path, *, force: bool) -> bool:
    """Whether an empty file was made, so that no other export takes the name."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return True
    except FileExistsError:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise CuvetError(f"{path} is not a regular file; choose another name") from None
        if not force:
            raise CuvetError(f"{path} exists; choose another name, or replace it with --force") from None
        return False
    except OSError as error:
        raise CuvetError(f"cannot write {path}: {error.strerror}") from None
