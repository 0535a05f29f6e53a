"""From what is wrong on a path to a Finding, in the words of the source code."""

import re
from collections.abc import Iterator
from operator import itemgetter

from cuvet.catalog import Kind
from cuvet.findings import Finding, Frame, ObjectReport, Site, Step
from cuvet.model import Object
from cuvet.rules.lifecycle import ending, root
from cuvet.rules.rule import Rule, Violation
from cuvet.source.calls import meaning, symbols
from cuvet.source.paths.belief import believable, passes_by, skips_value
from cuvet.source.paths.handles import SIZE
from cuvet.source.paths.judging import SOME_DEVICE
from cuvet.source.paths.leaks import also, message, rule_broken, rule_of_unset
from cuvet.source.paths.racing import is_certain, is_race
from cuvet.source.paths.trace import Broken, Guards, Left, SourceCall, Unset
from cuvet.source.paths.walk import Path, Taken
from cuvet.source.program import THROWN, Function, Invoke, Return
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Source

_PLACE = re.compile(r" ?by thread \d+ at call #(\d+)")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^;<>()]*>)?\s*\(")
_HARMLESS = re.compile(
    r"(?i)^(?:if|for|while|switch|sizeof|return|catch|defined|\w+_cast|f?printf|dim3)$|check|err|assert|safe|log|try"
)
_CONTEXT = re.compile(r"\bcontext#\d+(?: \(device \d+\))?")
_SIZE = re.compile(rf" of {SIZE} bytes")


class Reporter:
    """Makes the findings of one function."""

    def __init__(self, function: Function, source: Source) -> None:
        self.function = function
        self.source = source
        self.name = source.function_name(function.owner, function.name)

    def frame(self, start: int, end: int) -> Frame:
        return frame(self.source, start, end, self.name)

    def site(self, call: Invoke, start: int | None = None, end: int | None = None) -> Site:
        at = self.frame(call.start if start is None else start, call.end if end is None else end)
        return site(call.name, at)

    def of(self, broken: Broken, path: Path) -> Finding | None:
        violation, call = broken.violation, broken.call
        written = call.written
        first = violation.objects[0]
        ended = _ended_before(first, call)
        lvalue = path.effects.handles.lvalues.get(first.handle, "")
        involved = [call] if ended is None else [ended, call]
        made = [it.created_by for it in violation.objects if _ended_before(it, call) is None]
        since = sorted((each for each in made if isinstance(each, SourceCall)), key=lambda each: each.step)
        if not believable(path, [*since, *involved], call.step, lvalue, on_devices=violation.rule.about_devices):
            return None
        if ended is not None and lvalue and not path.effects.handles.is_local(lvalue) and self._may_change(ended, call):
            return None
        if broken.unless is not None and self._may_change(broken.unless, call):
            return None
        if is_race(violation) and not is_certain(violation, call, path, self.source):
            return None
        argument = _argument(call, violation.argument)
        span = (
            written.spans[argument]
            if argument is not None and argument < len(written.spans)
            else (written.start, written.end)
        )
        return finding(
            violation.rule,
            self.reword(violation.message, violation.objects, path),
            self.site(written, *span),
            path=tuple(self._steps(path, violation, call)),
            objects=tuple(self._object(each, path, call) for each in violation.objects),
            because=tuple(self.reword(line, _named(violation, path), path) for line in _because(violation)),
            argument=argument,
        )

    def left(self, left: Left, path: Path, certain: bool) -> Finding | None:
        """``certain``: it is left on all paths, so that no decision matters."""
        rule = rule_broken(left, self.function, path.arms)
        if left.lvalue.split(".")[-1].split("->")[-1] in self.source.released_by_macros:
            return None
        if rule is None or not (certain or believable(path, [left.by], left.step, left.lvalue, left.guards)):
            return None
        written = left.by.written
        end = Step(frame=self.frame(left.end.start, left.end.end), text=f"`{left.lvalue}` is lost here")
        first = Step(frame=self.frame(written.start, written.end), text=f"`{left.lvalue}` is made here")
        guards = (left.by.guards, left.guards)
        decisions = [step for _, step in self._decisions(path, left.lvalue, guards, left.by.step, left.step)]
        return finding(
            rule,
            message(left, self.source.line(left.end.start)),
            self.site(written),
            path=(first, *decisions, end),
            objects=(self._object(left.object, path, left.by),),
        )

    def _is_set_unseen(self, name: str, function: Function) -> bool:
        """Whether the function reads the variable from a stream, or another variable has its address."""
        pattern = rb"(?:>>|=\s{0,80}&)\s{0,80}%s\b" % re.escape(name.encode())
        return re.search(pattern, self.source.code[function.start : function.end]) is not None

    def unset(self, unset: Unset, path: Path) -> Finding | None:
        rule, written = rule_of_unset(unset.kind), unset.by.written
        skip = skips_value(path, unset)
        if rule is None or skip is None or skip.condition is None or unset.lvalue in self.source.released_by_macros:
            return None
        if self.source.is_set_by_macro(unset.lvalue) or self._is_set_unseen(unset.lvalue, path.function):
            return None
        skip_at = skip.condition.start
        shown = f"`{unset.lvalue}`"
        declared = Step(
            frame=self.frame(unset.declared.start, unset.declared.end), text=f"{shown} is declared without a value here"
        )
        end = Step(frame=self.frame(written.start, written.end), text=f"{written.name} is called with it here")
        return finding(
            rule,
            f"{shown} is given no value before the function comes here from line {self.source.line(skip_at)}",
            self.site(written),
            path=(declared, self._decision(skip), end),
            objects=(ObjectReport(kind=unset.kind.noun, handle="", generation=0, name=unset.lvalue),),
            severity="warning",
        )

    def _decisions(
        self, path: Path, lvalue: str, calls: tuple[Guards, ...], since: int, until: int
    ) -> Iterator[tuple[int, Step]]:
        """Those that the finding depends on: that lead to its calls, or past what would have changed the lvalue."""
        needed = {guard for guards in calls for guard in guards}
        for taken in path.between(since, until):
            if taken.condition is not None:
                forced = (taken.block, taken.passes) in path.apart
                if (taken.block, taken.arm) in needed or forced or (taken.free and passes_by(path, taken, lvalue)):
                    yield taken.step, self._decision(taken)

    def plain(self, rule: type[Rule], call: Invoke, message: str) -> Finding:
        """A finding about one call, of no object."""
        return finding(rule, message, self.site(call))

    def _may_change(self, first: SourceCall, second: SourceCall) -> bool:
        """Whether a function that is called between the two may change members, globals and the current context."""
        if second.written.start < first.written.end:
            return True
        between = self.source.code[first.written.end : second.written.start].decode("utf-8", "replace")
        return any(name not in symbols() and not _HARMLESS.search(name) for name in _CALLED.findall(between))

    def reword(self, text: str, objects: tuple[Object, ...], path: Path) -> str:
        """In the model's words objects have numbers; here they have the names of variables, and calls have lines."""
        for each in objects:
            text = text.replace(f"{each.handle:#x} is {each.name}", f"this is {_called(each, path)}")
            text = text.replace(each.name, _called(each, path))
        text = _CONTEXT.sub("the device's context", text)
        text = _PLACE.sub(lambda match: f" in line {self.source.line(int(match[1]))}", text)
        return _SIZE.sub("", text)

    def _object(self, it: Object, path: Path, call: SourceCall) -> ObjectReport:
        made, ended = it.created_by, _ended_before(it, call)
        return ObjectReport(
            kind=it.kind.noun,
            handle="",
            generation=it.generation,
            name=path.effects.handles.lvalues.get(it.handle, it.name),
            created=self.site(made.written) if isinstance(made, SourceCall) else None,
            destroyed=self.site(ended.written) if ended is not None else None,
        )

    def _steps(self, path: Path, violation: Violation, call: SourceCall) -> Iterator[Step]:
        it, steps = violation.objects[0], list(self._of_race(violation, path))
        name = path.effects.handles.lvalues.get(it.handle, "")
        shown = f"`{name}`" if name else f"the {it.kind.noun}"
        ended = _ended_before(it, call)
        how = (
            ""
            if ended is None
            else f"{shown if it.killed_by is None else _called(root(it), path)} is {ending(ended)} here"
        )
        for each, text in ((it.created_by, f"{shown} is made here"), (ended, how)):
            if isinstance(each, SourceCall):
                steps.append((each.step, Step(frame=self.frame(each.written.start, each.written.end), text=text)))
        since = it.created_by.step if isinstance(it.created_by, SourceCall) else 0
        calls = tuple(each.guards for each in (it.created_by, ended, call) if isinstance(each, SourceCall))
        steps += self._decisions(path, name, calls, since, call.step)
        yield from (step for _, step in sorted(steps, key=itemgetter(0)))
        last = self.frame(call.written.start, call.written.end)
        yield Step(frame=last, text=f"{call.written.name} is called with it here")

    def _of_race(self, violation: Violation, path: Path) -> Iterator[tuple[int, Step]]:
        """Of a race: the other work, and the events that do not order the two."""
        for what, earlier in violation.earlier if is_race(violation) else ():
            if isinstance(earlier, SourceCall):
                text = self.reword(what, _named(violation, path), path)
                at = self.frame(earlier.written.start, earlier.written.end)
                yield earlier.step, Step(frame=at, text=f"{text}, here")

    def _decision(self, taken: Taken) -> Step:
        condition = taken.condition
        assert condition is not None
        if condition.text.startswith(THROWN):
            text = THROWN if taken.truth else "no exception is thrown"
            return Step(frame=self.frame(condition.start, condition.end), text=text)
        word = "true" if taken.truth else "false"
        written = " ".join(self.source.slice(condition.start, condition.end).split())
        text = written if len(written) < 60 else written[:57] + "..."
        return Step(frame=self.frame(condition.start, condition.end), text=f"`{text}` is {word}")


def _because(violation: Violation) -> tuple[str, ...]:
    """Of a race without the two lines about bytes, of which the source says no numbers."""
    return violation.because[2:] if is_race(violation) else violation.because


def _named(violation: Violation, path: Path) -> tuple[Object, ...]:
    """The objects that may be named; of a race also events that do not order the two works."""
    model = path.effects.world.model
    events = (model.objects(Kind.EVENT, alive=alive) for alive in (True, False)) if is_race(violation) else ()
    return (*violation.objects, *(event for some in events for event in some))


def _ended_before(it: Object, call: SourceCall) -> SourceCall | None:
    """The call that ended the object, if that was before ``call``."""
    ended = it.destroyed_by
    return ended if isinstance(ended, SourceCall) and ended.step < call.step else None


def _called(it: Object, path: Path) -> str:
    name = path.effects.handles.lvalues.get(it.handle, "")
    if it.kind is Kind.CONTEXT and not name:
        return (
            f"the context of device {it.device}"
            if it.device is not None and it.device < SOME_DEVICE
            else "the device's context"
        )
    return f"{it.kind.noun} `{name}`" if name else it.kind.noun


def _argument(call: SourceCall, index: int | None) -> int | None:
    """Which of the arguments that were written the driver entry point's parameter is."""
    written = call.written
    if index is None:
        return None
    if written.launch:
        return len(written.arguments) if call.entry_point.parameters[index].name == "hStream" else None
    found = meaning(written.name)
    if found is None:
        return index
    at = found.taken[index]
    return at if at >= 0 else None


def findings_of(paths: list[Path], reporter: Reporter) -> list[Finding]:
    """The findings on all paths of a function; one for each rule and place."""
    found: dict[tuple[str, int], Finding] = {}
    for path in paths:
        for broken in path.effects.world.broken:
            key = (broken.violation.rule.code, broken.call.written.start)
            if key not in found and (finding := reporter.of(broken, path)) is not None:
                found[key] = finding
    found.update(_unset(reporter, paths))
    found.update(_lost(reporter, paths))
    return list(found.values())


def _unset(reporter: Reporter, paths: list[Path]) -> dict[tuple[str, int], Finding]:
    """Variables that are ended without a value: one finding for all of a rule, with the names of the others."""
    found: dict[tuple[str, int], Finding] = {}
    told: set[str] = set()
    for path, unset in [(each, unset) for each in paths for unset in each.effects.unset]:
        finding = None if unset.lvalue in told else reporter.unset(unset, path)
        if finding is not None:
            told.add(unset.lvalue)
            key = (finding.name, 0)
            found[key] = also(found[key], finding) if key in found else finding
    return found


def _lost(reporter: Reporter, paths: list[Path]) -> dict[tuple[str, int], Finding]:
    """What is left behind: one finding for each object, and one for each way out on which several are lost."""
    found: dict[tuple[str, int], Finding] = {}
    told: set[tuple[int, str]] = set()
    always = _always_left(paths)
    for path, left in [(each, left) for each in paths for left in each.effects.left]:
        made = (left.by.written.start, left.lvalue)
        certain = left.by.written.start in always and not (left.by.guards or left.overwritten)
        finding = None if made in told else reporter.left(left, path, certain)
        if finding is None:
            continue
        told.add(made)
        way_out = isinstance(left.end, Return) and left.end.how != "end" and finding.name.startswith("source-leak-on")
        key = (finding.name, left.end.start) if way_out else ("lost", left.by.written.start)
        found[key] = also(found[key], finding) if key in found else finding
    return found


def _always_left(paths: list[Path]) -> set[int]:
    """Where objects are made, within no branch, that are left behind on each path that leaves the function."""
    always: dict[int, bool] = {}
    for path in (each for each in paths if each.leaves):
        left = {each.by.written.start for each in path.effects.left}
        for block, at, _ in path.effects.world.made_by.values():
            if not path.function.blocks[block].guards:
                start = path.function.blocks[block].operations[at].start
                always[start] = always.get(start, True) and start in left
    return {start for start, so in always.items() if so}
