"""Write tests/source/snapshot.txt: what ``cuvet check`` says of the rules' examples, of tests/source/programs and of the sources of this
repository, with every line, column, step and object, so that any change of it is a difference that a person reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from cuvet.findings import Finding, Frame, ObjectReport, Site
from cuvet.rules import all_rules
from cuvet.rules.examples import Source, invalid, read, sources, valid
from cuvet.source import FileResult, check_project, check_source, findings_of_files
from cuvet.source.paths import walk

ROOT = Path(__file__).parents[1]
SNAPSHOT = ROOT / "tests" / "source" / "snapshot.txt"
PROGRAMS = ROOT / "tests" / "source" / "programs"
FOLDERS = ("bench", "examples", "tests/device", "tests/hardware", "tests/launch")
ENDINGS = {"cuda": ".cu", "c++": ".cpp", "python": ".py", "c#": ".cs"}
OWN_FILES = (".c", ".cpp", ".cu", ".cs", ".h")

HEAD = """# What cuvet check says of every source in the repository. Written by `make generate`.
# Of each: its findings with their columns, the steps that lead there, what they are about; and how many functions it has, along how many
# paths and steps they are checked, and how many these are if arms that change nothing share a path, as in functions of many branches.
# That changes no finding.
"""


class Program(NamedTuple):
    """A source file, and what it is called here."""

    title: str
    file: Path
    text: bytes


def groups() -> dict[str, list[Program]]:
    """All programs, by where they stand."""
    found: dict[str, list[Program]] = {}
    for rule in all_rules():
        for sort, examples in (("VALID", valid(rule)), ("INVALID", invalid(rule))):
            for example in sources(examples):
                noun = rule.__module__.split(".")[2]
                found.setdefault(f"rules/{noun}", []).append(_program(f"{rule.name}, {sort}: {example.name}", example))
    for path in sorted(PROGRAMS.glob("*.txt")):
        examples = sources(tuple(read(path.read_text(encoding="utf-8"))))
        found[f"programs/{path.stem}"] = [_program(example.name, example) for example in examples]
    for folder in FOLDERS:
        files = sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in OWN_FILES)
        names = [path.relative_to(ROOT) for path in files]
        found[folder] = [Program(str(name), name, (ROOT / name).read_bytes()) for name in names]
    return found


def _program(title: str, example: Source) -> Program:
    return Program(f"{title} [{example.language}]", Path(f"a{ENDINGS[example.language]}"), example.program.encode())


def said_of(program: Program) -> Iterator[str]:
    """The lines of the file about one program."""
    result = check_source(program.file, program.text)
    yield f"## {program.title}"
    for each in sorted((*findings_of_files([result]), *check_project([result])), key=_order):
        yield from _finding(each)
    yield from (f"not checked: {each.first} to {each.last}: {each.why}" for each in result.not_checked)
    with patch.object(walk, "FEW", 0):
        joined = check_source(program.file, program.text)
    if joined.findings != result.findings:
        yield "other findings where arms share a path"
    yield from _counts(result, joined)


def _order(found: Finding) -> tuple[int, int, str, str]:
    at = found.site.frames[0]
    return at.line or 0, at.column or 0, found.rule, found.message


def _counts(result: FileResult, joined: FileResult) -> Iterator[str]:
    if functions := result.stats.get("functions"):
        walked, less = (f"{each.stats['paths']} paths, {each.stats['steps']} steps" for each in (result, joined))
        yield f"{functions} functions, {walked}" + ("" if walked == less else f"; {less} if shared")


def _finding(found: Finding) -> Iterator[str]:
    argument = "" if found.argument is None else f", argument {found.argument}"
    yield f"{_frame(found.site.frames[0])} {found.severity} {found.rule} {found.name}: {found.message}"
    yield f"    {found.api}{argument}, in {found.site.frames[0].function}"
    yield from (f"    {_frame(step.frame)} {step.text}" for step in found.path)
    yield from (f"    because {line}" for line in found.because)
    yield from map(_object, found.objects)


def _object(it: ObjectReport) -> str:
    lived = [f"{verb} {_site(site)}" for verb, site in (("made", it.created), ("ended", it.destroyed)) if site]
    return f"    {', '.join((f'{it.kind} {it.name} of generation {it.generation}', *lived))}"


def _site(site: Site) -> str:
    return f"by {site.api} at {_frame(site.frames[0])}"


def _frame(at: Frame) -> str:
    return f"{at.line}:{at.column}-{at.end_column}"


def snapshot(group: str, programs: list[Program]) -> list[str]:
    """What the file has about a group, in lines."""
    return [f"# {group}", *(line for program in programs for line in said_of(program))]


def main() -> None:
    lines = [line for group, programs in groups().items() for line in snapshot(group, programs)]
    SNAPSHOT.write_text(HEAD + "\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
