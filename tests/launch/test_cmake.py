"""The CMake package: tests of ctest run under cuvet, and the example fails in the right one."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.cli import CMAKE

from .conftest import HANGS_S, Cuvet

EXAMPLE = Path(__file__).parents[2] / "examples/ctest_project"
SEARCH = f"{sys.prefix}/bin:{os.environ['PATH']}"
HEAD = """
cmake_minimum_required(VERSION 3.20)
project(tests LANGUAGES NONE)
find_package(cuvet REQUIRED)
enable_testing()
add_executable(program IMPORTED)
set_target_properties(program PROPERTIES IMPORTED_LOCATION /the/program)
"""

pytestmark = pytest.mark.skipif(not shutil.which("cmake", path=SEARCH), reason="cmake is not installed")
CMake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cmake(cuvet: Cuvet, scripts: Path) -> CMake:
    """Runs ``cmake`` or ``ctest``."""

    def run(name: str, *arguments: object, path: str = f"{scripts}:{SEARCH}") -> subprocess.CompletedProcess[str]:
        program = shutil.which(name, path=SEARCH)
        assert program is not None
        return subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**cuvet.environment, "PATH": path, "LD_LIBRARY_PATH": ""},
            timeout=HANGS_S,
            check=False,
        )

    return run


@pytest.fixture
def commands(cmake: CMake, scripts: Path, tmp_path: Path) -> Callable[[str], dict[str, list[str]]]:
    """The command of each test of a project, without ``cuvet`` itself."""

    def commands_of(lines: str) -> dict[str, list[str]]:
        (tmp_path / "CMakeLists.txt").write_text(HEAD + lines)
        done = cmake("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dcuvet_ROOT={CMAKE}")
        assert done.returncode == 0, done.stderr
        shown = cmake("ctest", "--test-dir", tmp_path / "build", "--show-only=json-v1").stdout
        found = {each["name"]: each["command"] for each in json.loads(shown)["tests"]}
        assert {command[0] for command in found.values()} == {str(scripts / "cuvet")}
        return {name: command[1:] for name, command in found.items()}

    return commands_of


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """The toolkit from PyPI as one is laid out that was installed otherwise."""
    spec = importlib.util.find_spec("nvidia.cu13")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("the packages nvidia-cuda-runtime and nvidia-cuda-nvcc are not installed")
    packages, folder = Path(next(iter(spec.submodule_search_locations))), tmp_path / "toolkit"
    (folder / "lib64").mkdir(parents=True)
    for name in ("bin", "include", "nvvm"):
        (folder / name).symlink_to(packages / name)
    (folder / "lib64/libcudart.so").symlink_to(packages / "lib/libcudart.so.13")
    return folder


def test_the_example_fails_in_the_right_test(cmake: CMake, toolkit: Path, tmp_path: Path) -> None:
    build = tmp_path / "build"
    options = [f"-Dcuvet_ROOT={CMAKE}", f"-DCUDAToolkit_ROOT={toolkit}"]
    configured = cmake("cmake", "-S", EXAMPLE, "-B", build, *options)
    assert configured.returncode == 0, configured.stderr
    built = cmake("cmake", "--build", build)
    assert built.returncode == 0, built.stdout
    tested = cmake("ctest", "--test-dir", build, "--output-on-failure")
    results = dict(re.findall(r"Test +#\d+: (\w+) \.*[ .]*(Passed|\*+Failed)", tested.stdout))
    assert results == {
        "a_stream_is_used_again": "Passed",
        "two_streams_at_once": "Passed",
        "a_stream_is_given_back_twice": "***Failed",
    }, tested.stdout
    assert tested.stdout.count("error[") == 1
    assert "error[CV202]: cudaStreamDestroy: stream#1 was already destroyed" in tested.stdout
    assert re.search(r"--> \S*/pool\.h:\d+ in Pool::~Pool", tested.stdout)


def test_a_test_is_the_program_under_cuvet(commands: Callable[[str], dict[str, list[str]]]) -> None:
    found = commands("""
        cuvet_add_test(NAME plain COMMAND program)
        cuvet_add_test(NAME other COMMAND sh -c "echo 1; echo 2" "a b")
        cuvet_add_test(NAME chosen FAIL_ON warning DEVICE emulated COMMAND program --device "x;y" ARGS --races --devices 2)
    """)
    assert found == {
        "plain": ["run", "--device", "auto", "--fail-on", "error", "--", "/the/program"],
        "other": ["run", "--device", "auto", "--fail-on", "error", "--", "sh", "-c", "echo 1; echo 2", "a b"],
        "chosen": [
            *["run", "--device", "emulated", "--fail-on", "warning", "--races", "--devices", "2", "--"],
            *["/the/program", "--device", "x;y"],
        ],
    }


def test_targets_are_wrapped_for_all_their_tests(cmake: CMake, commands: Callable[[str], dict[str, list[str]]]) -> None:
    version = re.search(r"version (\d+)\.(\d+)", cmake("cmake", "--version").stdout)
    assert version
    if tuple(map(int, version.groups())) < (3, 29):
        pytest.skip("CMake is older than 3.29")
    found = commands("""
        cuvet_wrap_tests(program DEVICE real ARGS --protect)
        add_test(NAME one COMMAND program 1)
        add_test(NAME two COMMAND program 2)
    """)
    launcher = ["run", "--device", "real", "--fail-on", "error", "--protect", "--", "/the/program"]
    assert found == {"one": [*launcher, "1"], "two": [*launcher, "2"]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("cuvet_add_test(NAME a)", "cuvet_add_test: write cuvet_add_test(NAME <name> COMMAND"),
        ("cuvet_add_test(COMMAND a)", "cuvet_add_test: write cuvet_add_test(NAME <name> COMMAND"),
        ("cuvet_add_test(b NAME a COMMAND a)", "cuvet_add_test(NAME a): unknown argument b"),
        ("cuvet_wrap_tests(DEVICE real)", "cuvet_wrap_tests"),
    ],
)
def test_a_mistake_is_named(cmake: CMake, tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "CMakeLists.txt").write_text(HEAD + lines)
    done = cmake("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dcuvet_ROOT={CMAKE}")
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())


@pytest.fixture
def without_path(cmake: CMake, tmp_path: Path) -> Callable[[Path], subprocess.CompletedProcess[str]]:
    """Configures a project with the package installed in a directory, where PATH has no cuvet."""

    def configure(packages: Path) -> subprocess.CompletedProcess[str]:
        tools = {Path(found).parent for name in ("make", "ninja") if (found := shutil.which(name))}
        if any((folder / "cuvet").exists() for folder in tools):
            pytest.skip("cuvet is where make is")
        shutil.copytree(CMAKE, packages / "cuvet/cmake")
        (tmp_path / "CMakeLists.txt").write_text(HEAD)
        options = ["-S", tmp_path, "-B", tmp_path / "build", f"-Dcuvet_DIR={packages / 'cuvet/cmake'}"]
        return cmake("cmake", *options, path=":".join(map(str, tools)))

    return configure


def test_the_program_is_found_beside_the_package(
    without_path: Callable[[Path], subprocess.CompletedProcess[str]], scripts: Path
) -> None:
    done = without_path(scripts.parent / "lib/python3.10/site-packages")
    assert done.returncode == 0, done.stderr
    assert f"CUVET_EXECUTABLE:FILEPATH={scripts / 'cuvet'}\n" in (scripts.parent / "build/CMakeCache.txt").read_text()


def test_it_says_so_where_the_program_is_not_found(
    without_path: Callable[[Path], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = without_path(tmp_path / "elsewhere")
    assert "the program cuvet was not found: set CUVET_EXECUTABLE to its path" in " ".join(done.stderr.split())


def test_the_program_says_where_the_package_is(cuvet: Cuvet) -> None:
    done = cuvet("--cmake-dir")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{CMAKE}\n", "")
    assert (Path(CMAKE) / "cuvet-config.cmake").is_file()
