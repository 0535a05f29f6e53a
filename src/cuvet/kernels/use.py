"""What kernels do with the memory that their parameters point to, from PTX.

The flow of data is followed without regard to the order of instructions: a register may hold whatever any instruction puts there. An
address that comes from several parameters counts as one of each: what is not a pointer is found out when the kernel is launched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cuvet.kernels.text import Address, Function, Instruction, Operand, Program

_WORD = 8
_MOST_CALLS = 8
"""How deep functions call each other that are followed."""
_MOST_ROUNDS = 20
_TOUCHING = {
    "ld": (False,),
    "ldu": (False,),
    "st": (True,),
    "red": (False, True),
    "atom": (False, True),
}
"""Instructions that access memory, and whether they write there."""
_COPIES = frozenset({"cp", "multimem", "tcgen05"})
"""Instructions of which any operand may be the address of memory that is read or written."""
_NO_MEMORY = frozenset({"shared", "local", "const", "param", "tex", "surf"})
_OF_SYSTEM = frozenset({"sys", "mmio"})
_WAITING = frozenset({"volatile", "relaxed", "acquire"})
_PLACES = ("%tid", "%ctaid", "%laneid", "%warpid")
_HARMLESS = frozenset({"vprintf", "__assertfail", "malloc", "free"})


ANY = -1


class Use(NamedTuple):
    """What is done with memory that the 8 bytes of ``parameter`` from ``offset`` on point to; ``ANY``: one of its words, or several.
    ``atomic``: as one operation. ``indexed``: at a place that depends on other parameters too, or on what is found in memory."""

    parameter: int
    offset: int
    writes: bool
    atomic: bool = False
    indexed: bool = False


@dataclass(frozen=True, slots=True)
class KernelUse:
    """``uses``: all words of the parameters through which a kernel may access memory. ``elsewhere``: it may also access memory through
    pointers that it finds in memory, or in a way that is not understood. ``tells``: it accesses memory as code does that agrees with the
    host while it runs: volatile, or in the scope of the system. ``waits``: it reads memory in a way (volatile, relaxed, acquire) that may
    wait for what other work writes."""

    uses: frozenset[Use] = frozenset()
    elsewhere: bool = False
    tells: bool = False
    waits: bool = False


Origin = tuple[int, int]
"""A word of the kernel's parameters: parameter and offset."""
_LOADED: Origin = (-1, 0)
"""Instead of a word: something that was found in memory."""


def use_of(program: Program, name: str) -> KernelUse | None:
    """None if the text does not define the kernel."""
    function = program.function(name)
    if function is None:
        return None
    flow = _Flow(program)
    given = [_Given(number=number) for number in range(len(function.parameters))]
    flow.follow(function, given, 0)
    found = {Use(*origin, *how) for origin, *how in flow.touched if origin != _LOADED}
    counters = {(each.parameter, each.offset) for each in found if each.writes and each.atomic}
    uses = (
        each._replace(atomic=True) if not each.writes and (each.parameter, each.offset) in counters else each
        for each in found
    )  # a loop of compare-and-swap begins with a plain read
    return KernelUse(frozenset(uses), flow.elsewhere, flow.tells, flow.waits)


def chooses_by_arguments(function: Function) -> bool:
    """Whether a branch may depend on its parameters, or on what it loads, and not on the thread's place: all threads may leave out an
    access then. What it calls is not looked at, and so may choose."""
    varying: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        before = len(varying)
        for instruction in function.code:
            if any(name in varying or name.startswith(_PLACES) for name in _names(instruction.operands[1:])):
                varying.update(() if instruction.name in _TOUCHING else _names(instruction.operands[:1]))
        if before == len(varying):
            break
    guards = {instruction.guard for instruction in function.code if instruction.guard is not None}
    return not guards <= varying or any(instruction.name in ("call", "") for instruction in function.code)


@dataclass(slots=True)
class _Given:
    """What a parameter holds: that of the kernel with this ``number``, or ``origins`` of what a caller stored in it."""

    number: int = -1
    origins: set[Origin] = field(default_factory=set)

    def at(self, offset: int) -> Iterable[Origin]:
        return self.origins if self.number < 0 else ((self.number, offset // _WORD * _WORD),)

    def any(self) -> Iterable[Origin]:
        return self.origins if self.number < 0 else ((self.number, ANY),)


class _Flow:
    def __init__(self, program: Program) -> None:
        self.touched: set[tuple[Origin, bool, bool, bool]] = set()
        """Words of the parameters; ``writes``, ``atomic`` and ``indexed`` as of ``Use``."""
        self.elsewhere = self.tells = self.waits = False
        self._program = program

    def follow(self, function: Function, given: Sequence[_Given], depth: int) -> set[Origin]:
        """Note what the function touches; where what it returns comes from."""
        registers: defaultdict[str, set[Origin]] = defaultdict(set)
        parameters = dict(zip(function.parameters, given, strict=False))
        for _ in range(_MOST_ROUNDS):
            before = sum(map(len, registers.values()))
            for instruction in function.code:
                self._take(instruction, registers, parameters, depth)
            if before == sum(map(len, registers.values())):
                break
        else:
            self.elsewhere = True
        return set().union(*(registers[name] for name in function.returns))

    def _take(
        self,
        instruction: Instruction,
        registers: defaultdict[str, set[Origin]],
        parameters: dict[str, _Given],
        depth: int,
    ) -> None:
        name, operands = instruction.name, instruction.operands
        parts = set(instruction.parts)
        self.tells |= not parts.isdisjoint(_OF_SYSTEM) or ("volatile" in parts and parts.isdisjoint(_NO_MEMORY))
        if not name or name in _COPIES:
            self._touch_any(instruction, registers)
        elif name == "call":
            self._call(operands, registers, parameters, depth)
        elif name in _TOUCHING:
            self._access(instruction, registers, parameters)
        elif operands:
            _assign(operands[0], _origins(operands[1:], registers, parameters), registers)

    def _access(
        self, instruction: Instruction, registers: defaultdict[str, set[Origin]], parameters: dict[str, _Given]
    ) -> None:
        """Loads, stores and atomic operations. What is in local memory and in parameters for calls goes by the name of the variable."""
        operands = instruction.operands
        place = next((position for position, each in enumerate(operands) if isinstance(each, Address)), None)
        if place is None:
            return
        address = operands[place]
        assert isinstance(address, Address)
        space = next(
            (part.partition("::")[0] for part in instruction.parts if part.partition("::")[0] in _NO_MEMORY), ""
        )
        origins = _origins((address.base,), registers, {})
        if instruction.name in ("st", "red"):
            stored = _origins(operands[place + 1 :], registers, parameters)
            if isinstance(address.base, str):
                registers[address.base].update(stored if space in ("local", "param") else ())
        else:
            own = parameters.get(address.base) if isinstance(address.base, str) else None
            _assign_loaded(instruction, address, own, origins if space in ("local", "param") else {_LOADED}, registers)
        if space not in _NO_MEMORY:
            self.waits |= not _WAITING.isdisjoint(instruction.parts) and instruction.name == "ld"
            self._touch(origins, _TOUCHING[instruction.name], instruction.name in ("atom", "red"))

    def _touch(self, origins: set[Origin], ways: Iterable[bool], atomic: bool = False) -> None:
        self.elsewhere |= _LOADED in origins
        self.touched.update((origin, writes, atomic, len(origins) > 1) for origin in origins for writes in ways)

    def _touch_any(self, instruction: Instruction, registers: defaultdict[str, set[Origin]]) -> None:
        self.elsewhere = True
        for name in _names(instruction.operands):
            self._touch(registers[name], (False, True))

    def _call(
        self,
        operands: tuple[Operand, ...],
        registers: defaultdict[str, set[Origin]],
        parameters: dict[str, _Given],
        depth: int,
    ) -> None:
        """``call (results), name, (arguments)``. What is not known may do anything with what it is given."""
        rest = list(operands)
        results = rest.pop(0) if rest and isinstance(rest[0], tuple) else ()
        name = rest[0] if rest else None
        arguments = rest[1] if len(rest) > 1 and isinstance(rest[1], tuple) else ()
        given = [_Given(origins=_origins((each,), registers, parameters)) for each in arguments]
        function = self._program.function(name) if isinstance(name, str) else None
        if name in _HARMLESS:
            _assign(results, {_LOADED}, registers)
        elif function is None or depth >= _MOST_CALLS or len(given) != len(function.parameters):
            self.elsewhere = True
            for each in given:
                self._touch(each.origins, (False, True))
            _assign(results, {_LOADED}.union(*(each.origins for each in given)), registers)
        else:
            _assign(results, self.follow(function, given, depth + 1), registers)


def _assign(target: Operand, origins: set[Origin], registers: defaultdict[str, set[Origin]]) -> None:
    for name in _names((target,)):
        registers[name] |= origins


def _assign_loaded(
    instruction: Instruction,
    address: Address,
    own: _Given | None,
    origins: set[Origin],
    registers: defaultdict[str, set[Origin]],
) -> None:
    """Of a parameter each element has its own word."""
    targets = list(_names(instruction.operands[:1]))
    if own is None:
        _assign(instruction.operands[0], origins, registers)
        return
    size = next((int(part[1:]) // 8 for part in instruction.parts if part[1:] in ("8", "16", "32", "64", "128")), _WORD)
    for position, name in enumerate(targets):
        registers[name].update(own.at(address.offset + position * size))


def _origins(
    operands: Iterable[Operand], registers: defaultdict[str, set[Origin]], parameters: dict[str, _Given]
) -> set[Origin]:
    """Where the values may come from. The address of a parameter stands for any of its words."""
    found: set[Origin] = set()
    for name in _names(operands):
        found |= registers[name]
        if name in parameters:
            found.update(parameters[name].any())
    return found


def _names(operands: Iterable[Operand]) -> Iterator[str]:
    for each in operands:
        if isinstance(each, Address):
            if isinstance(each.base, str):
                yield each.base
        elif isinstance(each, tuple):
            yield from _names(each)
        elif isinstance(each, str):
            yield each
