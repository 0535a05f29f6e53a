"""Every program of every rule under ``cuvet run`` on the emulated device: the report names the marked lines, and no others."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cuvet.findings import Finding, Report, Site
from cuvet.rules import model_rules
from cuvet.rules.examples import Example, invalid, runnable, valid
from cuvet.rules.lifecycle import DestroyTwice, ParentGone, UseAfterDestroy

from ..consequences import with_consequences
from .simulated import expected

BATCHES = 4
KNOWS_BOTH_ENDS = {"device-use-after-reset"} | {
    rule.name for rule in model_rules() if issubclass(rule, UseAfterDestroy | DestroyTwice | ParentGone)
}
"""Rules that promise where the object was created and destroyed."""


NEED_OPTIONS = {"exit-leak", "library-handle-never-created", "library-handle-wrong-kind"}
"""Rules that fire only with an option of the command, which have tests of their own."""

NEED_EVERY_CALL = {
    "event-interprocess-other-context.invalid-0.py",
    "event-interprocess-other-context.invalid-1.py",
    "graph-exec-launched-before-freed.invalid-0.py",
    "graph-exec-launched-before-freed.invalid-1.py",
}
"""Programs of which something is found only with ``--record full``."""

NEED_ACCESSES = {"graph-exec-memory-freed.invalid-0.py"}
"""Of these only with ``--races``, as of those about races."""

ONLY_ON_HARDWARE = {
    "array-wrong-kind",
    "graph-condition-unused",
    "library-image-refused",
    "linker-destroy-twice",
    "linker-destroyed-on-other-thread",
    "memory-not-shareable",
}
"""The emulated device looks at the image of a library when it is loaded, and has no linkers, no conditions of graphs, and no calls
that export or map arrays."""


def _programs() -> Iterator[tuple[str, Example]]:
    """Every program with a file name of its own."""
    for rule in model_rules():
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule))):
            for number, example in enumerate(runnable(examples)):
                if rule.name not in NEED_OPTIONS | ONLY_ON_HARDWARE:
                    yield f"{rule.name}.{kind}-{number}{'' if example.setup else '.no-setup'}.py", example


PROGRAMS = dict(_programs())


def _run(folder: Path, batch: int, options: list[str]) -> dict[str, list[Finding]]:
    """Findings of a batch's programs, by file."""
    files = []
    for name, example in list(PROGRAMS.items())[batch::BATCHES]:
        file = folder / name
        file.write_text(example.program)
        files.append(str(file))
    report = folder / "report.json"
    command = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--devices", "2", "--format", "json"]
    command += [*options, "--output", str(report), "--trace", str(folder / "trace"), "--", sys.executable]
    subprocess.run([*command, str(Path(__file__).parent / "batch.py"), *files], check=True, timeout=300)
    found = defaultdict(list)
    for finding in with_consequences(msgspec.json.decode(report.read_bytes(), type=Report).findings):
        found[_file(finding.site)].append(finding)
    return found


def _file(site: Site | None) -> str:
    """Name of the program in which a call was made; empty if none is on the stack."""
    frames = () if site is None else site.frames
    return next((Path(frame.file).name for frame in frames if frame.file and Path(frame.file).name in PROGRAMS), "")


def _line(site: Site) -> int | None:
    return next((frame.line for frame in site.frames if frame.file and Path(frame.file).name in PROGRAMS), None)


def _needs_more(name: str, options: list[str]) -> bool:
    """Whether the options do not suffice for what is wrong in the program."""
    if name.startswith("race-with-host"):
        return "--guard" not in options
    every_call = {"full", "--races", "--guard"} & {*options}
    about_races = name.startswith("race-") or name in NEED_ACCESSES
    races = {"--races", "--guard"} & {*options}
    return (name in NEED_EVERY_CALL and not every_call) or (about_races and not races)


@pytest.mark.parametrize(
    "options",
    [["--emulate-crashes"], ["--record", "full"], ["--races"], ["--guard"]],
    ids=["crashes", "full", "races", "guard"],
)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_report_names_the_marked_lines(batch: int, options: list[str], tmp_path: Path) -> None:
    found = _run(tmp_path, batch, options)
    wrong = []
    for name, example in list(PROGRAMS.items())[batch::BATCHES]:
        reported = {(_line(each.site), each.severity, each.name) for each in found[name]}
        marked = set() if _needs_more(name, options) else expected(example.program)
        if _needs_more(name, options):  # one rule sees some races without the option
            reported = {each for each in reported if each[2] != "memory-use-unordered"}
        for missing in marked - reported:
            wrong.append(f"{name}: missing {missing}")
        for extra in reported - marked:
            wrong.append(f"{name}: extra {extra}")
        for each in found[name]:
            if each.name in KNOWS_BOTH_ENDS and (_file(each.objects[0].created), _file(each.objects[0].destroyed)) != (
                name,
                name,
            ):
                wrong.append(f"{name}: {each.name} does not say where {each.objects[0].name} was created and destroyed")
    assert not wrong, "\n".join(wrong)
    assert not found[""], "findings outside of the programs"
