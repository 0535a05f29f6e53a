"""Opens files whose names somebody else chose: a recording names sources, modules and logs that may be anything on this machine."""

import errno
import os
import stat
from pathlib import Path

NOT_REGULAR = "not a regular file"
_MADE_BY_KERNEL = ("/proc/", "/sys/")
"""Files there are generated while they are read. They may hold secrets, wait, or never end, and look like regular files."""


def open_regular(path: str | Path, *, follow: bool = True) -> int:
    """A descriptor of an ordinary file. Never waits, and touches nothing else: devices, FIFOs and sockets are not even opened.

    OSError for what is none, ``follow`` False: also for a link.
    """
    try:
        real = (
            os.path.realpath(path)
            if follow
            else os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        )
        mode = os.lstat(real).st_mode
    except ValueError as error:  # NUL in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if real.startswith(_MADE_BY_KERNEL) or not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # it was replaced meanwhile
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    return descriptor


def read_regular(path: str | Path, most: int, *, follow: bool = True) -> bytes:
    """The first ``most`` bytes of an ordinary file. OSError for what is none, as ``open_regular``."""
    with open(open_regular(path, follow=follow), "rb") as file:
        return file.read(most)


def read_whole(path: str | Path, most: int) -> bytes:
    """All of an ordinary file. OSError for what is none, as ``open_regular``, or is larger than ``most`` bytes."""
    text = read_regular(path, most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB", str(path))
    return text
