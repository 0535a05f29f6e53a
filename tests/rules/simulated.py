"""Runs the programs of rules over the model alone, in this process: what the rules say, line by line.

A call ends as it did on hardware (``measured.txt``), which the model has to allow. In a program that was not measured the driver is as
obedient as can be: every call ends as the model predicts first.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from cuvet.catalog import Catalog, Kind, Parameter, Verb, driver, libraries
from cuvet.model import Arguments, Call, Model, Outcome, Prediction
from cuvet.model.touches import Touches
from cuvet.rules import programs
from cuvet.rules.examples import Example
from cuvet.rules.rule import Violation

from .measured import Ends

T = TypeVar("T")
D = TypeVar("D", bound="SimulatedDriver")
Finding = tuple[int, str, str]
"""Line, severity, slug."""

_MARK = re.compile(r"# (error|warning|note): \[([a-z0-9-]+)\]")
_MADE = (Verb.CREATES, Verb.RETURNS, Verb.ALLOCATES)


class Crashed(Exception):
    """The driver died in a call."""


def expected(program: str) -> set[Finding]:
    """What the marks of a program say."""
    return {
        (number, severity, slug)
        for number, line in enumerate(program.splitlines(), 1)
        for severity, slug in _MARK.findall(line)
    }


def _packed(words: tuple[int, ...]) -> Arguments:
    layout = tuple((8 * number, 8) for number in range(len(words)))
    return Arguments(b"".join(word.to_bytes(8, "little") for word in words), layout)


class SimulatedDriver(programs.Driver):
    """``cu`` without a library: calls go to a model."""

    def __init__(self, file: str, devices: int, ends: Ends | None = None) -> None:
        self._ends = ends
        self.surprises: list[str] = []
        """Calls that ended on hardware as the model does not allow."""
        self._kept: list[object] = []
        self.file = file
        self.model = Model(devices, complete=True)
        self.model.touches = Touches()
        self.thread = 1
        self.shared_with = 0
        self.findings: set[Finding] = set()
        self.violations: list[tuple[Call, Violation]] = []
        self._pointers: tuple[int, ...] = ()
        self._arrays: dict[str, list[int]] = {}
        self._lines: dict[int, int] = {}
        self._numbers = count(1)
        self._threads = count(2)
        self._fresh = count(0x5555_0000_0000, 0x100)
        self._addresses = 0x7F00_0000_0000
        self._released: dict[Kind, list[int]] = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        return SimulatedLibrary(self, libraries()[name]) if name in libraries() else self.simulated(driver(), name)

    def simulated(self, catalog: Catalog, name: str) -> Callable[..., Any]:
        """What makes a call of the entry point of that name to the model."""
        symbol = catalog[name].symbol
        entry_point = catalog.by_symbol[symbol]
        signature = entry_point.signature(symbol)
        assert signature is not None

        def call(*given: Any, **replaced: Any) -> Any:
            values = iter(given)
            words, inputs, outputs = {}, {}, []
            for parameter in signature.parameters:
                if parameter.out and parameter.name not in replaced:
                    outputs.append(parameter)
                    continue
                value = replaced[parameter.name] if parameter.name in replaced else next(values)
                index = entry_point.index.get(parameter.name)
                if index is None:
                    continue
                if isinstance(value, str):
                    value = value.encode() + b"\0"
                if isinstance(value, (list, tuple)):
                    value = b"".join(number.to_bytes(parameter.pointee_bytes or 8, "little") for number in value)
                if isinstance(value, bytes):
                    inputs[index], value = value, 0x1000
                words[index] = int(value or 0)
            assert not list(values), f"{name}: too many arguments"
            args = tuple(words.get(index, 0) for index in range(len(entry_point.parameters)))
            made = Call(
                entry_point,
                args,
                thread=self.thread,
                number=next(self._numbers),
                inputs=inputs,
                pointers=self._pointers,
                arguments=_packed(self._pointers) if self._pointers else None,
                shared_with=self.shared_with,
            )
            if name in ("cuMemHostRegister", "cuMemHostUnregister"):
                made.maps = tuple(Path("/proc/self/maps").read_text().splitlines())
            written = self._make(made)
            results = [written.get(entry_point.index.get(parameter.name, -1), 0) for parameter in outputs]
            return results[0] if len(results) == 1 else tuple(results) or self.status

        return call

    def captured_nodes(self, stream: int) -> list[int]:
        """One, with the handle of a node that has ended, if there is one."""
        ended = (node.handle for node in self.model.objects(Kind.GRAPH_NODE, alive=False) if not node.alive)
        self._arrays = {"dependencies_out": [next(ended, next(self._fresh))]}
        self.cuStreamGetCaptureInfo(stream)
        return self._arrays.pop("dependencies_out")

    def _make(self, call: Call) -> dict[int, int]:
        self._lines[call.number] = self._line()
        prediction = self.model.predict(call)
        status = self._status(call, prediction)
        for violation in prediction.violations:
            if violation.stands(call, None if status < 0 else status):
                line = self._lines[(violation.culprit or call).number]
                self.findings.add((line, violation.rule.severity, violation.rule.name))
                self.violations.append((call, violation))
        if status < 0:
            raise Crashed
        self.status = status
        outputs = {} if status else self._outputs(call, prediction.outputs)
        index = call.entry_point.index
        arrays = {index[name]: tuple((word, 0) for word in words) for name, words in self._arrays.items()}
        self.model.observe(call, Outcome(status, outputs, handed_out=arrays))
        if status == 0:
            for role in call.entry_point.roles:
                if role.verb is Verb.DESTROYS and role.parameter:
                    self._released[role.kind].append(call.arg(role.parameter))
        return outputs

    def _status(self, call: Call, prediction: Prediction) -> int:
        if self._ends is None:
            return prediction.statuses[0]
        name, status = self._ends.failed.get(call.number, (call.name, 0))
        assert (name, call.number <= self._ends.calls) == (call.name, True), (
            "another program than the one that was measured"
        )
        if status not in prediction.statuses and not prediction.undefined:
            self.surprises.append(f"call {call.number}, {name}: {status}, predicted {prediction.statuses}")
        return status

    def _outputs(self, call: Call, known: dict[int, int]) -> dict[int, int]:
        outputs = {}
        made = (role for role in call.entry_point.roles if role.verb in _MADE)
        roles = {role.parameter: role for role in made if not (role.field or role.count)}
        for index, parameter in enumerate(call.entry_point.parameters):
            if not parameter.out:
                continue
            role = roles.get(parameter.name)
            if index in known:
                outputs[index] = known[index]
            elif parameter.name == "pPitch":
                outputs[index] = -(-call.arg("WidthInBytes") // 512) * 512
            elif role is not None:
                outputs[index] = self._handle(role.kind, role.verb, parameter)
        return outputs

    def _handle(self, kind: Kind, verb: Verb, parameter: Parameter) -> int:
        if kind in (Kind.MEMORY, Kind.HOST_MEMORY):
            self._addresses += 1 << 26
            return self._addresses
        if verb is Verb.CREATES and self._released[kind]:
            return self._released[kind].pop()
        return next(self._fresh)

    def _line(self) -> int:
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        assert frame is not None
        return frame.f_lineno

    def launch(self, function: int, stream: int = 0, *arguments: int) -> int:
        self._pointers = arguments
        status = super().launch(function, stream, *arguments)
        self._pointers = ()
        return status

    def in_thread(self, function: Callable[[], T]) -> T:
        before, self.thread = self.thread, next(self._threads)
        try:
            return function()
        finally:
            self.thread = before

    def in_threads(self, *functions: Callable[[], object], times: int = 1) -> None:
        """Once, one after the other: each is inside its calls when the next one makes its own."""
        before = self.thread, self.shared_with
        for function in functions:
            self.shared_with = self.thread if self.thread != before[0] else 0
            self.thread = next(self._threads)
            function()
        self.thread, self.shared_with = before

    def in_child(self, function: Callable[[], object]) -> int:
        before, self.model = self.model, self.model.forked()
        try:
            function()
        finally:
            self.model = before
        return 0


class SimulatedLibrary:
    """``cu.cublas`` without a library."""

    def __init__(self, driver: SimulatedDriver, catalog: Catalog) -> None:
        self._driver = driver
        self._catalog = catalog

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._driver.simulated(self._catalog, name)


def simulate(example: Example, file: str, ends: Ends | None = None) -> SimulatedDriver:
    """Run a program over a model; ``file`` names it. ``ends``: how its calls ended on hardware."""
    return run(SimulatedDriver(file, example.devices, ends), example)


def run(cu: D, example: Example) -> D:
    """Run a program with this driver, and return that."""
    file = cu.file
    scope: dict[str, object] = {"cu": cu, "__name__": "__main__"}
    if example.setup:
        cu.file = "<setup>"
        exec(compile(programs.SETUP, "<setup>", "exec"), scope)
        cu.file = file
    try:
        exec(compile(example.program, file, "exec"), scope)
    except Crashed:
        pass
    return cu
