"""What is said of device code on a GPU, as the documents and the hardware have it: as much that runs as fails."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.image import compatibility
from cuvet.image.compatibility import Driver, Target, driver_of, driver_of_number, newest_ptx
from cuvet.image.entries import Entry
from cuvet.image.source import of_bytes
from cuvet.image.verdicts import build_options, verdict
from cuvet.knowledge.reading import FOLDER, causes_in
from cuvet.rules import rule_names

ROOT = Path(__file__).parents[2]
OTHER_CAUSES = {cause.id for cause in causes_in(FOLDER / "causes" / "gpu_and_driver.txt")}


def entry(word: str) -> Entry:
    """``sm_90``: a cubin. ``ptx_90@8.0``: PTX 8.0 for sm_90. ``lto_90``: LTO-IR."""
    code, _, version = word.partition("@")
    kind, _, arch = code.partition("_")
    named = {"sm": "cubin", "ptx": "ptx", "lto": "ltoir"}[kind]
    return Entry(named, f"sm_{arch}", 1, 1, ptx_version=version or None, source=of_bytes(b""))  # type: ignore[arg-type]


def entries(words: str) -> list[Entry]:
    return [entry(word) for word in words.split()]


RUNS = [
    ("sm_90", "sm_90", "sm_90"),
    ("sm_80", "sm_86", "sm_80"),
    ("sm_80 sm_86", "sm_89", "sm_86"),
    ("sm_86 sm_80", "sm_80", "sm_80"),
    ("sm_90a", "sm_90", "sm_90a"),
    ("sm_90 sm_90a", "sm_90", "sm_90a"),
    ("sm_70", "sm_75", "sm_70"),
    ("sm_100", "sm_103", "sm_100"),
    ("sm_100f", "sm_103", "sm_100f"),
    ("sm_100f", "sm_107", "sm_100f"),
    ("sm_103f", "sm_107", "sm_103f"),
    ("sm_120f sm_100f", "sm_121", "sm_120f"),
    ("sm_121a", "sm_121", "sm_121a"),
    ("sm_90 ptx_90@99.0", "sm_90", "sm_90"),
    ("lto_90 sm_90", "sm_90", "sm_90"),
    ("sm_75 sm_80 sm_86 sm_90 sm_100 sm_120", "sm_121", "sm_120"),
]
COMPILES = [
    ("ptx_80@8.0", "sm_90", "sm_80"),
    ("ptx_50@8.0", "sm_121", "sm_50"),
    ("sm_80 ptx_80@8.0", "sm_90", "sm_80"),
    ("ptx_70@8.0 ptx_80@8.0 ptx_90@8.0", "sm_89", "sm_80"),
    ("ptx_90a@8.0", "sm_90", "sm_90a"),
    ("ptx_100f@8.8", "sm_103", "sm_100f"),
    ("sm_90a ptx_90@8.0", "sm_100", "sm_90"),
    ("ptx_90@9.0", "sm_90", "sm_90"),
]
FAILS = [
    ("sm_80", "sm_90", 209, "image-wrong-gpu"),
    ("sm_86", "sm_80", 209, "image-wrong-gpu"),
    ("sm_90a", "sm_100", 209, "image-wrong-gpu"),
    ("sm_100a", "sm_103", 209, "image-wrong-gpu"),
    ("sm_103f", "sm_100", 209, "image-wrong-gpu"),
    ("sm_100f", "sm_110", 209, "image-wrong-gpu"),
    ("sm_100", "sm_120", 209, "image-wrong-gpu"),
    ("sm_120", "sm_100", 209, "image-wrong-gpu"),
    ("sm_110", "sm_103", 209, "image-wrong-gpu"),
    ("ptx_90@8.0", "sm_80", 209, "image-wrong-gpu"),
    ("ptx_90a@8.0", "sm_100", 209, "image-wrong-gpu"),
    ("ptx_100f@8.8", "sm_110", 209, "image-wrong-gpu"),
    ("ptx_103f@8.8", "sm_100", 209, "image-wrong-gpu"),
    ("sm_90a ptx_90a@8.0", "sm_120", 209, "image-wrong-gpu"),
    ("lto_90", "sm_90", 209, "image-wrong-gpu"),
    ("", "sm_90", 209, "image-wrong-gpu"),
    ("ptx_90@9.1", "sm_90", 222, "image-ptx-too-new"),
    ("ptx_80@99.0", "sm_90", 222, "image-ptx-too-new"),
    ("sm_80 ptx_80@9.1", "sm_90", 222, "image-ptx-too-new"),
    ("sm_80 ptx_90@9.5", "sm_90", 222, "image-ptx-too-new"),
]
R580 = driver_of("580.159.04")


@pytest.mark.parametrize(("words", "gpu", "arch"), RUNS)
def test_machine_code_that_runs(words: str, gpu: str, arch: str) -> None:
    found = verdict(entries(words), gpu)
    assert (found.outcome, found.status, found.cause) == ("runs", None, None)
    assert found.entry is not None and found.entry.arch == arch
    assert found.text == f"runs the machine code of {arch}"


@pytest.mark.parametrize(("words", "gpu", "arch"), COMPILES)
def test_ptx_that_compiles(words: str, gpu: str, arch: str) -> None:
    found = verdict(entries(words), gpu, R580)
    assert (found.outcome, found.status, found.cause) == ("compiles", None, None)
    assert found.entry is not None and found.entry.arch == arch and found.entry.kind == "ptx"


@pytest.mark.parametrize(("words", "gpu", "status", "cause"), FAILS)
def test_code_that_fails(words: str, gpu: str, status: int, cause: str) -> None:
    found = verdict(entries(words), gpu, R580)
    assert (found.outcome, found.status, found.cause) == ("fails", status, cause)
    assert found.cause in rule_names()
    assert any("-gencode arch=" in line for line in found.help)


@pytest.mark.parametrize(
    ("gpu", "driver", "text"),
    [
        ("sm_70", "590.44.01", "driver 590.44.01 no longer supports sm_70 (Volta): branch 580 is the last that does"),
        ("sm_61", "595.45.04", "driver 595.45.04 no longer supports sm_61 (Pascal): branch 580 is the last that does"),
        ("sm_37", "535.54.03", "driver 535.54.03 no longer supports sm_37 (Kepler): branch 470 is the last that does"),
        (
            "sm_90",
            "470.82.01",
            "driver 470.82.01 does not support sm_90 (Hopper) yet: branch 520 is the first that does",
        ),
        (
            "sm_120",
            "12.4",
            "driver CUDA 12.4 does not support sm_120 (Blackwell) yet: branch 570 is the first that does",
        ),
    ],
)
def test_a_driver_without_the_gpu(gpu: str, driver: str, text: str) -> None:
    found = verdict(entries(f"{gpu} ptx_50@6.0"), gpu, driver_of(driver))
    assert (found.outcome, found.text, found.status) == ("fails", text, None)
    assert found.cause in OTHER_CAUSES


@pytest.mark.parametrize(
    ("gpu", "driver"),
    [("sm_70", "580.95.05"), ("sm_37", "470.256.02"), ("sm_90", "520.61.05"), ("sm_120", "575"), ("sm_75", "13.4")],
)
def test_a_driver_with_the_gpu(gpu: str, driver: str) -> None:
    assert verdict(entries(gpu), gpu, driver_of(driver)).outcome == "runs"


def test_a_newer_driver_is_named() -> None:
    found = verdict(entries("ptx_90@9.1"), "sm_90", R580)
    assert found.text == "PTX 9.1 for sm_90 is newer than the driver takes (up to 9.0)"
    assert found.because == ("this version needs a driver of CUDA 13.1 or newer",)
    assert found.help[0] == "install a driver of CUDA 13.1 (590.44.01) or newer"


def test_machine_code_runs_where_its_ptx_is_too_new() -> None:
    """Minor version compatibility: machine code of a newer toolkit runs, PTX does not."""
    assert verdict(entries("sm_90 ptx_90@9.1"), "sm_90", R580).outcome == "runs"
    assert verdict(entries("sm_80 ptx_80@9.1"), "sm_90", R580).status == 222


def test_without_a_driver_it_is_said_which_one_is_needed() -> None:
    found = verdict(entries("ptx_90@9.1"), "sm_90")
    assert (found.outcome, found.because) == ("compiles", ("this version needs a driver of CUDA 13.1 or newer",))


def test_what_the_tables_do_not_know_is_not_claimed() -> None:
    future = driver_of("700.10")
    assert verdict(entries("ptx_90@12.0"), "sm_90", future).outcome == "unknown"
    assert verdict(entries("ptx_90@9.4"), "sm_90", future).outcome == "compiles"
    assert verdict(entries("sm_500"), "sm_500", future).outcome == "runs"


def test_tegra_is_doubted() -> None:
    assert verdict(entries("sm_80"), "sm_87").because
    assert not verdict(entries("sm_87"), "sm_87").because
    assert not verdict(entries("sm_80"), "sm_86").because


def test_each_kind_of_code_is_explained() -> None:
    found = verdict(entries("sm_80 sm_100f ptx_100@9.0 ptx_100f@9.0 ptx_120a@9.0"), "sm_90", R580)
    assert found.because == (
        "machine code for sm_80 is for GPUs of compute capability 8.0 to 8.9",
        "machine code for sm_100f is for its family only: sm_100, sm_103, sm_107",
        "PTX for sm_100 is for GPUs of compute capability 10.0 and newer",
        "PTX for sm_100f is for its family only: sm_100, sm_103, sm_107",
        "PTX for sm_120a is for sm_120 only",
    )


@pytest.mark.parametrize(
    ("gpu", "torch", "toolkit"),
    [
        ("sm_90", "9.0", ("with a toolkit of CUDA 11.8 or newer",)),
        ("sm_100", "10.0", ("with a toolkit of CUDA 12.8 or newer",)),
        ("sm_121", "12.1", ("with a toolkit of CUDA 12.9 or newer",)),
        ("sm_70", "7.0", ("with a toolkit of CUDA 9.0 or newer, no newer than CUDA 12",)),
        ("sm_500", "50.0", ()),
    ],
)
def test_what_to_add_to_the_build(gpu: str, torch: str, toolkit: tuple[str, ...]) -> None:
    number = gpu.removeprefix("sm_")
    assert build_options(gpu) == (
        f"nvcc -gencode arch=compute_{number},code={gpu}",
        f'TORCH_CUDA_ARCH_LIST="{torch}"',
        f"CMAKE_CUDA_ARCHITECTURES={number}",
        *toolkit,
    )


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("580.159.04", Driver("580.159.04", (13, 0), 580)),
        ("r535", Driver("r535", (12, 2), 535)),
        ("581.15", Driver("581.15", (13, 0), 581)),
        ("12.6", Driver("CUDA 12.6", (12, 6), 560)),
        ("CUDA 13.0", Driver("CUDA 13.0", (13, 0), 580)),
        ("13.5", Driver("CUDA 13.5", (13, 5), None)),
        ("700.1", Driver("700.1", None, 700)),
        ("14.0", Driver("CUDA 14.0", None, None)),
    ],
)
def test_drivers(text: str, driver: Driver) -> None:
    assert driver_of(text) == driver


@pytest.mark.parametrize("text", ["", "new", "13", "580.", "sm_90", "1.2.3.4"])
def test_what_is_no_driver_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(CuvetError, match="is no driver version"):
        driver_of(text)


@pytest.mark.parametrize("text", ["", "90", "sm_", "sm_90x", "hopper"])
def test_what_is_no_architecture_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(CuvetError, match="is no architecture"):
        verdict([], text)


@pytest.mark.parametrize(
    ("version", "newest"),
    [(12050, (8, 5)), (12060, (8, 5)), (13000, (9, 0)), (10020, (6, 5)), (0, None), (99000, None)],
)
def test_the_newest_ptx_of_a_driver(version: int, newest: tuple[int, int] | None) -> None:
    assert newest_ptx(driver_of_number(version)) == newest


def test_the_tables_are_in_order() -> None:
    known = [each for each in compatibility.releases() if each.cuda]
    assert [each.cuda for each in known] == sorted({each.cuda for each in known if each.cuda})
    assert [each.ptx for each in compatibility.releases()] == sorted(each.ptx for each in compatibility.releases())
    branches = [each.branch for each in compatibility.releases() if each.branch]
    assert branches == sorted(set(branches))
    gpus = [each.sm for each in compatibility.architectures()]
    assert gpus == sorted(set(gpus))


def test_every_architecture_has_its_release() -> None:
    without_ptx = {21}  # PTX has no target sm_21
    for each in compatibility.architectures():
        assert each.sm in without_ptx or compatibility.release_of_target(Target(each.sm)) is not None


def test_the_page_is_up_to_date() -> None:
    page = runpy.run_path(str(ROOT / "tools/generate_compatibility.py"))["page"]()
    assert (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8") == page
