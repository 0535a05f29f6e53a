"""What the variables of a function hold on a path: words that stand for handles and addresses of which the values are not known."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from cuvet.source.program import Address, Function, Value, lvalue_of

FIRST = 0x1000_0000_0000_0000
"""Words from here on stand for something; smaller ones are the constants that the program writes."""
NOWHERE, SOME_FUNCTION = FIRST - 2, FIRST - 1
"""Where the driver writes a handle, and the kernel that is launched: nothing is claimed about either."""
SIZE = 0x5EED5EED
"""Bytes, where a size is not followed."""
_APART = 0x4_0000_0000
_INSIDE = 8


class Handles:
    """``words`` maps lvalues to what they hold; ``lvalues`` a word to the lvalue that held it first. A word in ``escaped`` is known
    elsewhere: what becomes of it is not lost when the function ends."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.words: dict[str, int] = {}
        self.lvalues: dict[int, str] = {}
        self.escaped: set[int] = set()
        self.newest = FIRST
        self._wholes: set[str] = set()
        """Lvalues of which parts were set."""

    def fresh(self) -> int:
        self.newest += _APART
        return self.newest

    def word(self, value: Value) -> int:
        """The word of a value; an lvalue that was never set gets one."""
        if not isinstance(value, str):
            if isinstance(value, int):
                return value
            if isinstance(value, Address):
                return self.word(f"&{value.lvalue}")
            return self.fresh() if value is None else self.word(value.lvalue) + _INSIDE
        if "[*]" in value or value[-1:] == "?":
            return self.fresh()
        found = self.words.get(value)
        if found is None:
            found = self.words[value] = self.fresh()
            self.lvalues[found] = value
            self._note(value)
        return found

    def known(self, value: Value) -> int | None:
        """The word of a constant, or of an lvalue that was set."""
        if isinstance(value, str):
            return self.words.get(value)
        return value if isinstance(value, int) else None

    def held(self, lvalue: str) -> frozenset[int]:
        """What the lvalue and its parts hold."""
        return frozenset(self.words[name] for name in self._within(lvalue))

    def set(self, lvalue: str, word: int | None) -> None:
        """The lvalue holds something new (None: what, is not known), and so do its parts. An element may be any of the others."""
        if lvalue in self._wholes:
            self._forget(self._parts(lvalue))
        if lvalue.endswith("[*]"):
            self._forget(self._parts(lvalue[:-3]))
        if word is None:
            self.words.pop(lvalue, None)
        else:
            self.words[lvalue] = word
            self.lvalues.setdefault(word, lvalue)
            self._note(lvalue)

    def copy_parts(self, value: str, lvalue: str) -> None:
        """A struct is copied: both hold what its members hold."""
        for name in self._parts(value):
            self.set(lvalue + name[len(value) :], self.words[name])

    def give(self, value: Value, written: bool = False) -> None:
        """The value is known elsewhere from now on; with ``written``, its lvalue may be changed there."""
        names = self._within(lvalue_of(value).split("[*]")[0])
        if not names:
            return
        self.escaped.update([self.words[name] for name in names])
        for name in names:
            if target := self.target(name):
                self.escaped |= self.held(target)
        if written:
            self._forget(names)

    def give_parts(self, lvalue: str) -> None:
        """A struct is passed on: what its members hold is known elsewhere."""
        if target := self.target(lvalue):
            self.escaped |= self.held(target)
        if names := self._parts(lvalue):
            self.escaped.update([self.words[name] for name in names])
            self._forget(names)

    def target(self, lvalue: str) -> str:
        """What the lvalue was given the address of; empty: nothing that is known."""
        name = self.lvalues.get(self.words.get(lvalue, 0), "")
        return name[1:] if name[:1] == "&" else ""

    def holders(self, word: int) -> Iterator[str]:
        return (lvalue for lvalue, held in self.words.items() if held == word)

    def is_local(self, lvalue: str) -> bool:
        """Whether the lvalue ends with the function."""
        if lvalue[:1] == "%":
            return lvalue[1:].isdigit()
        kind = self.function.locals.get(root(lvalue))
        return kind is not None and "&" not in kind and "->" not in lvalue and ("[" not in lvalue or "[]" in kind)

    def of_caller(self, lvalue: str) -> bool:
        """Whether the lvalue is reached through a parameter or a local pointer."""
        name = root(lvalue)
        return name in self.function.locals or any(parameter.name == name for parameter in self.function.parameters)

    def _note(self, lvalue: str) -> None:
        self._wholes.update(_wholes_of(lvalue))

    def _within(self, lvalue: str) -> list[str]:
        names = self._parts(lvalue)
        if lvalue in self.words:
            names.append(lvalue)
        return names

    def _parts(self, lvalue: str) -> list[str]:
        if lvalue not in self._wholes:
            return []
        size = len(lvalue)
        return [name for name in self.words if name.startswith(lvalue) and name[size : size + 1] in (".", "[", "-")]

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.words.pop(name, None)


@lru_cache(1 << 16)
def _wholes_of(lvalue: str) -> tuple[str, ...]:
    """What the lvalue is a part of: ``a`` and ``a.b`` for ``a.b[0]``."""
    return tuple(lvalue[:at] for at, letter in enumerate(lvalue) if letter in ".[-")


@lru_cache(1 << 16)
def root(lvalue: str) -> str:
    """The variable that an lvalue is a part of."""
    return lvalue.split(".")[0].split("[")[0].split("->")[0]
