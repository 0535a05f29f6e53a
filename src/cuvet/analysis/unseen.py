"""What a recording does not show, in sentences for the report."""

import errno
from collections.abc import Iterator

from cuvet.recording import Recording
from cuvet.recording.layout import NoteCode
from cuvet.signals import error_text

_STOPPED = {
    0: "had reached its size limit",
    errno.EFBIG: "could not grow beyond the program's limit on the size of files (ulimit -f)",
    errno.ENOSPC: "could not grow: the disk is full",
    errno.ENOSYS: "had used up the space that was reserved before the program restricted its system calls (prctl, seccomp)",
    errno.EDQUOT: "could not grow: the user's disk quota is used up",
}
"""Why recordings stopped growing, by errno."""
_CLOSED = (errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS, errno.ESTALE)
"""Errors of opening a recording again."""


_UNGUARDED = {
    "mprotect": "some memory could not be guarded: the system refuses mprotect for it",
    "sigaction": "memory was not guarded any more after the program had set a handler of SIGSEGV past the C library",
}
"""Why memory was touched unseen."""


def not_seen(recording: Recording) -> Iterator[str]:
    """What is missing from the recording of a process, or damaged."""
    for problem in recording.problems:
        yield f"the recording is damaged: {problem}"
    dropped = int(recording.header["dropped"])
    if dropped:
        yield f"{dropped} records of process {recording.pid} were dropped{_since(recording)}: {_why_stopped(recording)}"
    for note in recording.notes:
        if note.code == NoteCode.BYPASSED:
            yield f"process {recording.pid} loaded {note.text} past cuvet: calls through it were not seen"
        if note.code == NoteCode.UNGUARDED:
            yield f"process {recording.pid}: {_UNGUARDED.get(note.text, note.text)}"
        if note.code == NoteCode.EMULATED:
            yield f"process {recording.pid}: {note.text}"
        if note.code == NoteCode.NOT_AWAITED:
            yield (
                f"process {recording.pid}: --narrow waited for no launch from number {note.text} on, whose kernel did not end within 10 "
                "seconds: it may wait for what the program does later"
            )


def _since(recording: Recording) -> str:
    stop = recording.stop
    return f", from {stop.time_ns / 1e9:.3f} s after its first call on" if stop else ""


def _why_stopped(recording: Recording) -> str:
    error = recording.stop.error if recording.stop else 0
    if error in _CLOSED:
        return f"the program closed its recording, which could not be opened again ({error_text(error)})"
    return f"its recording {_STOPPED.get(error) or f'could not grow ({error_text(error)})'}"
