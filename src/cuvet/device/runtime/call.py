"""A runtime call on its way through the emulated runtime, which answers it with driver calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import msgspec

from cuvet.catalog import Catalog, EntryPoint, status_value
from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as runtime_catalog
from cuvet.catalog.results import of_runtime
from cuvet.device.defects import defect
from cuvet.device.driver.answer import answer
from cuvet.device.foreknown import request_of
from cuvet.device.invocation import BadAddress, Refused, read, words, write
from cuvet.device.process import ClientProcess, Thread
from cuvet.device.protocol import Command, Op, ProtocolError, Request, Steps
from cuvet.device.runtime.registration import Registry

_SCRATCH_BYTES = 4096
_PER_THREAD_STREAM = 2
_STREAMS = ("stream", "hStream")
_CALL_DRIVER = Op.CALL_DRIVER


def error(name: str) -> int:
    """Number of a cudaError_t."""
    return status_value("runtime", name)


INVALID_VALUE = error("cudaErrorInvalidValue")


@cache
def _number(name: str) -> int:
    return driver_catalog()[name].id


@cache
def release(major: int) -> str:
    """The CUDA release of that major version that the catalog knows: ``12.9``."""
    return next(version for version in runtime_catalog().versions if version.startswith(f"{major}."))


class RuntimeCall(msgspec.Struct, eq=False):
    """``words`` of the signature that was called, at the positions that ``index`` tells by parameter name; ``structs`` are those passed by
    value."""

    entry_point: EntryPoint
    index: Mapping[str, int]
    words: tuple[int, ...]
    structs: dict[str, bytes]
    thread: Thread
    major: int
    scratch_used: int = 0

    @classmethod
    def of(cls, thread: Thread, request: Request, entry_point: EntryPoint, index: Mapping[str, int]) -> RuntimeCall:
        """``index``: the positions of the parameters of the signature that was called."""
        given, structs = request.words, request.structs
        if request.per_thread:
            streams = [index[name] for name in _STREAMS if name in index]
            given = tuple(word or _PER_THREAD_STREAM if at in streams else word for at, word in enumerate(given))
        by_name = {name: structs[at] for name, at in index.items() if at in structs} if structs else {}
        return cls(entry_point, index, given, by_name, thread, request.major)

    def also(self, **words: int) -> None:
        """As if these parameters, which the signature does not have, had been passed too."""
        self.index = {**self.index, **{name: len(self.words) + more for more, name in enumerate(words)}}
        self.words += tuple(words.values())

    @property
    def process(self) -> ClientProcess:
        return self.thread.process

    @property
    def registry(self) -> Registry:
        return self.thread.process.registry

    @property
    def device(self) -> int:
        """The device that this thread chose; 0 if it did not."""
        return self.thread.device

    def __getitem__(self, name: str) -> int:
        return self.words[self.index[name]]

    def get(self, name: str, otherwise: int = 0) -> int:
        """The word; ``otherwise`` if the signature has no such parameter."""
        at = self.index.get(name)
        return otherwise if at is None else self.words[at]

    def signed(self, name: str) -> int:
        """The word as a C int."""
        word = self[name] & 0xFFFFFFFF
        return word - (1 << 32) if word >> 31 else word

    def integers(self, name: str) -> tuple[int, ...]:
        """The 32-bit members of a struct passed by value: a dim3, a cudaMemLocation."""
        return tuple(words(self.structs[name], 4))

    def sizes(self, name: str) -> tuple[int, ...]:
        """The 64-bit members of a struct passed by value: a cudaExtent, a cudaPitchedPtr."""
        return tuple(words(self.structs[name]))

    def driver(self, name: str, *given: int) -> Steps[None]:
        """Call the driver, through the shim's wrapper. Refused, with the status as the runtime tells it, if it failed. What the wrapper
        will ask is answered here if it is known."""
        thread, called = self.thread, (_number(name), *given)
        link = thread.link
        request = None if link is None else request_of(thread, called)
        if link is None or request is None:
            status = (yield Command(_CALL_DRIVER, called)).word & 0xFFFFFFFF
        else:
            outer = link.begin(called)
            try:
                status = yield from answer(thread, request)
            except ProtocolError:
                raise
            except Exception as error:
                status = defect(error)
            link.end(outer, status)
        if status:
            raise Refused(of_runtime(status))

    def scratch(self, size: int = 8) -> Steps[int]:
        """Address of ``size`` bytes of the program's memory for the length of this call."""
        memory, used = self.thread.scratch, self.scratch_used
        if not memory.address:
            memory.begin((yield Command(Op.SCRATCH, (_SCRATCH_BYTES,))).word, _SCRATCH_BYTES)
        self.scratch_used = used + (size + 15 & ~15)
        if self.scratch_used > _SCRATCH_BYTES:
            raise ValueError(f"a runtime call needs more than {_SCRATCH_BYTES} bytes of scratch memory")
        return memory.address + used

    def lay_down(self, data: bytes) -> Steps[int]:
        """Address of a copy of the bytes in scratch memory."""
        address = yield from self.scratch(len(data))
        yield from write(address, data)
        return address

    def ask(self, name: str, *given: int) -> Steps[int]:
        """Call the driver with a scratch word as its first argument: the word that it wrote. Refused if it failed."""
        repeated = self.repeat(name, *given)
        if repeated is not None:
            return repeated
        thread, used = self.thread, self.scratch_used
        address = yield from self.scratch()
        yield from self.driver(name, address, *given)
        self.scratch_used = used
        known = thread.scratch.read(address, 8)
        return int.from_bytes((yield from read(address, 8)) if known is None else known, "little")

    def repeat(self, name: str, *given: int) -> int | None:
        """The word that ``ask`` returns, if that is known: the question is sent with its answer."""
        thread = self.thread
        address = thread.scratch.address
        if thread.link is None or not address or self.scratch_used == _SCRATCH_BYTES:
            return None
        return thread.link.repeat(thread, (_number(name), address + self.scratch_used, *given))

    def struct(self, address: int, name: str) -> Steps[Members]:
        """The runtime's struct at an address of the program. BadAddress if it is not there."""
        if not address:
            raise BadAddress(name)
        layout = runtime_catalog().struct(name, release(self.major))
        return Members(runtime_catalog(), name, (yield from read(address, layout.bytes)))


@dataclass(frozen=True, slots=True)
class Members:
    """A struct's bytes, read by member."""

    catalog: Catalog
    name: str
    data: bytes

    def __getitem__(self, path: str) -> int:
        return self.catalog.member(self.name, self.data, path)


def pack(name: str, **members: int) -> bytes:
    """Bytes of a driver struct; a double underscore stands for a dot."""
    return driver_catalog().pack(name, members)
