"""Which lvalues of a path tell whether a call of CUDA failed."""

import re
from collections.abc import Set

from cuvet.source.paths.trace import Guards, Key
from cuvet.source.program import Condition

_SUCCESS = re.compile(r"(?i)(?:is_?)?(?:ok|okay|success\w*|succeeded|good|done|valid)")


class Statuses:
    """``origins`` and ``doubtful`` name, by lvalue, the call whose status it holds, and the one whose status some function made its value
    of. ``doubted`` has, by call, the branches in which it may have failed; ``failed`` are those of ``doubtful`` that have failed on the
    path, as far as the value that was asked for tells."""

    def __init__(self) -> None:
        self.origins: dict[str, Key] = {}
        self.doubtful: dict[str, Key] = {}
        self.doubted: dict[Key, list[tuple[int, int]]] = {}
        self.failed: set[Key] = set()

    def __contains__(self, lvalue: str) -> bool:
        return lvalue in self.origins or lvalue in self.doubtful

    def copy(self, name: str, lvalue: str) -> None:
        """The lvalue holds from now on what the other one, ``name``, holds; empty: something else than a status."""
        if not self.origins and not self.doubtful:
            return
        origin = self.origins.get(name)
        doubt = self.origins.get(name[:-1]) if name.endswith("?") else self.doubtful.get(name)
        for statuses, key in ((self.origins, origin), (self.doubtful, doubt)):
            if key is None:
                statuses.pop(lvalue, None)
            else:
                statuses[lvalue] = key

    def of(self, lvalue: str) -> Key | None:
        """The call whose status, or what was made of it, the lvalue holds."""
        return self.origins.get(lvalue) or self.doubtful.get(lvalue)

    def doubt(self, condition: Condition, arm: tuple[int, int]) -> None:
        """In that arm of a branch that asks for it, a call may have failed."""
        lvalue = condition.lvalue
        key = self.origins.get(lvalue[:-1]) if lvalue.endswith("?") else self.doubtful.get(lvalue)
        for name in condition.names:
            key = key or self.of(name)
        if key is not None:
            self.doubted.setdefault(key, []).append(arm)

    def learn(self, lvalue: str, kind: str, zero: bool) -> None:
        """It is known whether the lvalue of the type is 0: of a ``bool``, or a name that says so, that means failure, else success."""
        key = self.doubtful.get(lvalue)
        if key is not None and zero is (kind == "bool" or _SUCCESS.fullmatch(lvalue) is not None):
            self.failed.add(key)

    def want_error(self, condition: Condition, arm: tuple[int, int]) -> None:
        """In that arm of a branch that asks for an error of its own, the call may have been meant to fail."""
        key = self.of(condition.lvalue)
        if key is not None:
            self.doubted.setdefault(key, []).append(arm)

    def may_have_failed(self, key: Key, guards: Guards, leaving: Set[tuple[int, int]]) -> bool:
        """Whether it has, or a branch around is taken because it did, or one of the branches ``leaving`` what follows them was."""
        return key in self.failed or any(doubt in guards or doubt in leaving for doubt in self.doubted.get(key, ()))
