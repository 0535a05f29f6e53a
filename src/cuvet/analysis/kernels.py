"""Finds the PTX of the kernels that a recorded process launched, and what it says about the memory that they touch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cuvet.analysis.calls import RecordedCall
from cuvet.analysis.code import MOST_BYTES, newest_text
from cuvet.image import elf
from cuvet.image.errors import ImageError
from cuvet.image.source import opened
from cuvet.kernels import Dimensions, Program
from cuvet.kernels.extent import spans_of
from cuvet.kernels.thread import Span
from cuvet.kernels.use import KernelUse, use_of
from cuvet.model import Arguments, Function, Object
from cuvet.recording import Recording
from cuvet.recording.records import Code
from cuvet.recording.symbols import demangle, parameter_types

_MOST_FOLLOWED = 10_000
_MOST_FOLLOWED_OF_ONE = 256
"""Launches of a kernel with other arguments, or in another geometry: each costs about as much as a thousand other calls."""
_MOST_IN_VAIN = 4
"""Launches of a kernel that could not be followed to their ends: then no others are."""


class RecordedKernels:
    """What ``cuvet.model.touching.Kernels`` asks for."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._programs: dict[Object, Program | None] = {}
        self._uses: dict[Function, KernelUse | None] = {}
        self._spans: dict[tuple[Function, bytes, Dimensions, Dimensions], tuple[Span, ...] | None] = {}
        self._followed: Counter[Function] = Counter()
        self._in_vain: Counter[Function] = Counter()
        self.left_out: Counter[str] = Counter()
        """Launches of which it is not known what they touch, since there were too many that differ; by the symbol of the kernel."""

    def name(self, function: Function) -> str:
        """As C++ writes it."""
        return demangle(function.symbol)

    def parameters(self, function: Function) -> tuple[str, ...]:
        """The types of its parameters, as C++ writes them; none if its name does not tell."""
        return parameter_types(function.symbol)

    def use(self, function: Function) -> KernelUse | None:
        """What is known of the kernel's code; None if nothing is."""
        if function not in self._uses:
            program = self._program(function)
            self._uses[function] = use_of(program, function.symbol) if program is not None else None
        return self._uses[function]

    def without_code(self) -> list[Function]:
        """Those that were launched, and of whose code nothing is known."""
        return [function for function, use in self._uses.items() if use is None and function.alive]

    def spans(
        self, function: Function, arguments: Arguments, grid: Dimensions, block: Dimensions
    ) -> tuple[Span, ...] | None:
        """Of a launch. A program repeats most of its launches: each is followed once. Nothing if it is not followed since there were too
        many others: that such a launch touches all that it might would be a guess."""
        program = self._program(function)
        if program is None or self._in_vain[function] >= _MOST_IN_VAIN:
            return None
        key = (function, arguments.data, grid, block)
        if key not in self._spans:
            if self._followed[function] >= _MOST_FOLLOWED_OF_ONE or len(self._spans) >= _MOST_FOLLOWED:
                self.left_out[function.symbol] += 1
                return ()
            found = self._spans[key] = spans_of(program, function.symbol, arguments.each(), grid, block)
            self._followed[function] += 1
            self._in_vain[function] = 0 if found is not None else self._in_vain[function] + 1
        return self._spans[key]

    def _program(self, function: Function) -> Program | None:
        module = function.parent
        if module is None:
            return None
        if module not in self._programs:
            self._programs[module] = self._find(module)
        return self._programs[module]

    def _find(self, module: Object) -> Program | None:
        made = module.created_by
        code = self._recording.code.get((made.thread, made.number)) if isinstance(made, RecordedCall) else None
        try:
            data = b"" if code is None else code.data or self._in_file(code)
            return newest_text(data)
        except (ImageError, OSError):
            return None

    def _in_file(self, code: Code) -> bytes:
        """The bytes of the file that was mapped at the code's address; nothing if it is not found there."""
        module = next((each for each in self._recording.modules if each.start <= code.address < each.end), None)
        if module is None or code.total > MOST_BYTES:
            return b""
        address = code.address - module.bias
        with opened(Path(module.path)) as file:
            for section in elf.parse(file).sections:
                if section.address <= address < section.address + section.contents.size:
                    return section.contents.read(address - section.address, code.total)
        return b""
