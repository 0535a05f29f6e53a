"""Corner threads of a grid, followed as long as everything that decides about their way is known: parameters, the thread's place in
the grid, and what is computed from these. What is loaded from memory is not known, and nothing is stored there."""

from collections.abc import Sequence
from dataclasses import dataclass

from cuvet.kernels.instructions import EFFECTS
from cuvet.kernels.text import Function, Instruction, Program
from cuvet.kernels.thread import Ended, Frame, Place, Span, Thread
from cuvet.kernels.values import Argument, Block

PAGE_BITS = 21
"""Memory is mapped in units of 2 MiB (cuMemGetAllocationGranularity): of several accesses to one, the first says it all."""
MOST_STEPS = 10_000
"""Instructions after which a thread is given up."""

Dimensions = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Way:
    """What a thread certainly does: the first address that it accesses in each page, in order, and then the status of the trap or
    failed assertion at its end, if there is one. ``whole``: it was not given up for its length. ``misaligned``: it ends with an access
    at this address, which is no multiple of its size."""

    addresses: tuple[int, ...] = ()
    trapped: int = 0
    whole: bool = True
    misaligned: tuple[int, int] | None = None
    touched: tuple[tuple[Place, Span], ...] | None = None
    """All that it accesses, and by which instruction; None if that is not known to its end."""


def follow(
    program: Program,
    name: str,
    arguments: Sequence[Argument],
    grid: Dimensions,
    block: Dimensions,
    steps: int = MOST_STEPS,
) -> tuple[Way, ...]:
    """The ways of the first and the last thread of the first and the last block. ``arguments``: the kernel's parameters,
    in order. Nothing if the text does not define such a kernel."""
    places = dict.fromkeys(
        (block_at, thread_at)
        for block_at in ((0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1))
        for thread_at in ((0, 0, 0), (block[0] - 1, block[1] - 1, block[2] - 1))
    )
    ways = (way_of(program, name, arguments, (grid, block), place, steps) for place in places)
    return tuple(dict.fromkeys(way for way in ways if way is not None))


def way_of(
    program: Program,
    name: str,
    arguments: Sequence[Argument],
    shape: tuple[Dimensions, Dimensions],
    place: tuple[Dimensions, Dimensions],
    steps: int = MOST_STEPS,
) -> Way | None:
    """The way of one thread. ``shape``: of the grid and the block; ``place``: where in them block and thread are. None if the text does
    not define such a kernel."""
    function = program.function(name)
    if function is None or len(function.parameters) != len(arguments):
        return None
    registers = {"tid": place[1], "ntid": shape[1], "ctaid": place[0], "nctaid": shape[0]}
    special = {
        f"%{what}.{axis}": value for what, at in registers.items() for axis, value in zip("xyz", at, strict=True)
    }
    return _way(program, function, arguments, special, steps)


def _way(
    program: Program, function: Function, arguments: Sequence[Argument], special: dict[str, int], steps: int
) -> Way:
    blocks = {name: Block.of(data) for name, data in zip(function.parameters, arguments, strict=True)}
    thread = Thread(program, special, [Frame(function, blocks=blocks)], PAGE_BITS)
    whole = False
    try:
        for _ in range(steps):
            _step(thread)
    except Ended:
        whole = True
    touched = tuple(thread.touched) if thread.finished else None
    return Way(tuple(thread.accesses.values()), thread.trapped, whole, thread.misaligned, touched)


def _step(thread: Thread) -> None:
    """Carry out the next instruction. Ended if there is none, or if it is not known what happens."""
    frame = thread.frames[-1]
    if frame.position >= len(frame.function.code):
        raise Ended
    instruction = frame.function.code[frame.position]
    frame.position += 1
    if instruction.guard is None or _wanted(thread, instruction):
        effect = EFFECTS.get(instruction.name)
        if effect is None:
            raise Ended
        effect(thread, instruction)


def _wanted(thread: Thread, instruction: Instruction) -> bool:
    condition = thread.value(instruction.guard)
    if not isinstance(condition, int):
        raise Ended
    return bool(condition) == instruction.wanted
