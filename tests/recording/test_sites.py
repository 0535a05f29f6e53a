"""From stacks to the API that the user called and the lines that he wrote."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuvet.recording import symbols as symbols_module
from cuvet.recording.records import Fault, Module, PythonCode, SideTables, Stack
from cuvet.recording.sites import Sites, _split, python_library
from cuvet.recording.symbols import ElfSymbols, NativeFrame, Symbols, demangle, without_signature

PROGRAM = """
void leaf(int *);
static inline __attribute__((always_inline)) void inner(int *p) {
    leaf(p);
}
namespace ns {
struct Owner {
    __attribute__((noinline)) void release(int *p) {
        inner(p);
        *p += 1;
    }
};
}
__attribute__((noinline)) void leaf(int *p) { *p += 1; asm volatile(""); }
int main(int argc, char **) {
    ns::Owner().release(&argc);
    return argc;
}
"""


@pytest.fixture(scope="module", params=["-pie", "-no-pie"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("symbols")
    (directory / "program.cpp").write_text(PROGRAM)
    path = directory / "program"
    options = ["-g", "-O1", "-fno-optimize-sibling-calls", request.param]
    subprocess.run(["c++", *options, "-o", path, directory / "program.cpp"], check=True)
    return path


def return_addresses(program: Path) -> dict[str, int]:
    """Of each function that is called: the address after the first call of it."""
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for match in re.finditer(r"call +[0-9a-f]+ <(\w+)>\n +([0-9a-f]+):", listing):
        found.setdefault(match[1], int(match[2], 16))
    return found


def sites_of(program: Path, build_id: str = "") -> Sites:
    addresses = return_addresses(program)
    native = (addresses["_Z4leafPi"] + 0x10000, addresses["_ZN2ns5Owner7releaseEPi"] + 0x10000)
    tables = SideTables(
        modules=[Module(0x10000, 0x1000000, 0x10000, build_id, str(program))], stacks={1: Stack(native, ())}
    )
    return Sites(tables)


def test_inlined_functions_have_their_own_lines(program: Path) -> None:
    _, frames = sites_of(program).of_stack(1)
    assert [(frame.function, frame.line) for frame in frames] == [("inner", 4), ("ns::Owner::release", 9), ("main", 16)]
    assert all(frame.file is not None and frame.file.endswith("program.cpp") for frame in frames)


def test_without_debug_information_the_symbol_table_names_functions(program: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    subprocess.run(["strip", "--strip-debug", "-o", plain, program], check=True)
    _, frames = sites_of(plain).of_stack(1)
    assert [(frame.function, frame.line) for frame in frames] == [("ns::Owner::release", None), ("main", None)]


def test_separate_debug_information_is_found_by_build_id(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)
    assert build_id is not None
    plain = tmp_path / "stripped"
    subprocess.run(["strip", "-o", plain, program], check=True)
    debug = tmp_path / ".build-id" / build_id[1][:2] / f"{build_id[1][2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    monkeypatch.setattr("cuvet.recording.symbols.DEBUG_DIRECTORY", tmp_path)
    address = return_addresses(program)["_Z4leafPi"] - 1
    assert [frame.line for frame in ElfSymbols(str(plain), build_id[1]).frames(address)] == [4, 9]


def test_a_host_function_is_what_the_driver_calls(program: Path) -> None:
    own, driver = return_addresses(program)["_Z4leafPi"] + 0x10000, 0x30100
    modules = [
        Module(0x10000, 0x20000, 0x10000, "", str(program)),
        Module(0x30000, 0x40000, 0x30000, "", "/usr/lib/libcuda.so.580.159.04"),
    ]
    stacks = {1: (own, driver), 2: (driver, own), 3: (driver, own, driver), 4: (own,), 5: (driver,)}
    sites = Sites(SideTables(modules=modules, stacks={number: Stack(native, ()) for number, native in stacks.items()}))
    assert [number for number in range(7) if sites.is_called_by_driver(number)] == [1, 3]


def test_a_file_that_was_rebuilt_since_is_not_believed(program: Path) -> None:
    _, frames = sites_of(program, build_id="00" * 20).of_stack(1)
    assert all(frame.line is None and frame.function.startswith("program+0x") for frame in frames)


def test_what_is_no_file_has_addresses(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no ELF file")
    for path in (tmp_path / "text", tmp_path / "absent", tmp_path):
        (frame,) = ElfSymbols(str(path), "").frames(0x123)
        assert frame.function == f"{path.name}+0x123"


def test_what_is_past_the_end_of_a_function_has_an_address(program: Path) -> None:
    symbols = ElfSymbols(str(program), "")
    listed = subprocess.run(["nm", "-S", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    start, size = next(
        (int(line.split()[0], 16), int(line.split()[1], 16))
        for line in listed.splitlines()
        if line.endswith("_Z4leafPi")
    )
    assert [symbols.function(at).symbol for at in (start, start + size - 1)] == ["_Z4leafPi", "_Z4leafPi"]
    assert symbols.function(start + size).symbol != "_Z4leafPi"
    assert symbols.function(1).function == "program+0x1"


def frames(*symbols: str) -> list[NativeFrame]:
    modules = {"wrapper": "/x/libcuda.so.1", "shared": "/x/libcudart.so.13", "pthread_once": "/lib/libc.so.6"}
    return [NativeFrame(symbol, demangle(symbol), None, None, modules.get(symbol, "/x/program")) for symbol in symbols]


@pytest.mark.parametrize(
    ("symbols", "api", "user"),
    [
        (["main"], None, "main"),
        (["libcudart_static_0a1b", "cudaEventRecord", "main"], "cudaEventRecord", "main"),
        (["shared", "cudaStreamSynchronize_ptsz", "main"], "cudaStreamSynchronize", "main"),
        (["libcudart_static_0a", "pthread_once", "libcudart_static_0b", "cudaFree", "_ZL4donev"], "cudaFree", "done"),
        (["libcudart_static_0a", "cudaMalloc", "_Z10cudaMallocIiE9cudaErrorPPT_m", "main"], "cudaMalloc", "main"),
        (
            [
                "__cudaLaunchKernel",
                "_ZL25__cudaLaunchKernel_helperP9CUkern_st",
                "_Z23__device_stub__Z4kernPiPi",
                "_Z4kernPi",
                "main",
            ],
            "cudaLaunchKernel",
            "main",
        ),
        (["cudaLaunchKernel", "_Z21__device_stub__Z2ckPiPi", "ck", "main"], "cudaLaunchKernel", "main"),
        (
            ["cudaLaunchKernel", "__device_stub__Z2tkIiEvPT_", "__wrapper__device_stub_tk<int>", "tk<int>", "main"],
            "cudaLaunchKernel",
            "main",
        ),
        (["__cudaRegisterFatBinary", "_ZL24__sti____cudaRegisterAllv"], None, "__sti____cudaRegisterAll"),
    ],
)
def test_the_api_is_the_one_that_the_user_called(symbols: list[str], api: str | None, user: str) -> None:
    found, outside = _split(frames(*symbols))
    assert found == api
    assert next(outside).function == user


def test_the_users_python_frame_is_the_headline_and_the_interpreter_is_left_out() -> None:
    tables = SideTables(
        codes={
            1: PythonCode("/env/lib/python3.11/site-packages/torch/cuda/streams.py", "Stream.wait"),
            2: PythonCode("/home/me/train.py", "step"),
            3: PythonCode("/usr/lib/python3.11/threading.py", "Thread.run"),
        },
        modules=[Module(0x1000, 0x2000, 0, "", "/usr/bin/python3.11"), Module(0x3000, 0x4000, 0, "", "/x/libtorch.so")],
        stacks={1: Stack((0x3100, 0x1100), ((1, 30), (2, 7), (3, 900)))},
    )
    _, found = Sites(tables).of_stack(1)
    assert [(frame.function, frame.line, frame.module) for frame in found] == [
        ("step", 7, None),
        ("Stream.wait", 30, "torch"),
        ("Thread.run", 900, "python"),
        ("libtorch.so+0x30ff", None, "/x/libtorch.so"),
    ]


def test_stacks_that_differ_inside_the_interpreter_only_are_one() -> None:
    tables = SideTables(
        modules=[Module(0x1000, 0x2000, 0, "", "/usr/bin/python3.14"), Module(0x3000, 0x4000, 0, "", "/x/libtorch.so")],
        stacks={
            1: Stack((0x3100, 0x1100), ((1, 30),)),
            2: Stack((0x3100, 0x1200, 0x1300), ((1, 30),)),
            3: Stack((0x3200, 0x1100), ((1, 30),)),
            4: Stack((0x3100, 0x1100), ((1, 31),)),
            5: Stack((0x1100,), ()),
            6: Stack((0x1200,), ()),
        },
    )
    sites = Sites(tables)
    assert [sites.first(stack) for stack in range(8)] == [0, 1, 1, 3, 4, 5, 6, 7]


def test_python_library() -> None:
    assert python_library(sys.modules["json"].__file__ or "") == "python"
    assert python_library("<frozen runpy>") == "python"
    assert python_library("/home/me/python/train.py") is None


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("void ns::f<int>(float*) const", "ns::f<int>"),
        ("main", "main"),
        ("A::operator()(int)", "A::operator()"),
        ("S::operator bool() const", "S::operator bool"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator()"),
        (
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            "std::vector<int, std::allocator<int> >::push_back",
        ),
    ],
)
def test_functions_are_shown_without_their_signature(function: str, short: str) -> None:
    assert without_signature(function) == short


class Counted(list[Module]):
    """Counts how often one of its elements is looked at."""

    looks = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        self.looks += 1
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Module]:
        for element in super().__iter__():
            self.looks += 1
            yield element

    def __reversed__(self) -> Iterator[Module]:
        return (self[index] for index in range(len(self) - 1, -1, -1))


def test_what_is_mapped_at_an_address_was_mapped_there_last() -> None:
    ranges = [(10, 40), (20, 30), (5, 12), (40, 50), (60, 60), (70, 65), (25, 27), (0, 1)]
    modules = [Module(start, end, 0, "", f"/{index}") for index, (start, end) in enumerate(ranges)]
    symbols = Symbols(modules)
    for address in range(80):
        expected = [each.path for each in modules if each.start <= address < each.end][-1:]
        assert [symbols.path(address)] == (expected or [""])
    modules.append(Module(0, 80, 0, "", "/new"))
    assert symbols.path(79) == "/new"


def test_an_address_is_in_the_last_file_up_to_the_era_of_its_stack() -> None:
    eras = [(4, "/again"), (0, "/first"), (2, "/other"), (0, "/elsewhere")]
    modules = [Module(*((50, 60) if path == "/elsewhere" else (10, 20)), 0, "", path, era) for era, path in eras]
    found = [Symbols(modules, era=era).path(15) for era in range(6)]
    assert found == ["/first", "/first", "/other", "/other", "/again", "/again"]
    assert Symbols(modules, era=3).path(55) == "/elsewhere"


def test_many_modules_are_looked_at_a_few_times_each() -> None:
    modules = Counted(Module(index << 20, (index << 20) + 4096, 0, "", f"/{index}") for index in range(1000))
    symbols = Symbols(modules)
    assert [symbols.path(index << 20) for index in range(1000)] == [f"/{index}" for index in range(1000)]
    assert modules.looks < 20 * len(modules)


@pytest.mark.parametrize(
    ("file", "library"),
    [
        (symbols_module.__file__, "cuvet"),
        ("/env/lib/python3.12/site-packages/six.py", "six"),
        ("/usr/lib/python3/dist-packages/numpy/core/x.py", "numpy"),
        ("/opt/lib64/python3.9/threading.py", "python"),
        ("/opt/lib/python3.11/threading.py", "python"),
        ("/home/me/lib/python/x.py", None),
        ("/home/me/train.py", None),
        ("<string>", None),
    ],
)
def test_the_package_of_a_python_file(file: str, library: str | None) -> None:
    assert python_library(file) == library


PYTHON, TORCH, EXTENSION, OWN, CUDA, LIBC, NOWHERE = (0x1000 * number for number in range(1, 8))
MODULES = [
    Module(PYTHON, PYTHON + 0x1000, 0, "", "/usr/bin/python3.12"),
    Module(TORCH, TORCH + 0x1000, 0, "", "/x/libtorch.so"),
    Module(EXTENSION, EXTENSION + 0x1000, 0, "", "/env/lib/python3.12/site-packages/cupy/_core.cpython-312-x86_64.so"),
    Module(OWN, OWN + 0x1000, 0, "", "/home/me/train"),
    Module(CUDA, CUDA + 0x1000, 0, "", "/usr/lib/libcuda.so.1"),
    Module(LIBC, LIBC + 0x1000, 0, "", "/lib/libc.so.6"),
]
CODES = {
    1: PythonCode("/home/me/train.py", "main"),
    2: PythonCode("/env/lib/python3.12/site-packages/torch/cuda.py", "wait"),
    3: PythonCode("/env/lib/python3.12/site-packages/cuda/bindings.py", "call"),
}


def sites_with(*native: int, python: tuple[tuple[int, int], ...] = (), executable: str = "/home/me/train") -> Sites:
    stacks = {1: Stack(tuple(address + 0x10 for address in native), python)}
    return Sites(SideTables(modules=list(MODULES), codes=dict(CODES), stacks=stacks), executable)


@pytest.mark.parametrize(
    ("native", "python", "library", "is_of_library"),
    [
        ((CUDA, TORCH, OWN), (), "libtorch.so", True),
        ((CUDA, OWN, TORCH), (), "train", False),
        ((CUDA, LIBC, OWN), (), "train", False),
        ((CUDA, NOWHERE), (), None, False),
        ((CUDA, EXTENSION, PYTHON), ((1, 5),), "cupy", True),
        ((PYTHON, PYTHON), ((1, 5),), None, False),
        ((PYTHON,), ((2, 5), (1, 6)), "torch", True),
        ((PYTHON,), ((3, 5), (1, 6)), "cuda", False),
        ((PYTHON,), ((3, 5), (2, 6)), "cuda", True),
        ((), (), None, False),
    ],
)
def test_the_library_that_called_is_named(
    native: tuple[int, ...], python: tuple[tuple[int, int], ...], library: str | None, is_of_library: bool
) -> None:
    sites = sites_with(*native, python=python)
    assert (sites.library(1), sites.is_of_library(1)) == (library, is_of_library)
    assert (sites.library(2), sites.is_of_library(2), sites.api(2), sites.of_stack(2)) == (
        None,
        False,
        None,
        (None, ()),
    )
    assert not sites_with(*native, python=python, executable="").is_of_library(1)


def shown(sites: Sites) -> list[tuple[str, str | None]]:
    return [(frame.function, frame.module) for frame in sites.of_stack(1)[1]]


def test_code_without_names_is_shown_once_in_a_row() -> None:
    sites = sites_with(NOWHERE, NOWHERE + 0x100, OWN, NOWHERE, LIBC)
    assert not sites.nameless
    assert [function for function, _ in shown(sites)] == ["0x700f", "train+0x400f", "0x700f"]
    assert sites.nameless
    named = sites_with(OWN)
    assert shown(named) == [("train+0x400f", "/home/me/train")]
    assert not named.nameless


def test_what_the_c_library_does_before_main_is_left_out() -> None:
    """But not what it does between the program's functions."""
    assert [function for function, _ in shown(sites_with(OWN, LIBC, OWN, LIBC, LIBC))] == [
        "train+0x400f",
        "libc.so.6+0x600f",
        "train+0x400f",
    ]
    assert shown(sites_with(LIBC)) == []


def test_the_first_frames_are_shown() -> None:
    sites = sites_with(*[OWN] * 40, python=((1, 1), (2, 2)))
    found = sites.of_stack(1)[1]
    assert len(found) == 32
    assert [frame.language for frame in found[:3]] == ["python", "python", "c++"]


def test_unknown_code_of_python_has_its_line() -> None:
    (frame,) = sites_with(python=((9, 12),)).of_stack(1)[1]
    assert (frame.function, frame.file, frame.line, frame.module, frame.language) == ("?", None, 12, "?", "python")


def test_a_fault_is_told_from_its_instruction_outward() -> None:
    """Its stack begins in the handler of the signal."""
    sites = sites_with(TORCH, LIBC, OWN, OWN + 0x100)
    at = OWN + 0x10
    frames = sites.of_fault(Fault(11, 1, 1, 1, 0, at, 5))
    assert [frame.function for frame in frames] == ["train+0x4010", "train+0x410f"]
    elsewhere = sites.of_fault(Fault(11, 1, 1, 1, 0, TORCH + 0x500, 5))
    assert [frame.function for frame in elsewhere] == ["libtorch.so+0x2500"]
    assert [frame.function for frame in sites.of_fault(Fault(11, 1, 1, 7, 0, at, 5))] == ["train+0x4010"]


def test_an_exported_function_has_its_name_without_a_symbol_table(program: Path, tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    (tmp_path / "program.cpp").write_text(PROGRAM)
    subprocess.run(["c++", "-shared", "-fPIC", "-o", library, tmp_path / "program.cpp"], check=True)
    subprocess.run(["strip", library], check=True)
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    start = next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith("_Z4leafPi"))
    assert ElfSymbols(str(library), "").function(start).function == "leaf"
    assert ElfSymbols("library.so", "").function(start).function.startswith("library.so+0x")  # no absolute path


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("void f<(int)3>(int)", "f<(int)3>"),
        ("std::map<int, int> ns::g<std::pair<int, int> >(int)", "ns::g<std::pair<int, int> >"),
        ("f", "f"),
        ("f(void (*)(int))", "f"),
        ("(int)", "(int)"),
        ("int A::{lambda(int)#1}::f<int>(int) const", "A::{lambda(int)#1}::f<int>"),
        ("auto f(int)::{lambda()#1}::operator()() const", "auto f(int)::{lambda()#1}::operator()"),
        ("unbalanced)", "unbalanced)"),
    ],
)
def test_more_functions_without_their_signature(function: str, short: str) -> None:
    assert without_signature(function) == short
