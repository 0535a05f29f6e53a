"""Demangles C++ names with libstdc++, which has no limit for how much a short name stands for: a part of it may be named again and
again. Run as a program, it demangles one name a line, and dies of one that takes too much. It needs no package.
"""

from __future__ import annotations

import ctypes
import resource
import signal
import sys
from functools import cache
from typing import Any

MOST_MEMORY = 32 << 20
"""Bytes of the program, beyond those of the interpreter."""
MOST_PROCESSOR_S = 0.5
"""For one name. SIGPROF ends the program."""
MOST_PROCESSOR_OF_ALL_S = 5
"""For all names: those of a GiB of libraries take less. SIGXCPU ends the program."""
MOST_ANSWER = 1 << 16
"""Bytes. The answer of a longer one, and of what is no name of C++, is empty."""


@cache
def _functions() -> tuple[Any, Any]:
    demangle, free = ctypes.CDLL("libstdc++.so.6").__cxa_demangle, ctypes.CDLL(None).free
    demangle.restype = ctypes.c_void_p
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free.argtypes, free.restype = [ctypes.c_void_p], None
    return demangle, free


def demangled(symbol: bytes) -> bytes:
    """What the name stands for, whatever that takes. OSError without libstdc++."""
    demangle, free = _functions()
    address = demangle(symbol, None, None, None)
    name = ctypes.string_at(address) if address else b""
    free(address)
    return name if len(name) <= MOST_ANSWER else b""


def main() -> None:
    _functions()
    with open("/proc/self/statm", "rb") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    for limit, most in (
        (resource.RLIMIT_AS, used + MOST_MEMORY),
        (resource.RLIMIT_CPU, MOST_PROCESSOR_OF_ALL_S),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, MOST_PROCESSOR_S)
        name = demangled(line.rstrip(b"\n"))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(name + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
