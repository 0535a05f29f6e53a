"""What the rules about numbers and flags share: what a call passes, and what the catalog says that the parameter takes."""

from functools import cache

from cuvet.catalog import driver
from cuvet.catalog.authored.arguments import ARGUMENTS, Takes
from cuvet.model import Call, ModelView
from cuvet.model.naming import member
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CallRule, Violations

_NO_VALUES = ("_MAX", "_MASK")
"""Ends of the names of enumerators that are no values."""
_MOST_NAMED = 6


class ArgumentRule(CallRule):
    """A rule about numbers that the driver refuses, wherever they are passed."""

    stage = Stage.ARGUMENT
    of_flags: bool

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for takes in ARGUMENTS[call.name]:
            if takes.bits is not cls.of_flags:
                continue
            message = refused(call, takes)
            if message:
                because = (f"CUDA Driver API, {call.name}: {takes.text}",) if takes.text else ()
                yield cls.refused(
                    message, argument=call.index(takes.parameter), because=because, outcomes=(takes.status,)
                )


def entry_points(of_flags: bool) -> frozenset[str]:
    """Entry points with a parameter that takes flags, or some numbers."""
    return frozenset(name for name, all in ARGUMENTS.items() if any(takes.bits is of_flags for takes in all))


def refused(call: Call, takes: Takes) -> str:
    """Why the driver refuses what the call passes; empty if it does not."""
    value = member(call, takes.parameter, takes.field) if takes.field else passed(call, takes.parameter)
    if value is None:
        return ""
    if takes.multiple:
        if value and value % takes.multiple == 0:
            return ""
        return f"{takes.field or takes.parameter} is {value}" + (
            f", not a multiple of {takes.multiple}" if value else ""
        )
    allowed = _values(takes)
    if not takes.bits:
        return "" if value in allowed else f"{takes.field or takes.parameter} is {value}, not {_listed(takes)}"
    known = sum(set(allowed))
    if value & ~known:
        return f"{takes.parameter} is {value:#x}; {_flags(takes)}"
    if takes.together and value & takes.together[0] and not value & takes.together[1]:
        flag, other = (f"{bits:#x}{_name(takes, bits)}" for bits in takes.together)
        return f"{takes.parameter} is {value:#x}; {flag} must be combined with {other}"
    return ""


def passed(call: Call, parameter: str) -> int:
    """The number that the call passes, as unsigned as its type is wide."""
    index = call.index(parameter)
    return call.args[index] & (1 << 8 * call.entry_point.parameters[index].bytes) - 1


def _values(takes: Takes) -> tuple[int, ...]:
    return takes.values or tuple(_enumerators(takes.enumeration).values())


@cache
def _enumerators(name: str) -> dict[str, int]:
    return {each: value for each, value in driver().enumerations.get(name, {}).items() if not each.endswith(_NO_VALUES)}


def _name(takes: Takes, value: int) -> str:
    """`` (CU_EVENT_INTERPROCESS)``; nothing for a number without a name."""
    names = (name for name, known in _enumerators(takes.enumeration).items() if known == value)
    return next((f" ({name})" for name in names), "")


def _flags(takes: Takes) -> str:
    """``its flags are 1 (CU_EVENT_BLOCKING_SYNC) and 2 (CU_EVENT_DISABLE_TIMING)``."""
    words = _words(takes)
    if len(words) > _MOST_NAMED:
        return f"its flags are those of {takes.enumeration}"
    return (
        f"its only flag is {words[0]}" if len(words) == 1 else f"its flags are {', '.join(words[:-1])} and {words[-1]}"
    )


def _listed(takes: Takes) -> str:
    words = _words(takes)
    if takes.enumeration and len(words) > _MOST_NAMED:
        return f"one of {takes.enumeration}"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _words(takes: Takes) -> list[str]:
    """The values that the parameter takes, with their names; of flags, without 0."""
    return [f"{value}{_name(takes, value)}" for value in dict.fromkeys(_values(takes)) if value or not takes.bits]
