"""Which places of a path tell whether a call of CUDA failed."""

from collections.abc import Callable

from cuvet.source.paths.trace import Guards, Key
from cuvet.source.program import Condition


class Statuses:
    """``origins`` and ``doubtful`` name, by place, the call whose status it holds, and the one whose status some function made its value
    of. ``doubted`` has, by call, the branches in which it may have failed."""

    def __init__(self) -> None:
        self.origins: dict[str, Key] = {}
        self.doubtful: dict[str, Key] = {}
        self.doubted: dict[Key, list[tuple[int, int]]] = {}

    def __contains__(self, place: str) -> bool:
        return place in self.origins or place in self.doubtful

    def copy(self, name: str, place: str) -> None:
        """The place holds from now on what the other one, ``name``, holds; empty: something else than a status."""
        origin = self.origins.get(name)
        doubt = self.origins.get(name[:-1]) if name.endswith("?") else self.doubtful.get(name)
        for statuses, key in ((self.origins, origin), (self.doubtful, doubt)):
            if key is None:
                statuses.pop(place, None)
            else:
                statuses[place] = key

    def state(self, matters: Callable[[str], bool]) -> tuple[object, ...]:
        """What is known of the places that matter; equal where nothing was learned in between."""
        known = (
            {place: key for place, key in each.items() if matters(place)} for each in (self.origins, self.doubtful)
        )
        return (*known, sum(map(len, self.doubted.values())))

    def of(self, place: str) -> Key | None:
        """The call whose status, or what was made of it, the place holds."""
        return self.origins.get(place) or self.doubtful.get(place)

    def doubt(self, condition: Condition, arm: tuple[int, int]) -> None:
        """In that arm of a branch that asks for it, a call may have failed."""
        place = condition.place
        key = self.origins.get(place[:-1]) if place.endswith("?") else self.doubtful.get(place)
        for name in condition.names:
            key = key or self.of(name)
        if key is not None:
            self.doubted.setdefault(key, []).append(arm)

    def may_have_failed(self, key: Key, guards: Guards) -> bool:
        """Whether a branch around a place is taken because the call failed."""
        return any(doubt in guards for doubt in self.doubted.get(key, ()))
