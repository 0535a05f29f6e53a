"""Plays random programs on the driver of this machine, each in a process of its own."""

import ctypes
import multiprocessing
import os
import queue
import random
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import Any

import msgspec

from cuvet.catalog import EntryPoint, Parameter, Signature, driver
from cuvet.conformance.log import Log
from cuvet.conformance.recording import Row, Session
from cuvet.sonames import DRIVER

TIMEOUT_S = 15.0
IMAGES = {
    "cuModuleLoadData": "image",
    "cuModuleLoadDataEx": "image",
    "cuLibraryLoadData": "code",
    "cuLinkAddData": "data",
}
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
_REGISTERS = {"cuMemHostRegister", "cuMemHostUnregister"}

Value = int | bytes | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A call to make on one of the program's threads. ``values`` by the parameter's name: numbers, the bytes of a struct, a string, or
    the numbers of an array (of ``kernelParams``: the 8-byte arguments). Parameters that are not there are outputs, or 0."""

    name: str
    values: dict[str, Value] = field(default_factory=dict)
    thread: int = 0


Work = queue.SimpleQueue[tuple[Step, "Future[Row]"]]
Generator = Callable[[random.Random, "Player"], None]


class Player:
    """Makes calls, one after the other, on threads that live as long as the program; tells each before and after it is made.
    Thread 0 is the one that asks for them.

    ``memory`` is host memory of the program: 1 MiB, page-aligned. ``host_function``: the address of a C function that takes one
    argument, which need not be a pointer, and calls nothing.
    """

    def __init__(self, tell: Callable[[Row | None], None]) -> None:
        self._library = ctypes.CDLL(DRIVER)
        self._tell = tell
        self._kept: list[object] = []
        self._threads: dict[int, Work] = {}
        self._written: dict[str, Any] = {}
        self.memory = (self.keep(bytes((1 << 20) + 4096)) + 4095) & ~4095
        self.host_function = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value or 0

    def begin(self) -> None:
        """What follows is another program of the same process."""
        self._tell(None)

    def run(self, step: Step) -> Row:
        """The call and how it ended. It does not return if the process dies in it."""
        if step.thread == 0:
            return self._call(step)
        done: Future[Row] = Future()
        self._thread(step.thread).put((step, done))
        return done.result()

    def keep(self, content: bytes) -> int:
        """Address of a copy that stays as long as the process."""
        buffer = ctypes.create_string_buffer(content, len(content))
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def written(self, parameter: str) -> bytes:
        """What stands now in the struct or array that the last call was given."""
        return bytes(self._written[parameter])

    def has(self, name: str) -> bool:
        """Whether this driver has that entry point."""
        return any(hasattr(self._library, symbol) for symbol in driver()[name].symbols)

    def _thread(self, number: int) -> Work:
        if number not in self._threads:
            self._threads[number] = queue.SimpleQueue()
            threading.Thread(target=self._work_through, args=(self._threads[number],), daemon=True).start()
        return self._threads[number]

    def _work_through(self, work: Work) -> None:
        while True:
            step, done = work.get()
            try:
                done.set_result(self._call(step))
            except Exception as defect:
                done.set_exception(defect)

    def _call(self, step: Step) -> Row:
        entry_point = driver()[step.name]
        symbol, signature = self._symbol(entry_point)
        words: dict[str, int] = {}
        arguments: list[Any] = []
        outputs: dict[int, tuple[ctypes.c_uint64, int]] = {}
        self._written = {}
        if unknown := step.values.keys() - entry_point.index.keys():
            raise ValueError(f"{step.name} has no parameter {', '.join(sorted(unknown))}")
        for parameter in signature.parameters:
            if parameter.name in step.values:
                argument, words[parameter.name] = self._argument(parameter, step.values[parameter.name])
            elif parameter.out:
                output = ctypes.c_uint64()
                outputs[entry_point.index[parameter.name]] = output, parameter.pointee_bytes or 8
                argument, words[parameter.name] = ctypes.byref(output), ctypes.addressof(output)
            else:
                argument = _word(parameter, 0)
            arguments.append(argument)
        row = _row(step, entry_point, words)
        self._tell(row)
        status = self._library[symbol](*arguments)
        results = {} if status else {index: _low(output.value, size) for index, (output, size) in outputs.items()}
        row = msgspec.structs.replace(row, status=status, outputs=results)
        self._tell(row)
        return row

    def _symbol(self, entry_point: EntryPoint) -> tuple[str, Signature]:
        """The newest symbol that this driver has. LookupError if it has none."""
        for symbol in (entry_point.symbol, *entry_point.symbols):
            signature = entry_point.signature(symbol)
            if signature is not None and hasattr(self._library, symbol):
                return symbol, signature
        raise LookupError(f"this driver has no {entry_point.name}")

    def _argument(self, parameter: Parameter, value: Value) -> tuple[Any, int]:
        if isinstance(value, int):
            return _word(parameter, value), value
        if parameter.abi == "struct":
            assert isinstance(value, bytes)
            return _by_value(value), 0
        buffer = self._written[parameter.name] = self._buffer(parameter, value)
        return buffer, ctypes.addressof(buffer)

    def _buffer(self, parameter: Parameter, value: bytes | str | tuple[int, ...]) -> Any:
        if parameter.name == "kernelParams" and isinstance(value, tuple):
            start = self.keep(b"".join(word.to_bytes(8, "little") for word in value or (0,)))
            value = tuple(start + 8 * i for i in range(max(1, len(value))))
        if isinstance(value, tuple):
            value = b"".join(word.to_bytes(parameter.pointee_bytes or 8, "little") for word in value) or b"\0"
        buffer = ctypes.create_string_buffer(value.encode() if isinstance(value, str) else value)
        self._kept.append(buffer)
        return buffer


def _row(step: Step, entry_point: EntryPoint, words: dict[str, int]) -> Row:
    image = step.values.get(IMAGES.get(step.name, ""), b"")
    parameters = step.values.get("kernelParams", ())
    inputs = {
        entry_point.index[name]: value.encode() if isinstance(value, str) else _array(entry_point, name, value)
        for name, value in step.values.items()
        if not isinstance(value, int) and name not in ("kernelParams", IMAGES.get(step.name))
    }
    return Row(
        thread=step.thread,
        name=step.name,
        args=tuple(words.get(parameter.name, 0) for parameter in entry_point.parameters),
        status=None,
        inputs=inputs,
        pointers=parameters if isinstance(parameters, tuple) else (),
        maps=_maps(step) if step.name in _REGISTERS else (),
        image=image if isinstance(image, bytes) else b"",
    )


def _array(entry_point: EntryPoint, name: str, value: bytes | tuple[int, ...]) -> bytes:
    if isinstance(value, bytes):
        return value
    size = entry_point.parameters[entry_point.index[name]].pointee_bytes or 8
    return b"".join(word.to_bytes(size, "little") for word in value)


def _maps(step: Step) -> tuple[str, ...]:
    """The lines of /proc/self/maps that touch the range, and their neighbours."""
    start, size = step.values.get("p", 0), step.values.get("bytesize", 1)
    assert isinstance(start, int) and isinstance(size, int)
    lines = Path("/proc/self/maps").read_text().splitlines()
    near = []
    for number, line in enumerate(lines):
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        if low < start + max(size, 1) and start < high:
            near += [number - 1, number, number + 1]
    return tuple(lines[number] for number in sorted(set(near)) if 0 <= number < len(lines))


def _word(parameter: Parameter, value: int) -> Any:
    if parameter.abi in ("float", "double"):
        return (ctypes.c_float if parameter.abi == "float" else ctypes.c_double)(value)
    unsigned = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[parameter.bytes]
    return unsigned(value & (1 << 8 * parameter.bytes) - 1)


def _by_value(content: bytes) -> ctypes.Structure:
    class ByValue(ctypes.Structure):
        _fields_ = [("content", ctypes.c_ubyte * len(content))]

    return ByValue.from_buffer_copy(content)


def _low(word: int, size: int) -> int:
    return word & (1 << 8 * size) - 1


def play(generate: Generator, seed: int) -> Session:
    """The programs of that seed, played in a forked child. It is stopped if a call does not return for TIMEOUT_S."""
    log = Log()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _play_and_exit(generate, seed, log)
    os.close(writing)
    ended = _wait(reading, log)
    os.close(reading)
    if not ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    session = _finished(seed, log.records(), os.WTERMSIG(status) if ended and os.WIFSIGNALED(status) else None)
    log.close()
    return session


def _play_and_exit(generate: Generator, seed: int, log: Log) -> None:
    code = 1
    errors = os.dup(2)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the driver and libc say when they die
        encode = msgspec.msgpack.Encoder().encode
        player = Player(lambda row: log.tell(encode(row), row is None or row.status is not None))
        generate(random.Random(seed), player)
        code = 0
    except Exception:
        os.write(errors, f"seed {seed}: {traceback.format_exc()}".encode())
    finally:
        os._exit(code)


def _wait(reading: int, log: Log) -> bool:
    """Until the child, which holds the other end, is gone; False if it stopped making progress."""
    told, deadline = -1, 0.0
    while not select.select([reading], [], [], TIMEOUT_S / 30)[0]:
        if log.told != told:
            told, deadline = log.told, time.monotonic() + TIMEOUT_S
        elif time.monotonic() > deadline:
            return False
    return True


def _finished(seed: int, records: Iterable[bytes], died_of: int | None) -> Session:
    """The rows after each call; of a call in which the process died, the row before it."""
    rows: list[Row] = []
    starts: list[int] = []
    decoder = msgspec.msgpack.Decoder(Row | None)
    entered = None
    for told in map(decoder.decode, records):
        entered = told if told is not None and told.status is None else None
        if told is None:
            starts.append(len(rows))
        elif told.status is not None:
            rows.append(told)
    hung = ""
    if entered is not None and died_of is not None:
        rows.append(msgspec.structs.replace(entered, signal=died_of))
    elif entered is not None:
        hung = entered.name
    return Session(seed, tuple(starts), tuple(rows), hung)


def record(generate: Generator, seeds: Iterable[int], jobs: int) -> Iterator[Session]:
    """The sessions of these seeds, ``jobs`` at a time, as they end. The seeds may be without end: closing this ends it."""
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        waiting: list[AsyncResult[Session]] = []
        for seed in seeds:
            waiting.append(pool.apply_async(play, (generate, seed)))
            while len(waiting) > 2 * jobs:
                yield from _ready(waiting)
        while waiting:
            yield from _ready(waiting)


def _ready(waiting: list[AsyncResult[Session]]) -> Iterator[Session]:
    """Those that have ended; they leave the list."""
    waiting[0].wait(0.02)
    for result in [result for result in waiting if result.ready()]:
        waiting.remove(result)
        yield result.get()
