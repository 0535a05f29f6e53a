"""What the kernel's log says of the NVIDIA driver since the last boot, where this user may read it."""

import errno
import os
import re
from functools import cache

from cuvet.doctor.machine import Machine

PLACES = ("/dev/kmsg", "/var/log/kern.log", "/var/log/messages")
_MOST_BYTES = 1 << 24
"""Read of a file's end."""
_BOOT = re.compile(r"\bLinux version \d")
_PREFIX = re.compile(r"^(?:\d+,\d+,\d+,[^;]*;|.*?\bkernel: (?:\[ *\d+\.\d+\] )?)")


@cache
def lines(machine: Machine) -> tuple[str, ...]:
    """The driver's own messages, each in one line, without time and host; nothing if no log can be read."""
    for place in PLACES:
        text = _text(machine, place)
        if text:
            return tuple(_of_driver(text))
    return ()


def _text(machine: Machine, place: str) -> str:
    try:
        if place == "/dev/kmsg" and machine.real:
            return _records()
        if not machine.is_file(place):
            return ""
        with machine.open(place) as file:
            file.seek(max(machine.stat(place).st_size - _MOST_BYTES, 0))
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _records() -> str:
    """All records of the kernel's ring buffer; each read gives one."""
    descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found: list[bytes] = []
    try:
        while sum(map(len, found[-1:])) or not found:
            try:
                found.append(os.read(descriptor, 1 << 13))
            except OSError as error:
                if error.errno != errno.EPIPE:  # a record that was overwritten meanwhile
                    break
    finally:
        os.close(descriptor)
    return b"".join(found).decode("utf-8", "replace")


def _of_driver(text: str) -> list[str]:
    """A sentence that goes on in the next message ("NVRM: installed in this system …") is joined to its beginning."""
    found: list[str] = []
    for line in text.splitlines():
        message = _PREFIX.sub("", line).strip()
        if _BOOT.search(message):
            found = []
        elif re.match(r"NVRM: +[a-z]|NVRM:  ", message) or (message.startswith("NVRM: BAR") and found):
            if found:
                found[-1] += " " + message.removeprefix("NVRM:").strip()
        elif message.startswith(("NVRM:", "nvidia ", "nvidia:")) or "module" in message.lower():
            found.append(message)
    return found
