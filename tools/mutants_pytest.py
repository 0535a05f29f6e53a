"""The part of ``mutants.py`` that runs within pytest. CUVET_MUTANTS names a file that says what to do:

* ``map``: run the tests, and write by test file which lines of the sources each executed, and its processor time;
* ``serve``: try mutants of functions, each in a fork of this process, in which the function's code is replaced;
* ``one``: run the tests with a source that is another from the start;
* ``processes``: run the tests as they are: the processes that they start load the other source (``mutants_site/sitecustomize.py``).
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutants_loader import ROOT, OtherSource, module_name, mutated

JOB: dict[str, Any] = json.loads(Path(os.environ["CUVET_MUTANTS"]).read_text())
SPARE_SECONDS, TIMES = 10, 10
"""Processor time that tests may take with a mutant: so much, and so many times what they take without."""
MOST_BYTES = 8 << 30
if JOB["mode"] == "one":  # now: a conftest.py that is read next may import cuvet
    sys.meta_path.insert(0, OtherSource(JOB["mutants"][0]))
BROKEN = 77
"""Exit code of a fork in which the mutant could not be made."""


# map


class Mapping:
    def __init__(self) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=None, source=[str(ROOT / "src" / "cuvet")], config_file=False)
        self.coverage.start()
        self.coverage.switch_context("import")
        self.tests: dict[str, tuple[float, bool]] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        os.environ["MUTANTS_TEST"] = item.nodeid
        before = os.times()
        yield
        used = sum(os.times()[:4]) - sum(before[:4])
        self.coverage.switch_context("import")
        self.tests[item.nodeid] = (used, item.nodeid not in self.failed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        numbers: dict[str, dict[str, int]] = defaultdict(dict)
        for name in self.tests:
            file = name.partition("::")[0]
            numbers[file][name] = len(numbers[file])
        lines: dict[str, dict[str, dict[int, list[int]]]] = defaultdict(lambda: defaultdict(dict))
        for path in data.measured_files():
            source = str(Path(path).relative_to(ROOT))
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    for file in [context.partition("::")[0]] if context != "import" else JOB["files"]:
                        if file in JOB["files"]:
                            number = numbers[file].get(context, -1)
                            lines[file][source].setdefault(line, []).append(number)
        elsewhere = self.lines_elsewhere(numbers)
        for file, output in JOB["files"].items():
            tests = [(name, *self.tests[name]) for name in numbers[file]]
            Path(output).write_text(json.dumps({"tests": tests, "lines": lines[file], "elsewhere": elsewhere[file]}))

    def lines_elsewhere(
        self, numbers: dict[str, dict[str, int]]
    ) -> defaultdict[str, defaultdict[str, dict[int, list[int]]]]:
        """By test file, source and line: numbers of the tests that started a process which executed the line."""
        found: defaultdict[str, defaultdict[str, dict[int, list[int]]]] = defaultdict(lambda: defaultdict(dict))
        for output in Path(os.environ["MUTANTS_LINES"]).glob("*.json"):
            one = json.loads(output.read_text())
            output.unlink()
            file = one["test"].partition("::")[0]
            if one["test"] in numbers.get(file, {}):
                for source, lines in one["lines"].items():
                    for line in lines:
                        tests = found[file][str(Path(source).relative_to(ROOT))].setdefault(line, [])
                        tests.append(numbers[file][one["test"]])
        return found


# serve


class Server:
    """Functions and caches are looked for once, before the first fork."""

    def __init__(self) -> None:
        self.files = {str(ROOT / mutant["file"]) for mutant in JOB["mutants"]}
        for file in {mutant["file"] for mutant in JOB["mutants"]}:
            importlib.import_module(module_name(file))  # some are imported when they are needed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.functions: dict[tuple[str, int, str], list[FunctionType]] = defaultdict(list)
        self.caches = []
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename in self.files:
                code = each.__code__
                self.functions[code.co_filename, code.co_firstlineno, code.co_name].append(each)
            elif isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith(
                ("cuvet.model", "cuvet.rules")
            ):
                self.caches.append(each)
        running: dict[int, str] = {}
        for mutant in JOB["mutants"]:
            if len(running) >= JOB["jobs"]:
                self.wait(running)
            child = os.fork()
            if child == 0:
                self.try_one(mutant)
            running[child] = mutant["key"]
        while running:
            self.wait(running)
        return True

    def wait(self, running: dict[int, str]) -> None:
        child, status = os.wait()
        if child in running:
            outcome = "killed" if status else "survived"
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == BROKEN:
                outcome = "broken"
            os.write(1, f"\nmutant: {running.pop(child)} {outcome}\n".encode())

    def try_one(self, mutant: dict[str, Any]) -> None:
        silence()
        try:
            self.replace(mutant)
        except BaseException:
            os._exit(BROKEN)
        run_until_one_fails([self.items[name] for name in mutant["tests"] if name in self.items], mutant["seconds"])

    def replace(self, mutant: dict[str, Any]) -> None:
        path = str(ROOT / mutant["file"])
        line, name = mutant["function"]
        module = compile(mutated(mutant), path, "exec")
        code = next(each for each in codes(module) if (each.co_firstlineno, each.co_name) == (line, name))
        found = self.functions[path, line, name]
        assert found, f"{path}:{line} has no function {name}"
        for function in found:
            function.__code__ = code
        for cache in self.caches:
            cache.cache_clear()


def codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes(each)


def silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def run_until_one_fails(items: Sequence[pytest.Item], seconds: float) -> None:
    """Ends the process: 0 if all pass."""
    limit = int(SPARE_SECONDS + resource.getrusage(resource.RUSAGE_SELF).ru_utime + TIMES * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.alarm(10 * limit)  # for what waits
    code = 0
    try:
        for item, following in zip(items, [*items[1:], None], strict=True):
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                code = 1
                break
    except BaseException:
        code = 1
    os._exit(code)


# one


class Alone:
    def __init__(self) -> None:
        self.tests = {name: at for at, name in enumerate(JOB["mutants"][0]["tests"])}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        chosen = [item for item in session.items if item.nodeid in self.tests]
        if len(chosen) < len(self.tests):
            os._exit(1)  # tests are made of what is imported, too
        run_until_one_fails(sorted(chosen, key=lambda item: self.tests[item.nodeid]), JOB["mutants"][0]["seconds"])
        return True


class InProcesses:
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        (mutant,) = JOB["mutants"]
        run_until_one_fails([items[name] for name in mutant["tests"] if name in items], mutant["seconds"])
        return True


def pytest_configure(config: pytest.Config) -> None:
    modes = {"map": Mapping, "serve": Server, "one": Alone, "processes": InProcesses}
    config.pluginmanager.register(modes[JOB["mode"]]())
