"""What the driver says, asked of compiled libraries that stand for libcuda and NVML."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cuvet.doctor import state


def read(libraries: Path, **variables: str) -> state.State:
    return state.read({**os.environ, "LD_LIBRARY_PATH": str(libraries), **variables})


def test_both_answer(libraries: Path) -> None:
    found = read(libraries, RESTRICTED="1")
    assert found.cuda == state.Cuda(
        path=str(libraries / "libcuda.so.1"),
        status=0,
        version=13000,
        devices=(
            state.VisibleDevice(name="A", uuid="GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", compute_capability=(9, 0)),
            state.VisibleDevice(name="B", uuid="GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", compute_capability=(9, 0)),
        ),
        peers=False,
    )
    assert found.nvml == state.Nvml(
        path=str(libraries / "libnvidia-ml.so.1"),
        driver="580.95.05",
        cuda=13000,
        gpus=(
            state.Gpu(
                uuid="GPU-1",
                name="Some GPU",
                pci="0000:1b:02.0",
                minor=3,
                compute_capability=(9, 0),
                compute_mode="exclusive-process",
                memory_bytes=8 << 30,
                memory_free_bytes=2 << 30,
                holders=(state.Holder(pid=4711, bytes=6 << 30), state.Holder(pid=4712)),
                mig=True,
                mig_devices=("MIG-1",),
            ),
        ),
    )


def test_rows_to_be_remapped_links_and_peers_are_told(libraries: Path) -> None:
    found = read(libraries, REMAP="1", PEERS="1")
    gpu = found.nvml.gpus[0]
    assert (gpu.remap_pending, gpu.remap_failed, gpu.nvlink, found.cuda.peers) == (True, False, True, True)


@pytest.mark.parametrize("name", ["", 'say "GPU" \\ π\t\x01', "\U0001d538 100%"])
def test_any_name_is_told(libraries: Path, name: str) -> None:
    assert {device.name for device in read(libraries, NAME=name).cuda.devices} == {name}


def test_the_process_that_asks_imports_little(libraries: Path) -> None:
    """Programs wait for its answer, and these would take twice as long as the rest of its start."""
    program = "import atexit, os, sys; sys.path.append(sys.argv[1]); import ask; os._exit = sys.exit; ask.main('cuda')"
    told = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {program}"
    folder = str(Path(state.__file__).parent)
    environ = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    done = subprocess.run([sys.executable, "-I", "-S", "-c", told, folder], env=environ, capture_output=True, text=True)
    assert msgspec.json.decode(done.stdout, type=state.Cuda).version == 13000
    assert {"ctypes", "ask"} <= set(done.stderr.split())
    assert not {"json", "typing", "re", "enum", "collections"} & set(done.stderr.split())


def test_a_status_that_is_not_success_is_kept(libraries: Path) -> None:
    found = read(libraries, STATUS="100").cuda
    assert (found.status, found.devices, found.error) == (100, (), "")


def test_a_libcuda_that_kills_its_process_does_not_kill_this_one(libraries: Path) -> None:
    assert read(libraries, DIE="1").cuda.error == "libcuda.so.1 ended the process that asked it (signal 6)"


def test_a_libcuda_that_does_not_answer_is_given_up(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_TIMEOUT_S", 0.001)
    assert read(libraries, HANG="1").cuda.error == "libcuda.so.1 did not answer within 0.001 s"


def test_a_libcuda_that_does_not_let_its_process_end_has_answered(libraries: Path) -> None:
    assert read(libraries, LINGER="1").cuda.version == 13000


def test_what_a_library_prints_is_not_its_answer(libraries: Path) -> None:
    assert read(libraries, LOUD="1").cuda.version == 13000


def test_a_gpu_that_is_lost_hides_no_other(libraries: Path) -> None:
    found = read(libraries, LOST="1").nvml
    assert [gpu.name for gpu in found.gpus] == ["Some GPU"]
    assert found.error.startswith("GPU 1: nvmlDeviceGetHandleByIndex_v2")


def test_nvml_says_why_it_fails(libraries: Path) -> None:
    assert read(libraries, MISMATCH="1").nvml.error == "nvmlInit_v2: Driver/library version mismatch (18)"


def test_without_libraries_the_loader_says_so(tmp_path: Path) -> None:
    found = state.read({"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(tmp_path)})
    if found.cuda.path is None:
        assert "libcuda.so.1: cannot open shared object file" in found.cuda.error
