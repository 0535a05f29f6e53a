"""What instructions do to a thread. Of an instruction that is not listed here nothing is assumed: the thread is not followed further."""

import operator
from collections.abc import Callable

from cuvet.kernels.text import Instruction, Operand
from cuvet.kernels.thread import Ended, Thread
from cuvet.kernels.values import TYPES, Pointer, Type, Value

Effect = Callable[[Thread, Instruction], None]
TRAP = 719
"""CUDA_ERROR_LAUNCH_FAILED: the context's error after a trap (measured: trap_kernel)."""

_ONLY_RESULTS = """
    abs activemask addc alloca applypriority bar barrier bfe bfi bfind bmsk brev clz cnot copysign cos cp createpolicy discard dp2a dp4a
    elect ex2 fence fma fns getctarank griddepcontrol isspacep istypep ldmatrix lg2 lop3 madc mapa match mbarrier membar mma movmatrix
    mul24 mad24 nanosleep pmevent popc prefetch prefetchu prmt rcp redux rsqrt sad set setmaxnreg shf shfl sin slct sqrt stmatrix subc
    suld suq sust szext tanh testp tex tld4 txq vote wmma
""".split()
"""Instructions that do nothing that matters here but give their first operand a value that is not computed. Memory that they read or
write is not judged."""


def _type(instruction: Instruction, position: int = -1) -> Type:
    """The ``position``-th type among the qualifiers. Ended if there is none."""
    types = [TYPES[part] for part in instruction.parts if part in TYPES]
    if not types or (position > 0 and len(types) <= position):
        raise Ended
    return types[position]


def _integers(instruction: Instruction) -> bool:
    """Whether it is plain integer arithmetic."""
    return _type(instruction).integer and not {"sat", "cc", "u16x2", "s16x2"}.intersection(instruction.parts)


def _read(thread: Thread, instruction: Instruction, count: int) -> list[Value]:
    """Values of the operands after the first. Ended if there are fewer."""
    operands = instruction.operands[1:]
    if len(operands) < count:
        raise Ended
    return [thread.value(operand) for operand in operands[:count]]


def _only_results(thread: Thread, instruction: Instruction) -> None:
    thread.assign(instruction.operands[0] if instruction.operands else None, None)


def _arithmetic(compute: Callable[..., int | None], count: int = 2) -> Effect:
    """Computes integers of the instruction's type; the result has as many bits."""

    def effect(thread: Thread, instruction: Instruction) -> None:
        kind, values = _type(instruction), _read(thread, instruction, count)
        result = None
        if _integers(instruction):
            numbers = [kind.of(value) for value in values if isinstance(value, int)]
            if len(numbers) == count:
                found = compute(*numbers)
                result = None if found is None else kind.unsigned(found)
        thread.assign(instruction.operands[0], result)

    return effect


def _add(thread: Thread, instruction: Instruction) -> None:
    """Of two integers, or of a pointer and an integer."""
    sign = -1 if instruction.name == "sub" else 1
    first, second = _read(thread, instruction, 2)
    kind = _type(instruction)
    result: Value = None
    if not _integers(instruction):
        pass
    elif isinstance(first, int) and isinstance(second, int):
        result = kind.unsigned(first + sign * second)
    elif kind.bits == 64:
        if sign == 1 and isinstance(second, Pointer):
            first, second = second, first
        if isinstance(first, Pointer) and isinstance(second, int):
            result = Pointer(first.block, first.offset + sign * Type(64, True).of(second))
    thread.assign(instruction.operands[0], result)


def _multiply(thread: Thread, instruction: Instruction) -> None:
    """``mul`` and ``mad``: ``.lo``, ``.hi`` or ``.wide``."""
    count = 3 if instruction.name == "mad" else 2
    kind, values = _type(instruction), _read(thread, instruction, count)
    result = None
    if _integers(instruction) and all(isinstance(value, int) for value in values):
        first, second, *third = (value for value in values if isinstance(value, int))
        product = kind.of(first) * kind.of(second)
        wide = "wide" in instruction.parts
        if "hi" in instruction.parts:
            product >>= kind.bits
        if wide or "lo" in instruction.parts or "hi" in instruction.parts:
            result = product + sum(third) & (1 << kind.bits * (1 + wide)) - 1
    thread.assign(instruction.operands[0], result)


def _divide(first: int, second: int) -> int | None:
    if not second:
        return None
    quotient = abs(first) // abs(second)
    return quotient if (first < 0) == (second < 0) else -quotient


def _remainder(first: int, second: int) -> int | None:
    quotient = _divide(first, second)
    return None if quotient is None else first - second * quotient


def _shift(thread: Thread, instruction: Instruction) -> None:
    """The second operand is an unsigned 32-bit number; shifting by more than the width gives 0, or the sign."""
    kind = _type(instruction)
    first, second = _read(thread, instruction, 2)
    result = None
    if isinstance(first, int) and isinstance(second, int):
        distance = min(second & 0xFFFFFFFF, kind.bits)
        number = kind.of(first)
        result = kind.unsigned(number << distance if instruction.name == "shl" else number >> distance)
    thread.assign(instruction.operands[0], result)


_COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _compare(thread: Thread, instruction: Instruction) -> None:
    """``setp``. Only the plain form, of integers and one predicate, is computed."""
    kind = _type(instruction)
    compare = _COMPARISONS.get(_UNSIGNED.get(instruction.parts[0], instruction.parts[0]))
    first, second = _read(thread, instruction, 2)
    result = None
    plain = compare is not None and len(instruction.operands) == 3 and isinstance(instruction.operands[0], str)
    if plain and compare and kind.integer and isinstance(first, int) and isinstance(second, int):
        result = int(compare(kind.of(first), kind.of(second)))
    thread.assign(instruction.operands[0], result)


def _select(thread: Thread, instruction: Instruction) -> None:
    first, second, condition = _read(thread, instruction, 3)
    thread.assign(instruction.operands[0], None if not isinstance(condition, int) else first if condition else second)


def _move(thread: Thread, instruction: Instruction) -> None:
    kind = _type(instruction)
    if len(instruction.operands) != 2:
        raise Ended
    source = instruction.operands[1]
    value = _packed(thread, source, kind) if isinstance(source, tuple) else thread.value(source)
    thread.assign(instruction.operands[0], kind.unsigned(value) if isinstance(value, int) else value)
    if isinstance(instruction.operands[0], tuple) and isinstance(value, int):
        _unpack(thread, instruction.operands[0], value, kind.bits)


def _packed(thread: Thread, parts: tuple[Operand, ...], kind: Type) -> int | None:
    """The number that is made of the parts, the lowest first."""
    bits = kind.bits // max(len(parts), 1)
    number = 0
    for position, part in enumerate(parts):
        value = thread.value(part)
        if not isinstance(value, int):
            return None
        number |= (value & (1 << bits) - 1) << position * bits
    return number


def _unpack(thread: Thread, parts: tuple[Operand, ...], number: int, bits: int) -> None:
    width = bits // max(len(parts), 1)
    for position, part in enumerate(parts):
        if isinstance(part, str):
            thread.assign(part, number >> position * width & (1 << width) - 1)


def _convert(thread: Thread, instruction: Instruction) -> None:
    """Between integers. To fewer than 16 bits only what fits either way: registers are wider than that."""
    target, source = _type(instruction, 0), _type(instruction, 1)
    (value,) = _read(thread, instruction, 1)
    if target.integer and source.integer and "sat" not in instruction.parts:
        if isinstance(value, int):
            number = source.of(value)
            value = target.unsigned(number) if target.bits > 8 or 0 <= number < 1 << 7 else None
        elif target.bits != 64 or source.bits != 64:
            value = None
    else:
        value = None
    thread.assign(instruction.operands[0], value)


def _convert_address(thread: Thread, instruction: Instruction) -> None:
    """Addresses of global memory are generic ones too. Those of shared and constant memory are not known."""
    (value,) = _read(thread, instruction, 1)
    kept = Pointer if {"local", "param"}.intersection(instruction.parts) else int
    usual = "global" in instruction.parts or kept is Pointer
    thread.assign(instruction.operands[0], value if usual and isinstance(value, kept) else None)


_SPACES = frozenset({"global", "local", "shared", "const", "param"})


def _space(instruction: Instruction) -> str:
    """The state space; "" if the address is generic."""
    names = (part.partition("::")[0] for part in instruction.parts)
    return next((name for name in names if name in _SPACES), "")


def _width(instruction: Instruction) -> tuple[int, int]:
    """Bytes of an element, and how many elements."""
    count = next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4", "v8")), 1)
    return _type(instruction).size, count


def _load(thread: Thread, instruction: Instruction) -> None:
    if len(instruction.operands) < 2:
        raise Ended
    target, space = instruction.operands[0], _space(instruction)
    (size, count), address = _width(instruction), thread.address(instruction.operands[1])
    targets = target if isinstance(target, tuple) else (target,)
    thread.assign(target, None)
    if isinstance(address, Pointer) and space in ("", "local", "param") and len(targets) == count:
        kind = _type(instruction)
        for position, each in enumerate(targets):
            value = address.block.load(address.offset + position * size, size)
            if isinstance(each, str):
                thread.assign(each, _extended(kind, value))
    elif isinstance(address, int) and space in ("", "global"):
        needed = thread.frame.function.needed
        if "volatile" in instruction.parts or any(isinstance(each, str) and each in needed for each in targets):
            thread.touch(address, size * count, writes=False)


def _extended(kind: Type, value: Value) -> Value:
    """A signed number is extended to whatever register it is loaded into."""
    return kind.of(value) & 0xFFFFFFFFFFFFFFFF if isinstance(value, int) else value


def _store(thread: Thread, instruction: Instruction) -> None:
    if len(instruction.operands) < 2:
        raise Ended
    source, space = instruction.operands[1], _space(instruction)
    (size, count), address = _width(instruction), thread.address(instruction.operands[0])
    sources = source if isinstance(source, tuple) else (source,)
    if isinstance(address, Pointer) and space in ("", "local", "param"):
        for position in range(count):
            value = thread.value(sources[position]) if len(sources) == count else None
            address.block.store(address.offset + position * size, size, value)
    elif isinstance(address, int) and space in ("", "global"):
        thread.touch(address, size * count, writes=True)
    elif address is None and space in ("", "local", "param"):
        thread.forget_local()


def _atomic(thread: Thread, instruction: Instruction) -> None:
    """``atom`` and ``red``, which has no result."""
    reduction = instruction.name == "red"
    if len(instruction.operands) < 2:
        raise Ended
    if not reduction:
        thread.assign(instruction.operands[0], None)
    address = thread.address(instruction.operands[not reduction])
    size, count = _width(instruction)
    if isinstance(address, int) and _space(instruction) in ("", "global"):
        thread.touch(address, size * count, writes=True, atomic=True)
    elif address is None or isinstance(address, Pointer):
        thread.forget_local()


def _exit(thread: Thread, instruction: Instruction) -> None:
    thread.finished = True
    raise Ended


def _trap(thread: Thread, instruction: Instruction) -> None:
    thread.trapped = TRAP
    raise Ended


EFFECTS: dict[str, Effect] = {
    **dict.fromkeys(_ONLY_RESULTS, _only_results),
    "add": _add,
    "sub": _add,
    "mul": _multiply,
    "mad": _multiply,
    "div": _arithmetic(_divide),
    "rem": _arithmetic(_remainder),
    "min": _arithmetic(min),
    "max": _arithmetic(max),
    "neg": _arithmetic(lambda a: -a, 1),
    "not": _arithmetic(lambda a: ~a, 1),
    "and": _arithmetic(lambda a, b: a & b),
    "or": _arithmetic(lambda a, b: a | b),
    "xor": _arithmetic(lambda a, b: a ^ b),
    "shl": _shift,
    "shr": _shift,
    "setp": _compare,
    "selp": _select,
    "mov": _move,
    "cvt": _convert,
    "cvta": _convert_address,
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "bra": lambda thread, instruction: thread.jump(instruction.operands[0] if instruction.operands else None),
    "call": Thread.call,
    "ret": lambda thread, _: thread.leave(),
    "exit": _exit,
    "trap": _trap,
}
"""By the instruction's name."""
