"""From the stack of a call to a Site: the API that the user called, and the frames worth showing, the user's own first."""

import os
import re
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, dropwhile, takewhile
from pathlib import Path
from typing import NamedTuple

from cuvet import catalog
from cuvet.catalog import EntryPoint
from cuvet.catalog.apis import SHARED_OBJECTS
from cuvet.findings import Frame, is_c_library
from cuvet.printable import valid
from cuvet.recording import layout
from cuvet.recording.generated_code import GeneratedCode
from cuvet.recording.records import Fault, HostAccess, SideTables, Stack
from cuvet.recording.symbols import STUB, NativeFrame, Symbols, demangle

MOST_FRAMES = 32
MOST_MEETINGS = 1 << 12
"""Pairs of stacks of which it is remembered where they meet."""

_MANGLED = re.compile(r"_ZL?(\d+)")
_STUB = re.compile(r"(?:_ZL?(\d+))?__device_stub_(_?\w+)")
"""Host code of ``kernel<<<…>>>``: ``_Z23__device_stub__Z4kernPiPi`` launches ``_Z4kernPi``; ``__device_stub__Z4kernPi`` if inlined."""
_RUNTIME_INTERNAL = ("libcudart_static_", "__cudart", "__cuda", "__wrapper__device_stub_", "__device_stub_")
_LAUNCHING = ("__cudaGetKernel", "__cudaLaunchKernel")
"""What the host code of ``kernel<<<…>>>`` calls, and what then calls the driver."""
_INTERPRETER = re.compile(r"(lib)?python\d|_ctypes\.|libffi\.")
_EXTENSION = re.compile(r"\.(cpython-[^/]*|abi3)\.so$")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_STANDARD_LIBRARY = re.compile(r"/lib(?:64)?/python\d+\.\d+/")
_HEADERS = frozenset({"cuda_runtime.h", "cuda_runtime_api.h"})
"""Of CUDA: their templates pass on calls, as cudaLaunchKernelEx does to cudaLaunchKernelExC."""
_BINDINGS = frozenset({"cuda", "cuvet"})
"""Packages of Python that pass on the calls of those who call them."""
_CUVET = str(Path(__file__).resolve().parent.parent) + os.sep


class Meeting(NamedTuple):
    """``frame``: the function in which two stacks meet; ``caller``: the return address to what called it; ``within``: the two places in it
    from which it called on."""

    frame: NativeFrame
    caller: int
    within: tuple[int, int]


class Sites:
    """Symbolises the stacks of one process. ``generated`` names what a runtime compiled while it ran."""

    def __init__(self, tables: SideTables, executable: str = "", generated: GeneratedCode | None = None) -> None:
        """``executable``: path of the program's own file; "" if it is not known."""
        self._tables = tables
        self._executable = executable
        self._symbols: dict[int, Symbols] = {}
        self._generated = generated
        self._called: dict[int, EntryPoint] = {}
        self.nameless = False
        """Whether a stack that was looked up has code that is in no file and has no name."""
        self._known: dict[int, tuple[str | None, tuple[Frame, ...]]] = {}
        self._apis: dict[int, str | None] = {}
        self._libraries: dict[int, bool] = {}
        self._meetings: dict[tuple[int, int], Meeting | None] = {}
        self._first: dict[int, int] = {}
        self._by_frames: dict[Stack, int] = {}

    def _symbols_of(self, stack: Stack) -> Symbols:
        """Of the files that were there when the stack was stored."""
        if stack.era not in self._symbols:
            self._symbols[stack.era] = Symbols(self._tables.modules, self._generated, stack.era)
        return self._symbols[stack.era]

    def first(self, stack: int) -> int:
        """The first stack that differs from this one at most inside the interpreter, which calls from another place as it specialises
        the same Python code."""
        if stack not in self._first:
            found = self._tables.stacks.get(stack)
            if found is None or not found.python:
                return stack
            native = tuple(a for a in found.native if not self._of_interpreter(a, found))
            outside = found._replace(native=native)
            self._first[stack] = self._by_frames.setdefault(outside, stack)
        return self._first[stack]

    def note(self, stack: int, entry_point: EntryPoint) -> None:
        """That this is what was called there."""
        self._called.setdefault(stack, entry_point)

    def find_generated(self) -> None:
        """Look up all code of the process that was made while it ran."""
        for stack in self._tables.stacks:
            self._find_generated(stack)

    def _find_generated(self, stack: int) -> None:
        """Names and lines, from the innermost frame outward that is of such code, to the first that is not."""
        if self._generated is None:
            return
        found = self._tables.stacks[stack]
        path = self._symbols_of(found).path
        outside = dropwhile(path, (address - 1 for address in found.native))
        addresses = list(takewhile(lambda address: not path(address), outside))
        if addresses:
            api = self.api(stack)
            called = catalog.runtime()[api] if api else self._called.get(stack)
            self._generated.place(addresses, frozenset(called.symbols) if called is not None else frozenset())

    def api(self, stack: int) -> str | None:
        """The runtime API function on that stack, without looking at the rest of it; None if the driver was called directly."""
        if stack not in self._tables.stacks:
            return None
        if stack not in self._apis:
            self._apis[stack] = _split(self._functions(self._tables.stacks[stack]))[0]
        return self._apis[stack]

    def outside(self, stack: int) -> Stack | None:
        """The stack without its frames inside of the runtime, which differ with what a runtime that is linked in asks."""
        found = self._tables.stacks.get(stack)
        if found is None:
            return None
        frames = sum(1 for _ in _split(self._functions(found))[1])
        return found._replace(native=found.native[len(found.native) - frames :])

    def library(self, stack: int) -> str | None:
        """The file whose code called CUDA on that stack, ``libtorch_cuda.so``; of Python and its extensions, the package."""
        found = self._tables.stacks.get(stack)
        if found is None:
            return None
        caller = next(self._outside(found), None)
        if caller is not None:
            return _package(caller.module) or valid(os.path.basename(caller.module)) or None
        return self._python_frame(*found.python[0]).module if found.python else None

    def files(self, stack: int) -> tuple[str, ...]:
        """The files whose code is on that stack, innermost first, that are still what they were, as far as symbols tell."""
        found = self._tables.stacks.get(stack)
        frames = self._functions(found) if found is not None else iter(())
        return tuple(dict.fromkeys(frame.module for frame in frames if frame.symbol and frame.module))

    def is_of_library(self, stack: int) -> bool:
        """Whether a shared library or a package of Python called CUDA on that stack, not the program's own code. False if unknown."""
        found = self._tables.stacks.get(stack)
        if found is None or not self._executable:
            return False
        if stack not in self._libraries:
            self._libraries[stack] = self._is_called_by_library(found)
        return self._libraries[stack]

    def _is_called_by_library(self, found: Stack) -> bool:
        modules = (frame.module for frame in self._outside(found) if not is_c_library(frame.module))
        module = next((module for module in modules if _package(module) not in _BINDINGS), None)
        if module is not None:
            return bool(module) and module != self._executable
        packages = (self._python_frame(*frame).module for frame in found.python)
        return next((package for package in packages if package not in _BINDINGS), None) is not None

    def _outside(self, stack: Stack) -> Iterator[NativeFrame]:
        """Native frames outside of CUDA, without the interpreter's own if Python called."""
        native = (a for a in stack.native if not (stack.python and self._of_interpreter(a, stack)))
        return _split(self._functions(stack, native))[1]

    def _functions(self, stack: Stack, addresses: Iterable[int] | None = None) -> Iterator[NativeFrame]:
        """At return addresses of a stack; by default all of its."""
        function = self._symbols_of(stack).function
        return (function(address - 1) for address in (stack.native if addresses is None else addresses))

    def shared(self, stack: int, other: int) -> Meeting | None:
        """Where two stacks meet, if that is a function of a library which made both calls by code of its own file or NVIDIA's: one call
        of it can have made both. None if it has no name, or if a call came by the program's code, the interpreter's or another library."""
        if len(self._meetings) >= MOST_MEETINGS:
            self._meetings.clear()
        if (stack, other) not in self._meetings:
            self._meetings[stack, other] = self._meeting(self.outside(stack), self.outside(other))
        return self._meetings[stack, other]

    def _meeting(self, one: Stack | None, two: Stack | None) -> Meeting | None:
        if one is None or two is None or one.python != two.python or not self._executable:
            return None
        at, other = _meet(one.native, two.native)
        if not (at and other):
            return None
        inside = [*self._functions(one, one.native[:at]), *self._functions(two, two.native[:other])]
        frame = inside[at - 1]
        named = frame.symbol and frame.module and frame == inside[-1] and frame.module != self._executable
        own = all(each.module == frame.module or _is_nvidias(each.module) for each in inside)
        if not (named and own) or self._of_interpreter(one.native[at - 1], one):
            return None
        return Meeting(frame, one.native[at], (one.native[at - 1], two.native[other - 1]))

    def passes(self, stack: int, caller: int) -> bool:
        """Whether that return address is on the stack."""
        found = self._tables.stacks.get(stack)
        return found is not None and caller in found.native

    def is_called_by_driver(self, stack: int) -> bool:
        """Whether what called CUDA on that stack was called by the driver: a host function."""
        found = self._tables.stacks.get(stack)
        _, outside = _split(self._functions(found) if found is not None else iter(()))
        return any(os.path.basename(frame.module).startswith("libcuda.so") for frame in outside)

    def of_stack(self, stack: int) -> tuple[str | None, tuple[Frame, ...]]:
        """The runtime API function on that stack (None: the driver was called directly), and the frames outside of it."""
        if stack not in self._tables.stacks:
            return None, ()
        if stack not in self._known:
            self._find_generated(stack)
            self._known[stack] = self._resolve(self._tables.stacks[stack])
        return self._known[stack]

    def is_of_driver(self, access: HostAccess) -> bool:
        """Whether the driver touched memory, or a host function that it called. A stack begins in the signal handler."""
        found = self._tables.stacks.get(access.stack, Stack((), (), layout.LAST_ERA))
        at = found.native.index(access.instruction) + 1 if access.instruction in found.native else 0
        frames = self._functions(found, (access.instruction + 1, *found.native[at:]))
        return any(os.path.basename(frame.module).startswith("libcuda.so") for frame in frames)

    def of_fault(self, fault: Fault | HostAccess) -> tuple[Frame, ...]:
        """Frames from the instruction that faulted outward; its stack begins in the signal handler."""
        stack = self._tables.stacks.get(fault.stack, Stack((), (), layout.LAST_ERA))
        outside = stack.native[stack.native.index(fault.instruction) + 1 :] if fault.instruction in stack.native else ()
        native = chain(self._symbols_of(stack).frames(fault.instruction), self._callers(outside, stack))
        return self._frames(native, stack)

    def _resolve(self, stack: Stack) -> tuple[str | None, tuple[Frame, ...]]:
        api, outside = _split(self._callers(stack.native, stack))
        return api, self._frames(outside, stack)

    def _callers(self, addresses: Iterable[int], stack: Stack) -> Iterator[NativeFrame]:
        """Native frames of return addresses of a stack; of Python's callers, without the interpreter's own."""
        for address in addresses:
            if not (stack.python and self._of_interpreter(address, stack)):
                yield from self._symbols_of(stack).frames(address - 1)

    def _of_interpreter(self, address: int, stack: Stack) -> bool:
        return bool(_INTERPRETER.match(os.path.basename(self._symbols_of(stack).path(address))))

    def _frames(self, native: Iterable[NativeFrame], stack: Stack) -> tuple[Frame, ...]:
        python = [self._python_frame(code, line) for code, line in stack.python]
        found = list(_with_names(frame for frame in native if frame.symbol != STUB))
        self.nameless |= any(map(_is_nameless, found))
        shown = [_shown(frame) for frame in _without_start(found)]
        return tuple([*_users_first(python), *shown][:MOST_FRAMES])

    def _python_frame(self, code: int, line: int) -> Frame:
        known = self._tables.codes.get(code)
        if known is None:
            return Frame(function="?", line=line, module="?", language="python")
        return Frame(
            function=known.name, file=known.file, line=line, module=python_library(known.file), language="python"
        )


def _meet(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, int]:
    """Where two stacks of return addresses become alike, as far as they are known: the first place in each; 0 and 0 if nowhere."""
    places = {address: at for at, address in reversed([*enumerate(two)])}
    for at, address in enumerate(one):
        other = places.get(address)
        if other is not None and all(this == that for this, that in zip(one[at:], two[other:], strict=False)):
            return at, other
    return 0, 0


def _is_nvidias(module: str) -> bool:
    return os.path.basename(module).startswith(SHARED_OBJECTS)


def _package(module: str) -> str | None:
    """The package of Python that the file is an extension module of; None if it is no such."""
    return python_library(module) if _EXTENSION.search(module) else None


def _split(frames: Iterable[NativeFrame]) -> tuple[str | None, Iterator[NativeFrame]]:
    """Walk outward from the driver's wrapper while the frames are the shim's or the runtime's. Returns the runtime API function, and the
    frames outside, which are not looked at."""
    api: str | None = None
    kernel = ""
    frames = iter(frames)
    for frame in frames:
        name = _plain_name(frame.symbol)
        runtime = _runtime_api(name)
        kernel = _kernel_of_stub(frame.symbol) or kernel
        if runtime:
            api = runtime
        elif not (_internal(frame, name) or _is_kernel(frame, kernel)):
            return api, chain([frame], frames)
    return api, frames


def _kernel_of_stub(symbol: str) -> str:
    """Mangled name of the kernel that a stub launches; "" if it is no stub."""
    stub = _STUB.match(symbol)
    if not stub:
        return ""
    length = int(stub[1]) - len("__device_stub_") if stub[1] else len(stub[2])
    return stub[2][:length]


def _is_kernel(frame: NativeFrame, kernel: str) -> bool:
    """Whether the frame is the host function that stands for the kernel: the caller of its stub."""
    return bool(kernel) and frame.function == demangle(kernel)


def _plain_name(symbol: str) -> str:
    """The unqualified name in a C or a mangled C++ symbol of namespace scope."""
    mangled = _MANGLED.match(symbol)
    name = symbol[mangled.end() : mangled.end() + int(mangled[1])] if mangled else symbol
    return name.partition("<")[0]


@cache
def _runtime_api(name: str) -> str | None:
    """Canonical name of the runtime API function that a symbol stands for. What ``<<< >>>`` calls is one launch."""
    if name.startswith(_LAUNCHING):
        return "cudaLaunchKernel"
    if not name.startswith("cuda"):
        return None
    entry_point = catalog.runtime().by_symbol.get(re.sub(r"_pt[sd][sz]$", "", name))
    return entry_point.name if entry_point else None


def _internal(frame: NativeFrame, name: str) -> bool:
    """The runtime's own code, and the C library that it comes through (pthread_once)."""
    module = os.path.basename(frame.module)
    runtime = module.startswith(("libcuda.so", "libcudart.so", "libpthread")) or is_c_library(module)
    template = frame.function.startswith("cuda") and os.path.basename(frame.file or "") in _HEADERS
    return runtime or template or frame.symbol == STUB or name.startswith(_RUNTIME_INTERNAL)


def _is_nameless(frame: NativeFrame) -> bool:
    return not frame.module and frame.function.startswith("0x")


def _with_names(frames: Iterable[NativeFrame]) -> Iterator[NativeFrame]:
    """Of consecutive frames of code that is in no file and has no name, the first."""
    before = False
    for frame in frames:
        nameless = _is_nameless(frame)
        if not (nameless and before):
            yield frame
        before = nameless


def _without_start(frames: list[NativeFrame]) -> list[NativeFrame]:
    """Without what the C library does before main or a thread's function."""
    end = len(frames)
    while end and (frames[end - 1].symbol == "_start" or is_c_library(frames[end - 1].module)):
        end -= 1
    return frames[:end]


def _shown(frame: NativeFrame) -> Frame:
    cuda = bool(frame.file and frame.file.endswith((".cu", ".cuh")))
    return Frame(
        function=valid(frame.function),
        file=frame.file,
        line=frame.line,
        module=valid(frame.module) or None,
        language="cuda" if cuda else frame.language,
    )


def _users_first(frames: list[Frame]) -> list[Frame]:
    """The innermost frame of the user's own code, then the others as they are."""
    own = next((index for index, frame in enumerate(frames) if frame.module is None), 0)
    return [*frames[own : own + 1], *frames[:own], *frames[own + 1 :]]


@cache
def python_library(file: str) -> str | None:
    """The package that a Python file belongs to if it is not the user's own: ``torch``, ``cuvet``, ``python`` (the standard library)."""
    packaged = _LIBRARY.search(file)
    if packaged:
        return packaged[1].removesuffix(".py")
    if file.startswith(_CUVET):
        return "cuvet"
    standard = file.startswith(("<frozen", sysconfig.get_path("stdlib") + os.sep)) or _STANDARD_LIBRARY.search(file)
    return "python" if standard else None
