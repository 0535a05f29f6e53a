"""What makes a complete cuDNN, what a framework's metadata asks for, and which releases are known to be broken."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from cuvet.doctor import cudnn, frameworks
from cuvet.doctor.frameworks import Framework
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import examine
from cuvet.doctor.probes import cudnn_found, cudnn_set, known_releases, nvrtc_builtins
from cuvet.doctor.python import Distribution
from cuvet.doctor.state import State

from . import build_root

V9 = {"graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled"}
V8 = {"ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train"}


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("7.6.5", set()),
        ("8.0.5", V8),
        ("8.9.7", V8),
        ("9", V9),
        ("9.0.0", V9),
        ("9.20.0", V9),
        ("9.21.0", V9 | {"engines_tensor_ir"}),
        ("9.22.0", V9 | {"engines_tensor_ir", "ext"}),
        ("9.28.0", V9 | {"engines_tensor_ir", "ext"}),
    ],
)
def test_the_parts_of_a_version(version: str, parts: set[str], tmp_path: Path) -> None:
    assert set(cudnn.required_parts(Machine(root=tmp_path, environ={}), frameworks.numbers(version))) == parts


def test_only_9_20_opens_a_part_that_its_wheel_lacks() -> None:
    opened = {minor: cudnn.optional_parts((9, minor, 0)) for minor in (19, 20, 21)}
    assert opened == {19: (), 20: ("engines_tensor_ir",), 21: ()}


def framework(*requires: str) -> Framework:
    distribution = Distribution("torch", "2.9.1", "/site", "/site/torch-2.9.1.dist-info", requires)
    return Framework("PyTorch 2.9.1", distribution, (12, 8), ())


@pytest.mark.parametrize(
    ("line", "name", "at_least", "extra"),
    [
        ('nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux"', "nvidia-cudnn-cu12", (9, 10, 2, 21), ""),
        ("nvidia-cudnn-cu12 ==9.3.0.75 ; extra == 'and-cuda'", "nvidia-cudnn-cu12", (9, 3, 0, 75), "and-cuda"),
        ('nvidia-cudnn-cu13<10.0,>=9.12.0.46; extra == "with-cuda"', "nvidia-cudnn-cu13", (9, 12, 0, 46), "with-cuda"),
        ("nvidia_cudnn_cu11 (==8.5.0.96)", "nvidia-cudnn-cu11", (8, 5, 0, 96), ""),
        ('nvidia-cudnn-cu12~=9.0; extra == "cudnn"', "nvidia-cudnn-cu12", (9, 0), "cudnn"),
        ('nvidia-nvvm; extra == "with-cuda"', "nvidia-nvvm", None, "with-cuda"),
    ],
)
def test_requirements_as_wheels_write_them(line: str, name: str, at_least: tuple[int, ...] | None, extra: str) -> None:
    (found,) = frameworks.requirements(framework("filelock", line, "sympy>=1.13.3"))
    assert (found.name, found.at_least, found.extra) == (name, at_least, extra)


@pytest.mark.parametrize(
    ("root", "parts_from"),
    [
        ("healthy-pip-torch", "/home/user/venv/lib/python3.12/site-packages/nvidia/cudnn/lib"),
        ("healthy-cudnn-same-version-in-system", "/usr/lib/x86_64-linux-gnu"),
        ("healthy-cudnn-newer-than-required", "/home/user/venv/lib/python3.12/site-packages/nvidia/cudnn/lib"),
    ],
)
def test_where_the_parts_come_from(root: str, parts_from: str, tmp_path: Path) -> None:
    """LD_LIBRARY_PATH is before the RUNPATH $ORIGIN of libcudnn.so, and after an RPATH."""
    machine = build_root.build(root, tmp_path)
    (user,) = cudnn.users(machine)
    loaded = cudnn.loaded_set(machine, user)
    assert loaded and len(loaded.found()) == len(loaded.parts) >= 7
    assert {str(Path(copy.real).parent) for copy in loaded.found()} == {parts_from}


@pytest.mark.parametrize(
    "root", ["healthy-cudnn-same-version-in-system", "healthy-ctranslate2", "healthy-cu12-packages-left", "healthy-jax"]
)
def test_nothing_is_even_noted_of_a_sound_cudnn(root: str, tmp_path: Path) -> None:
    found = [each for one in examine(build_root.build(root, tmp_path)) for each in one.conclusions]
    assert [each for each in found if re.match("cudnn|nvrtc|nvjitlink|toolkit|framework", each.cause or "")] == []


def test_without_a_gpu_a_framework_that_can_do_without_it_may_lack_cudnn(tmp_path: Path) -> None:
    machine = build_root.build("cudnn-not-installed", tmp_path)
    (found,) = cudnn_found.probe(machine)
    assert found.severity == "error"
    (found,) = cudnn_found.probe(dataclasses.replace(machine, read_state=lambda _: State()))
    assert found.severity == "note"


@pytest.mark.parametrize(("part", "severity"), [("libcudnn_ext", "note"), ("libcudnn_ops", "error")])
def test_a_part_of_a_system_s_cudnn_that_only_wheels_are_known_to_have(
    part: str, severity: str, tmp_path: Path
) -> None:
    machine = build_root.build("healthy-cudnn-newer-in-system", tmp_path)
    machine.host_path(f"/usr/lib/x86_64-linux-gnu/{part}.so.9").unlink()
    (found,) = cudnn_set.probe(machine)
    assert (found.cause, found.severity) == ("cudnn-sublibrary-missing", severity)


def test_a_program_is_not_told_of_python_packages(tmp_path: Path) -> None:
    machine = build_root.build("healthy-system-toolkit", tmp_path)
    assert frameworks.installed(machine) == ()
    assert [user.name for user in cudnn.users(machine)] == ["/opt/solver/bin/solver"]


def test_the_builtins_that_the_installed_nvrtc_opens() -> None:
    nvidia = pytest.importorskip("nvidia.cu13")
    library = f"{nvidia.__path__[0]}/lib/libnvrtc.so.13"
    name = nvrtc_builtins.builtins_name(Machine(environ={}), library)
    assert name and Path(library).with_name(name).is_file()


def test_known_releases_say_where_that_is_known_from() -> None:
    for release in known_releases.releases():
        assert release.source.startswith("https://") and release.versions and release.problem
        assert re.match(r"(un)?install ", release.fix)
