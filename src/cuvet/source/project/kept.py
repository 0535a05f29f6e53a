"""Variables of a program that keep what was ended: whoever asks whether there is something finds the dead handle."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from cuvet.findings import Finding, Step
from cuvet.rules.source.kept_after_end import SourceKeptAfterEnd
from cuvet.source.result import Effect
from cuvet.source.sites import finding, site
from cuvet.source.syntax.parsing import Source

_IS_NULL = re.compile(r"(?:(?:NULL|nullptr|0)==(\w+)|(\w+)==(?:NULL|nullptr|0)) ")


def kept(effects: Sequence[Effect], source: Source) -> Iterator[Finding]:
    """Globals that one function makes only where they are NULL, and another ends and leaves as they are."""
    by_name: dict[str, list[Effect]] = defaultdict(list)
    for effect in effects:
        if not effect.owner:
            by_name[effect.member].append(effect)
    told: dict[str, Finding] = {}
    for name, found in by_name.items():
        made = [effect for effect in found if effect.verb == "makes"]
        ended = [effect for effect in found if effect.verb == "ends"]
        rest = {effect.verb for effect in found} - {"makes", "ends", "tests", "shows"}
        elsewhere = {effect.function for effect in made}.isdisjoint(effect.function for effect in ended)
        if not (made and ended and elsewhere) or rest or not all(_where_null(each) for each in made):
            continue
        if any(each.function == "__del__" for each in ended):
            continue  # a member of a class that could not be read, which is gone then
        if not _set(name, source) and not _at_exit(ended[0].function, source):
            told.setdefault(ended[0].function, _finding(name, made[0], ended[0]))
    yield from told.values()


def _where_null(effect: Effect) -> bool:
    """Whether the variable is NULL where the effect happens."""
    for text, truth in effect.under:
        compared = _IS_NULL.match(text)
        if (text.startswith(f"{effect.member} ") and not truth) or (
            compared is not None and effect.member in compared.groups() and truth
        ):
            return True
    return False


def _set(name: str, source: Source) -> bool:
    """Whether a statement of the file sets the variable, or its address is taken by another than CUDA."""
    word = re.escape(name.encode())
    return re.search(rb"[;{})]\s*%s\s*=(?!=)|(?:swap|exchange)\s*\([^;]*\b%s\b" % (word, word), source.code) is not None


def _at_exit(function: str, source: Source) -> bool:
    """Whether the function is one that the process calls when it ends."""
    word = re.escape(function.encode())
    return re.search(rb"(?:\bat_?(?:quick_)?exit|\bon_exit)\s*\(\s*&?\s*%s\b" % word, source.code) is not None


def _finding(name: str, made: Effect, ended: Effect) -> Finding:
    message = (
        f"`{name}` still holds what {ended.api} ended here, and {made.frame.function} makes it only where it is NULL"
    )
    path = (
        Step(frame=ended.frame, text=f"`{name}` is ended here, and keeps its value"),
        Step(frame=made.frame, text="so it is not made anew here"),
    )
    return finding(SourceKeptAfterEnd, message, site(ended.api, ended.frame), path=path)
