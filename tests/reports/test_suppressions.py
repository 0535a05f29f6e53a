from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.findings import EarlierCall, Finding, Frame, Suppression
from cuvet.reports.suppressions import MOST, Suppressions, read, require_new, text_of, write

from .findings import finding, frame, site, stream
from .test_run_formats import HOSTILE

DRAIN = frame("Pool::drain(int)", "/home/a/src/pool.cu", 8)
MAIN = frame("main", "/home/a/src/main.cu", 40, "/home/a/build/app")


def suppressed(it: Finding, **pattern: str) -> bool:
    return Suppressions([Suppression(**{"rule": "CV201", "reason": "x", **pattern})]).suppress(it)


def from_text(folder: Path, text: str) -> Suppressions:
    (folder / "s.toml").write_text(text, encoding="utf-8")
    return Suppressions(read(folder / "s.toml"))


@pytest.mark.parametrize(
    "pattern",
    [
        {},
        {"rule": "stream-use-after-destroy"},
        {"rule": "stream-*"},
        {"rule": "cv2*"},
        {"function": "Pool::drain*"},
        {"function": "main"},
        {"file": "pool.cu"},
        {"file": "src/*.cu"},
        {"file": "/home/a/src/pool.cu"},
        {"module": "app"},
        {"function": "main", "file": "main.cu", "module": "build/app"},
    ],
)
def test_a_suppression_names_a_frame_of_the_stack(pattern: dict[str, str]) -> None:
    assert suppressed(finding(DRAIN, MAIN), **pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        {"rule": "CV202"},
        {"rule": "context-*"},
        {"function": "drain"},
        {"function": "Main"},
        {"file": "ool.cu"},
        {"file": "pool.c"},
        {"file": "src"},
        {"module": "libapp"},
        {"function": "main", "file": "pool.cu"},
        {"function": "Pool::drain*", "module": "app"},
        {"function": ""},
    ],
)
def test_what_no_frame_has_suppresses_nothing(pattern: dict[str, str]) -> None:
    assert not suppressed(finding(DRAIN, MAIN), **pattern)


@pytest.mark.parametrize(
    "it",
    [
        finding(MAIN, objects=(stream(created=site(DRAIN)),)),
        finding(MAIN, objects=(stream(destroyed=site(MAIN, DRAIN)),)),
        finding(MAIN, earlier=(EarlierCall(text="wrote", site=site(DRAIN)),)),
    ],
)
def test_any_stack_of_the_finding_counts(it: Finding) -> None:
    assert suppressed(it, function="Pool::drain*")
    assert not suppressed(it, function="Pool::fill*")


def test_pieces_of_a_function_have_its_name() -> None:
    it = finding(frame("drain.constprop.0.cold", "/a.c"))
    assert suppressed(it, function="drain") and suppressed(it, function="drain.constprop.*")
    assert not suppressed(finding(frame("drain.more", "/a.c")), function="drain")


NAMES = [
    *HOSTILE,
    "operator*(A const&)",
    "f<int [3]>::operator[](int)?",
    "main::{lambda(int)#1}::operator()",
    "f" * 9_000,
    '"',
]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_suppresses_the_finding_and_no_other(tmp_path: Path, name: str) -> None:
    it = finding(frame(name, f"/src/[a] {name[:40]}.cu", 12), message=f"stream {name} was destroyed")
    every = from_text(tmp_path, text_of([it]))
    assert len(every.every) == 1
    assert every.suppress(it)
    assert not every.suppress(finding(frame(f"{name[:300]}x", it.site.frames[0].file, 12)))
    assert not every.suppress(finding(frame(name, "/src/b.cu", 12)))
    assert not every.suppress(finding(*it.site.frames, rule="CV202"))


def test_lines_and_addresses_are_not_written() -> None:
    nameless = finding(frame("libpool.so+0x1a2b", module="/opt/libpool.so"))
    text = text_of([finding(DRAIN, MAIN), nameless, finding(frame("0x7f00deadbeef"), MAIN)])
    tables = [line for line in text.splitlines() if line and not line.startswith(("#", "[", "reason"))]
    assert tables == [
        'rule = "CV201"',
        'function = "Pool::drain(int)"',
        'file = "pool.cu"',
        'rule = "CV201"',
        'module = "libpool.so"',
        'rule = "CV201"',
        'function = "main"',
        'file = "main.cu"',
    ]


def test_a_pattern_is_written_once_and_what_has_no_place_is_told() -> None:
    text = text_of([finding(DRAIN), finding(DRAIN, MAIN), finding(), finding(frame("0x7f00"))])
    assert text.count("[[suppression]]") == 1
    assert "# Not written: 2 without a function, file or module." in text


def test_no_finding_is_written_as_no_table(tmp_path: Path) -> None:
    assert from_text(tmp_path, text_of([])).every == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[suppression]]\nrule = 'CV201'\n", "s.toml: suppression 1: reason is missing; write reason = "),
        ("[[suppression]]\nrule = 'CV201'\nreason = ' '\n", "suppression 1: reason is missing"),
        ("[[suppression]]\nreason = 'x'\n", 'suppression 1: rule is missing; write rule = "CV201"'),
        (
            "[[suppression]]\nrule='CV201'\nreason='x'\n[[suppression]]\nrule = 'CV999'\nreason = 'x'\n",
            "s.toml: suppression 2: rule: no rule is called CV999",
        ),
        ("[[suppression]]\nrule = 'CV201'\nreson = 'x'\n", "unknown key reson; did you mean reason?"),
        ("[[suppression]]\nrule = 'CV201'\nreason = 'x'\nline = 3\n", "unknown key line; known: rule, function, file"),
        ("[[suppression]]\nrule = 'CV201'\nreason = 'x'\nfile = 3\n", 'file is a string, as "pool.cu"'),
        ("[[supression]]\nrule = 'CV201'\n", "s.toml: unknown key supression; a file of suppressions has tables"),
        ("suppression = 3\n", "suppression is a list of tables"),
        ("suppression = [3]\n", "suppression 1 is not a table"),
        ("[[suppression\n", "s.toml is not valid TOML"),
        ("a = " + "[" * 100_000, "s.toml is nested too deeply"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CuvetError) as caught:
        from_text(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CuvetError, match="no such file; --write-suppressions makes one"):
        read(tmp_path / "s.toml")
    os.mkfifo(tmp_path / "s.toml")
    with pytest.raises(CuvetError, match="not a regular file"):
        read(tmp_path / "s.toml")
    (tmp_path / "s.toml").unlink()
    (tmp_path / "s.toml").symlink_to("/dev/zero")
    with pytest.raises(CuvetError, match="not a regular file"):
        read(tmp_path / "s.toml")


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_nothing_is_overwritten(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "s.toml"
    if kind == "file":
        file.write_text("mine")
    else:
        file.symlink_to(tmp_path / "elsewhere")
    for attempt in (lambda: require_new(file), lambda: write(file, [finding(DRAIN)])):
        with pytest.raises(
            CuvetError, match=r"s\.toml exists: --write-suppressions overwrites nothing; name a new file"
        ):
            attempt()
    assert not (tmp_path / "elsewhere").exists()


def test_what_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    with pytest.raises(CuvetError, match="cannot write the suppressions"):
        require_new(tmp_path / "none/s.toml")
    require_new(tmp_path / "s.toml")


def every(*patterns: str) -> Suppressions:
    return Suppressions([Suppression(rule="CV201", function=each, reason="x") for each in patterns])


def test_those_that_suppress_nothing_are_known() -> None:
    it = every("main", "Pool::*", "fill")
    assert it.suppress(finding(DRAIN, MAIN))
    assert [each.function for each in it.unused(None)] == ["fill"]
    assert it.unused(frozenset({"stream-destroy-twice"})) == (), "its rule was not asked for"


def test_too_many_are_refused() -> None:
    with pytest.raises(CuvetError, match="are too many"):
        every(*["main"] * (MOST + 1))


def test_many_patterns_of_many_stars_end() -> None:
    """They would not if each frame of each finding were compared anew, or if a pattern were tried in every way."""
    it = every(*(f"{'*a' * 100}{n}" for n in range(MOST)))
    frames: list[Frame] = [frame("a" * 200 + "b", "/a.c", n) for n in range(10)]
    assert [it.suppress(finding(*frames)) for _ in range(300)] == [False] * 300
