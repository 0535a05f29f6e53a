"""What ``cuvet run --races`` says of a race: both works, their bytes, the edge that is missing and what would make it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.under_test import SHIM

from cuvet.findings import Finding

PROGRAM = """
from cuvet.rules.programs import SETUP, Driver
cu = Driver()
exec(SETUP)
text = b".version 7.0 .target sm_75 .address_size 64 .visible .entry _Z5storePjS_(.param .u64 memory, .param .u64 other) {"
text += b".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "_Z5storePjS_")
a = cu.cuStreamCreate(1)
b = cu.cuStreamCreate(1)
event = cu.cuEventCreate(2)
memory = cu.cuMemAlloc(4096)
"""


def found(cuvet, program: str) -> list[Finding]:
    ran = cuvet.run(("--device", "emulated", "--races"), [sys.executable, "-c", PROGRAM + program])
    assert ran.report is not None
    assert set(ran.rules) <= {"race-between-streams"}
    return list(ran.report.findings)


LIBRARY = """
int cuMemsetD8_v2(unsigned long long, unsigned char, unsigned long);
int cuMemsetD8Async(unsigned long long, unsigned char, unsigned long, void *);
int clear(unsigned long long memory) { return cuMemsetD8_v2(memory, 0, 64) + 0; }
int fill(unsigned long long memory, void *stream) { return cuMemsetD8Async(memory, 1, 64, stream) + 0; }
int factor(unsigned long long memory, void *stream) {
    const int failed = cuMemsetD8_v2(memory, 0, 64);
    return failed + fill(memory, stream);
}
int dispatch(unsigned long long memory, void *stream, int fills) {
    int (*const functions[])() = {clear, fill};
    return functions[fills](memory, stream) + 0;
}
int execute(unsigned long long memory, void *stream, int operation) {
    switch (operation) {
        case 0: return clear(memory) + 0;
        case 1: return fill(memory, stream) + 0;
        case 2: return clear(memory + 64) + 0;
        default: return fill(memory + 64, stream) + 0;
    }
}
"""
FRAMEWORK = """
void run(void (*first)(void), void (*second)(void)) {
    first();
    second();
}
"""
CALLED_BACK = """
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void *, int), cuCtxSetCurrent(void *), cuCtxSynchronize(void);
int cuMemAlloc_v2(void *, unsigned long), cuStreamCreate(void *, unsigned);
int cuMemsetD8_v2(unsigned long, unsigned char, unsigned long);
int cuMemsetD8Async(unsigned long, unsigned char, unsigned long, void *);
void run(void (*)(void), void (*)(void));
static unsigned long memory;
static void *stream;
static void set_up(void) { cuMemsetD8_v2(memory, 0, 64); }
static void body(void) { cuMemsetD8Async(memory, 1, 64, stream); }
int main(void) {
    void *context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuMemAlloc_v2(&memory, 64);
    cuStreamCreate(&stream, 1);
    run(set_up, body);
    return cuCtxSynchronize();
}
"""


def compiled(file: Path, source: str, *options: object) -> Path:
    command = ["cc", "-g", "-O0", "-funwind-tables", "-o", str(file), "-x", "c", "-", "-x", "none", *map(str, options)]
    subprocess.run(command, input=source, text=True, check=True)
    return file


def of_library(tmp_path: Path, program: str) -> str:
    """The program, which has this library."""
    file = compiled(tmp_path / "libmath.so", LIBRARY, "-shared", "-fPIC")
    return (
        f"import ctypes\nlibrary = ctypes.CDLL({str(file)!r})\nmemory, a = map(ctypes.c_uint64, (memory, a))\n{program}"
    )


def test_a_race_inside_a_function_of_a_library_names_the_function_once(cuvet, tmp_path: Path) -> None:
    (race,) = found(cuvet, of_library(tmp_path, "for _ in range(3): library.factor(memory, a); cu.cuCtxSynchronize()"))
    assert race.because[-1] == "both are called by factor (libmath.so)"
    assert race.help.endswith(
        "; if one call of factor did both, that is for libmath.so to do, and until it does, call it with the default stream"
    )
    assert race.repeats == 3


@pytest.mark.parametrize(
    "program",
    [
        "library.clear(memory); library.fill(memory, a)",
        "library.dispatch(memory, a, 0); library.dispatch(memory, a, 1)",
        "for each in range(2): library.execute(memory, a, each); cu.cuStreamQuery(b)",
    ],
    ids=["two functions", "a function twice", "a call in between"],
)
def test_a_race_of_two_calls_of_a_library_is_the_programs(cuvet, tmp_path: Path, program: str) -> None:
    (race,) = found(cuvet, of_library(tmp_path, program))
    assert "called by" not in " ".join([*race.because, race.help])


def test_races_of_other_places_in_a_function_of_a_library_are_told_apart(cuvet, tmp_path: Path) -> None:
    program = "for each in range(4):\n library.execute(memory, a, each)\n if each % 2: cu.cuCtxSynchronize()"
    races = found(cuvet, of_library(tmp_path, program))
    assert [" ".join(race.because).count("called by execute (libmath.so)") for race in races] == [1, 1]


def test_a_library_that_only_calls_back_is_not_named(cuvet, tmp_path: Path) -> None:
    library = compiled(tmp_path / "libframework.so", FRAMEWORK, "-shared", "-fPIC")
    program = compiled(tmp_path / "program", CALLED_BACK, library, SHIM, f"-Wl,-rpath,{tmp_path}")
    ran = cuvet.run(("--device", "emulated", "--races"), [program])
    assert ran.report is not None
    (race,) = ran.report.findings
    assert race.name == "race-between-streams"
    assert "called by" not in " ".join([*race.because, race.help])


def test_a_kernel_has_its_name_and_its_argument_is_named(cuvet) -> None:
    (race,) = found(cuvet, "cu.launch(kernel, a, memory + 16, 0)\ncu.cuMemsetD8Async(memory, 0, 4096, b)")
    assert race.message == (
        "cuMemsetD8Async writes device-memory#1 on stream#2 while kernel store writes it on stream#1, and nothing orders the two"
    )
    assert race.because == (
        "cuMemsetD8Async on stream#2 writes bytes 0 to 4095 of device-memory#1",
        "kernel store on stream#1 writes bytes 16 to 19 of device-memory#1 through argument 0 (unsigned int*)",
        "no event is recorded on stream#1 after kernel store for which stream#2 waits",
    )
    assert race.help == (
        "record an event on stream#1 after kernel store (cuEventRecord), and let stream#2 wait for it (cuStreamWaitEvent) "
        "before cuMemsetD8Async"
    )
    assert [(each.text, each.site.api) for each in race.earlier] == [("kernel store on stream#1", "cuLaunchKernel")]


def test_a_wait_for_an_event_that_is_too_old_is_shown_with_its_record(cuvet) -> None:
    (race,) = found(
        cuvet,
        "cu.cuEventRecord(event, a)\ncu.launch(kernel, a, memory, 0)\ncu.cuStreamWaitEvent(b, event, 0)\n"
        "cu.cuMemsetD8Async(memory, 0, 4096, b)",
    )
    assert [(each.text, each.site.api) for each in race.earlier] == [
        ("kernel store on stream#1", "cuLaunchKernel"),
        ("event#1 is recorded on stream#1", "cuEventRecord"),
        ("stream#2 waits for event#1", "cuStreamWaitEvent"),
    ]
    assert race.because[-1] == "stream#2 waits for event#1 as it was recorded before kernel store, not after it"
    assert race.help == "record event#1 on stream#1 after kernel store, and then let stream#2 wait for it"


def test_an_event_for_which_nobody_waits_is_shown(cuvet) -> None:
    (race,) = found(
        cuvet, "cu.launch(kernel, a, memory, 0)\ncu.cuEventRecord(event, a)\ncu.cuMemsetD8Async(memory, 0, 4096, b)"
    )
    assert [each.site.api for each in race.earlier] == ["cuLaunchKernel", "cuEventRecord"]
    assert race.because[-1] == "event#1 is recorded on stream#1 after kernel store, but stream#2 does not wait for it"
    assert race.help == "let stream#2 wait for event#1 (cuStreamWaitEvent) before cuMemsetD8Async"


def test_it_is_said_which_stream_does_not_wait_for_the_default_stream(cuvet) -> None:
    (race,) = found(cuvet, "cu.cuMemsetD8Async(memory, 0, 4096, a)\ncu.cuMemsetD8(memory + 4095, 1, 1)")
    assert race.because[0] == "cuMemsetD8 on default-stream writes byte 4095 of device-memory#1"
    assert race.because[-1] == "stream#1 does not synchronise with the default stream (CU_STREAM_NON_BLOCKING)"
    assert race.help.endswith(" before cuMemsetD8; or create stream#1 without CU_STREAM_NON_BLOCKING")


def test_there_is_a_finding_for_each_pair_of_places(cuvet) -> None:
    races = found(
        cuvet,
        "c = cu.cuStreamCreate(1)\nfor _ in range(3):\n    cu.launch(kernel, a, memory, 0)\n"
        "    cu.cuMemsetD8Async(memory + 64, 0, 16, c)\n    cu.cuMemsetD8Async(memory, 0, 4096, b)\n    cu.cuCtxSynchronize()",
    )
    assert [race.repeats for race in races] == [3, 3]
    assert {race.earlier[0].site.api for race in races} == {"cuLaunchKernel", "cuMemsetD8Async"}


def test_a_helper_does_not_hide_which_calls_race(cuvet) -> None:
    races = found(
        cuvet,
        "def store(stream, at):\n    cu.launch(kernel, stream, at, 0)\n"
        "for _ in range(2):\n    store(a, memory)\n    store(b, memory)\n    cu.cuCtxSynchronize()\n"
        "store(a, memory + 64)\nstore(b, memory + 64)\ncu.cuCtxSynchronize()\n"
        "def deeper(depth):\n    store(a, memory)\n    store(b, memory)\n    cu.cuCtxSynchronize()\n"
        "    if depth: deeper(depth - 1)\ndeeper(50)",
    )
    assert [race.repeats for race in races] == [2, 1, 51]


EVERY_SECOND = """
import ctypes
text = b".version 7.0 .target sm_75 .address_size 64 .visible .entry store(.param .u64 memory) { .reg .b32 %r1; .reg .b64 %rd<4>;"
text += b"ld.param.u64 %rd1, [memory]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;"
text += b"st.global.u32 [%rd3], 1; ret; }"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "store")
memory = cu.cuMemAllocManaged(4096, 1)
value = ctypes.c_uint64(memory)
given = (ctypes.c_void_p * 1)(ctypes.addressof(value))
cu.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, a, ctypes.addressof(given), 0)
"""


def test_of_a_kernel_that_leaves_holes_it_is_said_what_it_touches_at_least(cuvet) -> None:
    (race,) = found(cuvet, EVERY_SECOND + "cu.cuMemsetD8Async(memory, 0, 4, b)")
    assert race.because[1].startswith("kernel store on stream#1 writes at least bytes 0 to 3 of device-memory#2")


def test_the_host_is_told_too_what_a_kernel_touches_at_least(cuvet) -> None:
    program = PROGRAM + EVERY_SECOND + "ctypes.c_int.from_address(memory).value"
    ran = cuvet.run(("--device", "emulated", "--guard"), [sys.executable, "-c", program])
    assert ran.report is not None
    (race,) = ran.report.findings
    assert race.because[0] == "the host touched byte 0 of device-memory#2, the work at least bytes from 0 to 3"


WITH_EVENT = """
from cuvet.catalog import driver
def launch(memory, *attributes):
    whole = [driver().pack("CUlaunchAttribute", {"id": number, member: event}) for number, member in attributes]
    given = cu.host(1024)
    ctypes.memmove(given, b"".join(whole), 72 * len(whole))
    values = (ctypes.c_uint64 * 2)(memory, 0)
    slots = (ctypes.c_uint64 * 2)(ctypes.addressof(values), ctypes.addressof(values) + 8)
    shape = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
    config = cu.struct("CUlaunchConfig", **shape, hStream=a, attrs=given, numAttrs=len(whole))
    cu.cuLaunchKernelEx(config, kernel, ctypes.addressof(slots), 0)
import ctypes
PROGRAMMATIC, COMPLETION = (7, "value.programmaticEvent.event"), (12, "value.launchCompletionEvent.event")
PRIORITY = (8, "value.priority")
"""


@pytest.mark.parametrize("attributes", ["PROGRAMMATIC", "COMPLETION", "PRIORITY, COMPLETION"])
@pytest.mark.parametrize("wait", ["cu.cuStreamWaitEvent(b, event, 0)", "cu.cuEventSynchronize(event)"])
def test_an_event_that_a_launch_records_is_waited_for(cuvet, attributes: str, wait: str) -> None:
    """It may come before the end of the kernel, and after it."""
    program = f"{WITH_EVENT}launch(memory, {attributes})\n{wait}\ncu.cuMemsetD8Async(memory, 0, 4096, b)"
    assert found(cuvet, program) == []


def test_other_attributes_record_nothing(cuvet) -> None:
    program = f"{WITH_EVENT}launch(memory, PRIORITY)\ncu.cuStreamWaitEvent(b, event, 0)\n"
    (race,) = found(cuvet, f"{program}cu.cuMemsetD8Async(memory, 0, 4096, b)")
    assert [each.text for each in race.earlier] == ["kernel store on stream#1"]


def test_what_comes_after_the_launch_is_told_with_the_launch(cuvet) -> None:
    program = f"{WITH_EVENT}launch(memory, PROGRAMMATIC)\ncu.launch(kernel, a, memory, 0)\ncu.cuStreamWaitEvent(b, event, 0)\n"
    (race,) = found(cuvet, f"{program}cu.cuMemsetD8Async(memory, 0, 4096, b)")
    assert [(each.text, each.site.api) for each in race.earlier] == [
        ("kernel store on stream#1", "cuLaunchKernel"),
        ("event#1 is recorded on stream#1", "cuLaunchKernelEx"),
        ("stream#2 waits for event#1", "cuStreamWaitEvent"),
    ]


def test_a_capture_goes_on_where_a_stream_waits_for_the_event_of_a_launch(cuvet) -> None:
    found(
        cuvet,
        f"""{WITH_EVENT}
cu.cuStreamBeginCapture(a, 0)
launch(memory, PROGRAMMATIC)
cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemsetD8Async(memory, 0, 4096, b)
cu.cuEventRecord(event, b)
cu.cuStreamWaitEvent(a, event, 0)
graph = cu.cuStreamEndCapture(a)
assert cu.status == 0
cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(graph, 0), a)
assert cu.status == 0""",
    )


def test_what_the_same_edge_would_prevent_follows_from_the_first_race(cuvet) -> None:
    """What comes before on a stream, and what comes after on the other: one event orders it all."""
    (race,) = found(
        cuvet,
        """
other = cu.cuMemAlloc(4096)
for _ in range(3):
    cu.cuMemsetD8Async(memory, 0, 4096, a)
    cu.cuMemsetD8Async(other, 0, 4096, a)
    cu.cuMemsetD8Async(other, 1, 4096, b)
    cu.launch(kernel, b, memory, 0)
    cu.cuCtxSynchronize()
""",
    )
    assert race.repeats == 3
    assert [(each.repeats, each.message.partition(" while")[0]) for each in race.consequences] == [
        (3, "kernel store writes device-memory#1 on stream#2")
    ]


def test_a_race_at_the_same_place_is_a_repeat(cuvet) -> None:
    (race,) = found(
        cuvet,
        "cu.cuMemsetD8Async(memory, 0, 4096, a)\nfor _ in range(3):\n    cu.cuMemsetD8Async(memory, 1, 4096, b)",
    )
    assert (race.repeats, race.consequences) == (3, ())


def test_a_race_with_later_work_is_a_mistake_of_its_own(cuvet) -> None:
    races = found(
        cuvet,
        """
other = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemsetD8Async(memory, 1, 4096, b)
cu.cuMemsetD8Async(other, 0, 4096, a)
cu.cuMemsetD8Async(other, 1, 4096, b)
""",
    )
    assert [race.consequences for race in races] == [(), ()]


def test_what_follows_from_a_race_that_a_comment_ignores_is_told(cuvet) -> None:
    program = cuvet.tmp_path / "program.py"
    program.write_text(f"""{PROGRAM}
other = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, a)
cu.cuMemsetD8Async(other, 0, 4096, a)
cu.cuMemsetD8Async(other, 1, 4096, b)  # cuvet: ignore[race-between-streams] nobody reads it
cu.cuMemsetD8Async(memory, 1, 4096, b)
""")
    report = cuvet.run(("--device", "emulated", "--races"), [sys.executable, program]).report
    assert [finding.message.partition(" on ")[0] for finding in report.findings] == [
        "cuMemsetD8Async writes device-memory#1"
    ]
    assert report.stats["ignored"] == 1
