"""Where the newer probes are silent although something is unusual: what is needed is there."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from cuvet.doctor import elf
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, all_probes, ask

from . import build_root

SITE = "/home/user/venv/lib/python3.12/site-packages"
PROBES = {probe.name: probe for probe in all_probes()}


def found(name: str, root: Path, monkeypatch: pytest.MonkeyPatch, **own: Any) -> list[Conclusion]:
    """What the probe says of a healthy machine with these changes."""
    monkeypatch.setitem(build_root.UNSEEN, "changed", {"base": "healthy-pip-torch", **own})
    machine: Machine = build_root.build("changed", root)
    return [each for each in ask(PROBES[name], machine) if each.severity not in ("healthy", "unknown")]


def test_a_library_that_an_image_left_out_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = f"{SITE}/nvidia/cu13/lib/libnvrtc-builtins.so.13.0"
    (note,) = found("package-files", tmp_path, monkeypatch, remove=[gone])
    assert (note.severity, note.evidence) == ("note", (f"{gone}: listed in RECORD, not there",))


def test_a_library_that_was_stripped_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = {"elf": {"soname": "libcublasLt.so.13", "text": "other"}}
    (note,) = found(
        "package-files", tmp_path, monkeypatch, overwrite={f"{SITE}/nvidia/cu13/lib/libcublasLt.so.13": library}
    )
    assert note.severity == "note"


@pytest.mark.parametrize(("requires", "count"), [("torch==2.11.1", 0), ("torch>=2.9", 0), ("torch==2.10.0", 1)])
def test_only_another_release_of_torch_is_told(
    requires: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"version": "1.0", "requires": [requires], "files": {"some/_C.so": {"elf": {"soname": "_C.so"}}}}
    assert len(found("package-releases", tmp_path, monkeypatch, packages={SITE: {"some": package}})) == count


def test_a_package_without_compiled_code_may_name_another_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"version": "1.0", "requires": ["torch==2.10.0"], "files": {"some/__init__.py": ""}}
    assert not found("package-releases", tmp_path, monkeypatch, packages={SITE: {"some": package}})


@pytest.mark.parametrize(
    ("value", "count"), [("enp", 0), ("=enp65s0f0", 0), ("^docker,lo", 0), ("eth,enp65", 0), ("=enp", 1), ("eth", 1)]
)
def test_names_of_interfaces_are_read_as_nccl_reads_them(
    value: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {f"/sys/class/net/{name}": {"directory": True} for name in ("lo", "enp65s0f0")}
    assert len(found("variables", tmp_path, monkeypatch, environ={"NCCL_SOCKET_IFNAME": value}, files=there)) == count


def test_a_program_of_another_loader_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for interpreter, count in (("/lib/ld-musl-x86_64.so.1", 0), ("/lib64/ld-linux-x86-64.so.2", 1)):
        program = {"elf": {"needed": ["libgone.so.1"], "interpreter": interpreter}}
        changes: dict[str, Any] = {"program": "/opt/a", "python": None, "files": {"/opt/a": program}}
        assert len(found("loader-needed", tmp_path / str(count), monkeypatch, **changes)) == count


def test_two_gpus_that_cannot_access_each_other_need_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = build_root.UNSEEN["iommu-between-two-gpus"]
    for number, (peers, nvlink, count) in enumerate(
        ((None, False, 1), (True, False, 1), (False, False, 0), (True, True, 0))
    ):
        gpus = {
            "nvml": {"gpus": [{**gpu, "nvlink": nvlink} for gpu in case["gpus"]["nvml"]["gpus"]]},
            "cuda": {**case["gpus"]["cuda"], "peers": peers},
        }
        assert len(found("peer-access", tmp_path / str(number), monkeypatch, files=case["files"], gpus=gpus)) == count


def test_a_weak_symbol_may_be_missing(tmp_path: Path) -> None:
    source = "extern void a(void); extern void b(void) __attribute__((weak)); void c(void) { a(); if (b) b(); }"
    library = tmp_path / "libc.so"
    command = ["cc", "-x", "c", "-shared", "-fPIC", "-o", str(library), "-"]
    subprocess.run(command, input=source, text=True, check=True)
    assert elf.symbols(Machine(environ={}), str(library), defined=False) == {"a"}
