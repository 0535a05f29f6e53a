"""What the program did with a fault, by comparing the run that had it with one that had none.

A verdict is an accusation only if the run shows it: where it can be read in two ways, the milder one is taken.
"""

from __future__ import annotations

import re
import signal as signals
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from cuvet.catalog import Kind, Verb
from cuvet.inject.observed import Called, Key, Left, Observed, Said, line_of
from cuvet.inject.outcome import Verdict
from cuvet.knowledge.mentions import errors_in
from cuvet.signals import signal_name
from cuvet.sizes import counted

_NAME = re.compile(r"\b(?:cu(?:da|blas|blasLt|dnn|fft|sparse|rand|solver)?|nccl)[A-Z]\w*")
_STATUS = re.compile(r"(cudaError|cudaSuccess|CUDA_|CUBLAS_STATUS|CUDNN_STATUS|cudaError_t|CUresult)")
_PLACE = re.compile(r"([\w.+-]+\.(?:cpp|cc|cxx|cu|cuh|c|h|hpp|py|cs))[:(]\s*(\d+)|File \"([^\"]+)\", line (\d+)")
_NOTICED = re.compile(
    r"error|fail|warn|cannot|can't|could not|unable|abort|not |no |off\b|disabled|skip|fall|retry|unavail|without|instead|exception|"
    r"traceback|terminate",
    re.IGNORECASE,
)
_TEST_FAILED = re.compile(r"^(=+ (FAILURES|ERRORS) =+|(FAILED|ERROR) \S+)", re.MULTILINE)
_MEANT = (signals.SIGABRT, signals.SIGTERM, signals.SIGINT, signals.SIGQUIT, signals.SIGTRAP, signals.SIGILL)
"""Signals by which programs end themselves."""
_UNMEANT = re.compile(
    r"terminate called|libc\+\+abi: terminating|free\(\): |malloc\(\): |malloc_consolidate\(\): |realloc\(\): |munmap_chunk\(\): |"
    r"double free or corruption|corrupted |\*\*\* stack smashing|Fatal Python error"
)
"""What runtimes write before they abort: the program did not mean to."""
_UNCAUGHT = re.compile(r"terminate called after throwing|libc\+\+abi: terminating .*exception of type")
_ALIASES = (
    {"cudaEventCreate", "cudaEventCreateWithFlags"},
    {"cudaLaunchKernelEx", "cudaLaunchKernelExC"},
    {"cudaMallocAsync", "cudaMallocFromPoolAsync"},
    {"cudaMallocHost", "cudaHostAlloc"},
)
"""Overloads in cuda_runtime.h (13.5), and the functions that they call."""
_LAUNCH = re.compile(r"\blaunch(es|ed|ing)?\b(?!-).*(fail|error)|(fail|error).*\blaunch", re.IGNORECASE)
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
_ERROR = re.compile(r"error|fail|fatal|invalid|out of memory|not permitted|not supported", re.IGNORECASE)
_DIGITS = re.compile(
    r"\b(?=[a-f-]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b|0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|-?\b(?:inf|nan)\b",
    re.IGNORECASE,
)
"""Numbers, and identifiers that are drawn."""
_MEASURED = re.compile(
    r"\d\s*(?:[num\u00b5]?s|secs?|seconds?|minutes?|[kMGT]?i?B/s|it/s|[kMGT]?FLOPS?)\b|\d:\d\d\b", re.IGNORECASE
)
_STATUS_NUMBER = re.compile(r"\b(?:rc|ret\w*|status|code|err\w*|exit|result)\b\W{0,3}-?\d+\b", re.IGNORECASE)
_CHECK_LINES = 3
"""A check may stand so many lines below its call."""
_MOST_LINES = 8
_SEVERITIES = ("error", "warning")
_UNCHECKED = "error-unchecked"
_OF_NOTHING = re.compile(rf"{_UNCHECKED}|.*-never-.*|.*-(null-handle|host-pointer-null|destroy-default)")
"""Names of rules about what is nothing."""
_OF_LOSS = ("error-sticky", "memory-exhausted")
"""Rules that say why a call failed that was made to fail."""


@dataclass(frozen=True, slots=True)
class Judged:
    """``at``: the place that is to blame, if not the one of the fault. ``minor``: it may be meant."""

    verdict: Verdict
    because: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    at: Key | None = None
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """Where the fault came: the first call that had it, the calls of its thread after it, and those that come there without a fault."""

    call: Called
    after: Sequence[Called]
    usual: Sequence[Called]

    @property
    def went_on(self) -> int:
        """How many calls came that come without the fault, too, before one that does not."""
        pairs = zip(self.after, self.usual, strict=False)
        return next(
            (at for at, (made, usual) in enumerate(pairs) if made.key != usual.key),
            min(len(self.after), len(self.usual)),
        )

    @property
    def deviates(self) -> bool:
        return [each.key for each in self.after] != [each.key for each in self.usual]


def judge(
    usual: Observed, seen: Observed, *, later: bool, sticky: bool, stable: frozenset[str], same_calls: bool
) -> Judged:
    """``usual``: a run without a fault; ``seen``: one with. ``later``: the work of the call fails, not the call. ``stable``: lines of
    output that runs without a fault have in common; ``same_calls``: whether these make the same calls."""
    injection = _injection(usual, seen)
    if injection is None:
        return Judged("not-reached", ("no call of this place was made in this run",))
    output = tuple(_new_lines(usual, seen, stable))
    if later:
        told = next((each for each in injection.after if each.failed), None)
        if told is None:
            return _ended(usual, seen, output) or Judged(
                "not-reached", ("no call came after it that tells of work that failed",)
            )
        at = injection.after.index(told)
        injection = Reached(told, injection.after[at + 1 :], injection.usual[at + 1 :])
    judged = (
        _ended(usual, seen, output, injection)
        or _misused(usual, seen, injection)
        or (None if sticky else _leaked(usual, seen, injection))
        or (None if sticky else _blamed(usual, seen, injection, output))
        or (None if same_calls and _others_deviate(usual, seen) else _dropped(usual, seen, injection, output, stable))
        or _handled(usual, seen, injection, output)
    )
    return replace(judged, output=output[:_MOST_LINES], at=injection.call.key if later else None)


def _injection(usual: Observed, seen: Observed) -> Reached | None:
    for number, calls in enumerate(seen.threads):
        at = next((index for index, call in enumerate(calls) if call.injected), None)
        if at is not None:
            others = usual.threads[number] if number < len(usual.threads) else []
            return Reached(calls[at], calls[at + 1 :], others[at + 1 :])
    return None


def _others_deviate(usual: Observed, seen: Observed) -> bool:
    """Whether a thread without the fault makes other calls than without it: it may have been told of the failure."""
    at = next((number for number, calls in enumerate(seen.threads) if any(call.injected for call in calls)), 0)
    calls = [
        Counter(call.key for number, made in enumerate(each.threads) for call in made if number != at)
        for each in (usual, seen)
    ]
    return calls[0] != calls[1]


def _died_inside(usual: Observed, seen: Observed) -> Judged | None:
    """Whether another process than the first one died: one that a shell or the program had started."""
    if seen.faults <= usual.faults or seen.ending.exit_code == usual.ending.exit_code:
        return None
    at = f" at {seen.died_at}" if seen.died_at else ""
    return Judged("crash", (f"a process of the program died of a signal{at}",))


def _ended(usual: Observed, seen: Observed, output: Sequence[str], injection: Reached | None = None) -> Judged | None:
    """A run that hangs or dies. A program that has written something, and then aborts, meant to."""
    ending = seen.ending
    if ending.hung:
        return Judged("hang", ("it did not end, and was stopped", *seen.stands))
    if ending.signal is None or ending.signal == usual.ending.signal:
        return _died_inside(usual, seen)
    name = signal_name(ending.signal)
    unmeant = next((line for line in output if _UNMEANT.search(line)), None)
    if ending.signal in _MEANT and output and unmeant is None:
        return None
    silent = (
        ("it wrote nothing new; what was in the buffer of stdout is lost",)
        if ending.signal in _MEANT and not output
        else ()
    )
    why = (unmeant,) if unmeant is not None else silent
    last = injection.after[-1] if injection is not None and injection.after else None
    where = _at(seen, last) if last is not None else ""
    after = f" after {last.api}{where}" if last is not None and not last.injected else ""
    at = f" at {seen.died_at}" if seen.died_at else ""
    if unmeant is not None and injection is not None and _leaves_main(unmeant, seen, injection, output):
        return Judged("crash", (f"it ended by an exception that main does not catch ({name})", *why), minor=True)
    return Judged("crash", (f"it died of {name}{at}{after}", *why))


def _leaves_main(line: str, seen: Observed, injection: Reached, output: Sequence[str]) -> bool:
    """Whether it ended by an exception that nothing between the call and main need have caught: not in another thread, in a destructor,
    or beneath Python, which would have gone on. It came at once, or it says what failed."""
    frames = seen.stacks[injection.call.key].frames
    alone = all(frame.language != "python" and "~" not in frame.function for frame in frames)
    from_main = any(frame.function == "main" for frame in frames)
    if not (_UNCAUGHT.search(line) and alone and from_main):
        return False
    told = {number for each in output for error in errors_in(f"CUDA error: {each}") for _, number in error.numbers}
    return not injection.after or injection.call.status in told


def _misused(usual: Observed, seen: Observed, injection: Reached) -> Judged | None:
    """What rules say of calls that they do not say without the fault."""
    known = Counter((each.rule, each.line) for each in usual.said)
    new = [each for each in seen.said if each.severity in _SEVERITIES and not known[each.rule, each.line]]
    new = [each for each in new if each.rule not in _OF_LOSS and not _is_of(each, injection.call, seen)]
    verdicts: tuple[Verdict, ...] = ("double-destroy", "use-after-destroy", "use-of-unmade")
    for verdict in verdicts:
        those = [each for each in new if _verdict_of(each) == verdict]
        if those:
            return Judged(
                verdict,
                tuple(f"{each.message} ({each.rule}){f' at {each.line}' if each.line else ''}" for each in those[:3]),
            )
    return None


def _is_of(said: Said, call: Called, seen: Observed) -> bool:
    """Whether it is about the call that failed, and not about what the program did then."""
    own = line_of(seen.stacks[call.key].frames)
    return said.rule != _UNCHECKED and said.api == call.api and bool(own) and said.line == own


def _verdict_of(said: Said) -> Verdict | None:
    """None: what the rule says may have come of another way that the program took."""
    if said.rule.endswith(("-twice", "released-too-often")):
        return "double-destroy"
    if "use-after" in said.rule or "freed" in said.rule or "after-reset" in said.rule:
        return "use-after-destroy"
    return "use-of-unmade" if _OF_NOTHING.fullmatch(said.rule) else None


def _leaked(usual: Observed, seen: Observed, injection: Reached) -> Judged | None:
    """What is left that is not left without the fault, where the program went on or returned from main. What ends the process by exit at
    the error, or by an exception that nobody caught, leaves its objects to the system."""
    if seen.ending.signal is not None:
        return None
    if _is_uncaught(seen):
        return None
    before, now = _of_kinds(usual.left), _of_kinds(seen.left)
    more = Counter(
        {each: count for each, count in (seen.left - usual.left).items() if now[each.kind] > before[each.kind]}
    )
    failed = [each for calls in seen.threads for each in calls if each.failed]
    if any(_ends_all(each, seen) for each in failed):
        return None
    for kind in (kind for each in failed for kind in each.ends):  # what they were to end is left
        more -= Counter([next((each for each in more if each.kind == kind), Left(kind, "", ""))])
    if not more:
        return None
    sentences = tuple(_left_sentence(each, count) for each, count in more.most_common(3))
    return Judged("leak", sentences, minor=_exits_at_once(seen, injection))


def _ends_all(call: Called, seen: Observed) -> bool:
    """Whether it was to end a context, with all that is in it."""
    entry_point = seen.entry_points.get(call.key.entry_point)
    resets = entry_point is not None and entry_point.does(Verb.RESETS, Verb.RELEASES)
    return resets or Kind.CONTEXT.counted in call.ends


def _of_kinds(left: Counter[Left]) -> Counter[str]:
    """A program that takes another way may make by another call what it keeps until its end."""
    kinds: Counter[str] = Counter()
    for each, count in left.items():
        kinds[each.kind] += count
    return kinds


def _left_sentence(left: Left, count: int) -> str:
    return f"{counted(count, left.kind)} left that {left.api} made{f' at {left.line}' if left.line else ''}"


def _is_uncaught(seen: Observed) -> bool:
    """By Python, or by a test, whose frames pytest keeps."""
    said = "Traceback (most recent call last):" in seen.ending.stderr or bool(_TEST_FAILED.search(seen.ending.stdout))
    return said and seen.ending.exit_code == 1


def _exits_at_once(seen: Observed, injection: Reached) -> bool:
    """Whether a program in Python makes no call any more: sys.exit cannot be told from the end of the program there."""
    frames = seen.stacks[injection.call.key].frames
    return not injection.after and any(frame.language == "python" for frame in frames)


def _blamed(usual: Observed, seen: Observed, injection: Reached, output: Sequence[str]) -> Judged | None:
    """Whether the first message names another call, one that came later. Of an error of earlier work no call is the right one: CUDA returns
    it from the next call, whatever that is."""
    if not _reported(usual, seen, output) or _ends_capture(injection.call, seen):
        return None
    forms = set(map(without_numbers, usual.lines))
    output = [line for line in output if without_numbers(line) not in forms]  # not what a log says in every run
    expected = {each.key for calls in usual.threads for each in calls if each.failed}
    later = [each for each in injection.after if each.failed and not each.injected and each.key not in expected]
    named = list(_named(output))
    first_line = next((line for line in output if _NAME.search(line) or _PLACE.search(line) or _ERROR.search(line)), "")
    if first := next(_named([first_line]), None):
        if seen.ending.exit_code == usual.ending.exit_code and not any(each.failed for each in injection.after):
            return None  # it goes on in another way, and may name that
        if any(_is_alias(first, name) for name in _names_of(injection.call, seen)):
            return None
        others = {name for calls in (*usual.threads, *seen.threads) for each in calls for name in _names_of(each, seen)}
        others -= _taken_instead(usual, seen, injection)
        if first in others and not any(name in _names_of(injection.call, seen) for name in named):
            return Judged("wrong-blame", (f"the call that failed is {injection.call.api}; the message names {first}",))
        return None
    places = list(_placed(output))
    if places and _PLACE.search(first_line):
        return _placed_wrongly(seen, injection, places, of_error=bool(errors_in(first_line)))
    if seen.ending.exit_code != usual.ending.exit_code and _blames_launch(seen, injection, output):
        text = f"the call that failed is {injection.call.api}; the message says that a launch failed, and none did"
        return Judged("wrong-blame", (text,))
    went_on = injection.after[: injection.went_on]
    noticed = next((each for each in later if each in went_on and not each.ends), None)
    if noticed is None:
        return None
    told = seen.ending.exit_code != usual.ending.exit_code or any(_NOTICED.search(line) for line in output)
    text = f"it went on after {injection.call.api}, until {noticed.api}{_at(seen, noticed)} failed"
    return Judged("wrong-blame" if told else "ignored", (text,))


def _taken_instead(usual: Observed, seen: Observed, injection: Reached) -> set[str]:
    """The names of calls that succeed where there is none without the fault, and do not clean up: the way that the program takes instead,
    which it may name."""
    known = {_line_of(each, usual) for calls in usual.threads for each in calls}
    taken = (
        each for each in injection.after if not each.failed and not each.ends and _line_of(each, seen) not in known
    )
    return {name for each in taken for name in _names_of(each, seen)}


def _line_of(call: Called, seen: Observed) -> tuple[str, str] | Key:
    """Of one line the compiler may make several calls."""
    line = line_of(seen.stacks[call.key].frames)
    return (call.api, line) if line else call.key


def _blames_launch(seen: Observed, injection: Reached, output: Sequence[str]) -> bool:
    """Whether the first message is about a launch, as after a check that finds an error which was left: but there were launches after the
    call that failed, and they succeeded."""
    launches = [each for each in injection.after if _launches(each, seen)]
    about = bool(output) and _LAUNCH.search(output[0]) is not None
    return (
        about and bool(launches) and not any(each.failed for each in launches) and not _launches(injection.call, seen)
    )


def _ends_capture(call: Called, seen: Observed) -> bool:
    """It was not made: the capture goes on, and calls fail that would not if it had been made and failed."""
    entry_point = seen.entry_points.get(call.key.entry_point)
    return entry_point is not None and entry_point.does(Verb.ENDS_CAPTURE)


def _launches(call: Called, seen: Observed) -> bool:
    entry_point = seen.entry_points.get(call.key.entry_point)
    return entry_point is not None and entry_point.does(Verb.LAUNCHES)


def _placed_wrongly(
    seen: Observed, injection: Reached, places: Sequence[tuple[str, int]], *, of_error: bool
) -> Judged | None:
    """By the lines that the messages name. ``of_error``: the first names an error of CUDA; else it may be about results, and blames no call
    that succeeded."""
    own = [(each.file, each.line) for each in seen.stacks[injection.call.key].frames if each.file and each.line]
    if any(_is_check_of(place, file, line) for place in places for file, line in own):
        return None
    blaming = [each for each in injection.after[: injection.went_on + 1] if not each.ends and (each.failed or of_error)]
    for each in blaming:
        frame = next((frame for frame in seen.stacks[each.key].frames if frame.file and frame.line), None)
        if frame is None or not frame.file or not frame.line or not _is_check_of(places[0], frame.file, frame.line):
            continue
        if each.failed or frame.line == places[0][1]:  # below calls that succeed: a check of all before it
            text = f"the call that failed is {injection.call.api}; the message names the line of {each.api}"
            return Judged("wrong-blame", (text,))
    return None


def _is_alias(name: str, other: str) -> bool:
    """Whether one is the other, or an overload of cuda_runtime.h makes one of it."""
    return name == other or {name, other} in _ALIASES


def _is_check_of(place: tuple[str, int], file: str, line: int) -> bool:
    name, number = place
    return file.rpartition("/")[2] == name.rpartition("/")[2] and line <= number <= line + _CHECK_LINES


def _named(output: Sequence[str]) -> Iterator[str]:
    """The functions that lines name, without versions."""
    for name in chain.from_iterable(_NAME.findall(line) for line in output):
        if not _STATUS.match(name):
            yield _VERSION.sub("", name)


def _placed(output: Sequence[str]) -> Iterator[tuple[str, int]]:
    for line in output:
        for found in _PLACE.finditer(line):
            yield (found[1] or found[3], int(found[2] or found[4]))


def _names_of(call: Called, seen: Observed) -> set[str]:
    """By which a message may name the call: as the program called it, and as the driver does."""
    entry_point = seen.entry_points.get(call.key.entry_point)
    return {_VERSION.sub("", call.api), _VERSION.sub("", entry_point.name) if entry_point is not None else ""}


def _dropped(
    usual: Observed, seen: Observed, injection: Reached, output: Sequence[str], stable: frozenset[str]
) -> Judged | None:
    """Whether the program went on as if nothing had happened."""
    without_stream = _on_default_stream(injection)
    if injection.deviates and not without_stream:
        return None
    if seen.ending.exit_code != usual.ending.exit_code or seen.ending.signal is not None:
        return None
    if seen.ending.cut and seen.ending.digest != usual.ending.digest:
        return None
    if any(_NOTICED.search(line) for line in output) or list(_named(output)):
        return None
    missing = stable - set(seen.lines)
    words = Counter(map(without_numbers, output)) - Counter(map(without_numbers, missing))
    if words:  # it says something else in words
        return None
    if set(_told(output)) - set(_told(missing)):
        return None
    wrong = ("its results differ", *output[:2]) if output else ()
    after = f"it made the {counted(len(injection.after), 'call')} that follow as without the fault"
    after = after if injection.after else "no call follows"
    after = "it went on with the default stream" if without_stream else after
    how = f"{after}; exit code {seen.ending.exit_code}"
    return Judged("ignored", (how, *wrong), minor=without_stream or _only_asked(seen, injection))


def _only_asked(seen: Observed, injection: Reached) -> bool:
    """Whether the call asks about work for which a later call waits."""
    asked, *later = (seen.entry_points[each.key.entry_point] for each in (injection.call, *injection.after))
    return asked.does(Verb.QUERIES) and any(each.does(Verb.BLOCKS) for each in later)


def _told(lines: Iterable[str]) -> Iterator[str]:
    """Numbers that are called a status."""
    for line in lines:
        yield from (found[0].lower() for found in _STATUS_NUMBER.finditer(line))


def _on_default_stream(injection: Reached) -> bool:
    """Whether all that it does otherwise is to use the default stream where it used the stream that was not made, and not to end that."""
    at, replaced = 0, False
    for usual in injection.usual:
        if at < len(injection.after) and injection.after[at].key == usual.key:
            replaced |= injection.after[at].stream == 0 and usual.stream > 0
            at += 1
        elif "stream" not in usual.ends:
            return False
    return replaced and at == len(injection.after)


def _handled(usual: Observed, seen: Observed, injection: Reached, output: Sequence[str]) -> Judged:
    ending = seen.ending
    if ending.exit_code == usual.ending.exit_code:
        if ending.cut and not output and not injection.deviates:
            return Judged("unstable", ("nothing was seen, but it wrote more than is compared",))
        how = "it took another way" if injection.deviates else "it said so"
        return Judged("handled", (f"{how} and ended with exit code {ending.exit_code}",))
    if ending.signal is not None:
        return Judged("handled", (f"it reported the failure and ended by {signal_name(ending.signal)}",))
    if ending.exit_code:
        return Judged("handled", (f"it reported the failure and ended with exit code {ending.exit_code}",))
    return Judged("handled", ("it ended with exit code 0",))


def _reported(usual: Observed, seen: Observed, output: Sequence[str]) -> bool:
    return bool(output) or seen.ending.exit_code != usual.ending.exit_code or seen.ending.signal is not None


def _new_lines(usual: Observed, seen: Observed, stable: frozenset[str]) -> Iterator[str]:
    """That are not written without a fault, those of stderr first. Lines that differ from run to run, by their numbers, are not new."""
    known = Counter(usual.lines)
    varying = Counter(without_numbers(line) for line in known.elements() if line not in stable)
    for line in seen.lines:
        form = without_numbers(line)
        if known[line]:
            known[line] -= 1
        elif varying[form]:
            varying[form] -= 1
        elif line.strip() and not line.startswith("cuvet: "):
            yield line


def without_numbers(line: str) -> str:
    """The line as it is in every run, if only numbers in it differ."""
    return _DIGITS.sub("#", line)


def varies(line: str) -> bool:
    """Whether it has a time or a rate, which two runs have in common by luck only."""
    return _MEASURED.search(line) is not None


def _at(seen: Observed, call: Called) -> str:
    where = line_of(seen.stacks[call.key].frames)
    return f" at {where}" if where else ""
