"""``cuvet run`` over the emulated device, with programs of the CUDA runtime."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cuvet.findings import Report
from cuvet.recording import Recording
from cuvet.recording.layout import LAUNCH_WORDS
from cuvet.recording.sites import Sites

EMULATED = ("--device", "emulated")
DEVICES = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c ^$TMPDIR/cuvet-.*/device"
"""Counts the device processes whose socket is below $TMPDIR."""

GROUP_OF_DEVICE = """
import os
from pathlib import Path

def arguments(pid):
    try:
        return Path("/proc", pid, "cmdline").read_bytes().split(bytes(1))
    except OSError:  # Another program's process ended since it was listed.
        return []

socket = os.environ["CUVET_DEVICE_SOCKET"].encode()
device = next(int(pid) for pid in os.listdir("/proc") if pid.isdecimal() and socket in arguments(pid))
print(os.getpgid(device) == device, os.getsid(device) == os.getsid(0))
"""


def test_the_name_and_the_argument_are_those_that_the_user_wrote(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("mistakes"), "stale-stream"])
    assert (ran.code, ran.stdout) == (0, "400\n")
    assert ran.rules == ["stream-use-after-destroy"]
    (finding,) = ran.report.findings
    (stream,) = finding.objects
    assert (finding.api, finding.argument, finding.status) == ("cudaEventRecord", 1, 400)
    assert (stream.created.api, stream.destroyed.api) == ("cudaStreamCreate", "cudaStreamDestroy")
    places = [
        (site.frames[0].function, site.frames[0].line) for site in (finding.site, stream.destroyed, stream.created)
    ]
    assert places == [("main", 27), ("finish", 7), ("main", 21)]
    assert ran.report.program.device == "emulated"


def test_the_first_thread_may_end_before_the_process_does(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("first_thread")])
    assert (ran.code, ran.stdout) == (0, "here 400\n")
    (finding,) = ran.report.findings
    frame = finding.site.frames[0]
    assert (finding.name, frame.function, frame.line) == ("stream-use-after-destroy", "go_on", 21)


NO_EVENT = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
print(runtime.cudaEventSynchronize(ctypes.create_string_buffer(64)))
"""


def test_the_status_is_that_of_the_function_that_was_called(cuvet) -> None:
    ran = cuvet.run(EMULATED, [sys.executable, "-c", NO_EVENT])
    (finding,) = ran.report.findings
    assert (ran.stdout, finding.api, finding.status) == ("400\n", "cudaEventSynchronize", 400)


MEMORY = """
from cuda.bindings import driver as cu

def ok(answer):
    error, *values = answer
    assert not error, error
    return values[0] if len(values) == 1 else values

ok(cu.cuInit(0))
ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
"""
MAPPED = """
properties = cu.CUmemAllocationProp()
properties.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
size = 2 << 20
memory = ok(cu.cuMemAddressReserve(size, 0, 0, 0))
ok(cu.cuMemMap(memory, size, 0, ok(cu.cuMemCreate(size, properties, 0)), 0))
cu.cuMemsetD8(memory, 0, 16)
"""
VARIABLE = """
module = ok(cu.cuModuleLoadData(b".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .global .u32 counter;\\n"))
memory, _ = ok(cu.cuModuleGetGlobal(module, b"counter"))
ok(cu.cuModuleUnload(module))
cu.cuMemsetD8(memory, 0, 4)
"""


@pytest.mark.parametrize(
    ("program", "rule", "help"),
    [
        (MAPPED, "memory-of-another-device", "cuMemSetAccess"),
        (VARIABLE, "memory-use-after-context-destroy", "keep the module or library loaded"),
    ],
)
def test_what_to_do_is_said_of_the_memory_that_it_is(cuvet, program: str, rule: str, help: str) -> None:
    ran = cuvet.run(EMULATED, [sys.executable, "-c", MEMORY + program])
    (finding,) = ran.report.findings
    assert finding.name == rule
    assert help in finding.help


COMMUNICATORS = """
import ctypes, sys
nccl = ctypes.CDLL("libnccl.so.2")
made = (ctypes.c_void_p * 2)()
nccl.ncclCommInitAll(made, 2, None)
for at in sys.argv[1]:
    print(nccl.ncclCommDestroy(ctypes.c_void_p(made[int(at)])))
"""


def test_communicators_that_come_in_an_array_are_known(cuvet) -> None:
    options = (*EMULATED, "--devices", "2", "--record", "full")
    twice, once = (cuvet.run(options, [sys.executable, "-c", COMMUNICATORS, order]) for order in ("011", "01"))
    assert (once.rules, once.stdout) == ([], "0\n0\n")
    assert (twice.rules, twice.stdout) == (["library-handle-destroy-twice"], "0\n0\n1\n")
    (finding,) = twice.report.findings
    (communicator,) = finding.objects
    assert communicator.created.api == "ncclCommInitAll"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="subprocess has no process_group before Python 3.11")
def test_the_device_has_a_process_group_of_its_own_in_the_session_of_the_program(cuvet) -> None:
    ran = cuvet.run(EMULATED, [sys.executable, "-c", GROUP_OF_DEVICE])
    assert ran.stdout == "True True\n"


def test_the_report_says_which_calls_are_not_emulated(cuvet) -> None:
    call = "import ctypes; print(ctypes.CDLL('libcudart.so.13').cudaGraphicsUnregisterResource(None))"
    ran = cuvet.run(EMULATED, [sys.executable, "-c", call])
    assert ran.stdout == "801\n"
    (sentence,) = ran.report.not_checked
    assert sentence.endswith("cudaGraphicsUnregisterResource is not emulated: it returns cudaErrorNotSupported")


def test_a_correct_program_has_no_finding_and_the_devices_that_were_asked_for(cuvet, runtime_program) -> None:
    ran = cuvet.run((*EMULATED, "--devices", "3"), [runtime_program("mistakes"), "devices"])
    assert (ran.code, ran.stdout) == (0, "3\n")
    assert ran.rules == []
    assert ran.report.not_checked == ()


@pytest.mark.parametrize(
    ("mistake", "rule", "consequences"),
    [
        ("wait", "capture-wait", ["capture-invalidated"]),
        ("allocate", "capture-unsafe-call", ["capture-invalidated"]),
        ("work", "capture-wait", ["capture-invalidated", "capture-invalidated"]),
        (
            "launch",
            "capture-wait",
            ["capture-invalidated", "graph-null-handle", "error-unchecked", "graph-exec-null-handle"],
        ),
        ("pool", "memory-use-unordered", ["memory-free-unordered"]),
        ("free", "memory-free-unordered", []),
    ],
)
def test_what_follows_from_a_mistake_is_told_below_it(
    cuvet, runtime_program, mistake: str, rule: str, consequences: list[str]
) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("follows"), mistake, "3"])
    assert ran.rules == [rule]
    (finding,) = ran.report.findings
    assert [each.name for each in finding.consequences] == consequences
    assert {finding.repeats, *(each.repeats for each in finding.consequences)} == {3}


NAMES_ITS_PACKAGES = """
import os, sys
from cuvet.cli import main
main(sys.argv[1:])
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"), file=sys.stderr)
print("packages:", *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def test_a_correct_program_needs_no_symbols_no_styles_and_no_threads(cuvet, runtime_program) -> None:
    command = [sys.executable, "-c", NAMES_ITS_PACKAGES, "run", *EMULATED, "--", runtime_program("mistakes"), "devices"]
    done = subprocess.run(command, env=cuvet.environment, capture_output=True, text=True, check=True, timeout=120)
    first, *_, threads, last = done.stderr.splitlines()
    assert first.startswith("0 errors, 0 warnings in ")
    assert threads == "1 None"
    assert {"numpy", "rich", "symbolic", "pygments"} & set(last.split()) == {"numpy"}


KILLS_THE_DEVICE = """
import os, select, signal
launcher = os.getppid()
children = open(f"/proc/{launcher}/task/{launcher}/children").read().split()
(device,) = {*map(int, children)} - {os.getpid()}
ended = os.pidfd_open(device)
os.kill(device, signal.SIGKILL)
select.select([ended], [], [])
"""


def test_a_device_that_ended_is_told_of(cuvet) -> None:
    ran = cuvet.run(EMULATED, [sys.executable, "-c", KILLS_THE_DEVICE])
    assert ran.code == 0
    assert ran.report.not_checked == ("the emulated device ended before the program (SIGKILL)",)


def test_auto_takes_the_emulated_device_where_there_is_no_gpu(cuvet, runtime_program, tmp_path: Path) -> None:
    ran = cuvet.run((), [runtime_program("mistakes"), "free-twice"], LD_LIBRARY_PATH=str(tmp_path))
    assert ran.rules == ["memory-free-twice"]
    assert ran.report.program.device == "emulated"


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams_stay_closed_and_harm_nothing(
    cuvet, runtime_program, tmp_path: Path, closed: str
) -> None:
    output = tmp_path / "report.json"
    program = f"{runtime_program('mistakes')} stale-stream; test -e /proc/self/fd/2 && exit 9; exit 4"
    run = cuvet.command("run", *EMULATED, "--format", "json", "--output", output, "--", "sh", "-c", program)
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *run], env=cuvet.environment, check=False, timeout=120)
    assert done.returncode == 4
    report = msgspec.json.decode(output.read_bytes(), type=Report)
    assert [(finding.name, finding.status) for finding in report.findings] == [("stream-use-after-destroy", 400)]


@pytest.mark.parametrize(
    ("what", "rule", "message"),
    [
        ("uninitialised", "device-not-initialised", "cuInit was never called"),
        ("pitch", "memory-pitch-below-width", "the pitch is 16, less than the 64 bytes of a row"),
        ("empty", "memory-host-pointer-null", "the source is NULL"),
        ("large", "host-memory-register-too-large", "4,398,046,511,104 bytes in one registration"),
        ("moved", "host-memory-unregister-never-registered", "is registered, and was unmapped since"),
        ("device", "device-ordinal-out-of-range", "there is no device 1"),
        ("peer", "device-ordinal-out-of-range", "there is no device 1"),
        ("copy", "device-ordinal-out-of-range", "there is no device 1"),
        ("properties", "device-ordinal-out-of-range", "there is no device -1"),
    ],
)
def test_what_is_refused_is_explained(cuvet, runtime_program, what: str, rule: str, message: str) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("refusals"), what])
    assert ran.rules == [rule]
    assert message in ran.report.findings[0].message
    assert ran.report.unexplained == ()


def test_captured_nodes_get_handles_of_their_own(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("captured")])
    assert (ran.code, ran.stdout) == (0, "0 wrong, 0 reissued\n")
    assert ran.rules == []


def test_a_captured_node_is_an_object_of_its_own(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("captured"), "stale"])
    assert ran.rules == ["graph-node-use-after-graph-destroy"]
    node, graph = ran.report.findings[0].objects
    assert node.created.api == "cudaStreamGetCaptureInfo"
    assert graph.destroyed.api == "cudaGraphDestroy"


def test_an_answer_is_no_failure(cuvet, runtime_program) -> None:
    """There is no device 1: that is what the program wanted to know."""
    ran = cuvet.run((*EMULATED, "--record", "full"), [runtime_program("refusals"), "asked"])
    assert [(finding.name, finding.severity) for finding in ran.report.findings] == [
        ("device-ordinal-out-of-range", "note")
    ]
    assert ran.report.unexplained == ()


LIBRARY = """
def setup(cu):
    peer = cu.cuDevicePrimaryCtxRetain(1)
    cu.cuCtxEnablePeerAccess(peer, 0)
    cu.cuCtxEnablePeerAccess(peer, 0)
    return peer
"""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from cuvet.rules.programs import SETUP, Driver
import worker
cu = Driver()
exec(SETUP)
peer = worker.setup(cu)
if len(sys.argv) > 2:
    cu.cuCtxEnablePeerAccess(peer, 0)
"""


@pytest.mark.parametrize(("own", "expected"), [([], []), (["too"], ["context-peer-enabled-twice"])])
def test_a_library_expects_what_the_program_is_told(cuvet, tmp_path: Path, own: list[str], expected: list[str]) -> None:
    package = tmp_path / "site-packages" / "worker"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LIBRARY)
    (tmp_path / "program.py").write_text(PROGRAM)
    program = [sys.executable, str(tmp_path / "program.py"), str(package.parent), *own]
    ran = cuvet.run((*EMULATED, "--devices", "2"), program)
    assert ran.rules == expected
    assert ran.report.unexplained == ()


def test_crashes_are_raised_on_request(cuvet, runtime_program) -> None:
    ran = cuvet.run((*EMULATED, "--emulate-crashes"), [runtime_program("mistakes"), "stale-stream"])
    assert (ran.code, ran.stdout) == (128 + signal.SIGSEGV, "")
    assert ran.rules == ["stream-use-after-destroy"]
    assert ran.report.findings[0].signal == signal.SIGSEGV


def test_host_access_to_device_memory_is_found(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, [runtime_program("mistakes"), "host-access"])
    assert ran.code == 128 + signal.SIGSEGV
    assert ran.rules == ["memory-dereferenced-on-host"]
    (finding,) = ran.report.findings
    assert [(frame.function, frame.line) for frame in finding.site.frames] == [("sum", 11), ("main", 30)]
    assert finding.objects[0].created.frames[0].line == 23


def test_leaks_are_told_on_request(cuvet, runtime_program) -> None:
    quiet = cuvet.run(EMULATED, [runtime_program("mistakes"), "free-twice"])
    assert quiet.rules == ["memory-free-twice"]
    told = cuvet.run((*EMULATED, "--leaks"), [runtime_program("mistakes"), "free-twice"])
    leaks = [finding for finding in told.report.findings if finding.name == "exit-leak"]
    assert sorted(finding.site.frames[0].line for finding in leaks) == [21, 22]


def test_the_device_process_ends_with_the_run(cuvet, runtime_program) -> None:
    ran = cuvet.run(EMULATED, ["sh", "-c", f"{DEVICES}; {runtime_program('mistakes')}"], TMPDIR=str(cuvet.tmp_path))
    assert (ran.code, ran.stdout) == (0, "1\n")
    after = subprocess.run(
        ["sh", "-c", DEVICES], capture_output=True, text=True, check=False, env={"TMPDIR": str(cuvet.tmp_path)}
    )
    assert after.stdout == "0\n"


LAUNCHES = """
import ctypes
from cuda.bindings import driver as cu
PTX = b'''.version 7.0 .target sm_75 .address_size 64
.visible .entry _Z5clearPiS_(.param .u64 memory, .param .u64 other)
{ .reg .u64 %a; ld.param.u64 %a, [memory]; st.global.u32 [%a], 0; ret; }\\0'''
cu.cuInit(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0)[1])
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(PTX)[1], b"_Z5clearPiS_")[1]
def launch(*memory):
    arguments = tuple(map(int, memory)), (ctypes.c_void_p,) * 2
    cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0)
first, second = cu.cuMemAlloc(1 << 25)[1], cu.cuMemAlloc(1 << 25)[1]
launch(first, second)
cu.cuCtxSynchronize()
cu.cuMemFree(first)
launch(second, second)
launch(first, second)
print(int(cu.cuCtxSynchronize()[0]))
"""


def test_a_kernel_s_fault_names_the_launches_of_a_python_program(cuvet, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(LAUNCHES)
    ran = cuvet.run(EMULATED, [sys.executable, program])
    assert (ran.stdout, ran.rules) == ("700\n", ["error-sticky"])
    (finding,) = ran.report.findings
    memory = finding.objects[1]
    assert (memory.created.frames[0].line, memory.destroyed.frames[0].line) == (13, 16)
    assert finding.because[1:] == (
        f"clear<<<1, 32>>> at {program}:12 (called at {program}:18): argument 0 = {memory.handle} points into device-memory#1 "
        f"(32 MiB by cuMemAlloc at {program}:13), which was freed before by cuMemFree at {program}:16",
        f"clear<<<1, 32>>> at {program}:12 (called at {program}:17) was launched before; "
        "its thread has synchronised neither context nor stream since",
    )


def test_a_kernel_with_a_long_name_is_named(cuvet) -> None:
    """Templates and lambdas make names of hundreds and thousands of letters."""
    symbol = f"_ZN{'40' + 'deep' * 10}{'200' + 'names' * 40}5clearEPi"
    program = f'''
from cuvet.rules.programs import SETUP, Driver
cu = Driver()
exec(SETUP)
text = b".version 7.0 .target sm_75 .address_size 64 .visible .entry {symbol}(.param .u64 memory) {{"
text += b".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }}"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(text), "{symbol}")
memory = cu.cuMemAlloc(1 << 25)
cu.cuMemFree(memory)
cu.launch(kernel, 0, memory)
cu.cuCtxSynchronize()
'''
    (finding,) = cuvet.run(EMULATED, [sys.executable, "-c", program]).report.findings
    assert len(symbol) > 256
    assert finding.because[1].startswith(f"{'deep' * 10}::namesnames")


RESET = """
from cuvet.rules.programs import SETUP, Driver
cu = Driver()
exec(SETUP)
text = b".version 7.0 .target sm_75 .address_size 64 .visible .entry say() { ret; } .visible .entry store(.param .u64 memory) {"
text += b".reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
module = cu.cuModuleLoadData(text)
say, store = cu.cuModuleGetFunction(module, "say"), cu.cuModuleGetFunction(module, "store")
memory = cu.cuMemAlloc(4096)
"""


@pytest.mark.parametrize(
    ("works", "told"),
    [
        ("cu.launch(say, 0)", []),
        ("cu.launch(store, 0, memory)", ["device-reset-pending"]),
        ("cu.launch(store, 0, memory); cu.launch(say, 0)", ["device-reset-pending"]),
        (
            "cu.cuMemFree(memory); cu.launch(store, 0, memory); cu.cuCtxSynchronize(); cu.launch(say, 0)",
            ["error-sticky"],
        ),
    ],
    ids=["prints", "writes", "writes and prints", "failed before"],
)
def test_a_reset_after_kernels_that_only_print_loses_nothing(cuvet, works: str, told: list[str]) -> None:
    """A reset is one of the ways to have the text of kernels printed; and what a failed kernel left is lost with a message."""
    program = f"{RESET}{works}\ncu.cuDevicePrimaryCtxReset(device)"
    assert cuvet.run((*EMULATED, "--races"), [sys.executable, "-c", program]).rules == told


NUMBA = """
import numpy
from numba import cuda
@cuda.jit
def scale(x, y):
    x[0] = y[0] * 2
memory = cuda.to_device(numpy.zeros(1 << 10))
def step(x):
    scale[1, 32](x, x)
for _ in range(3):
    step(memory)
step(memory)
"""


def test_a_launch_of_numba_is_known_by_the_user_s_lines(cuvet, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(NUMBA)
    ran = cuvet.run(EMULATED, [sys.executable, "-W", "ignore", program])
    recording = Recording(next(ran.trace.glob("*.cuvet")))
    for _ in recording.poll():
        pass
    sites = Sites(recording)
    lines = [
        tuple(frame.line for frame in sites.of_stack(place.stack)[1] if frame.file == str(program))
        for place in recording.places.values()
    ]
    assert set(lines) == {(9, 11), (9, 12)}
    assert {len(place.words) for place in recording.places.values()} == {LAUNCH_WORDS}  # it has 14
