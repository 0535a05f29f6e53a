"""Properties that every item of a kind has: one test for each property, which lists all items that do not have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def of_every(
    items: Iterable[T], name: Callable[[T], object] = str
) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """The test asserts something of one item. ``name`` says which it is."""
    kept = tuple(items)

    def of_one(test: Callable[[T], None]) -> Callable[[], None]:
        def of_all() -> None:
            broken = [f"{name(item)}: {why}" for item in kept if (why := _what_is_wrong(test, item))]
            assert kept, "there are none"
            assert not broken, "\n".join([f"{len(broken)} of {len(kept)}", *broken])

        of_all.__doc__ = test.__doc__
        return of_all

    return of_one


def _what_is_wrong(test: Callable[[T], None], item: T) -> str:
    try:
        test(item)
    except AssertionError as error:
        return str(error).partition("\n")[0] or "assertion failed"
    return ""
