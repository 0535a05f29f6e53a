"""The machine's part in a failed run, with small libraries that stand for NVIDIA's."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.doctor.conftest import CUDA, NVML
from tests.recording import writing

from cuvet.analysis import Analysis
from cuvet.launch import machine

EMULATED = ("--device", "emulated")
REAL = ("--device", "real")
BUILD_ID = bytes(range(1, 21))
PARTS = ("graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled")


def compiled(path: Path, source: str = "", *options: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-x", "c", "-shared", "-fPIC", "-w", *options, "-o", str(path), "-"]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def nvml(tmp_path: Path, free: str) -> Path:
    """The directory of a libnvidia-ml that tells of a GPU with 8 GiB."""
    return compiled(tmp_path / "nvml" / "libnvidia-ml.so.1", NVML.replace("2ull << 30", free)).parent


@pytest.fixture(scope="module")
def empty_library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Like NVIDIA's it looks for others beside itself."""
    options = ("-nostdlib", "-Wl,-rpath,$ORIGIN", f"-Wl,--build-id=0x{BUILD_ID.hex()}")
    return compiled(tmp_path_factory.mktemp("library") / "library.so", "", *options).read_bytes()


@pytest.fixture
def cudnn(tmp_path: Path, empty_library: bytes) -> Callable[..., Path]:
    """Installs a cuDNN 9 of that version in a directory of its own, without the parts that are left out."""

    def install(version: str, without: tuple[str, ...] = ()) -> Path:
        directory = tmp_path / f"cudnn-{version}"
        directory.mkdir()
        for name in ("libcudnn", *(f"libcudnn_{part}" for part in PARTS if part not in without)):
            file = directory / f"{name}.so.{version}"
            file.write_bytes(empty_library.replace(BUILD_ID, hashlib.sha1(file.name.encode()).digest()))
            (directory / f"{name}.so.9").symlink_to(file.name)
        return directory

    return install


@pytest.mark.parametrize("device", [EMULATED, REAL])
def test_parts_of_two_cudnn_in_one_process(cuvet, program, cudnn, device: tuple[str, ...]) -> None:
    own, other = cudnn("9.1.0"), cudnn("9.19.0")
    libraries = [own / "libcudnn.so.9", own / "libcudnn_graph.so.9", other / "libcudnn_ops.so.9"]
    ran = cuvet.run(device, [program("loads"), 1, *libraries])
    (cause,) = ran.report.machine
    assert cause.cause == "cudnn-mixed-versions"
    assert cause.verdict.endswith("loads gets libcudnn of 9.1.0 and libcudnn_ops of 9.19.0")
    assert [line for line in cause.evidence if line.startswith(f"{libraries[2]} (loaded by the process): 9.19.0")]
    assert str(other) in cause.fix
    assert (ran.code, ran.rules) == (1, [])
    healthy = cuvet.run(device, [program("loads"), 0, *libraries])
    assert (healthy.code, healthy.report.machine) == (0, ())


def test_the_report_for_people_and_a_later_one_say_the_same(cuvet, program, cudnn) -> None:
    own, other = cudnn("9.1.0"), cudnn("9.19.0")
    libraries = [own / "libcudnn.so.9", other / "libcudnn_ops.so.9"]
    trace = cuvet.tmp_path / "trace"
    done = cuvet("run", *EMULATED, "--trace", trace, "--", program("loads"), 1, *libraries)
    assert "machine[cudnn-mixed-versions]: " in done.stderr
    assert "   = more: cuvet explain cudnn-mixed-versions\n" in done.stderr
    assert done.stderr.partition("look again")[0] == cuvet("analyze", trace).stdout


@pytest.mark.parametrize(
    "loaded",
    [
        {"9.19.0": ("libcudnn",)},
        {"9.19.0": ("libcudnn", "libcudnn_graph", "libcudnn_ops")},
        {"9.1.0": ("libcudnn",), "9.1.1": ("libcudnn_ops",)},  # patch releases of one minor release
        {"9.1.0": ("libcudnn",), "9.19.0": ("libcudnn", "libcudnn_graph", "libcudnn_ops")},  # one is not used
    ],
)
def test_a_sound_cudnn_is_silent(cuvet, program, cudnn, loaded: dict[str, tuple[str, ...]]) -> None:
    directories = {version: cudnn(version) for version in loaded}
    libraries = [directories[version] / f"{name}.so.9" for version, names in loaded.items() for name in names]
    ran = cuvet.run(EMULATED, [program("loads"), 1, *libraries])
    assert (ran.code, ran.report.machine) == (1, ())


def test_a_part_that_is_missing(cuvet, program, cudnn) -> None:
    own = cudnn("9.1.0", without=("ops",))
    ran = cuvet.run(EMULATED, [program("loads"), 1, own / "libcudnn.so.9", own / "libcudnn_graph.so.9"])
    assert [cause.cause for cause in ran.report.machine] == ["cudnn-sublibrary-missing"]


def test_what_a_part_needs_may_have_been_loaded_before(cuvet, program, cudnn, tmp_path: Path) -> None:
    own = cudnn("9.19.0")
    needed = compiled(tmp_path / "elsewhere" / "libneeded.so.1", "", "-Wl,-soname,libneeded.so.1")
    options = ("-Wl,--no-as-needed", f"-L{needed.parent}", "-l:libneeded.so.1")
    ops = compiled(own / "libcudnn_ops.so.9.19.0", "", *options)
    ran = cuvet.run(EMULATED, [program("loads"), 1, needed, own / "libcudnn.so.9", ops])
    assert (ran.stderr, ran.report.machine) == ("", ())
    ran = cuvet.run(EMULATED, [program("loads"), 1, own / "libcudnn.so.9"])
    assert [cause.cause for cause in ran.report.machine] == ["cudnn-dependency-missing"]


def test_of_nvrtc_the_loaded_one_counts(cuvet, program, tmp_path: Path) -> None:
    library = compiled(tmp_path / "nvrtc" / "libnvrtc.so.12", 'const char *name = "libnvrtc-builtins.so.12.8";')
    ran = cuvet.run(EMULATED, [program("loads"), 1, library])
    assert [cause.cause for cause in ran.report.machine] == ["nvrtc-builtins-missing"]
    builtins = compiled(tmp_path / "elsewhere" / "libnvrtc-builtins.so.12.8")
    ran = cuvet.run(EMULATED, [program("loads"), 1, library, builtins])
    assert ran.report.machine == ()


def test_a_program_that_made_no_cuda_call_is_not_looked_at(cuvet, cudnn) -> None:
    own, other = cudnn("9.1.0"), cudnn("9.19.0")
    preloaded = f"{own / 'libcudnn.so.9'}:{other / 'libcudnn_ops.so.9'}"
    ran = cuvet.run(EMULATED, ["sh", "-c", "exit 1"], LD_PRELOAD=preloaded)
    assert (ran.code, ran.report.machine) == (1, ())


def test_a_runtime_that_is_newer_than_the_driver(cuvet, program, tmp_path: Path) -> None:
    """The null driver is for CUDA 13."""
    newer = compiled(tmp_path / "newer" / "libcudart.so.14")
    ran = cuvet.run(REAL, [program("loads"), 1, newer])
    assert [cause.cause for cause in ran.report.machine] == ["driver-too-old"]
    equal = compiled(tmp_path / "equal" / "libcudart.so.13")
    assert cuvet.run(REAL, [program("loads"), 1, equal]).report.machine == ()
    assert cuvet.run(EMULATED, [program("loads"), 1, newer]).report.machine == ()


@pytest.mark.parametrize(("free", "causes"), [("64ull << 20", ["device-memory-held"]), ("2ull << 30", [])])
def test_who_holds_the_memory_that_was_refused(
    cuvet, program, null_driver: Path, tmp_path: Path, free: str, causes: list[str]
) -> None:
    libraries = {"LD_LIBRARY_PATH": f"{null_driver}:{nvml(tmp_path, free)}"}
    ran = cuvet.run(REAL, [program("loads"), 1], NULL_DRIVER_FAIL="cuMemAlloc_v2=2", **libraries)
    assert [cause.cause for cause in ran.report.machine] == causes
    if causes:
        assert any(re.fullmatch(r"process 4711\b.* holds 6.0 GiB", line) for line in ran.report.machine[0].evidence)
        assert ran.report.machine[0].evidence[-1] == "looked at after the program had ended"
    without_refusal = cuvet.run(REAL, [program("loads"), 1], **libraries)
    assert without_refusal.report.machine == ()


def test_the_environment_is_that_of_the_process(cuvet, program, tmp_path: Path) -> None:
    """A script may set what the driver and the loader look at."""
    script = 'LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$1" NULL_DRIVER_FAIL=cuDeviceGet=2,cuStreamSynchronize=400 exec "$2" 60'
    command = ["sh", "-c", script, "sh", nvml(tmp_path, "64ull << 20"), program("stale")]
    with cuvet.on_terminal("run", *REAL, "--color", "never", "--", *command) as (process, screen):
        assert "CV201" in screen.readline()  # it runs, and cuvet has seen it
        process.terminate()
        text = cuvet.rest_of(screen)
    assert "machine[device-memory-held]: Some GPU has 0.1 of 8.0 GiB of memory free" in text


@pytest.mark.parametrize(
    ("environ", "causes"),
    [
        ({"STATUS": "100", "CUDA_VISIBLE_DEVICES": ""}, ["device-none-visible"]),
        ({"STATUS": "34"}, ["driver-stub-in-front"]),
        ({}, []),
    ],
)
def test_a_driver_that_does_not_start(tmp_path: Path, environ: dict[str, str], causes: list[str]) -> None:
    for name, source in (("libcuda.so.1", CUDA), ("libnvidia-ml.so.1", NVML)):
        compiled(tmp_path / "libraries" / name, source)
    environ = {**environ, "LD_LIBRARY_PATH": str(tmp_path / "libraries")}
    calls = writing.call("cuInit", (0,), status=100, flags=writing.FAILED)
    writing.write(tmp_path, [writing.chunk(calls)])
    analysis = Analysis(tmp_path)
    analysis.advance()
    found = machine.causes(analysis.processes(), lambda pid: environ, emulated=False)
    assert [cause.cause for cause in found][:1] == causes
    assert machine.causes(analysis.processes(), lambda pid: environ, emulated=True) == ()


@pytest.mark.parametrize(
    ("free", "status", "causes"),
    [("64ull << 20", 1001, ["device-memory-held"]), ("2ull << 30", 1001, []), ("64ull << 20", 2000, [])],
)
def test_a_library_that_is_not_initialised_may_want_memory(
    tmp_path: Path, free: str, status: int, causes: list[str]
) -> None:
    """Not one that was given a wrong argument (CUDNN_STATUS_BAD_PARAM)."""
    for name, source in (("libcuda.so.1", CUDA), ("libnvidia-ml.so.1", NVML.replace("2ull << 30", free))):
        compiled(tmp_path / "libraries" / name, source)
    failing = writing.call("cudnnCreate", (0x1000,), status=status, flags=writing.LIFECYCLE | writing.FAILED)
    writing.write(tmp_path, [writing.chunk(writing.every_entry_point()), writing.chunk(failing)])
    analysis = Analysis(tmp_path)
    analysis.advance()
    environ = {"LD_LIBRARY_PATH": str(tmp_path / "libraries")}
    found = machine.causes(analysis.processes(), lambda pid: environ, emulated=False)
    assert [cause.cause for cause in found] == causes


def test_a_driver_that_does_not_answer_in_time_is_not_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(
        tmp_path / "libraries" / "libcuda.so.1",
        CUDA.replace("cuInit(unsigned flags) {", "cuInit(unsigned flags) { int pause(void); for (;;) pause();"),
    )
    monkeypatch.setattr(machine, "BUDGET_S", 0.2)
    writing.write(tmp_path, [writing.chunk(writing.call("cuInit", (0,), status=100, flags=writing.FAILED))])
    analysis = Analysis(tmp_path)
    analysis.advance()
    environ = {"LD_LIBRARY_PATH": str(tmp_path / "libraries")}
    assert machine.causes(analysis.processes(), lambda pid: environ, emulated=False) == ()
