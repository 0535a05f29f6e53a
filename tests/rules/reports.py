"""What ``cuvet run`` would report of each program of the rules, as text: ``reports.txt``. ``python -m tests.rules.reports`` writes it.

A program runs over the model alone (``simulated.py``). Its calls go into a recording, of which the report is made as of any other.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from tests.recording import writing

from cuvet.analysis import Analysis, Meta
from cuvet.catalog import Kind
from cuvet.catalog.kinds import BY_HANDLE
from cuvet.findings import Finding, MemoryPlace, MemoryUse, ObjectReport, Report, Site, UnexplainedFailure
from cuvet.model import Call, Prediction
from cuvet.model.naming import is_named
from cuvet.rules import model_rules
from cuvet.rules.examples import Example, invalid, runnable, valid
from cuvet.rules.rule import Rule

from . import measured
from .simulated import Crashed, SimulatedDriver, run

FILE = Path(__file__).parent / "reports.txt"
HEAD = """# What `cuvet run` says of each program of the rules, run over the model. Written by `make generate`; a test asks that it is
# still so. First the calls of which the model expects another status than CUDA_SUCCESS, or knows what they write.
"""
SIGSEGV = 11
TICKS = 100
"""Nanoseconds from one call to the next."""
NEEDS_A_DRIVER = (
    "memory-dereferenced-on-host",
    "race-with-host",
    "stream-call-in-host-function",
    "exit-call-after-shutdown",
    "memory-exhausted",
)
"""Rules with programs that touch memory of CUDA, wait for a host function, end their process, or ask how much memory there is."""
ALIVE, KNOWN = 1, 2
FULL = 2
INHERITED = 3
"""Code of the note in the recording of a process that was forked with a context."""
TRACKED = BY_HANDLE - {Kind.MEMORY, Kind.HOST_MEMORY}
"""What the shim's table of objects has."""


class Process:
    """The records of one process."""

    def __init__(self, pid: int, parent: int, start: int) -> None:
        self.pid, self.parent, self.start = pid, parent, start
        self.threads: dict[int, list[bytes]] = {}
        self.calls: dict[int, int] = {}
        self.stacks: dict[int, int] = {}
        self.died = False

    def add(self, thread: int, *records: bytes) -> None:
        self.threads.setdefault(thread, []).extend(records)

    def number(self, thread: int) -> int:
        self.calls[thread] = self.calls.get(thread, 0) + 1
        return self.calls[thread]

    def stack(self, thread: int, line: int) -> int:
        if line not in self.stacks:
            self.stacks[line] = len(self.stacks) + 1
            self.add(thread, writing.stack(self.stacks[line], (), [(1, line)]))
        return self.stacks[line]

    def write(self, directory: Path, devices: int) -> None:
        names = [writing.chunk(writing.every_entry_point() + writing.python_code(1, "program.py", "main"))]
        chunks = [writing.chunk(b"".join(records), thread=thread) for thread, records in self.threads.items()]
        gpu = [(1 << 34, 90)] * devices
        fields = {"parent": self.parent, "flags": FULL, "end": 0 if self.died else 1, "gpus": devices, "gpu": gpu}
        writing.write(directory, [*names, *chunks], pid=self.pid, start=self.start, **fields)


class RecordedDriver(SimulatedDriver):
    """``cu`` whose calls are stored as the shim stores them."""

    def __init__(self, file: str, devices: int, ends: measured.Ends | None = None) -> None:
        super().__init__(file, devices, ends)
        self.process = Process(1000, 1, 1)
        self.processes = [self.process]
        self.answers: list[str] = []
        self._inside: dict[int, Call] = {}
        self._now = 0
        self._fresh, self._addresses = count(0xC000_0000, 0x100), 0xA_0000_0000

    def _make(self, call: Call) -> dict[int, int]:
        process, thread = self.process, call.thread
        self._now += TICKS
        fields = {"entered": self._now, "thread": thread, "number": process.number(thread), "objects": self._seen(call)}
        fields |= {"context": self.model.current_handle(call), "pointers": call.pointers, "inputs": call.inputs}
        if other := self._inside.get(call.shared_with):
            process.add(thread, writing.overlap(fields["number"], thread, other.thread, other.name))
        if call.maps:
            process.add(thread, writing.maps(fields["number"], thread, "\n".join(_around(call))))
        self._inside[thread] = call
        try:
            outputs = super()._make(call)
        except Crashed:
            fields["stack"] = self._stack(call)
            process.add(
                thread, writing.call(call.name, call.args, status=writing.PENDING, flags=writing.LIFECYCLE, **fields)
            )
            process.add(thread, writing.fault(SIGSEGV, thread, stack=fields["stack"], ticks=self._now + 5))
            process.died = True
            raise
        flags = writing.LIFECYCLE | (writing.FAILED if self.status else 0)
        flags |= 0 if all(each[2] & ALIVE for each in fields["objects"]) else writing.SUSPECT
        fields |= {"stack": self._stack(call), "status": self.status, "outputs": self._written(call, outputs)}
        process.add(thread, writing.call(call.name, call.args, flags=flags, **fields))
        return outputs

    def _line(self) -> int:
        return super()._line() - 1  # a program's text begins with an empty line

    def _stack(self, call: Call) -> int:
        return self.process.stack(call.thread, self._lines[call.number]) if self.file != "<setup>" else 0

    def _seen(self, call: Call) -> list[tuple[int, Kind, int, int, int, int]]:
        """The objects that parameters of the call name, as the shim's table has them."""
        found = []
        for role in call.entry_point.roles:
            if role.parameter and role.kind in TRACKED and is_named(role) and not (role.field or role.count):
                parameter = call.entry_point.index[role.parameter]
                it = self.model.object_of(call, parameter, role.kind)
                if it is not None:
                    of = it.context.handle if it.context else 0
                    flags = KNOWN | ALIVE if it.alive else KNOWN
                    found.append((parameter, role.kind, flags, it.generation, call.args[parameter], of))
        return found

    def _written(self, call: Call, outputs: dict[int, int]) -> list[tuple[int, Kind, int, int]]:
        """The handles and addresses that the call wrote."""
        roles = {call.entry_point.index[role.parameter]: role for role in call.entry_point.roles if role.parameter}
        return [
            (parameter, roles[parameter].kind, self._generation(roles[parameter].kind, word), word)
            for parameter, word in outputs.items()
            if parameter in roles
        ]

    def _generation(self, kind: Kind, handle: int) -> int:
        found = self.model.find(kind, handle)
        return found.generation if found else 0

    def _status(self, call: Call, prediction: Prediction) -> int:
        ends = prediction.statuses if prediction.statuses != (0,) else ()
        known = {call.entry_point.parameters[at].name: word for at, word in prediction.outputs.items()}
        if (ends or known or prediction.undefined) and self.file != "<setup>":
            written = [f"{name} {_word(word)}" for name, word in known.items()]
            parts = [*([" or ".join(map(str, ends))] if ends else []), *written]
            parts += ["undefined"] if prediction.undefined else []
            self.answers.append(f"line {self._lines[call.number]}, {call.name}: {', '.join(parts)}")
        return super()._status(call, prediction)

    def in_child(self, function: Callable[[], object]) -> int:
        parent = self.process
        self._now += TICKS
        pid = 1000 + len(self.processes)
        parent.add(self.thread, writing.fork(pid, thread=self.thread, ticks=self._now))
        self.process = Process(pid, parent.pid, len(self.processes) + 1)
        self.processes.append(self.process)
        self.process.add(self.thread, writing.note(INHERITED, ""))
        try:
            return super().in_child(function)
        finally:
            self.process = parent


def _around(call: Call) -> list[str]:
    """The lines of the memory map about the bytes that the call names."""
    first, size = (*call.args, 0)[:2]
    lines = [(int(line.split("-")[0], 16), int(line.split()[0].split("-")[1], 16), line) for line in call.maps]
    return [line for begin, end, line in lines if begin < first + max(size, 1) and end > first]


def _word(word: int) -> str:
    return f"{word:#x}" if word > 0xFFFF else str(word)


# As text.


def _program(rule: type[Rule], kind: str, example: Example) -> Iterator[str]:
    ends = measured.read().get(measured.key(rule.name, kind, example))
    cu = run(RecordedDriver(f"{rule.name}.py", example.devices, ends), example)
    with tempfile.TemporaryDirectory() as folder:
        for process in cu.processes:
            process.write(Path(folder), example.devices)
        meta = Meta(pid=1000, signal=SIGSEGV if cu.process.died else None)
        report = Analysis(Path(folder)).report(meta, leaks=True, memory=True)
    yield f"\n## {rule.name}, {kind}: {example.name}"
    yield from cu.answers
    yield from _report(report)


def _report(report: Report) -> Iterator[str]:
    for finding in report.findings:
        yield from _finding(finding)
    yield from map(_unexplained, report.unexplained)
    yield from (f"memory: {_use(each)}" for each in report.memory or ())
    yield from (f"not checked: {each}" for each in report.not_checked)
    yield from (f"hint: {each}" for each in report.hints)
    yield "in all: " + ", ".join(f"{number} {name}" for name, number in report.stats.items() if number)


def _finding(finding: Finding, indent: str = "") -> Iterator[str]:
    ended = f"signal {finding.signal}" if finding.signal else f"status {finding.status}"
    argument = "" if finding.argument is None else f", argument {finding.argument}"
    times = f", {finding.repeats} times" if finding.repeats > 1 else ""
    yield f"{indent}{finding.severity} {finding.name}{_site(finding.site)}{argument}, {ended}{times}: {finding.message}"
    indent += "  "
    yield from (f"{indent}{_object(each)}" for each in finding.objects)
    yield from (f"{indent}{each.text}{_site(each.site, ',')}" for each in finding.earlier)
    yield from (f"{indent}because {each}" for each in finding.because)
    yield from (f"{indent}held: {_place(each)}" for each in finding.memory)
    for each in finding.consequences:
        yield from _finding(each, f"{indent}then ")


def _site(site: Site | None, verb: str = "") -> str:
    """``verb`` is left out where nothing is known."""
    if site is None:
        return ""
    where = f"line {site.frames[0].line}" if site.frames else "setup"
    process = f" of process {site.process}" if site.process != 1000 else ""
    return f"{verb} at {where}, {site.api} (call {site.call} of thread {site.thread}{process}, {site.time_ns} ns)"


def _object(it: ObjectReport) -> str:
    of = f" of {it.context}" if it.context else f" of device {it.device}" if it.device is not None else ""
    return f"{it.name}, generation {it.generation}{of}{_site(it.created, ', made')}{_site(it.destroyed, ', ended')}"


def _unexplained(failure: UnexplainedFailure) -> str:
    causes = "".join(f", perhaps {each.cause}" for each in failure.causes)
    return f"unexplained: status {failure.status}{_site(failure.site)}, {failure.count} times{causes}{failure.reason}"


def _use(use: MemoryUse) -> str:
    where = use.memory if use.device is None else f"{use.memory} {use.device}"
    held = f"{use.bytes} bytes in {use.count}, at most {use.peak_bytes} in {use.peak_count} at {use.peak_ns} ns"
    return f"{where}: {held}; " + "; ".join(map(_place, use.places))


def _place(place: MemoryPlace) -> str:
    held = f"{place.bytes} in {place.count}, at most {place.peak_bytes} in {place.peak_count}"
    return f"{held}{_site(place.site)}"


NOUNS = tuple(dict.fromkeys(rule.__module__.split(".")[2] for rule in model_rules()))
OF_THIS_PROCESS = re.compile(r"(?<=/proc/self/maps: ).*|0x[4-7][0-9a-f]{11}\b")
"""Its memory map, and addresses in it: no handle or address of the simulated driver is as high."""


def section(noun: str) -> str:
    """The reports of the programs of the rules in a folder of ``src/cuvet/rules``."""
    lines = [
        line
        for rule in model_rules()
        if rule.__module__.split(".")[2] == noun and rule.name not in NEEDS_A_DRIVER
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule)))
        for example in runnable(examples)
        for line in _program(rule, kind, example)
    ]
    return f"\n# {noun}\n" + OF_THIS_PROCESS.sub("(changes)", "\n".join(lines)) + "\n"


if __name__ == "__main__":
    FILE.write_text(HEAD + "".join(map(section, NOUNS)), encoding="utf-8")
