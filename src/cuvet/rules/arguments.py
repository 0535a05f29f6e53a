"""What the rules about numbers and flags share: what a call passes, and what the catalog says that the parameter takes."""

from collections.abc import Iterator
from functools import cache

from cuvet.catalog import driver
from cuvet.catalog.authored.arguments import ARGUMENTS, Takes
from cuvet.model import Call, ModelView
from cuvet.model.naming import member
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CallRule, Violation

_NO_VALUES = ("_MAX", "_MASK")
"""Ends of the names of enumerators that are no values."""
_MOST_NAMED = 6


class ArgumentRule(CallRule):
    """A rule about numbers that the driver refuses, wherever they are passed."""

    stage = Stage.ARGUMENT
    of_flags: bool

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        for takes in ARGUMENTS[call.name]:
            if takes.bits is not cls.of_flags:
                continue
            message = refused(call, takes)
            if message:
                yield cls.refused(
                    message,
                    argument=call.entry_point.index[takes.parameter],
                    because=(f"CUDA Driver API, {call.name}: {takes.text}",) if takes.text else (),
                    outcomes=(takes.status,),
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
        return f"{takes.parameter} is {value:#x}, which has bits that are none of {_listed(takes)}"
    if takes.together and value & takes.together[0] and not value & takes.together[1]:
        return f"{takes.parameter} is {value:#x}: {takes.together[0]:#x} is taken only with {takes.together[1]:#x}"
    return ""


def passed(call: Call, parameter: str) -> int:
    """The number that the call passes, as unsigned as its type is wide."""
    index = call.entry_point.index[parameter]
    return call.args[index] & (1 << 8 * call.entry_point.parameters[index].bytes) - 1


def _values(takes: Takes) -> tuple[int, ...]:
    return takes.values or tuple(_enumerators(takes.enumeration).values())


@cache
def _enumerators(name: str) -> dict[str, int]:
    return {each: value for each, value in driver().enumerations[name].items() if not each.endswith(_NO_VALUES)}


def _listed(takes: Takes) -> str:
    if takes.values:
        words = [str(value) for value in takes.values]
    else:
        named = _enumerators(takes.enumeration)
        if len(named) > _MOST_NAMED:
            return f"one of {takes.enumeration}"
        words = [f"{value} ({name})" for name, value in named.items() if value or not takes.bits]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
