"""``cuvet doctor --summary``: what stands in it, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.doctor import summary
from cuvet.doctor.diagnosis import diagnose

from . import build_root
from .test_command import doctor

LIB = "/usr/lib/x86_64-linux-gnu"


def lines(name: str, root: Path) -> list[str]:
    machine = build_root.build(name, root)
    return list(summary.lines(machine, diagnose(machine)))


def test_a_healthy_machine_in_a_page(tmp_path: Path) -> None:
    found = lines("healthy-pip-torch", tmp_path)
    text = "\n".join(found)
    for line in (
        "system: Linux 6.8.0-60-generic, 125 GiB of memory",
        "driver: 580.95.05, open kernel modules, CUDA 13.0",
        "GPUs: 0: NVIDIA H200, 9.0, 140.0 of 140.4 GiB free, 0000:1b:00.0",
        "toolkit: none",
        "  - ~/venv/bin/python (python3.12)",
        "  - PyTorch 2.11.0 for CUDA 13.0",
        f"  - libcuda.so.1: {LIB}/libcuda.so.580.95.05 (/etc/ld.so.cache)",
        "problems: none",
    ):
        assert line in found, text
    assert any("libcublasLt.so.13: ~/venv/lib/" in line and "DT_RPATH" in line for line in found), text
    assert any("nvidia-cudnn-cu13 9.19.0.56" in line for line in found)


def test_neither_home_nor_uuids_nor_other_variables_are_told(tmp_path: Path) -> None:
    text = "\n".join(lines("device-none-visible-unknown-uuid", tmp_path))
    assert "/home/user" not in text and "PATH=" not in text.replace("LD_LIBRARY_PATH=", "")
    assert "variables: CUDA_VISIBLE_DEVICES=" in text


@pytest.mark.parametrize("name", build_root.case_names())
def test_each_machine_has_one(name: str, tmp_path: Path) -> None:
    found = lines(name, tmp_path)
    assert [line.partition(":")[0] for line in found if not line.startswith(" ")][1:] == [
        "system", "driver", "GPUs", "toolkit", "python", "libraries", "variables", "problems",
    ]  # fmt: skip
    assert str(tmp_path) not in "\n".join(found)
    expected = build_root.load(name)["expect"]
    assert all(any(f"[{cause}]" in line for line in found) for cause in expected)


def test_the_command_prints_it(libraries: Path) -> None:
    done = doctor("--summary", LD_LIBRARY_PATH=str(libraries))
    assert done.stdout.startswith("cuvet doctor ") and "\ndriver: 580.95.05" in done.stdout


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}'}, "13.0.2 in /usr/local/cuda-13.0"),
        ({"include/cuda.h": "#define __cuda_cuda_h__\n#define CUDA_VERSION 12090\n"}, "12.9 in /usr/local/cuda-13.0"),
        ({"bin/nvcc": ""}, "none"),
    ],
)
def test_a_toolkit_is_told_by_what_it_says_of_itself(files: dict[str, str], line: str, tmp_path: Path) -> None:
    machine = build_root.build("healthy-pip-torch", tmp_path)
    for name, text in files.items():
        path = tmp_path / "usr/local/cuda-13.0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "usr/local/cuda").symlink_to("cuda-13.0")
    assert f"toolkit: {line}" in list(summary.lines(machine, diagnose(machine)))


def test_a_long_variable_is_cut(tmp_path: Path) -> None:
    machine = build_root.build("healthy-pip-torch", tmp_path)
    machine.environ["NVIDIA_REQUIRE_CUDA"] = "cuda>=13.0 " * 200
    assert max(map(len, summary.lines(machine, diagnose(machine)))) < 2_000


def test_secrets_are_not_told(libraries: Path) -> None:
    done = doctor("--summary", LD_LIBRARY_PATH=str(libraries), NVIDIA_API_KEY="secret", TORCH_HUB_TOKEN="secret")
    assert "secret" not in done.stdout and "LD_LIBRARY_PATH=" in done.stdout
