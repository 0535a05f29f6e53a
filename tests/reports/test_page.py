"""The page of ``cuvet report --html``: what stands on it, and that nothing which a recording names can run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from cuvet.analysis import ProcessAnalysis, analyze
from cuvet.analysis.history import History, Lives
from cuvet.catalog import Kind
from cuvet.cli import main
from cuvet.findings import LikelyCause, MachineCause, Report, UnexplainedFailure
from cuvet.reports import page as page_module
from cuvet.reports.overview import chosen_calls
from cuvet.reports.page import MOST_BYTES, Room, page
from cuvet.reports.page.markup import embedded, tag, text

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "recording")]
import browser  # noqa: E402
import writing as w  # noqa: E402

PARTS = Path(page_module.__file__).parent
CONTEXT, STREAM, ADDRESS = 0xC000, 0x5000, 0x7F0000000000
EVIL = "</script><script>window.ran=1</script><img src=x onerror=window.ran=1>\x1b[31m\x07\u202e'\"&"
LOADS = re.compile(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(|new Function|document\.write")
LINK = "javascript:window.ran=1"


def recorded(
    directory: Path, file: str = "train.py", name: str = "main", program: str = "a.out", calls: int = 0
) -> Path:
    """A stream that is used after its end, memory, and more calls; names are somebody else's."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    records = (
        w.thread(1, name[:200])
        + w.python_code(1, file, name)
        + w.stack(1, (0x2000,), [(1, 2), (1, 4)])
        + w.call("cuInit", [0], number=1, entered=1, context=0)
        + w.call("cuDevicePrimaryCtxRetain", [1, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        + w.call("cuMemAlloc", [1, 4096], number=3, entered=40, context=CONTEXT, outputs=[(0, Kind.MEMORY, 1, ADDRESS)], stack=1)
        + w.call("cuStreamCreate", [1, 0], number=4, entered=60, context=CONTEXT, outputs=[(0, Kind.STREAM, 1, STREAM)], stack=1)
        + w.call("cuMemsetD8Async", [ADDRESS, 0, 8, STREAM], number=5, entered=80, context=CONTEXT, stack=1, flags=w.WORK,
                 objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT), (3, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + w.call("cuStreamDestroy", [STREAM], number=6, entered=100, context=CONTEXT, stack=1,
                 objects=[(0, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + b"".join(w.call("cuCtxSynchronize", number=7 + each, entered=120 + 20 * each, context=CONTEXT) for each in range(calls))
        + w.call("cuStreamSynchronize", [STREAM], number=7 + calls, entered=120 + 20 * calls, context=CONTEXT, stack=1, status=400,
                 flags=w.ORDER | w.SUSPECT | w.FAILED, objects=[(0, Kind.STREAM, 2, 1, STREAM, CONTEXT)])
    )  # fmt: skip
    w.write(directory, [w.chunk(records)], executable=program)
    return directory


def analysed(directory: Path) -> tuple[Report, list[History]]:
    found: list[History] = []

    def keep(process: ProcessAnalysis) -> None:
        found.append(process.history())

    return analyze([directory], then=keep), found


class Parsed(HTMLParser):
    """Elements with their attributes, the text outside of scripts and styles, and what scripts and styles hold."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.styles: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(document)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        if tag == "script":
            self.scripts.append((found, ""))
        elif tag == "style":
            self.styles.append("")
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["script"]:
            attributes, before = self.scripts[-1]
            self.scripts[-1] = attributes, before + data
        elif self._open[-1:] == ["style"]:
            self.styles[-1] += data
        else:
            self.text += data

    def having(self, name: str) -> list[str]:
        return [found[name] for _, found in self.elements if name in found]

    def data(self) -> dict[str, Any]:
        (found,) = (
            json.loads(text) for attributes, text in self.scripts if attributes.get("type") == "application/json"
        )
        return found  # type: ignore[no-any-return]


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Parsed]:
    """The page of a recording that ``recorded`` writes."""

    def make(**fields: Any) -> Parsed:
        return Parsed(page(*analysed(recorded(tmp_path / "rec", **fields))))

    return make


def test_a_page_has_its_sections_in_order(made: Callable[..., Parsed]) -> None:
    found = made()
    sections = [attributes["id"] for name, attributes in found.elements if name == "section"]
    assert sections == ["summary", "findings", "timeline", "objects", "memory"]
    assert "1 error, 0 warnings in 7 calls" in found.text
    assert found.having("href") == ["#findings", "#timeline", "#objects", "#memory"]


def test_a_finding_says_what_the_terminal_says(made: Callable[..., Parsed], tmp_path: Path) -> None:
    found = made()
    (finding,) = (each for name, each in found.elements if name == "article")
    assert {key: finding[f"data-{key}"] for key in ("rule", "severity", "api", "process", "thread", "stream")} == {
        "rule": "CV201", "severity": "error", "api": "cuStreamSynchronize",
        "process": "1000", "thread": "t1000/1", "stream": "s1000/0x5000",
    }  # fmt: skip
    said = "stream#1 (0x5000) was destroyed here by cuStreamDestroy"
    assert said in found.text and "cuvet explain CV201" in found.text and "train.py:2 in main" in found.text


def test_the_timeline_has_lanes_calls_and_marks(made: Callable[..., Parsed]) -> None:
    line = made().data()["timeline"]
    assert [(lane["k"], lane["n"]) for lane in line["lanes"]] == [
        ("process", "process 1000 (a.out)"), ("context", "context 0xc000"), ("thread", "thread 1 main"), ("stream", "stream#1"),
        ("objects", "streams alive"), ("objects", "allocations alive"),
    ]  # fmt: skip
    calls, marks = line["calls"], line["marks"]
    assert np.cumsum(calls["t"]).tolist() == [1, 20, 40, 60, 80, 100, 120]
    assert [calls["apis"][api] for api in calls["a"]][-1] == "cuStreamSynchronize"
    assert [calls["results"][result] for result in calls["r"]] == ["success"] * 6 + ["CUDA_ERROR_INVALID_HANDLE (400)"]
    assert calls["l"] == [2] * 7 and calls["s"] == [-1] * 4 + [3, -1, -1]
    assert [(time, lane, what) for _, time, lane, what in marks] == [
        (120, 2, "error"), (60, 2, "stream#1 created"), (100, 2, "stream#1 destroyed"),
    ]  # fmt: skip
    assert line["lanes"][3]["s"] == [[70, 100, "stream#1"]]


def test_the_memory_has_its_curve(made: Callable[..., Parsed]) -> None:
    (held,) = made().data()["memory"]
    assert (held["t"], held["v"]) == ([40], [[4096]])


def test_a_page_loads_nothing_and_runs_only_what_its_policy_names(made: Callable[..., Parsed]) -> None:
    found = made()
    (policy,) = (
        each["content"] for name, each in found.elements if each.get("http-equiv") == "Content-Security-Policy"
    )
    (script,) = (text for attributes, text in found.scripts if not attributes)
    (style,) = found.styles
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (script, style)]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert not re.search(
        r"https?:|@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(|new Function|document\.write",
        script.replace("http://www.w3.org/2000/svg", "") + style,
    )
    assert not {"src", "action", "style"} & {name for _, each in found.elements for name in each}
    assert {name for name, _ in found.elements} & {"img", "iframe", "object", "embed", "link", "base", "svg"} == set()


HOSTILE = [
    {"file": EVIL}, {"file": LINK}, {"name": EVIL}, {"name": LINK}, {"program": f"/bin/{EVIL}"}, {"file": "\udcff\x00\x9b31m"[1:]},
]  # fmt: skip


@pytest.mark.parametrize("fields", HOSTILE)
def test_names_of_others_are_text(fields: dict[str, str], made: Callable[..., Parsed]) -> None:
    plain, found = made(), made(**fields)
    assert [name for name, _ in found.elements] == [name for name, _ in plain.elements]
    assert [{*each} for _, each in found.elements] == [{*each} for _, each in plain.elements]
    assert not [name for _, each in found.elements for name in each if name.startswith("on")]
    assert found.having("href") == plain.having("href")
    scripts = [text for attributes, text in found.scripts if not attributes]
    assert scripts == [text for attributes, text in plain.scripts if not attributes]
    shown = found.text + json.dumps(found.data(), ensure_ascii=False) + "".join(found.having("title"))
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_what_a_program_was_given_is_text(tmp_path: Path) -> None:
    report, histories = analysed(recorded(tmp_path / "rec"))
    report = replace_program(report, (EVIL, LINK))
    found = Parsed(page(report, histories))
    assert len(found.scripts) == 2 and "onerror=window.ran=1>\\x1b[31m\\x07\\u202e" in found.text


def replace_program(report: Report, argv: tuple[str, ...]) -> Report:
    return msgspec.structs.replace(report, program=msgspec.structs.replace(report.program, argv=argv))


def test_what_else_a_report_says_is_there(tmp_path: Path) -> None:
    report, histories = analysed(recorded(tmp_path / "rec"))
    site = report.findings[0].site
    causes = (LikelyCause(cause="some-cause", title="a title"),)
    failures = (
        UnexplainedFailure(api="cudaMemset2D", status=1, site=site, count=3, causes=causes),
        UnexplainedFailure(api="cudaFree", status=1, site=site, library="libother.so"),
    )
    machine = (MachineCause(cause="other-cause", verdict="no driver", evidence=("a file",), fix="install one"),)
    more = msgspec.structs.replace(
        report, unexplained=failures, machine=machine, not_checked=("12 calls were lost",), hints=("try --races",),
        stats={**report.stats, "unexplained_failures": 9},
    )  # fmt: skip
    found = Parsed(page(more, histories)).text
    for said in (
        "cudaMemset2D returned cudaErrorInvalidValue (1), 3 times", "a title (cuvet explain some-cause)", "in libother.so",
        "5 more failed calls are not listed.", "machine[other-cause]", "no driver", "a file", "install one",
        "12 calls were lost", "try --races",
    ):  # fmt: skip
        assert said in found


def test_markup_escapes_all_but_markup() -> None:
    assert (
        tag("p", "<b>", tag("i", "&"), title='"', hidden=True, id=None)
        == '<p title="&quot;" hidden>&lt;b&gt;<i>&amp;</i></p>'
    )
    assert text("a\nb\x00") == "a\\nb\\x00"
    assert embedded("x", {"</script>": "<!--&\u2028"}) == (
        '<script type="application/json" id="x">{"\\u003c/script\\u003e":"\\u003c!--\\u0026\\u2028"}</script>'
    )


def test_no_line_of_a_source_elsewhere_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "elsewhere" / "secret.py"
    source.parent.mkdir()
    source.write_text("import torch\nhunter2 = cuStreamSynchronize(stream)\n")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    recorded(tmp_path / "rec", file=str(source))
    arguments = ["report", "--html", str(tmp_path / "page.html"), str(tmp_path / "rec")]
    assert main(arguments) == 0
    assert "hunter2" not in (tmp_path / "page.html").read_text()
    assert "lines of 1 file are not shown" in (tmp_path / "page.html").read_text()
    assert main([*arguments, "--source-root", str(source.parent)]) == 0
    assert "hunter2 = cuStreamSynchronize(<mark>stream</mark>)" in (tmp_path / "page.html").read_text()


def many(history: History, count: int) -> History:
    """The same with so many calls of a thread more."""
    rng = np.random.default_rng(1)
    columns = {
        "thread": np.full(count, 1, np.uint32),
        "number": np.arange(1000, 1000 + count, dtype=np.uint64),
        "place": rng.integers(0, len(np.unique(history.place)), count).astype(np.uint32),
        "entered_ns": 200 + np.sort(rng.integers(0, 10**12, count)),
        "duration_ns": rng.integers(0, 10**6, count),
        "status": np.zeros(count, np.uint32),
        "stream": np.full(count, STREAM, np.uint64),
    }
    grown = {name: np.concatenate([getattr(history, name), column]) for name, column in columns.items()}
    return replace(history, end_ns=10**12 + 10**6, **grown)


def test_a_page_of_a_million_calls_is_small_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    document = page(report, [many(history, 1_000_000)])
    assert len(document.encode()) < MOST_BYTES
    found = Parsed(document)
    assert "16,000 of 1,000,007 recorded calls are drawn one by one" in found.text
    line = found.data()["timeline"]
    assert len(line["calls"]["t"]) == 16_000 and line["whole"] is False
    assert sum(value for value in line["lanes"][2]["b"] if value > 0) == 1_000_007
    times = set(np.cumsum(line["calls"]["t"]).tolist())
    assert {time for _, time, _, _ in line["marks"]} <= times


def test_streams_without_work_take_few_lanes(tmp_path: Path) -> None:
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    lives, count = history.lives, 128
    rows = np.flatnonzero(lives.kind == Kind.STREAM)[[0]].repeat(count)
    grown = {name: np.concatenate([getattr(lives, name), getattr(lives, name)[rows]]) for name in Lives.__slots__}
    grown["handle"][-count:] += np.arange(1, count + 1, dtype=grown["handle"].dtype) * 64
    found = Parsed(page(report, [replace(history, lives=Lives(**grown))]))
    lanes = [lane["n"] for lane in found.data()["timeline"]["lanes"] if lane["k"] == "stream"]
    assert lanes[0] == "stream#1" and len(lanes) == 5
    assert "process 1000: 124 more streams without a lane" in found.text


def test_a_page_that_would_be_too_large_is_made_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    history = many(history, 50_000)
    whole = len(page(report, [history]).encode())
    monkeypatch.setattr(page_module, "MOST_BYTES", whole // 2)
    assert len(page(report, [history]).encode()) <= whole // 2


def test_long_names_do_not_make_a_page_large(tmp_path: Path) -> None:
    begin = w.call("cuInit", [0], number=1, entered=1, context=0) + w.call(
        "cuDevicePrimaryCtxRetain", [1, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)]
    )
    chunks = [w.chunk(begin)]
    for each in range(1, 31):
        stack = w.python_code(each, f"{each}" + "f" * 30_000, "<" * 30_000) + w.stack(
            each, (), [(each, line) for line in range(1, 61)]
        )
        wait = w.call("cuStreamSynchronize", [0x9000 + each], number=2 + each, entered=20 + 20 * each, context=CONTEXT, stack=each,
                      status=400, flags=w.ORDER | w.SUSPECT | w.FAILED)  # fmt: skip
        chunks.append(w.chunk(stack + wait))
    w.write(tmp_path, chunks, executable="/bin/" + "x" * 1000)
    report, histories = analysed(tmp_path)
    assert len(report.findings) == 30
    assert len(page(report, histories).encode()) < MOST_BYTES


def test_findings_beyond_the_room_are_counted(tmp_path: Path) -> None:
    report, histories = analysed(recorded(tmp_path / "rec"))
    several = msgspec.structs.replace(report, findings=report.findings * 30)
    assert "25 more findings not shown" in Parsed(page(several, histories, Room(findings=5))).text


def test_errors_have_room_before_warnings(tmp_path: Path) -> None:
    report, histories = analysed(recorded(tmp_path / "rec"))
    (error,) = report.findings
    warnings = (msgspec.structs.replace(error, severity="warning"),) * 30
    found = Parsed(page(msgspec.structs.replace(report, findings=(*warnings, error)), histories, Room(findings=5)))
    assert found.having("data-severity") == ["warning"] * 4 + ["error"]


def test_processes_of_one_number_are_told_apart(tmp_path: Path) -> None:
    """Of several machines."""
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    line = Parsed(page(report, [history, replace(history, start_ns=history.start_ns + 500)])).data()["timeline"]
    assert [lane["n"] for lane in line["lanes"] if lane["k"] == "process"] == ["process 1000 (a.out)"] * 2
    assert np.cumsum(line["calls"]["t"]).tolist() == [1, 20, 40, 60, 80, 100, 120, 501, 520, 540, 560, 580, 600, 620]


@pytest.mark.parametrize("most", [0, 1, 50, 200, 1000])
def test_calls_that_are_chosen_are_those_of_findings_first(most: int, tmp_path: Path) -> None:
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    chosen = chosen_calls(many(history, 5000), report.findings, most)
    assert len(chosen) == most and (np.diff(chosen) > 0).all()
    assert most < 50 or {3, 5, 6} <= {*chosen.tolist()}


def test_a_recording_without_calls_has_a_page(tmp_path: Path) -> None:
    w.write(tmp_path, [])
    found = Parsed(page(*analysed(tmp_path)))
    assert "made no CUDA call that cuvet could see" in found.text and "No finding." in found.text


def test_every_colour_that_the_script_reads_is_there() -> None:
    script, style = ((PARTS / name).read_text() for name in ("page.js", "page.css"))
    themes = re.findall(r"color-scheme: (?:light|dark);\n(.*?)\}", style, re.S)
    assert len(themes) == 3
    names = [set(re.findall(r"--([\w-]+):", theme)) for theme in themes]
    assert names[0] == names[1] == names[2]
    (listed,) = re.findall(r"\[\.\.\.SORTS, (.*?)\]", script)
    (sorts,) = re.findall(r"const SORTS = \[(.*?)\]", script)
    assert set(re.findall(r'"([\w-]+)"', listed + sorts)) <= names[0]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1, 2])
def test_text_has_contrast(theme: int) -> None:
    """At least 4.5 to 1 (WCAG 2.1, 1.4.3), on the page and on its panels."""
    style = (PARTS / "page.css").read_text()
    colours = dict(
        re.findall(r"--([\w-]+): (#\w{6})", re.findall(r"color-scheme: (?:light|dark);\n(.*?)\}", style, re.S)[theme])
    )
    for name in ("ink", "dim", "accent", "error", "warning", "note"):
        for ground in ("bg", "panel"):
            one, other = sorted((luminance(colours[name]), luminance(colours[ground])))
            assert (other + 0.05) / (one + 0.05) >= 4.5, (name, ground)


@pytest.mark.skipif(
    shutil.which("node") is None, reason="node is not installed: the syntax of the page's script is not checked"
)
def test_the_script_is_javascript() -> None:
    subprocess.run(["node", "--check", PARTS / "page.js"], check=True)


needs_browser = pytest.mark.skipif(browser.found() is None, reason="no Chromium is installed: pages are not opened")


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def opened(window: browser.Browser, tmp_path: Path) -> Callable[..., browser.Browser]:
    """A page in the browser, of a recording that ``recorded`` writes; only the page itself was loaded, and nothing was said."""

    def open_page(**fields: Any) -> browser.Browser:
        file = tmp_path / "page.html"
        file.write_text(page(*analysed(recorded(tmp_path / "rec", **fields))))
        window.said.clear()
        window.requests.clear()
        window.open(file)
        assert window.value("document.documentElement.dataset.ready") == "yes"
        assert (window.said, window.requests) == ([], [file.as_uri()])
        return window

    return open_page


@needs_browser
@pytest.mark.parametrize("fields", HOSTILE)
def test_nothing_that_a_recording_names_runs(fields: dict[str, str], opened: Callable[..., browser.Browser]) -> None:
    found = opened(**fields)
    found.key("j")
    found.drawn()
    assert found.value("typeof window.ran") == "undefined"
    assert (found.said, len(found.requests)) == ([], 1)


@needs_browser
def test_the_policy_stops_what_would_run(opened: Callable[..., browser.Browser]) -> None:
    """If something were not escaped after all."""
    found = opened()
    markup = '<img src="data:," onerror="window.ran=1"><a id=a href="javascript:window.ran=1">x</a>'
    found.value(f"document.body.insertAdjacentHTML('beforeend', '{markup}')")
    found.value("document.getElementById('a').click()")
    found.value(
        "{ const s = document.createElement('script'); s.textContent = 'window.ran=1'; document.body.append(s); }"
    )
    found.drawn()
    assert found.value("typeof window.ran") == "undefined"
    assert found.said and all("Content Security Policy" in each for each in found.said)


def selected(found: browser.Browser) -> Any:
    return found.value("document.querySelector('article.selected')?.id ?? null")


@needs_browser
def test_keys_select_findings_and_search(opened: Callable[..., browser.Browser]) -> None:
    found = opened()
    assert selected(found) is None
    found.key("j")
    assert selected(found) == "finding-1"
    assert found.value("document.activeElement.id") == "finding-1"
    found.key("/")
    assert found.value("document.activeElement.id") == "search"
    for letter in "nosuch":
        found.key(letter)
    assert found.value("document.getElementById('finding-1').hidden") is True
    assert found.value("document.getElementById('matching').textContent") == "0 of 1 findings match"
    found.key("Escape")
    found.key("?")
    assert found.value("document.getElementById('help').open") is True


@needs_browser
def test_filters_hide_what_does_not_match(opened: Callable[..., browser.Browser]) -> None:
    found = opened()
    found.value("document.querySelector('input[value=error]').click()")
    assert found.value("document.getElementById('finding-1').hidden") is True
    found.value("document.querySelector('input[value=error]').click()")
    assert found.value("document.getElementById('finding-1').hidden") is False


@needs_browser
def test_the_theme_is_the_system_s_until_it_is_switched(opened: Callable[..., browser.Browser]) -> None:
    found = opened()
    ground = "getComputedStyle(document.body).backgroundColor"
    found.scheme("dark")
    assert found.value(ground) == "rgb(22, 25, 29)"
    found.key("t")
    assert found.value(ground) == "rgb(255, 255, 255)"
    found.scheme("light")
    found.key("t")
    assert found.value(ground) == "rgb(22, 25, 29)"


@needs_browser
def test_the_timeline_zooms_moves_and_says_what_is_there(opened: Callable[..., browser.Browser]) -> None:
    found = opened(calls=300)
    shown = "document.getElementById('range').textContent"
    whole = found.value(shown)
    assert whole.startswith("0 ns to ")
    found.value("document.querySelector('[data-zoom=in]').click()")
    found.drawn()
    assert (zoomed := found.value(shown)) != whole
    found.value("document.getElementById('lanes').focus()")
    found.key("ArrowRight")
    found.drawn()
    assert found.value(shown) not in (whole, zoomed)
    found.key("0")
    found.drawn()
    assert found.value(shown) == whole
    box = found.value("(r => [r.left, r.top, r.width])(document.getElementById('lanes').getBoundingClientRect())")
    found.value("document.getElementById('timeline').scrollIntoView()")
    box = found.value("(r => [r.left, r.top, r.width])(document.getElementById('lanes').getBoundingClientRect())")
    x, y = box[0] + box[2] - 1, box[1] + 2 * 20 + 10
    found.mouse("mouseMoved", x, y)
    said = found.value("document.getElementById('hover').textContent")
    assert "cuStreamSynchronize #307: CUDA_ERROR_INVALID_HANDLE (400)" in said and "finding 1: error" in said
    found.mouse("mousePressed", x, y, button="left", clickCount=1)
    found.mouse("mouseReleased", x, y, button="left", clickCount=1)
    assert selected(found) == "finding-1"


@needs_browser
@pytest.mark.parametrize(
    ("wait", "shown"),
    [
        (0, "0 ns to 131 ns, 131 ns shown"),
        (10_000, "10.018 µs to 10.131 µs, 113 ns shown"),
        (10**9, "1.000000018 s to 1.000000131 s, 113 ns shown"),
    ],
)
def test_the_timeline_begins_where_something_is_done(
    wait: int, shown: str, window: browser.Browser, tmp_path: Path
) -> None:
    """cuInit may take most of the time. Times have the digits that tell them apart."""
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    later = np.where(history.entered_ns > 1, history.entered_ns + wait, history.entered_ns)
    file = tmp_path / "page.html"
    file.write_text(page(report, [replace(history, entered_ns=later, end_ns=history.end_ns + wait)]))
    window.open(file)
    window.drawn()
    assert window.value("document.getElementById('range').textContent") == shown


@needs_browser
@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_its_window(width: int, scheme: str, opened: Callable[..., browser.Browser]) -> None:
    found = opened()
    found.scheme(scheme)
    found.size(width, 900)
    found.drawn()
    assert found.value("document.documentElement.scrollWidth") <= width
    picture = found.picture()
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000


@needs_browser
def test_curves_of_memory_say_what_was_held(opened: Callable[..., browser.Browser]) -> None:
    found = opened()
    assert found.value("document.querySelector('.curves p').textContent") == "40 ns to 130 ns, height 4 KiB"
    assert found.value("document.querySelector('.curves path').getAttribute('d')").startswith(
        "M0.00 3.92L1000.00 3.92L1000.00 200.00"
    )
    found.value("document.getElementById('memory').scrollIntoView()")
    left, top, width = found.value(
        "(r => [r.left, r.top, r.width])(document.querySelector('.curves svg').getBoundingClientRect())"
    )
    found.mouse("mouseMoved", left + width / 2, top + 100)
    assert found.value("document.querySelectorAll('.curves p span')[1].textContent") == "85 ns: 4 KiB"


@needs_browser
def test_a_table_sorts_by_a_column(opened: Callable[..., browser.Browser]) -> None:
    found = opened()
    first = "document.querySelector('#object-table tbody tr').cells[0].textContent"
    found.value("document.querySelector('#object-table th button').click()")
    assert found.value(first) == "context"
    found.value("document.querySelector('#object-table th button').click()")
    assert found.value(first) == "stream"
