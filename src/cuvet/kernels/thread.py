"""One thread on its way through a kernel."""

from dataclasses import dataclass, field
from typing import NamedTuple

from cuvet.kernels.text import Address, Function, Instruction, Operand, Program
from cuvet.kernels.values import Block, Pointer, Value

_MOST_FRAMES = 16


class Span(NamedTuple):
    """Bytes [start, end) that a thread reads or writes; ``atomic``: as one operation. ``partly``: of several threads, at least these."""

    start: int
    end: int
    writes: bool
    atomic: bool = False
    partly: bool = False


Place = tuple[str, int]
"""An instruction: its function, and its position there."""


class Ended(Exception):
    """The thread ends here, or what it does from here on is not known."""


@dataclass(slots=True, eq=False)
class Frame:
    """A function that is being carried out. ``results`` are the caller's names for what it returns."""

    function: Function
    position: int = 0
    registers: dict[str, Value] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)
    results: tuple[Operand, ...] = ()

    def block(self, name: str) -> Block:
        """The parameter or local variable of that name."""
        return self.blocks.setdefault(name, Block())


@dataclass(slots=True, eq=False)
class Thread:
    """``special``: values of special registers. ``accesses``: the first address in each page of memory that the thread certainly
    accesses, by page, in order. ``trapped``: status that its end gives the context, 0 if it does not. ``misaligned``: the address at which
    it ends since it is no multiple of the size of the access, and that size."""

    program: Program
    special: dict[str, int]
    frames: list[Frame]
    page_bits: int
    accesses: dict[int, int] = field(default_factory=dict)
    trapped: int = 0
    misaligned: tuple[int, int] | None = None
    touched: dict[tuple[Place, Span], None] = field(default_factory=dict)
    """All that it certainly accesses, in order, and by which instruction."""
    finished: bool = False
    """It came to its end: there is nothing more that it does."""

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def value(self, operand: Operand) -> Value:
        if isinstance(operand, int):
            return operand
        if not isinstance(operand, str):
            return None
        frame = self.frames[-1]
        known = frame.registers.get(operand)
        if known is None and operand in frame.function.variables:
            return Pointer(frame.block(operand), 0)
        return self.special.get(operand) if known is None else known

    def assign(self, operand: Operand, value: Value) -> None:
        """To several registers nothing is assigned but that their values are unknown."""
        if isinstance(operand, str):
            self.frames[-1].registers[operand] = value
        elif isinstance(operand, tuple):
            for each in operand:
                self.assign(each, None)

    def address(self, operand: Operand) -> Value:
        if not isinstance(operand, Address):
            return None
        base = self.value(operand.base)
        if isinstance(base, Pointer):
            return Pointer(base.block, base.offset + operand.offset)
        return None if base is None else base + operand.offset & 0xFFFFFFFFFFFFFFFF

    def touch(self, address: int, size: int, writes: bool, atomic: bool = False) -> None:
        """The thread accesses memory there. Ended if the address is not aligned."""
        if address % size:
            self.misaligned = (address, size)
            raise Ended  # another error than that of an address without memory
        self.accesses.setdefault(address >> self.page_bits, address)
        place = (self.frame.function.name, self.frame.position)
        self.touched[place, Span(address, address + size, writes, atomic)] = None

    def forget_local(self) -> None:
        """Any local variable may have been written."""
        for frame in self.frames:
            for block in frame.blocks.values():
                block.forget()

    def jump(self, label: Operand) -> None:
        position = self.frame.function.labels.get(label, -1) if isinstance(label, str) else -1
        if position < 0:
            raise Ended
        self.frame.position = position

    def call(self, instruction: Instruction) -> None:
        """``call (results), name, (arguments)``."""
        operands = list(instruction.operands)
        results = operands.pop(0) if operands and isinstance(operands[0], tuple) else ()
        name = operands[0] if operands else None
        arguments = operands[1] if len(operands) > 1 and isinstance(operands[1], tuple) else ()
        assert isinstance(results, tuple)
        if not isinstance(name, str):
            raise Ended
        function = self.program.function(name)
        if function is None:
            self._call_outside(name, results)
            return
        if len(self.frames) >= _MOST_FRAMES or len(arguments) != len(function.parameters):
            raise Ended
        frame = Frame(function, results=results)
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            frame.blocks[parameter] = self._given(argument)
        self.frames.append(frame)

    def _given(self, argument: Operand) -> Block:
        """A copy of the caller's parameter. Registers given directly are not known in the callee."""
        given = self.frame.blocks.get(argument) if isinstance(argument, str) else None
        return Block() if given is None else Block(dict(given.known), dict(given.pointers))

    def _call_outside(self, name: str, results: tuple[Operand, ...]) -> None:
        """Of the functions of the system, some return a value that is not known, and change nothing else."""
        if name == "__assertfail":
            self.trapped = ASSERT
            raise Ended
        if name not in _HARMLESS:
            raise Ended
        for result in results:
            self._returned(result, Block())

    def leave(self) -> None:
        """Return from the function. Ended if it is the kernel."""
        frame = self.frames.pop()
        if not self.frames:
            self.finished = True
            raise Ended
        for name, result in zip(frame.function.returns, frame.results, strict=False):
            self._returned(result, frame.block(name))

    def _returned(self, result: Operand, block: Block) -> None:
        if isinstance(result, str):
            self.frame.blocks[result] = block
            self.frame.registers.pop(result, None)


ASSERT = 710
"""CUDA_ERROR_ASSERT: a device-side assert triggered during kernel execution (CUDA Driver API, CUresult)."""
_HARMLESS = frozenset({"vprintf", "malloc", "free"})
