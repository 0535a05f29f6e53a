"""Formats of `cuvet run`, of findings whose names somebody chose to be more than a name."""

from __future__ import annotations

import io
import re
from argparse import Namespace
from datetime import datetime, timezone
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from markdown_it import MarkdownIt

from cuvet import reports
from cuvet.findings import Finding, Program, Report, Suppression
from cuvet.reports.formats import github, junit, markdown

from .findings import finding, frame, report

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
HOSTILE = (
    "</pre></code><script>alert(1)</script>",
    "a|b`c``d```e~~~f",
    "![x](http://example.com/x.png) [y](javascript:z) <http://example.com>",
    "::error file=a.c::no %0A::stop-commands::x",
    "@everyone fixes #1 org/repo#2 &lt;b&gt; &#60;i&#62;",
    "\x1b[31mred\r\n\n# heading\n<b>\x00\x07\x9b",
    "]]><failure/><!-- --> <?xml?> \ufffe\udcff\u202e",
    "*em* _em_ **strong** $math$ :smile: \\| \\",
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def hostile() -> Report:
    findings = [
        finding(frame(name, f"/src/{name}.c", 3), message=f"stream {name} was destroyed", api=f"cuda{name}")
        for name in HOSTILE
    ]
    return report(*findings, hints=HOSTILE, not_checked=HOSTILE)


def written(form: str, content: Report) -> str:
    out = io.StringIO()
    reports.write(reports.of_run(content, verbose=False), Namespace(format=form, output=None, color="never"), file=out)
    return out.getvalue()


@pytest.mark.parametrize("form", ["concise", "github", "junit", "markdown"])
def test_what_others_wrote_controls_no_terminal(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = written(form, hostile())
    assert text
    assert [line for line in text.split("\n") if not line.isprintable()] == []


@pytest.mark.parametrize("form", ["concise", "github", "junit", "markdown"])
def test_a_report_without_findings_accuses_nobody(form: str) -> None:
    text = written(form, report())
    assert not re.search("CV|stream|::(error|warning)|failure>|<details", text)
    assert ("0 errors, 0 warnings" in text) == (form != "github")


def test_a_line_for_each_finding_as_compilers_write_it() -> None:
    warning = finding(frame("f", module="/lib/libx.so"), severity="warning")
    lines = written("concise", report(finding(frame("main", "/src/a.c", 3)), warning, finding())).splitlines()
    assert lines[:3] == [
        "/src/a.c:3: error[CV201]: cuStreamSynchronize: stream#1 was destroyed before this call (stream-use-after-destroy)",
        "/lib/libx.so: warning[CV201]: cuStreamSynchronize: stream#1 was destroyed before this call (stream-use-after-destroy)",
        "error[CV201]: cuStreamSynchronize: stream#1 was destroyed before this call (stream-use-after-destroy)",
    ]
    assert lines[3].startswith("2 errors, 1 warning in 6 calls")


# GitHub: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands


def annotations(content: Report, root: Path) -> list[tuple[str, dict[str, str], str]]:
    """Command, properties and text of each line, as the runner takes them apart."""
    found = []
    for line in github.of_run(content, root):
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match is not None, line
        properties = dict(each.split("=", 1) for each in match[2].split(","))
        found.append((match[1], properties, match[3]))
    return found


def test_an_annotation_is_at_the_innermost_frame_of_the_user(tmp_path: Path) -> None:
    library = frame("cub::sort", "/usr/include/cub/sort.h", 900)
    user = frame("main", str(tmp_path / "src/a.c"), 3)
    (command, properties, text), note = annotations(report(finding(library, user), finding(severity="note")), tmp_path)
    assert (command, properties["file"], properties["line"]) == ("error", "src/a.c", "3")
    assert properties["title"] == "CV201 stream-use-after-destroy"
    assert text.split("%0A")[0] == "cuStreamSynchronize: stream#1 was destroyed before this call"
    assert (note[0], list(note[1])) == ("notice", ["title"])


def test_a_name_is_no_command() -> None:
    for command, properties, text in annotations(hostile(), Path("/src")):
        assert command in ("error", "notice")
        assert {"title"} <= set(properties) <= {"title", "file", "line"}
        assert "%0A::stop" not in text


def test_annotations_are_few_and_say_how_many_there_are() -> None:
    many = report(*(finding(frame(f"f{n}", "/src/a.c", n)) for n in range(1, 40)))
    *shown, last = annotations(many, Path("/src"))
    assert (len(shown), last[0], last[2]) == (5, "notice", "34 more findings; --format json lists them")


# JUnit: what both schemas ask for, that of Ant's tasks (windyroad/JUnit-Schema, JUnit.xsd) and that of Jenkins (jenkinsci/xunit-plugin,
# junit-10.xsd)
ATTRIBUTES = {
    "testsuites": set(),
    "testsuite": set("id name package hostname timestamp time tests failures errors skipped".split()),
    "properties": set(),
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"message"},
    "system-out": set(),
    "system-err": set(),
}


def suite(content: Report) -> ElementTree.Element:
    root = ElementTree.fromstring(junit.text(content, NOW).encode())
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
    (found,) = root
    children = [child.tag for child in found]
    assert children == ["properties", *["testcase"] * (len(children) - 3), "system-out", "system-err"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", found.attrib["timestamp"])
    cases = found.findall("testcase")
    assert int(found.attrib["tests"]) == len(cases)
    for outcome, name in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(found.attrib[outcome]) == len(found.findall(f"testcase/{name}"))
    assert all(len(case) <= 1 for case in cases)
    return found


def outcomes(content: Report) -> list[tuple[str, str]]:
    return [
        (case.attrib["classname"], case[0].tag if len(case) else "passed") for case in suite(content).iter("testcase")
    ]


def test_an_error_fails_a_test_and_others_are_skipped() -> None:
    content = report(finding(frame("f", "/a.c", 1)), finding(severity="warning"), finding(severity="note"))
    assert outcomes(content) == [
        ("cuvet", "passed"),
        ("cuvet.CV201", "failure"),
        ("cuvet.CV201", "skipped"),
        ("cuvet.CV201", "skipped"),
    ]
    names = [case.attrib["name"] for case in suite(content).iter("testcase")]
    assert names[1] == "stream-use-after-destroy at /a.c:1 in f"
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        (Program(argv=(), exit_code=0), "passed"),
        (Program(argv=(), exit_code=3), "failure"),
        (Program(argv=(), signal=11), "error"),
    ],
)
def test_the_program_is_a_test_too(program: Program, outcome: str) -> None:
    assert outcomes(report(program=program)) == [("cuvet", outcome)]


def test_a_name_is_no_element() -> None:
    found = suite(hostile())
    messages = [failure.attrib["message"] for failure in found.iter("failure")]
    assert messages[0] == f"cuda{HOSTILE[0]}: stream {HOSTILE[0]} was destroyed"
    assert len(messages) == len(HOSTILE)


# Markdown


class Tags(HTMLParser):
    """The tags of a page, and its text outside of ``pre``."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[str] = []
        self.cells: list[str] = []
        self.bare = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "code":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" in self.open:
            self.cells[-1] += data
        elif "pre" not in self.open:
            self.bare += data


def rendered(text: str) -> Tags:
    """As GitHub renders it, as far as that is CommonMark with tables and bare links."""
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


EXPECTED_TAGS = set("p strong table thead tbody tr th td code ul li details summary pre".split())


def test_a_name_breaks_out_of_nothing() -> None:
    tags = rendered(markdown.text(hostile()))
    assert tags.tags == EXPECTED_TAGS
    assert set(tags.attributes) == set()
    assert "@" not in tags.bare and "#" not in tags.bare
    assert f"cuda{HOSTILE[1]}: stream {HOSTILE[1]} was destroyed" in tags.cells


def test_a_comment_begins_with_the_verdict_and_shows_each_finding() -> None:
    text = markdown.text(report(finding(frame("main", "/src/a.c", 3)), finding(rule="CV202", severity="warning")))
    assert text.startswith("**cuvet: 1 error, 1 warning in 6 calls**\n\n| severity | rule | finding | at |\n|---|")
    tags = rendered(text)
    assert "/src/a.c:3 in main" in tags.cells
    assert text.count("<details>") == 2


def test_a_comment_is_no_longer_than_github_takes() -> None:
    long = [
        finding(frame(f"{'f' * 20_000}{n}", "/src/a.c", n), rule=rule) for n in range(4) for rule in ("CV201", "CV202")
    ]
    text = markdown.text(report(*long))
    assert len(text) < 65_536
    assert re.search(r"\n\d of these findings are too long to be shown in full\.\n$", text)
    assert rendered(text).tags == EXPECTED_TAGS


def test_unused_suppressions_are_in_every_format() -> None:
    unused = Suppression(rule="CV202", function="f", reason="x", source="s.toml: suppression 1")
    content = report(unused_suppressions=(unused,))
    sentence = "s.toml: suppression 1: no finding of CV202 in function f"
    for form in ("terminal", "concise", "github", "junit"):
        assert sentence in written(form, content)
    assert sentence in " ".join(rendered(written("markdown", content)).cells)
    assert msgspec.json.decode(written("json", content), type=Report).unused_suppressions == (unused,)


def test_many_unused_suppressions_are_counted() -> None:
    unused = tuple(Suppression(rule="CV202", reason="x", source=f"s.toml: suppression {n}") for n in range(30))
    text = written("terminal", report(unused_suppressions=unused))
    assert text.count("no finding of CV202") == 5
    assert "note: 25 more suppressions without a finding; --format json lists them\n" in text


def test_the_summary_says_why_findings_are_not_shown() -> None:
    stats = {"calls": 6, "ignored": 1, "suppressed": 2, "baseline": 3, "unselected": 4}
    text = written("terminal", report(stats=stats))
    assert text.startswith(
        "0 errors, 0 warnings in 6 calls; not shown: 1 ignored by comments, 4 of rules that are not selected, "
        "2 suppressed, 3 in the baseline\n"
    )


def test_a_report_of_many_findings_ends(tmp_path: Path) -> None:
    many: list[Finding] = [finding(frame(f"f{n}", "/src/a.c", n)) for n in range(2_000)]
    for form in ("concise", "github", "junit", "markdown"):
        assert written(form, report(*many))
