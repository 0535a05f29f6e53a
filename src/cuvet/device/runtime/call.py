"""A runtime call on its way through the emulated runtime, which answers it with driver calls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cuvet.catalog import Catalog, EntryPoint, status_value
from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as runtime_catalog
from cuvet.device.invocation import BadAddress, Refused, read, words, write
from cuvet.device.process import ClientProcess, Thread
from cuvet.device.protocol import Command, Op, Request, Steps
from cuvet.device.runtime.registration import Registry

_SCRATCH_BYTES = 4096
_PER_THREAD_STREAM = 2
_STREAMS = ("stream", "hStream")
_CALL_DRIVER = Op.CALL_DRIVER


def error(name: str) -> int:
    """Number of a cudaError_t."""
    return status_value("runtime", name)


INVALID_VALUE = error("cudaErrorInvalidValue")
INVALID_RESOURCE_HANDLE = error("cudaErrorInvalidResourceHandle")
_CONTEXT_IS_DESTROYED = error("cudaErrorContextIsDestroyed")


@cache
def _number(name: str) -> int:
    return driver_catalog()[name].id


@cache
def release(major: int) -> str:
    """The CUDA release of that major version that the catalog knows: ``12.9``."""
    return next(version for version in runtime_catalog().versions if version.startswith(f"{major}."))


@dataclass(slots=True, eq=False)
class RuntimeCall:
    """``words`` by parameter name, of the signature that was called; ``structs`` are those passed by value."""

    entry_point: EntryPoint
    words: dict[str, int]
    structs: dict[str, bytes]
    thread: Thread
    major: int
    scratch_used: int = 0

    @classmethod
    def of(cls, thread: Thread, request: Request, entry_point: EntryPoint, parameters: tuple[str, ...]) -> RuntimeCall:
        """``parameters``: the names of those of the signature that was called."""
        given = dict(zip(parameters, request.words, strict=True))
        structs = {parameters[position]: data for position, data in request.structs.items()} if request.structs else {}
        if request.per_thread:
            for name in _STREAMS:
                if given.get(name) == 0:
                    given[name] = _PER_THREAD_STREAM
        return cls(entry_point, given, structs, thread, request.major)

    @property
    def process(self) -> ClientProcess:
        return self.thread.process

    @property
    def registry(self) -> Registry:
        if self.process.registry is None:
            self.process.registry = Registry()
        return self.process.registry

    @property
    def device(self) -> int:
        """The device that this thread chose; 0 if it did not."""
        return self.thread.device

    def __getitem__(self, name: str) -> int:
        return self.words[name]

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
        """Call the driver, through the shim's wrapper. Refused, with the status as the runtime tells it, if it failed."""
        answer = yield Command(_CALL_DRIVER, (_number(name), *given))
        status = answer.word & 0xFFFFFFFF
        if status:
            raise Refused(INVALID_RESOURCE_HANDLE if status == _CONTEXT_IS_DESTROYED else status)

    def scratch(self, size: int = 8) -> Steps[int]:
        """Address of ``size`` bytes of the program's memory for the length of this call."""
        memory = self.thread.scratch
        if not memory.address:
            memory.begin((yield Command(Op.SCRATCH, (_SCRATCH_BYTES,))).word, _SCRATCH_BYTES)
        address = memory.address + self.scratch_used
        self.scratch_used += -(-size // 16) * 16
        if self.scratch_used > _SCRATCH_BYTES:
            raise ValueError(f"a runtime call needs more than {_SCRATCH_BYTES} bytes of scratch memory")
        return address

    def lay_down(self, data: bytes) -> Steps[int]:
        """Address of a copy of the bytes in scratch memory."""
        address = yield from self.scratch(len(data))
        yield from write(address, data)
        return address

    def ask(self, name: str, *given: int) -> Steps[int]:
        """Call the driver with a scratch word as its first argument: the word that it wrote. Refused if it failed."""
        address = yield from self.scratch()
        yield from self.driver(name, address, *given)
        known = self.thread.scratch.read(address, 8)
        return int.from_bytes((yield from read(address, 8)) if known is None else known, "little")

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
