"""Files that somebody else may have made: a FIFO or a device must not be waited for, and nothing is read without end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

NOT_REGULAR = "it is no regular file"


def opened(path: Path) -> BinaryIO:
    """A regular file, open for reading. OSError if it is none, or cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        directory = stat.S_ISDIR(mode)
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR)) if directory else OSError(errno.EINVAL, NOT_REGULAR)
    return os.fdopen(descriptor, "rb")


def content(path: Path, most_bytes: int) -> bytes:
    """All of a regular file. OSError if it is none, is larger than ``most_bytes``, or cannot be read."""
    with opened(path) as file:
        text = file.read(most_bytes + 1)
    if len(text) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes >> 20} MiB")
    return text
