"""The page of ``cuvet live``: what stands on it, what the keys change, and that nothing which a recording names controls the terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console

from cuvet.analysis.now import Now, ObjectsNow, ThreadNow
from cuvet.catalog import Kind
from cuvet.findings import Finding, Frame, MemoryPlace, MemoryUse, Program, Site
from cuvet.launch import watch
from cuvet.reports.live import Moment, View, bottom, lines, page, pressed

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
import writing as w

CONSOLE = Console(file=io.StringIO())
EVIL = "x\x1b[2J\x07\n\u202e"
CONTEXT, STREAM = 0xC000, 0x5000


def site(function: str = "main", call: int = 7) -> Site:
    frames = (Frame(function=function, file="train.cu", line=12, language="cuda"),)
    return Site(api="cudaMalloc", call=call, process=10, thread=11, time_ns=5, frames=frames)


def finding(message: str, repeats: int = 1) -> Finding:
    return Finding(
        rule="CV201", name="stream-use-after-destroy", severity="error", message=message, api="cudaEventRecord", status=400,
        site=site(), because=("it was destroyed",), help="destroy it later", repeats=repeats,
    )  # fmt: skip


def place(function: str, size: int) -> MemoryPlace:
    return MemoryPlace(site=site(function), bytes=size, count=1, peak_bytes=size, peak_count=1)


def moment(*findings: Finding, threads: int = 1, name: str = "main", kinds: int = 1) -> Moment:
    use = MemoryUse(
        process=10, memory="device", device=0, capacity=1 << 34, bytes=3 << 20, count=2, peak_bytes=5 << 20, peak_count=3, peak_ns=9,
        places=(place("load", 2 << 20), place("step", 1 << 20), place("gone", 0)),
    )  # fmt: skip
    now = Now(
        running=1,
        processes=1,
        calls=12345,
        findings=findings,
        objects=tuple(ObjectsNow(Kind(1 + number), number, 40) for number in range(kinds)),
        memory=(use,),
        threads=tuple(ThreadNow(10, 11 + number, name, "cuStreamSynchronize", 99) for number in range(threads)),
    )
    return Moment(Program(argv=("./train", name)), now, rate=250.4, since={(10, 11): 3.2})


def shown(moment: Moment, view: View | None = None, width: int = 140, height: int = 24) -> list[str]:
    return [line.plain for line in page(moment, view or View(), CONSOLE, width, height)]


def test_a_page_tells_what_the_program_does() -> None:
    text = "\n".join(shown(moment(finding("stream#1 was destroyed", repeats=3), kinds=2)))
    for said in (
        "cuvet live  ./train main",
        "1 of 1 process running · 12,345 calls, 250 a second",
        "1 finding\n> error[CV201]: cudaEventRecord: stream#1 was destroyed (stream-use-after-destroy) at train.cu:12 in main × 3",
        "1 stream                   of 40 made",
        "0 contexts                 of 40 made",
        "memory of GPU 0: 3 MiB of 16 GiB, 5 MiB at the peak",
        "2 MiB in 1 allocation: train.cu:12 in load (cudaMalloc)",
        "11 (main): cuStreamSynchronize for at least 3 s  [call #99]",
        "q quit · ↑↓ or jk choose · Enter show the finding · p pause",
    ):
        assert said in text
    assert "gone" not in text


def test_a_program_without_findings_is_told_so() -> None:
    assert "no findings" in shown(moment())


def test_before_anything_is_read_nothing_is_claimed() -> None:
    text = shown(Moment(Program(argv=("./train",))))
    assert "reading the recording" in text
    assert not any("finding" in line for line in text[:-1])


@pytest.mark.parametrize(("width", "height"), [(100, 24), (40, 10), (20, 5), (300, 80), (1, 1), (10, 2)])
def test_a_page_fits_the_terminal(width: int, height: int) -> None:
    several = moment(*(finding(f"finding {number}") for number in range(60)), threads=50, kinds=20)
    for view in (View(), View(selected=30), View(selected=30, opened=True), View(held=several)):
        found = page(several, view, CONSOLE, width, height)
        assert len(found) == height
        assert all(line.cell_len <= width for line in found)


def test_every_section_has_room() -> None:
    several = moment(*(finding(f"finding {number}") for number in range(60)), threads=50, kinds=12)
    text = "\n".join(shown(several, height=30))
    assert "60 findings" in text and "finding 0" in text
    assert "alive" in text and "memory of GPU 0" in text and "threads" in text
    assert text.count("more") >= 2


def test_the_selected_finding_is_on_the_page() -> None:
    several = moment(*(finding(f"finding {number} of many") for number in range(60)))
    for selected in (0, 1, 30, 59):
        marked = [line for line in shown(several, View(selected=selected)) if line.startswith(">")]
        assert len(marked) == 1 and f"finding {selected} of many" in marked[0]


def test_keys_choose_a_finding_and_stop_at_both_ends() -> None:
    two = moment(finding("one"), finding("two"))
    view = View()
    for key, selected in (("k", 0), ("j", 1), ("down", 1), ("up", 0), ("x", 0)):
        view = pressed(view, key, two, 0)
        assert view.selected == selected
    assert pressed(View(), "j", moment(), 0).selected == 0


def test_enter_shows_a_finding_whole_and_goes_back() -> None:
    two = moment(finding("one"), finding("two"))
    view = pressed(View(selected=1), "enter", two, 0)
    text = "\n".join(shown(two, view))
    assert "cudaEventRecord: two" in text and "cudaEventRecord: one" not in text
    assert "help: destroy it later" in text and "because: it was destroyed" in text
    for key in ("enter", "escape"):
        assert pressed(view, key, two, 0) == View(selected=1)


def test_enter_without_a_finding_changes_nothing() -> None:
    assert pressed(View(), "enter", moment(), 0) == View()
    assert pressed(View(), "enter", Moment(Program(argv=())), 0) == View()


def test_a_long_finding_is_scrolled_to_its_end() -> None:
    one = moment(finding("one"))
    view = pressed(View(), "enter", one, 0)
    for _ in range(50):
        view = pressed(view, "j", one, bottom(one, view, CONSOLE, 140, 5))
    assert "more: cuvet explain CV201" in shown(one, view, height=5)[-2]
    assert pressed(view, "up", one, bottom(one, view, CONSOLE, 140, 5)).top == view.top - 1


def test_a_paused_page_stays_as_it_is() -> None:
    before, after = moment(finding("one")), moment(finding("one"), finding("two"))
    view = pressed(View(), "p", before, 0)
    paused = shown(after, view)
    assert paused[-1].startswith("paused · ")
    assert "1 finding" in paused
    assert pressed(view, "j", after, 0).selected == 0
    assert "2 findings" in shown(after, pressed(view, "p", after, 0))


def test_what_a_recording_names_controls_nothing() -> None:
    evil = moment(finding(EVIL), name=EVIL)
    for view in (View(), View(opened=True)):
        assert all(line.isprintable() for line in shown(evil, view))
    out = io.StringIO()
    for text in lines(evil):
        Console(file=out, width=500).print(text)
    assert "\\x1b[2J" in "\n".join(shown(evil))


def recorded(directory: Path) -> Path:
    records = (
        w.python_code(1, "train.py", "main")
        + w.stack(1, (), [(1, 2)])
        + w.call("cuInit", [0], number=1, entered=1, context=0)
        + w.call("cuDevicePrimaryCtxRetain", [1, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        + w.call("cuStreamCreate", [1, 0], number=3, entered=60, context=CONTEXT, outputs=[(0, Kind.STREAM, 1, STREAM)], stack=1)
        + w.call("cuStreamDestroy", [STREAM], number=4, entered=100, context=CONTEXT, stack=1,
                 objects=[(0, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + w.call("cuStreamSynchronize", [STREAM], number=5, entered=120, context=CONTEXT, stack=1, status=400,
                 flags=w.ORDER | w.SUSPECT | w.FAILED, objects=[(0, Kind.STREAM, 2, 1, STREAM, CONTEXT)])
    )  # fmt: skip
    w.write(directory, [w.chunk(records)])
    return directory


def seconds() -> Iterator[int]:
    return count(100, 2)


def test_a_recording_is_followed(tmp_path: Path) -> None:
    clock = seconds()
    looked = watch.moments(recorded(tmp_path), lambda: next(clock))
    first, second = next(looked), next(looked)
    assert first.now is not None and second.now is not None
    assert [each.name for each in first.now.findings] == ["stream-use-after-destroy"]
    assert (first.now.running, first.now.processes, first.now.calls) == (0, 1, 5)
    assert (first.rate, second.rate) == (None, 0.0)
    assert len(second.now.findings) == 1


def test_a_recording_that_is_deleted_meanwhile_stays_on_the_page(tmp_path: Path) -> None:
    looked = watch.moments(recorded(tmp_path))
    next(looked)
    for file in tmp_path.iterdir():
        file.unlink()
    tmp_path.rmdir()
    after = next(looked)
    assert after.now is not None and len(after.now.findings) == 1


def test_a_recording_that_is_shortened_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []
    whole = watch.Analysis

    def analysis(directory: Path, **options: object) -> object:
        made.append(directory)
        return whole(directory, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(watch, "Analysis", analysis)
    looked = watch.moments(recorded(tmp_path))
    next(looked)
    next(looked)
    assert len(made) == 1
    (tmp_path / "1-1.kept").write_bytes(b"")
    next(looked)
    assert len(made) == 2


def test_a_call_is_seen_for_as_long_as_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = seconds()
    numbers = iter([(5, "cuStreamSynchronize"), (5, "cuStreamSynchronize"), (6, "cuStreamSynchronize"), (6, None)])

    def now(_: object) -> Now:
        number, call = next(numbers)
        return Now(threads=(ThreadNow(10, 11, "main", call, number),))

    monkeypatch.setattr(watch, "now", now)
    looked = watch.moments(recorded(tmp_path), lambda: next(clock))
    assert [next(looked).since for _ in range(4)] == [{(10, 11): 0}, {(10, 11): 2}, {(10, 11): 0}, {}]
