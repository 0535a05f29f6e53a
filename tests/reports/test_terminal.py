from __future__ import annotations

import io
import os
import pty
import subprocess
from pathlib import Path

import msgspec
import pytest
from rich.text import Text

from cuvet.findings import Evidence, Finding, Frame, MachineCause, ObjectReport, Program, Report, Site, Tool
from cuvet.reports import terminal

SOURCE = """\
void Pool::grow() {
    cudaStreamCreate(&streams_[n]);
}
void Pool::shrink() {
    cudaStreamDestroy(streams_.back());
}
void Pipeline::flush() {
    check(cudaEventRecord(flushed_,
                          stream_));
}
"""

EXPECTED = """\
error[CV201]: cudaEventRecord: stream#3 was already destroyed (stream-use-after-destroy)
  --> pool.cpp:8 in Pipeline::flush()  [thread 71, call #1342]
8 |     check(cudaEventRecord(flushed_,
9 |                           stream_));
  |                           ^^^^^^^
   by pool.cpp:40 in main
note: stream#3 (0x55d0) was destroyed here by cudaStreamDestroy, 4.1 ms before
  --> pool.cpp:5 in Pool::shrink()  [thread 72, call #7]
5 |     cudaStreamDestroy(streams_.back());
  |     ^^^^^^^^^^^^^^^^^
note: stream#3 (0x55d0) was created here by cudaStreamCreate, 2.5 s before
  --> pool.cpp:2 in Pool::grow()  [thread 71, call #17]
2 |     cudaStreamCreate(&streams_[n]);
  |     ^^^^^^^^^^^^^^^^
   = because: stream#3 was destroyed by thread 72 at call #7
   = result: the process died of SIGSEGV in cudaEventRecord
   = help: destroy the stream after its last use
   = repeats: 41 more like this one, in 3 processes
   = more: cuvet explain CV201

1 error, 0 warnings in 5,120 calls (3 streams, 2 threads, 1 process)
program: died of SIGSEGV
not checked: 12 calls were lost
device: NVIDIA H200, driver for CUDA 13.0
look again: cuvet analyze /tmp/trace
"""


def site(api: str, call: int, thread: int, time_ns: int, *frames: Frame) -> Site:
    return Site(api=api, call=call, process=70, thread=thread, time_ns=time_ns, frames=frames)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pool.cpp").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def report(folder: Path) -> Report:
    file = str(folder / "pool.cpp")
    stream = ObjectReport(
        kind="stream",
        handle="0x55d0",
        generation=1,
        name="stream#3",
        created=site("cudaStreamCreate", 17, 71, 0, Frame(function="Pool::grow()", file=file, line=2)),
        destroyed=site("cudaStreamDestroy", 7, 72, 2_495_900_000, Frame(function="Pool::shrink()", file=file, line=5)),
    )
    finding = Finding(
        rule="CV201",
        name="stream-use-after-destroy",
        severity="error",
        message="stream#3 was already destroyed",
        api="cudaEventRecord",
        signal=11,
        argument=1,
        site=site(
            "cudaEventRecord",
            1342,
            71,
            2_500_000_000,
            Frame(function="cudaEventRecord", module="/usr/lib/libcudart.so.13"),
            Frame(function="std::invoke", file="/usr/include/c++/12/invoke.h", line=60),
            Frame(function="Pipeline::flush()", file=file, line=8),
            Frame(function="main.part.0.cold", file=file, line=40),
        ),
        objects=(stream,),
        because=("stream#3 was destroyed by thread 72 at call #7",),
        help="destroy the stream after its last use",
        evidence=(
            Evidence(kind="measured", text="SIGSEGV in the driver", source="NVIDIA H200, driver 580.159"),
            Evidence(
                kind="documented", text="Use of the handle is undefined.", source="CUDA Runtime API, cudaStreamDestroy"
            ),
        ),
        repeats=42,
        processes=3,
    )
    return Report(
        tool=Tool(version="0.1.0"),
        program=Program(argv=("./pipeline",), signal=11, gpus=("NVIDIA H200",), driver="13.0"),
        findings=(finding,),
        not_checked=("12 calls were lost",),
        stats={"calls": 5120, "streams": 3, "threads": 2, "processes": 1},
    )


def rendered(report: Report, color: str = "auto", recording: str | None = None, verbose: bool = False) -> str:
    out = io.StringIO()
    terminal.render(report, terminal.console(out, color), recording=recording, verbose=verbose)
    return out.getvalue()


class Screen(io.StringIO):
    """A file that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_screen(report: Report, columns: int) -> str:
    screen = Screen()
    console = terminal.console(screen, "never")
    console.width = columns
    terminal.render(report, console, recording="/tmp/trace")
    return screen.getvalue()


def changed(report: Report, **fields: object) -> Report:
    return msgspec.structs.replace(report, findings=(msgspec.structs.replace(report.findings[0], **fields),))


def test_the_whole_report(report: Report) -> None:
    assert rendered(report, recording="/tmp/trace") == EXPECTED


@pytest.mark.parametrize(
    ("kind", "made", "word", "ended", "end"),
    [
        ("host memory", "cudaHostRegister", "registered", "cudaHostUnregister", "unregistered"),
        ("context", "cudaHostRegister", "created", "cuDevicePrimaryCtxRelease", "destroyed"),
        ("device memory", "cudaMalloc", "allocated", "cudaFree", "freed"),
        ("context", "cudaMalloc", "created", "cuCtxDestroy", "destroyed"),
        ("array", "cudaMallocArray", "allocated", "cudaFreeAsync", "freed"),
        ("event", "cudaEventCreate", "created", "cudaFreeHost", "destroyed"),
        ("module", "cuModuleLoadData", "loaded", "cuModuleUnload", "unloaded"),
        ("kernel", "cuLibraryGetKernel", "handed out", "cuLibraryUnload", "unloaded"),
        ("context", "cudaGetDeviceFlags", "created", "cudaDeviceReset", "destroyed"),
    ],
)
def test_the_word_is_for_what_was_done_to_the_object(
    report: Report, kind: str, made: str, word: str, ended: str, end: str
) -> None:
    thing = msgspec.structs.replace(
        report.findings[0].objects[0], kind=kind, created=site(made, 1, 71, 0), destroyed=site(ended, 2, 71, 0)
    )
    text = rendered(changed(report, objects=(thing,)))
    assert f"was {word} here by {made}" in text
    assert f"was {end} here by {ended}" in text


def test_verbose_tells_all_that_is_known_after_the_help_once_for_each_rule(report: Report) -> None:
    (finding,) = report.findings
    twice = msgspec.structs.replace(report, findings=(finding, finding))
    text = rendered(twice, verbose=True)
    assert text.count("   = measured: SIGSEGV in the driver (NVIDIA H200, driver 580.159)\n") == 1
    assert (
        "   = help: destroy the stream after its last use\n   = measured: SIGSEGV in the driver (NVIDIA H200, driver 580.159)\n"
        "   = documented: Use of the handle is undefined. (CUDA Runtime API, cudaStreamDestroy)\n   = repeats: "
    ) in text


@pytest.mark.parametrize(
    ("api", "text", "source", "shown"),
    [
        ("cudaMemcpy", "cudaMemcpy: 1", "NVIDIA H200", True),
        ("cudaMemcpy", "cuMemcpy and cuMemcpy2D: 1", "NVIDIA H200", True),
        ("cuMemFree", "freed twice: 1", "CUDA Driver API, Memory Management, cuMemFree_v2", True),
        ("cudnnCreate", "cudnnCreate: 1", "NVIDIA H200", True),
        ("cudaMemcpy", "cuMemcpy2D: 1", "NVIDIA H200", False),
        ("cudaMemcpy", "freed twice: 1", "CUDA Runtime API, cudaMemcpyAsync", False),
        ("cudnnCreate", "cudaCreate: 1", "NVIDIA H200", False),
    ],
)
def test_evidence_is_told_that_names_the_call(report: Report, api: str, text: str, source: str, shown: bool) -> None:
    other = Evidence(kind="measured", text="cuMemcpy3D: 1", source="NVIDIA H200")
    evidence = (other, Evidence(kind="measured", text=text, source=source))
    found = rendered(changed(report, api=api, evidence=evidence))
    assert (f"   = measured: {text} ({source})\n" in found) == shown
    assert "cuMemcpy3D" not in found


@pytest.mark.parametrize(("status", "shown"), [(0, True), (1, False)])
def test_evidence_of_success_is_not_shown_of_a_call_that_failed(report: Report, status: int, shown: bool) -> None:
    evidence = Evidence(kind="measured", text="cudaMemcpy: no error", source="NVIDIA H200", succeeds=True)
    found = rendered(changed(report, api="cudaMemcpy", status=status, signal=None, evidence=(evidence,)))
    assert ("cudaMemcpy: no error" in found) == shown


def many(report: Report, *rules: tuple[str, str, int]) -> Report:
    """Each rule, with its severity, at so many places."""
    (finding,) = report.findings
    findings = [
        msgspec.structs.replace(
            finding, rule=rule, severity=severity, name=f"name-of-{rule}", message=f"{rule}, no. {n}"
        )
        for rule, severity, count in rules
        for n in range(count)
    ]
    return msgspec.structs.replace(report, findings=tuple(findings))


def test_of_many_findings_the_first_of_each_rule_are_shown(report: Report) -> None:
    text = rendered(many(report, ("CV201", "error", 301), ("CV301", "warning", 3)), recording="/tmp/trace")
    assert [text.count(f"]: cudaEventRecord: {rule}, no. ") for rule in ("CV201", "CV301")] == [5, 3]
    assert "\n\nerror[CV201]: and 296 more at other places (name-of-CV201)\n\n301 errors, 3 warnings in " in text
    assert "look again: cuvet analyze -v /tmp/trace\n" in text


def test_errors_are_shown_before_warnings_and_all_keep_their_order(report: Report) -> None:
    rules = [(f"CV{n}", "warning" if n < 105 else "error", 5) for n in range(100, 107)]
    lines = rendered(many(report, *rules)).splitlines()
    shown = [line.partition(": cuda")[0] for line in lines if line.endswith(f", no. 4 (name-of-{line[-6:-1]})")]
    assert shown == ["warning[CV100]", "warning[CV101]", "error[CV105]", "error[CV106]"]
    assert [line for line in lines if ": and " in line] == [
        f"warning[CV{n}]: and 5 more at other places (name-of-CV{n})" for n in (102, 103, 104)
    ]


def test_verbose_shows_every_finding(report: Report) -> None:
    text = rendered(many(report, ("CV201", "error", 301)), recording="/tmp/trace", verbose=True)
    assert text.count("]: cudaEventRecord: CV201, no. ") == 301
    assert " more at other places" not in text
    assert "look again: cuvet analyze /tmp/trace\n" in text


def test_on_a_terminal_lines_are_wrapped_between_words(report: Report) -> None:
    wide = changed(report, message=f"stream#3 was already destroyed{' by somebody' * 10}")
    lines = on_screen(wide, 60).splitlines()
    assert [line for line in lines if len(line) > 60] == []
    assert lines[:2] == [
        "error[CV201]: cudaEventRecord: stream#3 was already",
        "    destroyed by somebody by somebody by somebody by",
    ]
    assert " ".join(line.strip() for line in lines[:4]).endswith("by somebody (stream-use-after-destroy)")
    assert "  --> pool.cpp:8 in Pipeline::flush()  [thread 71, call" in lines
    assert "note: stream#3 (0x55d0) was destroyed here by" in lines
    assert "    cudaStreamDestroy, 4.1 ms before" in lines


def test_elsewhere_the_first_line_stays_whole(report: Report) -> None:
    assert rendered(changed(report, message="word " * 50)).startswith(f"error[CV201]: cudaEventRecord: {'word ' * 50}")


def test_a_place_is_never_broken(report: Report, folder: Path) -> None:
    frame = Frame(function="f", file=str(folder / f"{'long' * 20}.cpp"), line=3)
    assert f"{'long' * 20}.cpp:3" in on_screen(changed(report, site=site("cudaEventRecord", 1, 1, 1, frame)), 40)


def test_the_caret_stands_under_the_argument_of_a_line_that_is_cut(report: Report, folder: Path) -> None:
    line = "if (ready) " * 8 + 'note("\u4e16\u754c"); cudaEventRecord(event, stream);' + " // and so on" * 9
    (folder / "pool.cpp").write_text(f"{line}\n" * 8)
    lines = on_screen(report, 60).splitlines()
    place = lines.index("  --> pool.cpp:8 in Pipeline::flush()  [thread 71, call")
    source, carets = (Text(line) for line in lines[place + 2 : place + 4])
    assert source.cell_len <= 60
    assert "cudaEventRecord(event, stream" in source.plain
    before = source.plain.index("stream")
    assert carets.plain == "  | " + " " * (Text(source.plain[:before]).cell_len - 4) + "^^^^^^"


def test_the_driver_s_words_come_after_the_result(report: Report) -> None:
    lines = rendered(changed(report, driver_log=("Event handle is NULL", "\x1b[2J"))).splitlines()
    place = lines.index("   = driver: Event handle is NULL")
    assert lines[place - 1].startswith("   = result: ")
    assert lines[place + 1] == "   = driver: \\x1b[2J"


def test_consequences_are_told_before_the_help(report: Report) -> None:
    (finding,) = report.findings
    then = msgspec.structs.replace(finding, rule="CV805", name="capture-invalidated", api="cuStreamEndCapture")
    text = rendered(changed(report, consequences=(then,) * 5))
    line = "   = then: cuStreamEndCapture: stream#3 was already destroyed, at pool.cpp:8 in Pipeline::flush() (CV805"
    assert text.count(line) == 3
    assert "   = then: and 2 more that follow from it\n   = help: " in text
    assert "\n1 error, 0 warnings in " in text


def test_the_words_of_cudnn(report: Report) -> None:
    assert "\n   = cuDNN: CUDNN_STATUS_X; Reason: \\x1b\n" in rendered(
        changed(report, library_log=("CUDNN_STATUS_X; Reason: \x1b",))
    )


def test_the_machine_s_part_comes_before_the_summary(report: Report) -> None:
    cause = MachineCause(cause="device-none-visible", verdict="no GPU is visible", evidence=("a", "b"), fix="unset it")
    text = rendered(msgspec.structs.replace(report, machine=(cause,)))
    assert (
        "\n\nmachine[device-none-visible]: no GPU is visible\n   = found: a\n   = found: b\n   = help: unset it\n"
        "   = more: cuvet explain device-none-visible\n\n1 error, " in text
    )


def test_a_file_gets_no_colour_and_always_does(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in rendered(report, "never")
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in rendered(report)
    assert "\x1b[1;31merror[CV201]" in rendered(report, "always")


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colour_unless_no_color(
    report: Report, monkeypatch: pytest.MonkeyPatch, no_color: str, coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_color)
    controller, terminal_end = pty.openpty()
    with open(terminal_end, "w") as file, open(controller, "rb", buffering=0) as reader:
        terminal.console(file).print(terminal.concise(report.findings[0]))
        file.flush()
        assert (b"31m" in reader.read(4096)) == coloured


def test_colour_changes_no_character(report: Report) -> None:
    assert Text.from_ansi(rendered(report, "always")).plain.rstrip("\n") == rendered(report).rstrip("\n")


def test_without_sources_only_the_place_is_printed(report: Report, folder: Path) -> None:
    (folder / "pool.cpp").unlink()
    text = rendered(report)
    assert "--> pool.cpp:8 in Pipeline::flush()" in text
    assert "^" not in text


def test_a_stack_without_files_names_the_module(report: Report) -> None:
    frame = Frame(function="flush", module="/opt/libpipe.so")
    assert "--> /opt/libpipe.so in flush" in rendered(changed(report, site=site("cudaEventRecord", 1, 1, 1, frame)))


def test_what_calls_c_sharp_is_its_runtime_and_not_shown(report: Report) -> None:
    runtime = Frame(function="mono_main", file="/src/mono/driver.c", line=9, module="/usr/bin/mono")
    library = Frame(function="Lib.Stream.Wait", module="Lib.dll", language="c#")
    user = Frame(function="Program.Main", language="c#")
    with_lines = msgspec.structs.replace(user, file="/src/Program.cs", line=4)
    caller = Frame(function="Program.Run", module="Program.exe", language="c#")
    native = Frame(function="wrap", file="/src/wrap.c", line=2)
    python = Frame(function="load", file="/src/load.py", line=3, language="python")

    def places(*frames: Frame) -> list[str]:
        return [terminal.place_of([each]) for each in terminal.located(site("cuStreamSynchronize", 1, 1, 0, *frames))]

    assert places(library, user, runtime) == ["Lib.dll in Lib.Stream.Wait", "Program.Main"]
    assert places(library, with_lines, caller, runtime) == [
        "/src/Program.cs:4 in Program.Main",
        "Program.exe in Program.Run",
    ]
    assert places(native, user, runtime) == ["/src/wrap.c:2 in wrap", "Program.Main"]
    assert places(python, user, runtime) == ["/src/load.py:3 in load", "Program.Main"]
    assert places(runtime, native) == ["/src/mono/driver.c:9 in mono_main", "/src/wrap.c:2 in wrap"]


def test_a_hint_comes_before_the_device(report: Report) -> None:
    hinted = msgspec.structs.replace(report, hints=("set X=1\x1b, and functions have names",))
    assert "hint: set X=1\\x1b, and functions have names\ndevice: " in rendered(hinted)


def test_a_call_that_ended_several_objects_is_shown_once(report: Report) -> None:
    (stream,) = report.findings[0].objects
    context = msgspec.structs.replace(stream, name="context#1", handle="0x10", created=None)
    text = rendered(changed(report, objects=(stream, context)))
    assert "note: context#1 (0x10) was destroyed by the same cudaStreamDestroy\n   = because" in text
    assert text.count("pool.cpp:5") == 1


def test_a_missing_stack_is_said(report: Report) -> None:
    assert "--> no stack was recorded" in rendered(changed(report, site=site("cudaEventRecord", 1, 1, 1)))


def test_control_characters_cannot_reach_the_terminal(report: Report) -> None:
    frame = Frame(function="evil\x1b]0;x\x07", file="/tmp/\x1b[31m.cpp", line=1)
    text = rendered(changed(report, message="a\x1b[2Jb", site=site("cudaEventRecord", 1, 1, 1, frame)))
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.parametrize(
    ("status", "signal", "device", "expected"),
    [
        (400, None, "real", "cudaEventRecord returned cudaErrorInvalidResourceHandle (400)"),
        (0, None, "real", "cudaEventRecord returned cudaSuccess (0); CUDA did not report the mistake"),
        (None, 11, "emulated", "the process died of SIGSEGV in cudaEventRecord on the emulated device"),
        (None, None, "real", "cudaEventRecord had not returned when the recording ended"),
    ],
)
def test_result(report: Report, status: int | None, signal: int | None, device: str, expected: str) -> None:
    finding = changed(report, status=status, signal=signal).findings[0]
    assert terminal.result(finding, msgspec.structs.replace(report.program, device=device)) == expected


def test_concise_is_one_line_with_the_place(report: Report) -> None:
    assert terminal.concise(report.findings[0]).plain == (
        "error[CV201]: cudaEventRecord: stream#3 was already destroyed (stream-use-after-destroy)"
        " at pool.cpp:8 in Pipeline::flush()"
    )


def test_long_explanations_are_wrapped_under_their_label(report: Report) -> None:
    out = io.StringIO()
    console = terminal.console(out)
    console.width = 60
    terminal.render(changed(report, help="word " * 30), console)
    lines = [line for line in out.getvalue().split("\n") if line.rstrip().endswith("word")]
    assert len(lines) == 3
    assert all(len(line) <= 60 for line in lines)
    assert lines[1].startswith(" " * len("   = help: ") + "word")


def test_an_empty_report_says_that_nothing_was_seen(report: Report) -> None:
    empty = msgspec.structs.replace(report, findings=(), stats={"calls": 0})
    assert rendered(empty).startswith("the program made no CUDA call that cuvet could see\n")


def test_the_emulated_device_is_named(report: Report) -> None:
    program = Program(argv=("./pipeline",), device="emulated")
    assert "device: emulated; kernels were checked" in rendered(msgspec.structs.replace(report, program=program))


@pytest.mark.parametrize(
    ("duration_ns", "expected"),
    [
        (7, "7 ns"),
        (999, "999 ns"),
        (4_100, "4.1 µs"),
        (999_499, "999 µs"),
        (999_500, "1 ms"),
        (4_123_456, "4.12 ms"),
        (999_999_999, "1 s"),
        (999_600_000_000, "1,000 s"),
        (3_600 * 10**9, "3,600 s"),
    ],
)
def test_duration(duration_ns: int, expected: str) -> None:
    assert terminal.duration(duration_ns) == expected


def test_recordings_that_take_much_room_are_told(report: Report) -> None:
    assert "recordings in" not in rendered(report)
    file = io.StringIO()
    terminal.render(report, terminal.console(file), recording="/tmp/state/one", kept=3_200_000_000)
    assert file.getvalue().endswith("recordings in /tmp/state: 3.2 GB; delete those you no longer need\n")


def test_a_recording_whose_path_cannot_be_printed_is_quoted_for_the_shell(report: Report, tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff'b")
    file = io.StringIO()
    terminal.render(report, terminal.console(file), recording=path)
    word = file.getvalue().splitlines()[-1].removeprefix("look again: cuvet analyze ")
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert said == os.fsencode(path)


def test_frames_of_the_c_library_are_shown_only_without_others(report: Report) -> None:
    library = Frame(
        function="memmove", file="sysdeps/memmove.S", line=273, module="/usr/lib/x86_64-linux-gnu/libc.so.6"
    )
    own = Frame(function="fill", file="/fill.cpp", line=13, module="/fill")
    stripped = Frame(function="fill+0x119b", module="/fill")
    site = report.findings[0].site
    for frame in (own, stripped):
        assert terminal.located(msgspec.structs.replace(site, frames=(library, frame, library))) == [frame]
    assert terminal.located(msgspec.structs.replace(site, frames=(library,))) == [library]


def test_frames_of_python_packages_are_shown_only_without_frames_of_the_users(report: Report) -> None:
    own, package = (
        Frame(function="f", file=f"/{name}.py", line=1, module=module, language="python")
        for name, module in (("train", None), ("dispatcher", "numba"))
    )
    site = report.findings[0].site
    assert terminal.located(msgspec.structs.replace(site, frames=(own, package, own))) == [own, own]
    assert terminal.located(msgspec.structs.replace(site, frames=(package, package))) == [package, package]


def test_a_program_without_cuda_has_no_device(report: Report) -> None:
    idle = msgspec.structs.replace(report, findings=(), stats={"processes": 1})
    text = rendered(idle)
    assert text.startswith("the program made no CUDA call that cuvet could see\n")
    assert "device: " not in text


def test_an_object_made_by_the_call_at_fault_is_not_shown_twice(report: Report) -> None:
    (finding,) = report.findings
    (stream,) = finding.objects
    leak = msgspec.structs.replace(
        finding, site=stream.created, objects=(msgspec.structs.replace(stream, destroyed=None),)
    )
    text = rendered(msgspec.structs.replace(report, findings=(leak,)))
    assert "note: " not in text
    assert text.count("pool.cpp:2") == 1
