"""Runs a program once, on a device of its own, with faults or without, and says how it ended.

The process that does this has imported all that the emulated device needs: a device is a fork of it, which costs milliseconds.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import resource
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cuvet.device.__main__ import main as serve
from cuvet.device.listening import listening
from cuvet.inject.outcome import Ending
from cuvet.launch import environment, trace
from cuvet.meta import Meta
from cuvet.printable import valid

MOST_KEPT = 256 << 10
"""Bytes of what the program wrote to each of stdout and stderr."""
_POLL_S = 0.25
_GRACE_S = 0.5
"""For what the program has started to close its output when it has ended itself."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None)
_keeps_orphans = False
"""Whether all children of this process are those of a run."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Start:
    """How a program is started. ``own``: the user's environment. ``driver``: path of the real libcuda; None: the device is emulated."""

    argv: tuple[str, ...]
    path: str
    preload: bool
    own: Mapping[str, str]
    devices: int = 1
    memory: int = 1 << 30
    driver: str | None = None


@dataclass(frozen=True)
class Limits:
    """When a run counts as one that hangs. ``cpu_s``: of the program and its device together; ``idle_s``: so long nothing of it
    was running; ``wall_s``: whatever it does. ``recorded``: bytes that the recording of a process may have, unless the user says
    CUVET_LIMIT. No call fails once it is full, so that a loop of calls that fail must not fill it before it counts as one that hangs."""

    cpu_s: float = 300.0
    idle_s: float = 60.0
    wall_s: float = 600.0
    recorded: int = 128 << 20

    @classmethod
    def within(cls, budget_s: float | None) -> Limits:
        """For the first run."""
        most = cls()
        cpu_s, idle_s, wall_s = (min(each, budget_s or each) for each in (most.cpu_s, most.idle_s, most.wall_s))
        return cls(cpu_s, idle_s, wall_s)

    @classmethod
    def after(cls, usual: Ending, patience: int = 1) -> Limits:
        """For runs of a program that took as long as this one; ``patience`` times as much."""
        return cls(
            cpu_s=patience * max(4.0, 8 * usual.cpu_s),
            idle_s=patience * max(3.0, 3 * usual.wall_s),
            wall_s=patience * max(15.0, 20 * usual.wall_s),
            recorded=patience * cls.recorded,
        )


def run(start: Start, directory: Path, faults: str, limits: Limits) -> Ending:
    """``directory``: new, of the recording. ``faults``: as ``native/inject.h`` says, empty for none. CuvetError, OSError if the program
    cannot be started."""
    directory, told = trace.make(directory), tuple(map(valid, start.argv))
    trace.write_meta(directory, Meta(argv=told, device="real" if start.driver else "emulated"))
    with _device(start) as (device, variables), environment.links(directory) as links:
        given = environment.for_program(
            start.own,
            directory,
            record="full",
            inject=faults,
            driver=start.driver,
            device=variables,
            links=links,
            preload=start.preload,
        )
        given.setdefault("CUVET_LIMIT", str(limits.recorded))
        ending = _wait(start, given, device, limits)
    trace.write_meta(
        directory,
        Meta(
            argv=told,
            pid=ending.pid,
            device="real" if start.driver else "emulated",
            exit_code=ending.exit_code,
            signal=ending.signal,
        ),
    )
    return ending


@contextmanager
def _device(start: Start) -> Iterator[tuple[int, dict[str, str] | None]]:
    """The device's process (0: it is real), and the variables by which the shim finds it."""
    if start.driver:
        yield 0, None
        return
    with environment.private_directory() as place:
        path, name, key = place / "device", *(secrets.token_hex(16) for _ in range(2))
        variables = {"CUVET_DEVICE_SOCKET": str(path), "CUVET_DEVICE_KEY": f"cuvet-{name}:{key}"}
        with listening(str(path)) as listener, listening(f"\0cuvet-{name}") as hidden:
            sockets = (listener.fileno(), hidden.fileno())
            pid = os.fork()
            if pid == 0:
                end_with_parent()
                _serve(path, variables["CUVET_DEVICE_KEY"], start, sockets)
        try:
            yield pid, variables
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _serve(path: Path, key: str, start: Start, sockets: Sequence[int]) -> None:
    """The emulated device, in this process, which it ends."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.environ["CUVET_DEVICE_KEY"] = key
        os.environ[environment.PROTECT] = "1"  # the shim may not make a call
        options = ["--socket", str(path), "--devices", str(start.devices), "--memory", str(start.memory)]
        code = serve([*options, "--inherited", *map(str, sockets)])
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException as error:
        print(f"cuvet: the emulated device ended: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


@dataclass
class _Said:
    """The first and the last of what came from one descriptor, and a digest of all."""

    first: bytearray = field(default_factory=bytearray)
    last: bytearray = field(default_factory=bytearray)
    cut: bool = False
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def is_cut(self) -> bool:
        return self.cut or len(self.last) > MOST_KEPT // 2

    def add(self, data: bytes) -> None:
        self.digest.update(data)
        room = MOST_KEPT // 2 - len(self.first)
        self.first += data[:room]
        self.last += data[room:]
        if len(self.last) > MOST_KEPT:
            del self.last[: -MOST_KEPT // 2]
            self.cut = True

    def text(self) -> str:
        return (self.first + self.last[-MOST_KEPT // 2 :]).decode("utf-8", "replace")


def _wait(start: Start, variables: Mapping[str, str], device: int, limits: Limits) -> Ending:
    began = time.monotonic()
    process = _started(start, variables)
    assert process.stdout is not None
    assert process.stderr is not None
    said = {process.stdout.fileno(): _Said(), process.stderr.fileno(): _Said()}
    watch = _Watch(process.pid, device, limits, began, began)
    try:
        hung = _follow(process, said, watch)
        watch.looked = 0.0
        watch.hangs()  # once at the end, of a short run
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        _end_orphans(device)
        out, err = (said[each.fileno()] for each in (process.stdout, process.stderr))
        process.stdout.close()
        process.stderr.close()
    return Ending(
        pid=process.pid,
        exit_code=code if code >= 0 and not hung else None,
        signal=-code if code < 0 and not hung else None,
        hung=hung,
        wall_s=time.monotonic() - began,
        cpu_s=watch.cpu_s,
        stdout=out.text(),
        stderr=err.text(),
        cut=out.is_cut or err.is_cut,
        digest=out.digest.hexdigest() + err.digest.hexdigest(),
    )


def _started(start: Start, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """As execvp(3) does: a file of no known format is a script of the shell."""

    def start_as(argv: list[str], path: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            executable=path,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_of_this_process,
        )

    try:
        return start_as(list(start.argv), start.path)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    return start_as(["sh", start.path, *start.argv[1:]], "/bin/sh")


def _of_this_process() -> None:
    """Before the program is executed: it ends with this process, and leaves no core file where it was made to crash."""
    end_with_parent()
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def keep_orphans() -> None:
    """Let what processes of this one leave behind become its children, so that a run can end them."""
    global _keeps_orphans
    _keeps_orphans = _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def _end_orphans(device: int) -> None:
    """What the program has left running, in whatever session."""
    for number in _children() if _keeps_orphans else ():
        if number != device:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(number, 0)


def _children() -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return []


@dataclass
class _Watch:
    """Whether a run goes on. ``moved``: when it was last seen to do something. ``turns``: how often the device was woken."""

    session: int
    device: int
    limits: Limits
    began: float
    moved: float
    cpu_s: float = 0.0
    looked: float = 0.0
    turns: int = 0

    def hangs(self) -> bool:
        now = time.monotonic()
        if now - self.looked < _POLL_S:
            return False
        self.looked = now
        used, runs = _used(self.session, self.device)
        turns = _turns(self.device)
        if runs or used > self.cpu_s or turns != self.turns:
            self.moved = now
        self.turns = turns
        self.cpu_s = max(self.cpu_s, used)
        limits = self.limits
        return self.cpu_s > limits.cpu_s or now - self.moved > limits.idle_s or now - self.began > limits.wall_s


def _follow(process: subprocess.Popen[bytes], said: dict[int, _Said], watch: _Watch) -> bool:
    """Until the process has ended, or hangs: whether it does."""
    ended_at = None
    with selectors.DefaultSelector() as selector:
        for descriptor in said:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_POLL_S):
                data = os.read(key.fd, 1 << 16)
                said[key.fd].add(data)
                watch.moved = time.monotonic()
                if not data:
                    selector.unregister(key.fd)
            now = time.monotonic()
            if process.poll() is not None:
                ended_at = ended_at or now
                if now - ended_at > _GRACE_S:
                    return False
            elif now - watch.began > _POLL_S and watch.hangs():
                return True
    while process.poll() is None:  # it has closed its output, and goes on or is about to end
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)
        if process.poll() is None and watch.hangs():
            return True
    return False


def _turns(device: int) -> int:
    """How often the device's process has been given a processor: it is, when the program makes a call. 0 of a real device."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{device}/schedstat").read_text().split()[2]) if device else 0
    return 0


def _used(session: int, device: int) -> tuple[float, bool]:
    """Seconds of processor time of the processes of a session and of the device, and whether one of the session's can run."""
    ticks, runs = 0, False
    for path in Path("/proc").iterdir():
        if not path.name.isdecimal():
            continue
        with suppress(OSError, ValueError, IndexError):
            words = (path / "stat").read_text().rpartition(")")[2].split()
            if int(words[3]) == session or int(path.name) == device:
                ticks += int(words[11]) + int(words[12])
                runs |= words[0] == "R"
    return ticks / _TICKS, runs
