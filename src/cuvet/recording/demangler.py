"""A process that demangles C++ names, one a line, and dies of a name that takes too much.

What a short name stands for can be of any size, since a part of it may be named again and again; libstdc++ has no limit for that.
``symbols.demangle`` runs this file, and nothing else imports it: it needs no package.
"""

from __future__ import annotations

import ctypes
import resource
import signal
import sys

MOST_MEMORY = 32 << 20
"""Bytes, beyond those of the interpreter."""
MOST_PROCESSOR_S = 0.5
"""For one name. SIGPROF ends the process."""
MOST_PROCESSOR_OF_ALL_S = 5
"""For all names: those of a GiB of libraries take less. SIGXCPU ends the process."""
MOST_ANSWER = 1 << 16
"""Bytes. The answer of a longer one, and of what is no name of C++, is empty."""


def main() -> None:
    library = ctypes.CDLL("libstdc++.so.6")
    demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
    demangle.restype = ctypes.c_void_p
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free.argtypes, free.restype = [ctypes.c_void_p], None
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
        address = demangle(line.rstrip(b"\n"), None, None, None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        name = ctypes.string_at(address) if address else b""
        free(address)
        sys.stdout.buffer.write((name if len(name) <= MOST_ANSWER else b"") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
