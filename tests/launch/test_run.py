"""What the program sees of ``cuvet run``: nothing; what the user sees: what went wrong."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cuvet.recording import Recording
from cuvet.recording.layout import End

REAL = ("--device", "real")


def test_stdin_stdout_stderr_and_exit_code_are_the_programs_own(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("correct"), "17"], stdin="a\nb\n")
    assert (ran.code, ran.stdout, ran.stderr) == (17, "a\nb\n", "to stderr\n")
    assert ran.rules == []
    assert ran.report.program.exit_code == 17
    assert ran.report.program.driver == "13.0"
    assert ran.report.stats["streams"] == 1


def test_a_stale_stream_is_named_with_its_places(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("stale")], NULL_DRIVER_SIGNAL="cuStreamSynchronize=11")
    assert ran.code == 128 + signal.SIGSEGV
    assert ran.rules == ["stream-use-after-destroy"]
    (finding,) = ran.report.findings
    (stream,) = finding.objects
    assert finding.signal == signal.SIGSEGV
    places = [
        (site.frames[0].function, site.frames[0].line) for site in (finding.site, stream.destroyed, stream.created)
    ]
    assert places == [("main", 16), ("finish", 7), ("main", 14)]
    assert all(site.frames[0].file.endswith("stale.c") for site in (finding.site, stream.destroyed, stream.created))
    assert [frame.function for frame in stream.destroyed.frames] == ["finish", "main"]


def test_errors_are_told_on_a_terminal_while_the_program_runs(cuvet, program) -> None:
    with cuvet.on_terminal("run", *REAL, "--", program("stale"), "60") as (process, screen):
        line = screen.readline()
        process.send_signal(signal.SIGTERM)
        assert "look again: cuvet analyze" in cuvet.rest_of(screen)
    assert "CV201" in line
    assert "cuStreamSynchronize: stream#1" in line
    assert "stale.c:16" in line


def test_in_a_file_a_finding_stands_once(cuvet, program) -> None:
    done = cuvet("run", *REAL, "--", program("stale"), "1")
    assert done.stderr.count("error[CV201]") == 1


def test_error_exitcode(cuvet, program) -> None:
    options = (*REAL, "--error-exitcode", "9")
    assert cuvet.run(options, [program("stale")]).code == 9
    assert cuvet.run(options, [program("correct"), "4"]).code == 4


@pytest.mark.parametrize(
    ("way", "code"),
    [
        ("return", 3),
        ("_exit", 7),
        ("abort", 128 + 6),
        ("kill", 128 + 9),
        ("segv", 128 + 11),
        ("exec", 7),
        ("fork", 3),
        ("fork-exec", 3),
    ],
)
def test_however_a_program_ends_its_code_is_kept_and_its_calls_are_seen(cuvet, program, way: str, code: int) -> None:
    ran = cuvet.run(REAL, [program("ends"), way])
    assert ran.code == code
    assert ran.rules == []
    assert ran.report.not_checked == ()
    processes = 2 if way in ("exec", "fork", "fork-exec") else 1
    assert ran.report.stats["processes"] == processes
    assert ran.report.stats["calls"] == (4 if way == "fork" else 3 * processes)  # cuDeviceGet only asks


@pytest.mark.parametrize(("number", "name"), [(signal.SIGRTMIN + 3, "SIGRTMIN+3"), (signal.SIGRTMAX, "SIGRTMAX")])
def test_death_by_a_signal_that_python_has_no_name_for_is_reported(cuvet, program, number: int, name: str) -> None:
    done = cuvet("run", *REAL, "--", program("ends"), "signal", number)
    assert done.returncode == 128 + number
    assert f"program: died of {name}\n" in done.stderr
    (trace,) = (cuvet.tmp_path / "state" / "cuvet").iterdir()
    again = cuvet("analyze", trace)
    assert again.returncode == 0
    assert f"program: died of {name}\n" in again.stdout


def test_the_end_of_a_process_is_recorded(cuvet, program) -> None:
    ends = {}
    for way in ("return", "_exit", "exec"):
        ran = cuvet.run(REAL, [program("ends"), way])
        first = min(ran.trace.glob("*.cuvet"), key=lambda path: int(path.stem.partition("-")[2]))
        ends[way] = int(Recording(first).header["end"])
    assert ends == {"return": End.EXITED, "_exit": End.NONE, "exec": End.REPLACED}


def test_python_frames_come_first(cuvet, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from cuda.bindings import driver as cu\n"
        "cu.cuInit(0)\n"
        "cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(0)[1])[1])\n"
        "def make():\n"
        "    return cu.cuStreamCreate(0)[1]\n"
        "stream = make()\n"
        "cu.cuStreamDestroy(stream)\n"
        "cu.cuStreamSynchronize(stream)\n"
    )
    pytest.importorskip("cuda.bindings")
    ran = cuvet.run(REAL, [sys.executable, script], NULL_DRIVER_FAIL="cuStreamSynchronize=400")
    assert ran.rules == ["stream-use-after-destroy"]
    (finding,) = ran.report.findings
    created = finding.objects[0].created.frames
    assert [(frame.function, frame.line, frame.language) for frame in created[:2]] == [
        ("make", 5, "python"),
        ("<module>", 6, "python"),
    ]
    assert finding.site.frames[0].line == 8


def test_multiprocessing_workers(cuvet, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, sys\n"
        "def work(number):\n"
        "    from ctypes import CDLL\n"
        "    return CDLL('libcuda.so.1').cuInit(0)\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:\n"
        "        print(sum(pool.map(work, range(2), chunksize=1)))\n"
    )
    for method in ("fork", "spawn"):
        ran = cuvet.run(REAL, [sys.executable, script, method])
        assert (ran.code, ran.stdout) == (0, "0\n")
        assert ran.rules == []
        assert ran.report.stats["processes"] in (1, 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("handled", [True, False])
def test_signals_reach_the_program_once(cuvet, program, number: signal.Signals, handled: bool) -> None:
    argv = [program("waits"), *(["handle"] if handled else [])]
    process = subprocess.Popen(
        cuvet.command("run", *REAL, "--", *argv),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cuvet.environment,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # where the tests run it may be ignored
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == (40 + number if handled else 128 + number)
    assert "Traceback" not in stderr
    assert "0 errors" in stderr


def test_a_program_without_cuda_is_told_so(cuvet, program) -> None:
    done = cuvet("run", *REAL, "--", program("nothing"))
    assert done.returncode == 0
    assert "no CUDA call" in done.stderr


def test_a_static_program_is_told_so(cuvet, program) -> None:
    done = cuvet("run", *REAL, "--", program("nothing", "-static"))
    assert done.returncode == 0
    assert "statically linked" in done.stderr


def test_a_program_with_address_sanitizer_is_not_disturbed(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("correct", "-fsanitize=address"), "5"])
    assert (ran.code, ran.stderr) == (5, "to stderr\n")
    assert ran.report.stats["streams"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--", "/no/such/program"], 127, "/no/such/program: command not found"),
        (["--", "no-such-program"], 127, "no-such-program: command not found"),
        (["--", __file__], 126, "not executable"),
        (["--", "."], 126, ".: is a directory"),
        ([], 2, "no program to run"),
        (["--devices", "2", "--", "true"], 2, "--devices is for the emulated device"),
        (["--devices", "no", "--", "true"], 2, "not a number from 1 to 64"),
        (["--devices", "", "--", "true"], 2, "argument --devices: '' is not a number from 1 to 64"),
        (["--output", "", "--", "true"], 2, "argument --output: '' is not a path"),
        (["--trace", "", "--", "true"], 2, "argument --trace: '' is not a path"),
        (["--", ""], 127, "'': command not found"),
        (["--device-memory", "1GiB", "--", "true"], 2, "--device-memory is for the emulated device"),
        (["--device-memory", "1MiB", "--", "true"], 2, "1MiB is not a size from 2MiB to 1TiB, for example 8GiB"),
        (["--device-memory", "8 apples", "--", "true"], 2, "8 apples is not a size"),
        (["--error-exitcode", "256", "--", "true"], 2, "not a number from 0 to 255"),
    ],
)
def test_misuse_is_one_line(cuvet, arguments: list[str], code: int, message: str) -> None:
    done = cuvet("run", *REAL, *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_script_without_a_first_line_is_run_by_the_shell(cuvet, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$1"; exit 4\n')
    script.chmod(0o755)
    ran = cuvet.run(REAL, [script, "a b"])
    assert (ran.code, ran.stdout, ran.stderr) == (4, "a b\n", "")


def test_a_script_whose_interpreter_is_missing_is_told_so(cuvet, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter -x\n")
    script.chmod(0o755)
    ran = cuvet.run(REAL, [script])
    assert ran.code == 126
    assert ran.stderr == f"cuvet: {script}: its first line names /no/such/interpreter, which cannot be executed\n"


def test_an_output_that_cannot_be_written_is_told_before_the_program_runs(cuvet, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "missing" / "report")
    for output in (tmp_path, tmp_path / "missing" / "report", tmp_path / "loop", tmp_path / "dangling"):
        done = cuvet("run", *REAL, "--output", output, "--", "touch", tmp_path / "ran")
        assert done.returncode == 2
        assert done.stderr.startswith(f"cuvet: cannot write the report to {output}: ")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ran").exists()


def test_a_report_that_cannot_be_written_leaves_the_programs_exit_code(cuvet, program) -> None:
    done = cuvet("run", *REAL, "--output", "/dev/full", "--", program("correct"), "17")
    assert done.returncode == 17
    assert (
        "cuvet: cannot write the report to /dev/full: No space left on device; look again: cuvet analyze" in done.stderr
    )


def test_what_is_imported_for_a_program_that_does_nothing_wrong(cuvet, program) -> None:
    done = cuvet("run", *REAL, "--", program("correct"), PYTHONPROFILEIMPORTTIME="1")
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    modules = {line.rpartition("|")[2].strip() for line in lines}
    assert "cuvet.analysis" in modules
    assert (
        not {"rich", "symbolic", "pygments", "numpy.ma", "json.tool", "cuvet.device", "cuvet.launch.emulated"} & modules
    )
    assert not [name for name in modules if name.startswith(("cuvet.source", "cuvet.rules.source"))]


def test_without_a_gpu_the_real_device_is_refused(cuvet, tmp_path: Path) -> None:
    done = cuvet("run", *REAL, "--", "true", LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 2
    assert "--device emulated needs none" in done.stderr


def test_a_program_that_is_not_there_leaves_nobody_who_asks(cuvet, tmp_path: Path) -> None:
    """libcuda is asked while cuvet still looks for the program."""
    waits, lock = tmp_path / "waits.c", tmp_path / "lock"
    waits.write_text(
        "#include <fcntl.h>\n#include <sys/file.h>\n#include <unistd.h>\n"
        f'int cuInit(unsigned flags) {{ flock(open("{lock}", O_CREAT | O_RDWR, 0600), LOCK_EX); pause(); return 0; }}\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(waits)], check=True)
    done = cuvet("run", "--", "no-such-program", LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 127
    assert subprocess.run(["flock", "--timeout", "30", str(lock), "true"], check=False).returncode == 0


def test_recordings_are_private_and_never_overwritten(cuvet, program) -> None:
    done = cuvet("run", *REAL, "--", program("correct"))
    (trace,) = (cuvet.tmp_path / "state" / "cuvet").iterdir()
    assert str(trace) in done.stderr
    assert stat.S_IMODE(trace.stat().st_mode) == 0o700
    files = [path for path in trace.iterdir() if path.is_file()]
    assert len(files) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    again = cuvet("run", *REAL, "--trace", trace, "--", program("correct"))
    assert again.returncode == 2
    assert "is not empty" in again.stderr


def test_analyze_gives_the_same_report_again(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("stale")])
    again = cuvet("analyze", "--format", "json", "--output", cuvet.tmp_path / "again.json", ran.trace)
    assert again.returncode == 0
    assert (cuvet.tmp_path / "again.json").read_bytes() == (cuvet.tmp_path / "report1.json").read_bytes()


def test_analyze_writes_to_stdout_and_does_not_say_to_look_again(cuvet, program) -> None:
    trace = cuvet.run(REAL, [program("stale")]).trace
    shown = cuvet("analyze", trace)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("error[CV201]: cuStreamSynchronize: stream#1")
    assert "look again" not in shown.stdout
    as_json = cuvet("analyze", "--format", "json", trace)
    assert (as_json.returncode, as_json.stderr) == (0, "")
    assert [each["rule"] for each in json.loads(as_json.stdout)["findings"]] == ["CV201"]


def test_analyze_into_a_closed_pipe_is_silent(cuvet, program) -> None:
    trace = cuvet.run(REAL, [program("stale")]).trace
    command = shlex.join(cuvet.command("analyze", trace))
    done = subprocess.run(["bash", "-c", f"{command} | true"], capture_output=True, text=True, env=cuvet.environment)
    assert done.stderr == ""


def test_the_users_library_path_and_preload_are_kept(cuvet, program, null_driver: Path) -> None:
    ran = cuvet.run(REAL, ["sh", "-c", "echo $LD_LIBRARY_PATH; echo $LD_PRELOAD"], LD_PRELOAD="libm.so.6")
    library_path, preload = (line.split(":") for line in ran.stdout.splitlines())
    assert library_path[1:] == [str(null_driver)]
    assert (
        os.listdir(library_path[0]) == ["libcuda.so", "libcuda.so.1"]
        or sorted(os.listdir(library_path[0]))[0] == "libcuda.so"
    )
    assert preload[1:] == ["libm.so.6"]


def test_a_driver_loaded_past_the_shim_is_said(cuvet, program, null_driver: Path) -> None:
    """A program that throws cuvet's environment away finds the real driver, and no silence follows."""
    ran = cuvet.run(REAL, ["env", "-u", "LD_PRELOAD", f"LD_LIBRARY_PATH={null_driver}", program("stale"), "2"])
    assert ran.rules == []
    assert [
        sentence for sentence in ran.report.not_checked if f"loaded {null_driver}/libcuda.so.1 past cuvet" in sentence
    ]


def test_a_nested_run_does_not_see_the_outer_one(cuvet, program) -> None:
    inner = cuvet.command("run", *REAL, "--", program("stale"))
    ran = cuvet.run(REAL, inner)
    assert "error[CV201]" in ran.stderr
    assert ran.rules == []


def test_signals_that_python_ignores_are_not_ignored_by_the_program(cuvet) -> None:
    ran = cuvet.run(REAL, ["sh", "-c", "kill -PIPE $$; echo alive"])
    assert (ran.code, ran.stdout) == (128 + signal.SIGPIPE, "")


@pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")  # the child only calls execve
def test_a_key_press_interrupts_the_program_once(cuvet, program) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, cuvet.command("run", *REAL, "--", program("waits"), "count"), cuvet.environment)
    output = b""
    while b"ready" not in output:
        output += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 1


def test_a_process_that_outlives_the_program_is_said(cuvet, program) -> None:
    fifo = cuvet.tmp_path / "fifo"
    os.mkfifo(fifo)
    ran = cuvet.run(REAL, ["sh", "-c", f"{program('waits')} >{fifo} 2>&1 & read line <{fifo}; echo $!"])
    pid = int(ran.stdout)
    os.kill(pid, signal.SIGKILL)
    assert ran.report.not_checked == (
        f"process {pid} still ran when this report was made: what it did later is not in it",
    )


def test_threads_that_share_streams_correctly_give_no_finding(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("shared")])
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.rules == []
    assert (ran.report.stats["threads"], ran.report.stats["streams"]) == (17, 1600)


def test_a_report_that_cannot_be_written_is_said_before_the_program_runs(cuvet, program, tmp_path: Path) -> None:
    done = cuvet("run", *REAL, "--output", tmp_path / "absent" / "report", "--", "sh", "-c", f"touch {tmp_path}/ran")
    assert done.returncode == 2
    assert "cannot write the report" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_arguments_are_left_out_on_request(cuvet, program) -> None:
    argv = [program("correct"), "17", "--password=hunter2"]
    assert cuvet.run(REAL, argv).report.program.argv == tuple(map(str, argv))
    ran = cuvet.run((*REAL, "--no-arguments"), argv)
    assert (ran.code, ran.report.program.argv) == (17, (str(argv[0]),))
    kept = [file.read_bytes() for file in ran.trace.iterdir() if file.is_file()]
    assert len(kept) == 2
    assert not any(b"hunter2" in data for data in kept)
    for form in ("terminal", "json", "sarif"):
        again = cuvet("analyze", "--format", form, ran.trace)
        assert "hunter2" not in again.stdout + again.stderr


@pytest.mark.parametrize(
    ("stacks", "places", "said"),
    [
        ("all", (True, True, True), None),
        (
            "created",
            (True, False, True),
            "--stacks created: cuvet took no stacks of calls that neither make an object nor fail",
        ),
        ("none", (True, False, False), "--stacks none: cuvet took no stacks of any call"),
    ],
)
def test_stacks_are_taken_as_asked(cuvet, program, stacks: str, places: tuple[bool, ...], said: str | None) -> None:
    ran = cuvet.run((*REAL, "--stacks", stacks), [program("stale")], NULL_DRIVER_SIGNAL="cuStreamSynchronize=11")
    (finding,) = ran.report.findings
    (stream,) = finding.objects
    sites = (finding.site, stream.destroyed, stream.created)  # the first is that of the fault
    assert tuple(bool(site.frames) for site in sites) == places
    assert [sentence for sentence in ran.report.not_checked if "--stacks" in sentence] == ([said] if said else [])


HINT = "500 streams were never ended: --leaks says where they were made"


def test_objects_that_are_left_in_number_are_a_hint(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("streams"), 500, 0, "left"])
    assert (ran.rules, ran.report.hints) == ([], (HINT,))
    assert f"hint: {HINT}\n" in cuvet("analyze", ran.trace).stdout
    told = cuvet.run((*REAL, "--leaks"), [program("streams"), 500, 0, "left"])
    assert (told.rules, told.report.hints) == (["exit-leak"], ())


@pytest.mark.parametrize("arguments", [(500, 0), (99, 0, "left"), (500, 3, "left"), (500, 0, "context")])
def test_what_is_ended_or_few_or_of_a_program_that_failed_is_no_hint(
    cuvet, program, arguments: tuple[object, ...]
) -> None:
    assert cuvet.run(REAL, [program("streams"), *arguments]).report.hints == ()
