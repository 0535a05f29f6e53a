"""Break the code in small ways and see whether a test notices: ``make mutants PLACE=src/cuvet/model COUNT=300 SEED=1``.

A mutant is a file with one change: another comparison, a condition or a call left out, a number one higher. It is killed if one of the
tests that execute the line fails, if the process dies, or if it takes many times as long. Those that survive are printed, with place and
text. Which tests execute a line is measured once for each version of the sources and of a test file. Mutants are drawn by the seed, so that
the same sources give the same ones. What was tried is kept in build/mutants: an interrupted run goes on where it was.

A mutant of a function is tried in a fork of a process that has collected the tests (``mutants_pytest.py``). What runs while modules are
imported needs a process of its own. What survives there is tried again with the tests of which other processes execute the line: commands,
and programs under ``cuvet run``. Each such process loads the changed file (``mutants_site``).
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mutants_loader import module_name

T = TypeVar("T")

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "mutants"
TESTS = {
    "src/cuvet/model": (
        "tests/model",
        *(
            f"tests/rules/test_{name}.py"
            for name in ("model", "states", "reports", "libraries", "accesses", "after_the_call", "messages")
        ),
        "tests/conformance/test_recordings.py",
        "tests/recording",
    ),
    "src/cuvet/recording": ("tests/recording", "tests/rules/test_reports.py"),
    "src/cuvet/analysis": (
        "tests/recording",
        "tests/reports",
        "tests/rules/test_recorded_libraries.py",
        "tests/rules/test_reports.py",
        *(f"tests/launch/test_{name}.py" for name in ("driver_log", "cudnn_log", "machine")),
    ),
    "src/cuvet/source": ("tests/source", "tests/source/languages"),
    "src/cuvet": ("tests/catalog", "tests/knowledge", "tests/reports", "tests/doctor", "tests/image", "tests/rules"),
}
"""Folders and files of tests, by what they are about; the first that fits counts."""
IN_PROCESSES = {
    "src/cuvet/recording": ("tests/launch/test_generated_code.py", "tests/launch/test_names.py"),
    "src/cuvet/analysis": ("tests/launch/test_full.py", "tests/launch/test_memory.py"),
}
"""Likewise more tests, of which other processes run the code."""
SWAPS: dict[type, type] = {
    **{ast.Eq: ast.NotEq, ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Is: ast.IsNot, ast.In: ast.NotIn},
    **{ast.NotEq: ast.Eq, ast.LtE: ast.Lt, ast.GtE: ast.Gt, ast.IsNot: ast.Is, ast.NotIn: ast.In},
    **{ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv},
    **{
        ast.FloorDiv: ast.Mult,
        ast.BitOr: ast.BitAnd,
        ast.BitAnd: ast.BitOr,
        ast.LShift: ast.RShift,
        ast.RShift: ast.LShift,
    },
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
MOST_SECONDS = 30.0
"""Processor time of the tests that a mutant is tried with; longer ones are left out."""
KILLED, SURVIVED, UNREACHED = "killed", "survived", "unreached"
RESULT = "mutant: "


class Mutant(NamedTuple):
    """Bytes ``start`` to ``end`` of ``file`` become ``text``. ``statement``: first line of the statement that is changed; ``function``:
    first line and name of the outermost function in the body of which that is; (0, ""): none."""

    file: str
    line: int
    start: int
    end: int
    text: str
    shown: str
    statement: int
    function: tuple[int, str]


def mutants_of(path: Path) -> list[Mutant]:
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = set()
    for node, mutated, (statement, function) in _changes(ast.parse(source), (0, NOWHERE)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        text = ast.unparse(mutated)
        shown = f"{_short(ast.unparse(node))}  →  {_short(text)}"
        text = f"({text})" if isinstance(mutated, ast.expr) else text
        found.add(Mutant(str(path.relative_to(ROOT)), node.lineno, start, end, text, shown, statement, function))
    return sorted(found)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else line[:87] + "..."


# What is changed.

Node = ast.expr | ast.stmt
Where = tuple[int, tuple[int, str]]
NOWHERE = (0, "")


def _changes(node: ast.AST, where: Where) -> Iterator[tuple[Node, Node, Where]]:
    """A node, what it becomes, and the statement and the function that it is in."""
    if isinstance(node, ast.stmt):
        where = (node.lineno, where[1])
    if isinstance(node, Node):
        yield from ((node, mutated, where) for mutated in _mutated(node))
    if isinstance(node, ast.If):
        yield node.test, ast.Constant(False), where
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        inside = where
        if isinstance(node, ast.FunctionDef) and name == "body" and where[1] == NOWHERE:
            inside = (node.lineno, (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_out(child):
                yield from _changes(child, inside)


def _is_left_out(node: ast.AST) -> bool:
    """Messages, imports, and what only a type checker reads."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
        return True
    return isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom)


def _mutated(node: Node) -> Iterator[Node]:
    match node:
        case ast.Compare():
            for index, op in enumerate(node.ops):
                if type(op) in SWAPS:
                    yield _with(node, ops=[*node.ops[:index], SWAPS[type(op)](), *node.ops[index + 1 :]])
        case ast.BoolOp():
            yield _with(node, op=SWAPS[type(node.op)]())
            for index in range(len(node.values)):
                rest = node.values[:index] + node.values[index + 1 :]
                yield rest[0] if len(rest) == 1 else _with(node, values=rest)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in SWAPS and not _is_text(node.left):
            yield _with(node, op=SWAPS[type(node.op)]())
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield _with(node, func=ast.Name(NAMES[name]))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp() if node.generators[0].ifs:
            everything = copy.copy(node.generators[0])
            everything.ifs = []
            yield _with(node, generators=[everything, *node.generators[1:]])
        case ast.Return(value=ast.Constant(value=None)):
            pass
        case ast.Return(value=ast.expr()):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete():
            yield ast.Pass()
        case ast.AugAssign():
            yield ast.Pass()
            if type(node.op) in SWAPS:
                yield _with(node, op=SWAPS[type(node.op)]())
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()


def _with(node: T, **fields: object) -> T:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


# Which tests execute a line.


class Map(NamedTuple):
    """``seconds`` of processor time by test; ``tests`` by (file, line); ``imported``: lines that run outside of tests, too; ``elsewhere``:
    as ``tests``, of processes that a test started."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], set[str]]
    imported: set[tuple[str, int]]
    elsewhere: dict[tuple[str, int], set[str]]


def measure(folders: Iterable[str]) -> Map:
    """What is not known yet is measured, test file by test file."""
    sources = digest(*sorted((ROOT / "src" / "cuvet").rglob("*.py")))
    files = test_files(folders)
    kept = {path: KEPT / "map" / f"{digest(path)[:16]}-{sources[:16]}.json" for path in files}
    missing = [path for path in files if not kept[path].exists()]
    if missing:
        say(f"measuring which lines {len(missing)} test files execute")
        (KEPT / "map").mkdir(parents=True, exist_ok=True)
        job = {"mode": "map", "files": {str(path.relative_to(ROOT)): str(kept[path]) for path in missing}}
        if run_pytest(job, missing).wait() not in (0, 1, 5) or not all(path.exists() for path in kept.values()):
            raise SystemExit("mutants: the tests could not be run")
    found = Map({}, {}, set(), {})
    for file in kept.values():
        add_to(found, json.loads(file.read_text()))
    return found


def test_files(places: Iterable[str]) -> list[Path]:
    """Files, and those that lie in folders."""
    found = ((ROOT / place).glob("test_*.py") if (ROOT / place).is_dir() else [ROOT / place] for place in places)
    return sorted(path for paths in found for path in paths)


def add_to(found: Map, one: dict[str, Any]) -> None:
    found.seconds.update({name: seconds for name, seconds, passed in one["tests"] if passed})
    for file, lines in one["lines"].items():
        for line, numbers in lines.items():
            place = (file, int(line))
            names = {one["tests"][number][0] for number in numbers if number >= 0}
            found.tests.setdefault(place, set()).update(names & found.seconds.keys())
            if -1 in numbers:
                found.imported.add(place)
    for file, lines in one["elsewhere"].items():
        for line, numbers in lines.items():
            names = {one["tests"][number][0] for number in numbers}
            found.elsewhere.setdefault((file, int(line)), set()).update(names & found.seconds.keys())


def digest(*paths: Path) -> str:
    """Of names and contents."""
    sum = hashlib.sha256()
    for path in paths:
        sum.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return sum.hexdigest()


def run_pytest(job: dict[str, Any], files: Iterable[Path | str], **more: Any) -> subprocess.Popen[str]:
    """Start it with the plugin, which does the ``job``."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"job-{os.getpid()}-{digest_of(job)[:8]}.json"
    file.write_text(json.dumps(job))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "mutants_pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-q",
        "--hypothesis-seed=0",
    ]
    environment = {**os.environ, "CUVET_MUTANTS": str(file), "PYTHONPATH": str(ROOT / "tools"), "PYTHONHASHSEED": "0"}
    environment |= environment_of(job)
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*command, *map(str, files)], cwd=ROOT, env=environment, text=True, **{**silent, **more})


def environment_of(job: dict[str, Any]) -> dict[str, str]:
    """For processes that the tests start: what makes them do their part (``mutants_site/sitecustomize.py``)."""
    path = os.pathsep.join((str(ROOT / "tools"), str(ROOT / "tools" / "mutants_site")))
    match job["mode"]:
        case "map":
            folder = KEPT / "lines" / str(os.getpid())
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            return {"PYTHONPATH": path, "MUTANTS_LINES": str(folder)}
        case "processes":
            (mutant,) = job["mutants"]
            file = KEPT / f"mutant-{mutant['key'][:16]}.json"
            file.write_text(json.dumps(mutant))
            return {"PYTHONPATH": path, "MUTANT": str(file)}
    return {}


def digest_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()


# Trying them.


class Try(NamedTuple):
    """``tests`` that execute the line, the quickest first, and the ``seconds`` that they take. ``apart``: it needs a process of its own.
    ``elsewhere``: tests of which other processes execute it."""

    mutant: Mutant
    tests: tuple[str, ...]
    seconds: float
    apart: bool
    elsewhere: tuple[str, ...]
    key: str


def tries(mutants: Iterable[Mutant], known: Map) -> list[Try]:
    found = []
    for mutant in mutants:
        lines = (ROOT / mutant.file).read_bytes()[mutant.start : mutant.end].count(b"\n") + 1
        places = [(mutant.file, mutant.line + more) for more in range(lines)]
        if known.tests.keys().isdisjoint(places):
            places = [(mutant.file, mutant.statement)]
        apart = mutant.function == NOWHERE or not known.imported.isdisjoint(places)
        if apart:  # what is made while modules are imported is used anywhere: there, and where it is imported
            files = {mutant.file, *importers(mutant.file)}
            places = [place for place in known.tests if place[0] in files]
        chosen, seconds = _quickest(known, known.tests, places)
        elsewhere, _ = _quickest(known, known.elsewhere, places)
        key = digest_of([digest(ROOT / mutant.file), mutant.start, mutant.end, mutant.text])
        found.append(Try(mutant, chosen, seconds, apart, elsewhere, key))
    return found


@cache
def importers(file: str) -> tuple[str, ...]:
    """The sources that import from this one."""
    module = module_name(file)
    package, _, name = module.rpartition(".")
    imports = re.compile(
        rf"^\s*(?:from {re.escape(module)} import|from {re.escape(package)} import .*\b{name}\b|import {re.escape(module)}\b)",
        re.MULTILINE,
    )
    sources = (ROOT / "src" / "cuvet").rglob("*.py")
    return tuple(str(each.relative_to(ROOT)) for each in sources if imports.search(each.read_text(encoding="utf-8")))


def _quickest(
    known: Map, tests: dict[tuple[str, int], set[str]], places: Iterable[tuple[str, int]]
) -> tuple[tuple[str, ...], float]:
    """The tests that execute one of the places, the quickest first, as long as they take ``MOST_SECONDS`` together; and how long."""
    names = set().union(*(tests.get(place, ()) for place in places))
    chosen, total = [], 0.0
    for name in sorted(names, key=lambda name: (known.seconds[name], name)):
        total += known.seconds[name]
        if total > MOST_SECONDS:
            break
        chosen.append(name)
    return tuple(chosen), min(total, MOST_SECONDS)


def outcomes(todo: list[Try], jobs: int) -> Iterator[tuple[Try, str]]:
    """How each ended: killed, survived, or that no test executes it."""
    again = []
    for each, outcome in _in_one_process(todo, jobs):
        if outcome != KILLED and each.elsewhere:
            again.append(each)
        else:
            yield each, outcome
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(again, pool.map(_in_processes, again), strict=True)


def _in_one_process(todo: list[Try], jobs: int) -> Iterator[tuple[Try, str]]:
    yield from ((each, UNREACHED) for each in todo if not each.tests)
    apart = [each for each in todo if each.tests and each.apart]
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(apart, pool.map(_alone, apart), strict=True)
    forked = {each.key: each for each in todo if each.tests and not each.apart}
    if not forked:
        return
    files = sorted({name.partition("::")[0] for each in forked.values() for name in each.tests})
    job = {"mode": "serve", "jobs": jobs, "mutants": [_row(each) for each in forked.values()]}
    with run_pytest(job, files, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if line.startswith(RESULT):
                key, outcome = line.removeprefix(RESULT).split()
                yield forked[key], outcome


def _row(each: Try) -> dict[str, Any]:
    return {**each.mutant._asdict(), "tests": each.tests, "seconds": each.seconds, "key": each.key}


def _alone(each: Try) -> str:
    files = sorted({name.partition("::")[0] for name in each.tests})
    server = run_pytest({"mode": "one", "mutants": [_row(each)]}, files)
    return SURVIVED if server.wait() == 0 else KILLED


def _in_processes(each: Try) -> str:
    files = sorted({name.partition("::")[0] for name in each.elsewhere})
    row = {**_row(each), "tests": each.elsewhere, "seconds": MOST_SECONDS}
    return SURVIVED if run_pytest({"mode": "processes", "mutants": [row]}, files).wait() == 0 else KILLED


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the code in small ways and see whether a test notices.")
    parser.add_argument("places", nargs="+", metavar="place", help="a file or folder below src/cuvet")
    parser.add_argument(
        "--count", type=int, default=300, help="how many mutants are drawn from all places (default: 300)"
    )
    parser.add_argument("--seed", type=int, default=1, help="they are drawn from this number (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--tests", nargs="*", help="folders and files of tests (default: those about each place)")
    args = parser.parse_args()
    possible = {place: _possible(place) for place in args.places}
    for place, mutants in possible.items():
        if not mutants or args.count < 1 or args.jobs < 1:
            parser.error(f"{place} is no source below src/cuvet" if not mutants else "numbers begin at 1")
    every = sorted({each for mutants in possible.values() for each in mutants})
    drawn = sorted(random.Random(args.seed).sample(every, min(args.count, len(every))))
    survivors = []
    for place, mutants in possible.items():
        folders = args.tests or _tests_about(place)
        here = sorted({*drawn} & {*mutants})
        found = try_all(tries(here, measure(folders)), folders, args.jobs)
        survivors += found
        _print_share(place, len(here), len(found), len(mutants), args.seed)
    for each, outcome in survivors:
        print(
            f"{each.mutant.file}:{each.mutant.line}: {each.mutant.shown}"
            + (f"  ({outcome})" if outcome == UNREACHED else "")
        )
    if len(possible) > 1:
        _print_share("all", len(drawn), len(survivors), len(every), args.seed)
    return 0


def _possible(place: str) -> list[Mutant]:
    path = (ROOT / place).resolve()
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    files = [file for file in files if file.is_file() and file.is_relative_to(ROOT / "src" / "cuvet")]
    return [mutant for file in files for mutant in mutants_of(file)]


def _tests_about(place: str) -> list[str]:
    relative = str((ROOT / place).resolve().relative_to(ROOT))
    about = (
        next((tests for of, tests in table.items() if relative.startswith(of)), ()) for table in (TESTS, IN_PROCESSES)
    )
    return list(dict.fromkeys(name for tests in about for name in tests))


def _print_share(place: str, drawn: int, survived: int, possible: int, seed: int) -> None:
    killed = drawn - survived
    share = f"{killed / drawn:.1%}" if drawn else "-"
    print(f"{place}: {killed} of {drawn} killed ({share}), of {possible} possible; seed {seed}")


def try_all(todo: list[Try], folders: Iterable[str], jobs: int) -> list[tuple[Try, str]]:
    """Those that survived. What was killed stays so; what survived is tried again when tests have changed."""
    tests = digest(*test_files(folders))
    results = KEPT / "results.jsonl"
    known = {}
    if results.exists():
        rows = map(json.loads, results.read_text().splitlines())
        known = {row["key"]: row["outcome"] for row in rows if row["outcome"] == KILLED or row["tests"] == tests}
    done = sum(each.key in known for each in todo)
    with results.open("a") as file:
        for each, outcome in outcomes([each for each in todo if each.key not in known], jobs):
            known[each.key] = outcome
            file.write(json.dumps({"key": each.key, "outcome": outcome, "tests": tests}) + "\n")
            file.flush()
            done += 1
            say(f"{done} of {len(todo)}: {outcome} {each.mutant.file}:{each.mutant.line}")
    return [(each, known[each.key]) for each in todo if known.get(each.key, UNREACHED) != KILLED]


def say(text: str) -> None:
    """How it goes."""
    end = "\x1b[K\r" if sys.stderr.isatty() else "\n"
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
