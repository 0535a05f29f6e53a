"""Give the driver images of every kind, whole and broken, and compare what it does with ``cuvet.image.raw.image_verdict``.

Needs a GPU, and ptxas, fatbinary and nvcc of CUDA 13.0 (on the path, or the nvidia-cuda-nvcc wheel). Each image is loaded in a process of
its own, from memory as a module and as a library, and from a file. Writes one fact a line with ``--facts FILE``; prints where the
driver and the verdict differ; exit code 1 if they do. With ``--list`` it says what it expects of a GPU (``--gpu``) and loads nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TARGETS = (
    "75 80 86 87 88 89 90 90a 100 100f 100a 103 103f 103a 110 110f 110a 120 120f 120a 121 121f 121a".split()
)  # all that ptxas 13.0 compiles for
VERSIONS = (
    ("1.4", "sm_10"), ("1.4", "sm_13"), ("2.0", "sm_20"), ("3.0", "sm_20"), ("3.0", "sm_30"), ("3.2", "sm_35"), ("4.1", "sm_37"),
    ("4.0", "sm_50"), ("4.3", "sm_53"), ("5.0", "sm_60"), ("5.0", "sm_62"), ("6.0", "sm_70"), ("6.3", "sm_75"), ("6.5", "sm_70"),
    ("7.0", "sm_80"), ("7.8", "sm_90"), ("8.0", "sm_90a"), ("8.0", "sm_80"), ("8.5", "sm_90"), ("8.8", "sm_100f"), ("8.8", "sm_90"),
    ("8.6", "sm_101"), ("9.1", "sm_90"), ("9.1", "sm_80"), ("9.2", "sm_90"), ("9.1", "sm_100"), ("10.0", "sm_90"), ("99.0", "sm_90"),
    ("1.4", "sm_90"), ("7.0", "sm_90"), ("7.8", "sm_90a"), ("6.0", "sm_80"), ("8.0", "sm_999"), ("8.0", "sm_85"), ("8.0", "sm_91"),
)  # fmt: skip
"""(PTX ISA version, target): with what they came, too new, and too old for the target."""
BODY = ".visible .entry k(.param .u64 p)\n{\n .reg .b64 %rd<2>;\n ld.param.u64 %rd1, [p];\n ret;\n}\n"
BODY_32 = ".visible .entry k(.param .u32 p)\n{\n .reg .b32 %r<2>;\n ld.param.u32 %r1, [p];\n ret;\n}\n"
LOADS = ("cuModuleLoadData", "cuLibraryLoadData", "cuModuleLoad")
NOT_FOUND = 500
NOT_SEEN = {
    "image_ptx_no_entry_name": "PTX is not compiled here",
    "image_ptx_undeclared_register": "PTX is not compiled here",
    "image_ptx_debug": "PTX is not compiled here: target debug wants debug information",
}
"""Images of which the verdict is wrong, and why it cannot be right."""
_TAIL_BYTES = 1 << 20
_TIMEOUT_S = 10

Row = dict[str, object]
"""A call: its name and ``status``, or the ``signal`` that the process died of in it, or ``hangs_s``: it had not returned after so long."""


@dataclass(frozen=True)
class Image:
    """``guard``: in memory no byte may be read behind it; else zeros follow."""

    id: str
    what: str
    data: bytes
    guard: bool = False


# The images.


def ptx(version: str, target: str, body: str = BODY, size: str = ".address_size 64\n") -> bytes:
    return f".version {version}\n.target {target}\n{size}{body}".encode()


class Toolkit:
    """nvcc's tools, called directly where that gives the same file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = _tools()

    def run(self, tool: str, *arguments: str | Path) -> None:
        done = subprocess.run([self.tools / tool, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{tool} {' '.join(map(str, arguments))} failed: {done.stderr or done.stdout}")

    def cubin(self, target: str) -> bytes:
        text, output = self.folder / f"cubin_{target}.ptx", self.folder / f"{target}.cubin"
        if not output.exists():
            text.write_bytes(ptx("9.0", f"sm_{target}"))
            self.run("ptxas", "-arch", f"sm_{target}", "-o", output, text)
        return output.read_bytes()

    def fatbin(self, name: str, *parts: tuple[str, str, bytes], options: tuple[str, ...] = ()) -> bytes:
        """``parts``: (kind elf or ptx, sm, data)."""
        output = self.folder / f"{name}.fatbin"
        images = []
        for number, (kind, target, data) in enumerate(parts):
            file = self.folder / f"{name}.{number}"
            file.write_bytes(data)
            images.append(f"--image3=kind={kind},sm={target},file={file}")
        self.run("fatbinary", "-64", *options, f"--create={output}", *images)
        return output.read_bytes()

    def lto(self) -> bytes:
        source, output = self.folder / "lto.cu", self.folder / "lto.fatbin"
        source.write_text('extern "C" __global__ void k(float* p) { *p = 1; }\n', encoding="utf-8")
        self.run("nvcc", "-gencode=arch=compute_90,code=lto_90", "-fatbin", "-o", output, source)
        return output.read_bytes()


def _tools() -> Path:
    """The folder of nvcc, ptxas and fatbinary."""
    wheel = Path(sysconfig.get_path("purelib"), "nvidia/cu13/bin")
    on_path = [Path(found).resolve().parent] if (found := shutil.which("ptxas")) else []
    for folder in (wheel, *on_path, Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")):
        if all((folder / tool).exists() for tool in ("nvcc", "ptxas", "fatbinary")):
            return folder
    sys.exit("nvcc of CUDA 13.0 is wanted: put its folder on the path, or install nvidia-cuda-nvcc==13.0.*")


def images(folder: Path) -> list[Image]:
    toolkit = Toolkit(folder)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cubins = dict(zip(TARGETS, pool.map(toolkit.cubin, TARGETS), strict=True))
    return [
        *(Image(f"image_cubin_{target}", f"cubin for sm_{target}", data) for target, data in cubins.items()),
        *(Image(f"image_ptx_{target}", f"PTX 9.0 for sm_{target}", ptx("9.0", f"sm_{target}")) for target in TARGETS),
        *_versions(),
        *_broken_ptx(),
        *_fatbins(toolkit, cubins),
        *_truncated(toolkit, cubins["90"]),
        *_foreign(cubins["90"]),
    ]


def _versions() -> Iterator[Image]:
    for version, target in VERSIONS:
        name = f"image_ptx_version_{version.replace('.', '_')}_{target}"
        old = int(version.split(".")[0]) < 2
        size = "" if old else ".address_size 64\n" if float(version) >= 2.3 else ""
        yield Image(
            name, f"PTX {version} for {target}", ptx(version, target, BODY if size else ".entry k\n{\n ret;\n}\n", size)
        )


def _broken_ptx() -> Iterator[Image]:
    good = ptx("8.0", "sm_90")
    texts = {
        "no_version": (b".target sm_90\n.address_size 64\n" + BODY.encode(), "no .version"),
        "no_target": (b".version 8.0\n.address_size 64\n" + BODY.encode(), "no .target"),
        "no_address_size": (ptx("8.0", "sm_90", BODY, ""), "no .address_size"),
        "address_size_32": (ptx("8.0", "sm_90", BODY_32, ".address_size 32\n"), ".address_size 32"),
        "unknown_instruction": (good.replace(b"ret;", b"bogus;"), "an unknown instruction"),
        "no_entry": (ptx("8.0", "sm_90", ""), "no entry"),
        "no_entry_name": (good.replace(b".entry k", b".entry"), "an entry without a name"),
        "undeclared_register": (good.replace(b"ret;", b"mov.u64 %rd9, 0; ret;"), "a register that is not declared"),
        "text_behind": (good + b"and other text\n", "other text behind it"),
        "comment_first": (b"// a comment\n/* another */\n" + good, "comments before it"),
        "blank_first": (b"\n\n  \t" + good, "blank lines before it"),
        "text_first": (b"hello\n" + good, "a word before it"),
        "byte_order_mark": (b"\xef\xbb\xbf" + good, "a byte order mark before it"),
        "carriage_returns": (good.replace(b"\n", b"\r\n"), "lines that end with CR LF"),
        "not_ascii": (good + "// größer\n".encode(), "a comment that is not ASCII"),
        "control_characters_behind": (good + b"\x01\x02\x7f", "control characters behind it"),
        "nul_inside": (good.replace(b"ret;", b"\0ret;"), "a NUL in the middle"),
        "debug": (good.replace(b"sm_90\n", b"sm_90, debug\n"), "target sm_90, debug"),
        "map_f64": (good.replace(b"sm_90\n", b"sm_90, texmode_independent\n"), "target sm_90, texmode_independent"),
        "version_only": (b".version 8.0\n", "only its .version"),
    }  # fmt: skip
    for name, (data, what) in texts.items():
        yield Image(f"image_ptx_{name}", f"PTX with {what}", data)
    padded = good + b"// padding".ljust(mmap.PAGESIZE - len(good), b".")
    yield Image("image_ptx_not_terminated", "PTX that ends with its page, without a NUL", padded, guard=True)


def _fatbins(toolkit: Toolkit, cubins: dict[str, bytes]) -> Iterator[Image]:
    def elf(target: str) -> tuple[str, str, bytes]:
        return "elf", target, cubins[target]

    def text(version: str, target: str) -> tuple[str, str, bytes]:
        return "ptx", target, ptx(version, f"sm_{target}")

    combinations = {
        "90": (elf("90"),), "80": (elf("80"),), "90a": (elf("90a"),), "100": (elf("100"),), "100f": (elf("100f"),),
        "86_89": (elf("86"), elf("89")),
        "80_90": (elf("80"), elf("90")), "90_ptx_90": (elf("90"), text("9.0", "90")), "80_ptx_80": (elf("80"), text("8.0", "80")),
        "ptx_80": (text("8.0", "80"),), "ptx_90": (text("9.0", "90"),), "ptx_90a": (text("9.0", "90a"),), "ptx_100": (text("9.0", "100"),),
        "ptx_100f": (text("9.0", "100f"),), "ptx_50": (text("8.0", "50"),), "80_ptx_100": (elf("80"), text("9.0", "100")),
        "ptx_70_80_90": (text("8.0", "70"), text("8.0", "80"), text("8.0", "90")), "90_90a": (elf("90"), elf("90a")),
        "100_ptx_90a": (elf("100"), text("9.0", "90a")), "75_to_121": tuple(elf(each) for each in TARGETS if each.isdigit()),
    }  # fmt: skip
    for name, parts in combinations.items():
        yield Image(f"image_fatbin_{name}", f"fatbin of {name.replace('_', ' ')}", toolkit.fatbin(name, *parts))
    for mode in ("none", "speed", "size", "balance"):
        data = toolkit.fatbin(
            f"compressed_{mode}",
            elf("80"),
            elf("90"),
            text("9.0", "90"),
            options=("--compress-all", f"--compress-mode={mode}"),
        )
        yield Image(f"image_fatbin_compress_{mode}", f"fatbin of 80, 90 and PTX, -compress-mode {mode}", data)
    yield Image("image_fatbin_lto", "fatbin of LTO-IR for sm_90", toolkit.lto())
    yield from _patched_fatbins(toolkit, cubins)


def _patched_fatbins(toolkit: Toolkit, cubins: dict[str, bytes]) -> Iterator[Image]:
    """What fatbinary does not make: PTX of versions to come, put in place of another."""

    def newer(*parts: tuple[str, str, bytes]) -> bytes:
        data = bytearray(toolkit.fatbin(f"newer_{len(parts)}_{parts[0][1]}", *parts, options=("-compress=false",)))
        for entry in range(16, len(data), 8):
            if data[entry : entry + 4] == b"\1\0\1\1" and data[entry + 24 : entry + 28] == b"\7\0\7\0":
                data[entry + 24] = data[entry + 26] = 9  # minor and major version in the entry's header
        return bytes(data).replace(b".version 7.7", b".version 9.9")

    new = ("ptx", "90", ptx("7.7", "sm_90"))
    yield Image("image_fatbin_ptx_newer", "fatbin of PTX 9.9 for sm_90", newer(new))
    yield Image(
        "image_fatbin_80_ptx_newer", "fatbin of 80 and PTX 9.9 for sm_90", newer(("elf", "80", cubins["80"]), new)
    )
    yield Image(
        "image_fatbin_90_ptx_newer", "fatbin of 90 and PTX 9.9 for sm_90", newer(("elf", "90", cubins["90"]), new)
    )
    both = newer(("ptx", "80", ptx("8.0", "sm_80")), new)
    yield Image("image_fatbin_ptx_80_ptx_newer", "fatbin of PTX 8.0 for sm_80 and PTX 9.9 for sm_90", both)
    broken = toolkit.fatbin("broken_text", ("ptx", "90", ptx("8.0", "sm_90")), options=("-compress=false",))
    yield Image(
        "image_fatbin_ptx_broken", "fatbin of PTX with an unknown instruction", broken.replace(b"ret;", b"rat;")
    )
    yield Image("image_fatbin_empty", "fatbin without entries", struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0))
    whole = toolkit.fatbin("kind", ("elf", "90", cubins["90"]), options=("-compress=false",))
    yield Image("image_fatbin_kind_unknown", "fatbin with an entry of kind 99", whole[:16] + b"\x63" + whole[17:])
    yield Image("image_fatbin_version_2", "fatbin of version 2", whole[:4] + b"\2\0" + whole[6:])
    wrong = whole.replace(cubins["90"][:64], cubins["80"][:64])
    yield Image("image_fatbin_90_with_cubin_80", "fatbin that calls a cubin with sm_80's header sm_90", wrong)


def _truncated(toolkit: Toolkit, cubin: bytes) -> Iterator[Image]:
    text = ptx("8.0", "sm_90")
    plain = toolkit.fatbin(
        "cut", ("elf", "80", toolkit.cubin("80")), ("elf", "90", cubin), options=("-compress=false",)
    )
    packed = toolkit.fatbin("cut_packed", ("elf", "90", cubin), ("ptx", "90", text), options=("--compress-all",))
    wholes = {
        "cubin": (cubin, (1, 4, 16, 32, 63, 64, 100, 860, 1720, 2580, len(cubin) - 200, len(cubin) - 1)),
        "ptx": (text, (1, 4, 8, 12, 14, 22, 27, 35, 50, 80, len(text) - 12, len(text) - 2, len(text) - 1)),
        "fatbin": (plain, (1, 4, 8, 16, 40, 80, 200, len(plain) // 2, len(plain) * 3 // 4, len(plain) - 200, len(plain) - 1)),
        "packed": (packed, (40, 80, 100, len(packed) // 2, len(packed) - 300, len(packed) - 8, len(packed) - 1)),
    }  # fmt: skip
    for name, (data, ends) in wholes.items():
        for end in ends:
            yield Image(f"image_{name}_cut_{end}", f"the first {end} of {len(data)} bytes: {name}", data[:end])


def _foreign(cubin: bytes) -> Iterator[Image]:
    swapped = cubin[:16] + b"".join(bytes(reversed(part)) for part in _fields(cubin))
    things = {
        "empty": (b"", "no bytes"), "zeros": (bytes(64), "64 zeros"), "text": (b"hello", "text"), "letters": (b"A" * 4095, "4095 letters"),
        "json": (b'{"version": "8.0"}\n', "JSON"), "elf_header": (b"\x7fELF\2\1\1" + bytes(57), "an ELF header of zeros"),
        "host_elf": (Path("/proc/self/exe").read_bytes()[:20000], "an ELF file for the CPU"), "gzip": (b"\x1f\x8b\x08" + bytes(64), "gzip"),
        "bitcode": (b"BC\xc0\xde" + bytes(64), "LLVM bitcode"), "source": (b'extern "C" __global__ void k() {}\n', "CUDA C++ source"),
        "cubin_big_endian_mark": (cubin[:5] + b"\2" + cubin[6:], "a cubin that says big-endian"),
        "cubin_big_endian": (cubin[:5] + b"\2" + swapped[6:64] + cubin[64:], "a cubin with a big-endian header"),
        "cubin_32_bit_mark": (cubin[:4] + b"\1" + cubin[5:], "a cubin that says 32-bit"),
        "cubin_other_machine": (cubin[:18] + b"\x3e\0" + cubin[20:], "a cubin that says x86-64"),
        "cubin_no_sections": (cubin[:60] + bytes(2) + cubin[62:], "a cubin with a section count of 0"),
        "cubin_abi_99": (cubin[:8] + b"\x63" + cubin[9:], "a cubin of ABI version 99"),
        "cubin_abi_7": (cubin[:8] + b"\7" + cubin[9:], "a cubin of ABI 8 that says 7"),
        "fatbin_big_endian": (struct.pack(">IHHQ", 0xBA55ED50, 1, 16, 0) + bytes(64), "a big-endian fatbin header"),
        "cubin_shifted": (b"\0" + cubin, "a cubin from its second byte on"), "hex": (cubin.hex().encode(), "a cubin as hexadecimal text"),
    }  # fmt: skip
    for name, (data, what) in things.items():
        yield Image(f"image_{name}", what, data)


def _fields(header: bytes) -> Iterator[bytes]:
    position = 16
    for size in (2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2):
        yield header[position : position + size]
        position += size


# Loading, in a child.


def load(how: str, file: Path, guard: bool) -> None:
    """Print the status of each call, as they come."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    for status in (
        driver.cuInit(0),
        driver.cuDeviceGet(ctypes.byref(device), 0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
        driver.cuCtxSetCurrent(context),
    ):
        if status:
            sys.exit(f"no context: {status}")
    if how == "cuModuleLoad":
        _say(how, driver.cuModuleLoad(ctypes.byref(module), str(file).encode()))
        return
    address = _in_memory(file.read_bytes(), guard)
    if how == "cuModuleLoadData":
        _say(how, driver.cuModuleLoadData(ctypes.byref(module), address))
    else:
        _load_library(driver, address)


def _load_library(driver: ctypes.CDLL, address: ctypes.c_void_p) -> None:
    library, kernel, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    calls: tuple[tuple[str, Callable[[], int]], ...] = (
        (
            "cuLibraryLoadData",
            lambda: driver.cuLibraryLoadData(ctypes.byref(library), address, None, None, 0, None, None, 0),
        ),
        ("cuLibraryGetKernel", lambda: driver.cuLibraryGetKernel(ctypes.byref(kernel), library, b"k")),
        ("cuKernelGetFunction", lambda: driver.cuKernelGetFunction(ctypes.byref(function), kernel)),
    )
    for name, call in calls:
        status = call()
        _say(name, status)
        if status:
            return


def _say(call: str, status: int) -> None:
    print(call, status, flush=True)


def _in_memory(data: bytes, guard: bool) -> ctypes.c_void_p:
    """The address of ``data``. Zeros follow; with ``guard`` it ends with its page, and the next cannot be read."""
    page = mmap.PAGESIZE
    room = -(-max(len(data), 1) // page) * page
    area = mmap.mmap(-1, room + (page if guard else _TAIL_BYTES))
    start = room - len(data) if guard else 0
    area[start : start + len(data)] = data
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    if guard and ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + room), page, 0):
        sys.exit("mprotect failed")
    _KEPT.append(area)
    return ctypes.c_void_p(address + start)


_KEPT: list[mmap.mmap] = []


def loaded(image: Image, how: str, folder: Path) -> list[Row]:
    """The calls of one load, in a process of its own; the last has ``signal`` if the process died in it."""
    file = folder / f"{image.id}.image"
    file.write_bytes(image.data)
    command = [sys.executable, __file__, "--load", how, "--file", str(file), *(["--guard"] if image.guard else [])]
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        output, errors = child.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        output, errors = child.communicate()
        return [*_calls(output), {"call": how, "hangs_s": _TIMEOUT_S}]
    if child.returncode > 0:
        return [*_calls(output), {"call": how, "failed": errors.strip()[-200:]}]
    return [*_calls(output), *([{"call": how, "signal": -child.returncode}] if child.returncode else [])]


def _calls(output: str) -> list[Row]:
    return [{"call": line.split()[0], "status": int(line.split()[1])} for line in output.splitlines()]


# Comparing.


def result(calls: list[Row]) -> object:
    """The first status that is not 0, or how the call ended otherwise, as a text; 0 if all went well."""
    for call in calls:
        for end in ("signal", "hangs_s", "failed"):
            if end in call:
                return f"{end} {call[end]}"
        if call["status"]:
            return call["status"]
    return 0


def differences(image: Image, by_load: Mapping[str, list[Row]], gpu: str, driver: str) -> Iterator[str]:
    """A line for each load that did not come to what the verdict says."""
    from cuvet.image.compatibility import driver_of
    from cuvet.image.raw import image_verdict

    found = image_verdict(image.data, gpu, driver_of(driver), terminated=not image.guard)
    if found.outcome == "unknown" or image.id in NOT_SEEN:
        return
    expected = found.status if found.outcome == "fails" else 0
    for how, calls in by_load.items():
        said = result(calls)
        without_kernel = (
            said == NOT_FOUND and b".entry k" not in image.data and calls[-1]["call"] == "cuLibraryGetKernel"
        )
        if said != expected and not found.undefined and not (without_kernel and expected == 0):
            yield f"{image.id} ({image.what}): {how} gives {said}, the verdict {expected}: {found.text}"


def machine() -> tuple[str, str, str]:
    """(GPU, sm_90, driver) of device 0."""
    query = ["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader", "-i", "0"]
    name, capability, driver = subprocess.check_output(query, text=True).strip().split(", ")
    return name, f"sm_{capability.replace('.', '')}", driver


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, help="write what the driver did to this file, one image a line")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--list", action="store_true", help="print what is expected, and load nothing")
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--driver", default="580.159.04")
    parser.add_argument("--load", choices=LOADS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--guard", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        load(options.load, options.file, options.guard)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _expected(options, Path(folder)) if options.list else _measured(options, Path(folder))


def _expected(options: argparse.Namespace, folder: Path) -> int:
    from cuvet.image.compatibility import driver_of
    from cuvet.image.raw import image_verdict

    for image in images(folder):
        found = image_verdict(image.data, options.gpu, driver_of(options.driver), terminated=not image.guard)
        print(f"{image.id:42} {found.status or found.outcome!s:10} {found.text} {'; '.join(found.because)}")
    return 0


def _measured(options: argparse.Namespace, folder: Path) -> int:
    gpu, architecture, version = machine()
    chosen, differ = images(folder), 0
    with ThreadPoolExecutor(options.jobs) as pool, open(options.facts or os.devnull, "w", encoding="utf-8") as facts:
        everything = pool.map(lambda image: [loaded(image, how, folder) for how in LOADS], chosen)
        for image, by_load in zip(chosen, everything, strict=True):
            print(json.dumps(fact(image, by_load, gpu, version)), file=facts, flush=True)
            for line in differences(image, dict(zip(LOADS, by_load, strict=True)), architecture, version):
                differ += 1
                print(line, flush=True)
    print(f"{len(chosen)} images on {gpu} ({architecture}), driver {version}: {differ} loads differ from the verdict")
    return bool(differ)


def fact(image: Image, by_load: list[list[Row]], gpu: str, driver: str) -> Row:
    row: Row = {
        "id": image.id,
        "family": "invalid-image",
        "gpu": gpu,
        "devices": 1,
        "driver": driver,
        "toolkit": "13.0",
    }
    made = [call for calls in by_load for call in calls]
    return {**row, "date": str(datetime.date.today()), "image": image.what, "program": None, "calls": made}


if __name__ == "__main__":
    sys.exit(main())
