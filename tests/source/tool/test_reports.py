"""How findings in source code are shown: for people, in lines, as annotations and as JSON."""

from __future__ import annotations

import io
import json
import runpy
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import pytest

from cuvet.findings import Evidence, Frame, ObjectReport, Site, Step, Tool
from cuvet.reports import check as report
from cuvet.reports import terminal, write
from cuvet.reports.formats import github
from cuvet.source import NotChecked
from cuvet.source.tool.report import CheckFinding, CheckReport, Ignore, Skipped, Unread

from .conftest import MISTAKE, Done, Project

Check = Callable[..., Done]
TEXT = """\
void drain(int n) {
    cudaStream_t s;
    cudaStreamCreate(&s);
    if (n == 0)
\tcudaStreamDestroy(s);
    cudaStreamSynchronize(s);
}
"""


def frame(line: int, column: int, end: int, file: str = "a.cu") -> Frame:
    return Frame(function="drain", file=file, line=line, column=column, end_column=end)


def site(api: str, at: Frame) -> Site:
    return Site(api=api, call=0, process=0, thread=0, time_ns=0, frames=(at,))


CREATED, DESTROYED, USED = frame(3, 5, 25), frame(5, 2, 22), frame(6, 27, 28)
FINDING = CheckFinding(
    rule="CV201",
    name="stream-use-after-destroy",
    severity="error",
    message="stream s was destroyed before this call",
    api="cudaStreamSynchronize",
    site=site("cudaStreamSynchronize", USED),
    objects=(
        ObjectReport(
            kind="stream",
            handle="",
            generation=1,
            name="s",
            created=site("cudaStreamCreate", CREATED),
            destroyed=site("cudaStreamDestroy", DESTROYED),
        ),
    ),
    path=(
        Step(frame=CREATED, text="s is made here"),
        Step(frame=frame(4, 9, 15), text="n == 0 is true"),
        Step(frame=DESTROYED, text="s is destroyed here"),
        Step(frame=frame(6, 5, 29), text="it is used here"),
    ),
    because=("stream s was destroyed in line 5",),
    help="destroy it later",
    evidence=(Evidence(kind="documented", text="Undefined.", source="a document"),),
    fingerprint="0011",
)


def made(*findings: CheckFinding, **fields: object) -> CheckReport:
    return msgspec.structs.replace(
        CheckReport(
            tool=Tool(version="1"), root=str(Path.cwd()), findings=findings, stats={"files": 1, "functions": 1}
        ),
        **fields,
    )


class Screen(io.StringIO):
    """A file that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def rendered(found: CheckReport, form: str = "terminal", color: str = "never") -> str:
    out = io.StringIO()
    write(report.document(found), Namespace(format=form, color=color), out)
    return out.getvalue()


def test_a_finding_with_its_path(project: Project) -> None:
    project.write({"a.cu": TEXT})
    assert (
        rendered(made(FINDING))
        == """\
error[CV201]: cudaStreamSynchronize: stream s was destroyed before this call (stream-use-after-destroy)
  --> a.cu:6:27 in drain
3 |     cudaStreamCreate(&s);
  |     ^^^^^^^^^^^^^^^^^^^^ 1: s is made here
4 |     if (n == 0)
  |         ^^^^^^ 2: n == 0 is true
5 |     cudaStreamDestroy(s);
  |     ^^^^^^^^^^^^^^^^^^^^ 3: s is destroyed here
6 |     cudaStreamSynchronize(s);
  |                           ^ 4: it is used here
   = because: stream s was destroyed in line 5
   = help: destroy it later
   = documented: Undefined. (a document)
   = more: cuvet explain CV201

1 error, 0 warnings in 1 file (1 function with CUDA)
"""
    )


def test_without_a_path_its_objects_tell_how_it_came(project: Project) -> None:
    project.write({"a.cu": TEXT})
    text = rendered(made(msgspec.structs.replace(FINDING, path=())))
    assert "1: s is created here" in text and "2: s is destroyed here" in text
    alone = rendered(made(msgspec.structs.replace(FINDING, path=(), objects=())))
    assert "6 |     cudaStreamSynchronize(s);\n  |                           ^\n" in alone


def test_what_stands_in_no_function_is_told_without_one(project: Project) -> None:
    project.write({"a.cu": TEXT})
    outside = msgspec.structs.replace(CREATED, function="")
    text = rendered(made(msgspec.structs.replace(FINDING, path=(), objects=(), site=site("cudaStream_t", outside))))
    assert text.splitlines()[1] == "  --> a.cu:3:5"


def test_a_leak_is_shown_at_its_beginning_and_its_end(project: Project) -> None:
    project.write({"a.cu": TEXT})
    steps = (Step(frame=CREATED, text="s is made here"), Step(frame=frame(7, 1, 2), text="s is lost here"))
    text = rendered(made(msgspec.structs.replace(FINDING, site=site("cudaStreamCreate", CREATED), path=steps)))
    assert text.count("3 | ") == 1
    assert text.index("1: s is made here") < text.index("2: s is lost here")


def test_a_path_through_two_files(project: Project) -> None:
    project.write({"a.cu": TEXT, "b.h": "void end(cudaStream_t s) {\n    cudaStreamDestroy(s);\n}\n"})
    steps = (
        Step(frame=CREATED, text="made"),
        Step(frame=frame(2, 5, 25, "b.h"), text="ended"),
        Step(frame=USED, text="used"),
    )
    lines = rendered(made(msgspec.structs.replace(FINDING, path=steps))).splitlines()
    assert [line for line in lines if "-->" in line] == [
        "  --> a.cu:6:27 in drain",
        "  --> b.h:2:5 in drain",
        "  --> a.cu:6:27 in drain",
    ]


def test_what_is_known_of_a_rule_is_told_once(project: Project) -> None:
    project.write({"a.cu": TEXT})
    text = rendered(made(FINDING, FINDING))
    assert (text.count("= documented"), text.count("= help")) == (1, 2)


def test_wide_characters_tabs_and_control_characters(project: Project) -> None:
    project.write({"a.cu": "\n\n/* \u6f22\u5b57\t\x1b[31m */ cudaStreamCreate(&s);\n"})
    found = msgspec.structs.replace(FINDING, path=(), objects=(), site=site("cudaStreamCreate", frame(3, 16, 32)))
    line, carets = rendered(made(found)).splitlines()[2:4]
    assert "\x1b" not in line
    assert line.index("cudaStreamCreate") + 2 == carets.index("^"), "two characters take two columns each"


def test_a_line_of_ten_megabytes_is_cut_around_the_place(project: Project) -> None:
    project.write({"a.cu": "x" * 5_000_000 + " cudaStreamCreate(&s);" + "y" * 5_000_000})
    found = msgspec.structs.replace(
        FINDING, path=(), objects=(), site=site("cudaStreamCreate", frame(1, 5_000_002, 5_000_018))
    )
    line, carets = rendered(made(found)).splitlines()[2:4]
    assert len(line) <= 110
    start = carets.index("^")
    assert line[start : start + 16] == "cudaStreamCreate" and carets.count("^") == 16


def test_a_file_that_is_gone(project: Project) -> None:
    assert "  --> a.cu:6:27 in drain\n" in rendered(made(FINDING))


def test_on_a_terminal_the_headline_is_wrapped_between_words(project: Project) -> None:
    output = terminal.console(Screen(), "never")
    output.width = 50
    report.render(made(FINDING), output)
    assert output.file.getvalue().splitlines()[:3] == [
        "error[CV201]: cudaStreamSynchronize: stream s was",
        "    destroyed before this call",
        "    (stream-use-after-destroy)",
    ]


def test_on_a_terminal_a_step_that_does_not_fit_has_a_line_of_its_own(project: Project) -> None:
    project.write({"a.cu": TEXT})
    output = terminal.console(Screen(), "never")
    output.width = 46
    report.render(made(FINDING), output)
    lines = output.file.getvalue().splitlines()
    assert "3 |     cudaStreamCreate(&s);" in lines
    place = lines.index("5 |     cudaStreamDestroy(s);")
    assert lines[place + 1 : place + 3] == ["  |     ^^^^^^^^^^^^^^^^^^^^", "  | 3: s is destroyed here"]


def test_in_a_line_each(project: Project) -> None:
    text = rendered(made(FINDING, unused_ignores=(ignore(),)), "concise")
    assert text == (
        "a.cu:6:27: error[CV201]: cudaStreamSynchronize: stream s was destroyed before this call (stream-use-after-destroy)\n"
        "a.cu:2:3: warning: nothing to ignore\n"
        "1 error, 0 warnings in 1 file (1 function with CUDA)\n"
    )


def ignore() -> Ignore:
    return Ignore(file="a.cu", line=2, column=3, end_column=9, why="nothing to ignore")


def test_what_was_not_checked_is_told_and_the_rest_counted() -> None:
    parts = tuple(NotChecked(file=f"{n}.cu", first=1, last=10, why="it could not be parsed") for n in range(7))
    skipped = tuple(Skipped(file=f"{n}.txt", why="no source") for n in range(7))
    lines = rendered(made(not_checked=parts, skipped=skipped, unread=(Unread(file="x.cu", why="gone"),))).splitlines()
    assert lines[0] == "error: x.cu: gone"
    assert lines[1] == "not checked: 0.cu:1-10: it could not be parsed"
    assert "not checked: 20 more lines in 2 files; --format json lists them" in lines
    assert "not checked: 2 more paths that are not source files" in lines


@pytest.mark.parametrize(
    ("count", "at", "shown", "left"),
    [
        (11, 8, [*range(1, 12)], []),
        (40, 20, [*range(1, 7), 20, 38, 39, 40], ["13 steps", "17 steps"]),
        (40, 40, [*range(1, 7), 38, 39, 40], ["31 steps"]),
        (12, 5, [*range(1, 7), 10, 11, 12], ["3 steps"]),
        (12, 8, [*range(1, 13)], []),
    ],
)
def test_of_a_long_path_the_ends_are_shown_and_where_the_finding_is(
    count: int, at: int, shown: list[int], left: list[str]
) -> None:
    path = tuple(Step(frame=frame(line, 1, 2), text=f"step {line} is here") for line in range(1, count + 1))
    found = msgspec.structs.replace(FINDING, path=path, site=site("cudaFree", frame(at, 1, 2)))
    lines = rendered(made(found)).splitlines()
    steps = [line.split("step ")[1] for line in lines if "is here" in line]
    assert steps == [f"{number} is here" for number in shown]
    assert [line.split("… ")[1] for line in lines if "…" in line] == [
        f"{each} more; --format json lists them" for each in left
    ]
    assert len(json.loads(rendered(made(found), "json"))["findings"][0]["path"]) == count


def test_a_rule_is_shown_twenty_times_in_a_file() -> None:
    def alike(number: int, file: str) -> list[CheckFinding]:
        at = [frame(line, 1, 2, file) for line in range(number)]
        return [msgspec.structs.replace(FINDING, path=(), site=site("cudaFree", each)) for each in at]

    other = msgspec.structs.replace(FINDING, rule="CV203", name="stream-destroyed-twice", path=())
    found = made(*alike(1_030, "a.cu"), *alike(20, "b.cu"), other)
    rest = "a.cu: 1,010 more stream-use-after-destroy; --format json lists them"
    for form in ("terminal", "concise"):
        lines = rendered(found, form).splitlines()
        assert [line for line in lines if line.startswith("not shown")] == [f"not shown: {rest}"]
        assert lines[-1].startswith("1,051 errors, ")
        assert sum("error[CV201]" in line for line in lines) == 40
        assert sum("error[CV203]" in line for line in lines) == 1
    lines = list(github.commands(found))
    assert len(lines) == 42
    assert lines[-1] == f"::notice title=cuvet check::{rest}"
    assert len(json.loads(rendered(found, "json"))["findings"]) == 1_051
    assert len(json.loads(rendered(found, "sarif"))["runs"][0]["results"]) == 1_051


def test_of_notes_of_a_rule_five_are_shown_beside_twenty_others() -> None:
    severities = ["note"] * 3 + ["warning"] * 22 + ["note"] * 6
    found = made(
        *(
            msgspec.structs.replace(FINDING, path=(), severity=severity, site=site("cudaFree", frame(line, 1, 2)))  # type: ignore[arg-type]
            for line, severity in enumerate(severities)
        )
    )
    lines = rendered(found, "concise").splitlines()
    assert [sum(f"{severity}[CV201]" in line for line in lines) for severity in ("note", "warning")] == [5, 20]
    assert "not shown: a.cu: 6 more stream-use-after-destroy; --format json lists them" in lines


def test_after_steps_that_are_left_out_the_line_stands_again() -> None:
    path = tuple(Step(frame=frame(3, 1, 2), text=f"step {number}") for number in range(30))
    lines = rendered(
        made(msgspec.structs.replace(FINDING, path=path, site=site("cudaFree", frame(3, 1, 2))))
    ).splitlines()
    gap = next(at for at, line in enumerate(lines) if "steps more" in line)
    assert lines[gap + 1].startswith("3 | ")


def test_errors_are_shown_before_the_rest(project: Project, check: Check) -> None:
    project.write({"a.cu": "void f(void *p) { cudaFree(p); cudaMemcpy(p, p); }\n" + MISTAKE, "b.cu": MISTAKE})
    found = json.loads(check("--format", "json", ".").out)["findings"]
    order = ["error", "warning", "note"]
    assert [each["severity"] for each in found] == sorted((each["severity"] for each in found), key=order.index)
    lines = check("--format", "concise", ".").out.splitlines()[:-1]
    assert [line.split(":")[0] for line in lines if "error[" in line] == ["a.cu", "a.cu", "b.cu"]
    assert "error[" not in lines[-1]


def test_totals() -> None:
    found = made(
        stats={"files": 2_000, "functions": 1, "fixed": 2}, hidden={"ignored": 3, "baseline": 1_000, "unchanged": 1}
    )
    assert rendered(found) == (
        "0 errors, 0 warnings in 2,000 files (1 function with CUDA); not shown: 3 ignored by comments, 1,000 in the baseline, "
        "1 not on lines that were changed; 2 fixes made\n"
    )


def test_colours(project: Project) -> None:
    project.write({"a.cu": TEXT})
    assert "\x1b[1;31m" in rendered(made(FINDING), color="always")
    assert "\x1b" not in rendered(made(FINDING))


def test_annotations(project: Project) -> None:
    odd = msgspec.structs.replace(
        FINDING,
        severity="note",
        message="100 % sure,\nor: not",
        path=(),
        site=site("cudaFree", frame(1, 2, 3, "a,b:c%.cu")),
    )
    lines = list(
        github.commands(made(FINDING, odd, unused_ignores=(ignore(),), unread=(Unread(file="x.cu", why="gone"),)))
    )
    assert lines[0].startswith(
        "::error file=a.cu,line=6,col=27,endColumn=28,title=CV201 stream-use-after-destroy::cudaStreamSynchronize: "
    )
    assert "%0Aline 5: s is destroyed here%0A" in lines[0]
    assert lines[1].startswith("::notice file=a%2Cb%3Ac%25.cu,line=1,col=2,endColumn=3,title=")
    assert "100 %25 sure,%0Aor: not%0A" in lines[1]
    assert lines[2] == "::warning file=a.cu,line=2,col=3,endColumn=9,title=cuvet%3A ignore::nothing to ignore"
    assert lines[3] == "::error file=x.cu,title=cuvet check::gone"
    assert not any("\n" in line for line in lines)


def test_annotations_are_relative_to_the_repository(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({".git/HEAD": "", "src/a.cu": MISTAKE})
    monkeypatch.chdir("src")
    assert check("--format", "github", "a.cu").out.startswith("::error file=src/a.cu,line=5,")


def test_json_is_valid_and_comes_back(project: Project) -> None:
    schema = json.loads(report.SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    part = NotChecked(file="a.cu", first=1, last=2, why="w")
    found = made(FINDING, unused_ignores=(ignore(),), not_checked=(part,), unread=(Unread(file="x", why="w"),))
    document = json.loads(rendered(found, "json"))
    validator.validate(document)
    assert msgspec.convert(document, CheckReport) == found
    del document["findings"][0]["fingerprint"]
    assert not validator.is_valid(document)


def test_the_checked_in_schema_is_that_of_the_types() -> None:
    tool = runpy.run_path(str(Path(__file__).parents[3] / "tools/generate_schema.py"))
    kind, version = tool["SCHEMAS"][report.SCHEMA_FILE]
    assert tool["schema"](kind, version) == report.SCHEMA_FILE.read_text()


def test_each_call_of_a_line_has_its_own_mark(project: Project, check: Check) -> None:
    project.write({"a.cu": "void f(cudaStream_t s) { cudaStreamQuery(s); cudaStreamDestroy(s); }\n"})
    lines = check("a.cu").out.splitlines()
    marks = {line.split(": ")[1]: line.index("^") for line in lines if "1: " in line or "2: " in line}
    text = next(line for line in lines if line.startswith("1 | "))
    assert marks == {
        f"the status of {call} is ignored here": text.index(call) for call in ("cudaStreamQuery", "cudaStreamDestroy")
    }


def test_of_notes_of_a_rule_ten_of_all_files_are_shown_in_full() -> None:
    notes = [
        msgspec.structs.replace(FINDING, path=(), severity="note", site=site("cudaFree", frame(6, 1, 2, f"{file}.cu")))
        for file in (*range(30), 29)
    ]
    found = made(FINDING, *notes)
    lines = rendered(found).splitlines()
    assert sum("error[CV201]" in line for line in lines) == 1
    assert sum("note[CV201]" in line for line in lines) == 10
    rest = "not shown: 21 more notes of stream-use-after-destroy in 20 files; --format json lists them"
    assert [line for line in lines if line.startswith("not shown")] == [rest]
    assert lines[-1].startswith("1 error, 0 warnings, 31 notes ")
    assert sum("note[CV201]" in line for line in rendered(found, "concise").splitlines()) == 31
