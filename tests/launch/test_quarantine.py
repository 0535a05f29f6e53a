"""``cuvet run --quarantine``: what is found, and what the report says that the driver answered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BATCH = Path(__file__).parents[1] / "rules" / "batch.py"
EMULATED = ("--device", "emulated", "--quarantine", "64MiB")
"""The quarantine is the shim's, over whichever driver."""

STALE = {
    "stream": ("cu.cuStreamCreate(0)", "cu.cuStreamDestroy({})", "cu.cuStreamSynchronize({})", "stream"),
    "event": ("cu.cuEventCreate(0)", "cu.cuEventDestroy({})", "cu.cuEventQuery({})", "event"),
    "graph": ("cu.cuGraphCreate(0)", "cu.cuGraphDestroy({})", "cu.cuGraphInstantiateWithFlags({}, 0)", "graph"),
}


def _run(cuvet, tmp_path: Path, program: str, *options: str):
    file = tmp_path / "program.py"
    file.write_text(program)
    return cuvet.run((*EMULATED, *options), [sys.executable, str(BATCH), str(file)])


@pytest.mark.parametrize("kind", STALE)
def test_a_use_that_succeeds_is_found(cuvet, kind: str, tmp_path: Path) -> None:
    make, end, use, name = STALE[kind]
    lines = [f"old = {make}", end.format("old"), f"new = {make}", use.format("old"), "print(cu.status)"]
    ran = _run(cuvet, tmp_path, "\n".join(lines))
    assert ran.stdout == "0\n"
    (finding,) = ran.report.findings
    assert (finding.name, finding.status, finding.kept) == (f"{name}-use-after-destroy", 0, "asked")
    assert finding.objects[0].created is not None
    assert finding.objects[0].destroyed is not None


@pytest.mark.parametrize("kind", STALE)
def test_a_second_end_is_answered_by_cuvet(cuvet, kind: str, tmp_path: Path) -> None:
    make, end, _, name = STALE[kind]
    lines = [f"old = {make}", end.format("old"), f"new = {make}", end.format("old"), end.format("new")]
    (finding,) = _run(cuvet, tmp_path, "\n".join(lines)).report.findings
    assert (finding.name, finding.kept) == (f"{name}-destroy-twice", "refused")
    assert finding.status in (1, 400)


@pytest.mark.parametrize("kind", STALE)
def test_a_use_of_the_new_object_is_not(cuvet, kind: str, tmp_path: Path) -> None:
    make, end, use, _ = STALE[kind]
    lines = [f"old = {make}", end.format("old"), f"old = {make}", use.format("old"), end.format("old")]
    assert _run(cuvet, tmp_path, "\n".join(lines)).report.findings == ()


def test_a_use_without_quarantine_has_no_such_word(cuvet, tmp_path: Path) -> None:
    ran = _run(
        cuvet, tmp_path, "e = cu.cuEventCreate(0)\ncu.cuEventDestroy(e)\ncu.cuEventQuery(e)", "--quarantine", "off"
    )
    assert [(finding.kept, finding.status) for finding in ran.report.findings] == [(None, 400)]


def test_the_report_says_why_the_call_succeeded(cuvet, tmp_path: Path) -> None:
    program = "s = cu.cuStreamCreate(0)\ncu.cuStreamDestroy(s)\ncu.cuStreamQuery(s)\ncu.cuStreamDestroy(s)"
    ran = _run(cuvet, tmp_path, program)
    text = " ".join(cuvet("analyze", ran.trace).stdout.split())
    assert "cuStreamQuery returned CUDA_SUCCESS (0) on the emulated device, because cuvet keeps what has ended" in text
    assert (
        "returned CUDA_ERROR_INVALID_HANDLE (400): cuvet keeps what has ended (--quarantine), and did not ask" in text
    )


@pytest.mark.parametrize("quarantine", ["off", "64MiB"])
def test_memory_can_be_allocated_up_to_the_limit(cuvet, quarantine: str, tmp_path: Path) -> None:
    program = """
for round in range(2):
    held = []
    while True:
        memory = cu.cuMemAlloc(8 << 20)
        if cu.status:
            break
        held.append(memory)
    print(len(held))
    for memory in held:
        cu.cuMemFree(memory)
"""
    ran = _run(cuvet, tmp_path, program, "--device-memory", "64MiB", "--quarantine", quarantine)
    assert ran.stdout == "8\n8\n"


@pytest.mark.parametrize("given", ["some", "-1", "2TiB", ""])
def test_a_size_that_is_none_is_a_mistake(cuvet, given: str) -> None:
    ran = cuvet.run(("--quarantine", given), ["true"])
    assert ran.code == 2
    assert "is not auto, off, or a size up to 1TiB, for example 256MiB" in ran.stderr
