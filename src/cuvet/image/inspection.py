"""What ``cuvet inspect`` found: the files, their device code, and what becomes of it on a GPU.

The JSON form of an ``Inspection`` is the contract ``cuvet-inspect/1``; its schema is generated from these types (``make generate``)
into ``reports/inspect.schema.json``.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from cuvet import CuvetError, __version__
from cuvet.findings import Tool
from cuvet.image import files
from cuvet.image.compatibility import Driver
from cuvet.image.cubin import KernelInfo
from cuvet.image.entries import Compression, Entry, Kind
from cuvet.image.errors import ImageError
from cuvet.image.verdicts import Outcome, Verdict, of_newer_toolkit, verdict
from cuvet.printable import readable

SCHEMA = "cuvet-inspect/1"


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel takes, as ``cuobjdump --dump-resource-usage`` counts it."""

    registers: int
    """Of each thread."""
    shared_bytes: int
    """Of each block: static shared memory, with what the system takes of it."""
    stack_bytes: int
    """Of each thread, with the functions that the kernel calls; 0 in object files, which are not linked yet."""
    local_bytes: int
    """Of each thread, beside the stack."""
    constant_bytes: int
    """Parameters and constants (bank 0)."""


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """A cubin, a PTX text or LTO-IR."""

    kind: Kind
    arch: str
    """``sm_90``, ``sm_90a`` (for this architecture only), ``sm_100f`` (for its family only)."""
    size_bytes: int
    """As it stands in the file."""
    decompressed_bytes: int
    compression: Compression | None = None
    ptx_version: str | None = None
    address_bits: int = 64
    where: str
    """The file, then the member and the section, joined by ``:``."""
    offset: int
    """In the file or the member."""
    fatbin: int | None = None
    """Offset of the fatbin that it belongs to."""
    kernels: tuple[str, ...] | None = None
    """Mangled names; null if they were not asked for, or cannot be told."""
    resources: tuple[Resources, ...] | None = None
    """Of these kernels, in their order; of cubins only."""
    toolkit: str | None = None
    """``13.0``, of a cubin: the release that made it. Null if kernels were not asked for, or it does not say."""


class GpuVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What happens when a program with this file needs its kernels on a GPU."""

    gpu: str
    outcome: Outcome
    text: str
    status: int | None = None
    error: str | None = None
    """``CUDA_ERROR_NO_BINARY_FOR_GPU``"""
    cause: str | None = None
    because: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    note: str = ""
    """What fails although the outcome is better."""
    fatbins: dict[str, int] = {}
    """How many of the file's fatbins, or images outside fatbins, come to which outcome."""


class File(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    form: str
    """``shared object``, ``archive``, ``fatbin``, …"""
    size_bytes: int
    code: tuple[Code, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, and why."""
    verdicts: tuple[GpuVerdict, ...] = ()


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    tool: Tool
    driver: str | None = None
    """That the verdicts are for; null: one that is new enough."""
    files: tuple[File, ...] = ()
    """Those with device code or with problems, and those that were named."""
    without_code: int = 0
    """Files that hold no device code and were not named."""
    windows_binaries: int = 0
    """Not looked into."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about the files: verdicts for these GPUs and this driver, the kernels' names."""

    gpus: tuple[str, ...] = ()
    driver: Driver | None = None
    kernels: bool = False


def inspect(paths: Sequence[Path], question: Question, tell: Callable[[str], None] = lambda path: None) -> Inspection:
    """CuvetError if a path does not exist, or is a Windows binary. ``tell`` is told what is being read."""
    found: list[File] = []
    forms: Counter[str] = Counter()
    for path in paths:
        if not os.path.exists(path):
            raise CuvetError(f"{path} does not exist, or cannot be reached")
        for contents in files.read(path, tell):
            if contents.path == str(path) and contents.form == files.WINDOWS:
                raise CuvetError(f"{path} is a Windows binary: cuvet reads those of Linux")
            if contents.entries or contents.problems or contents.path == str(path):
                found.append(_file(contents, question))
            else:
                forms[contents.form] += 1
    windows = forms.pop(files.WINDOWS, 0)
    return Inspection(
        tool=Tool(version=__version__),
        driver=question.driver.text if question.driver else None,
        files=tuple(found),
        without_code=forms.total(),
        windows_binaries=windows,
    )


def _file(contents: files.Contents, question: Question) -> File:
    problems = list(contents.problems)
    return File(
        path=readable(contents.path),
        form=contents.form,
        size_bytes=contents.size_bytes,
        code=tuple(_code(entry, question, problems) for entry in contents.entries),
        problems=tuple(map(readable, problems)),
        verdicts=tuple(judge(contents.entries, gpu, question.driver) for gpu in question.gpus if contents.entries),
    )


def _code(entry: Entry, question: Question, problems: list[str]) -> Code:
    kernels: tuple[str, ...] | None = None
    resources: tuple[Resources, ...] | None = None
    toolkit: tuple[int, int] | None = None
    if question.kernels and entry.kind != "ltoir":
        try:
            if entry.kind == "cubin":
                code = entry.code()
                kernels, toolkit = tuple(code.kernels), code.toolkit
                resources = tuple(map(_resources, code.kernels.values()))
            else:
                kernels = entry.kernels()
        except ImageError as error:
            problems.append(f"the {entry.kind} for {entry.arch} at {entry.offset:#x}: {error}")
    return Code(
        kind=entry.kind,
        arch=entry.arch,
        size_bytes=entry.size_bytes,
        decompressed_bytes=entry.decompressed_bytes,
        compression=entry.compression,
        ptx_version=entry.ptx_version,
        address_bits=entry.address_bits,
        where=readable(entry.container),
        offset=entry.offset,
        fatbin=entry.fatbin,
        kernels=kernels,
        resources=resources,
        toolkit=f"{toolkit[0]}.{toolkit[1]}" if toolkit else None,
    )


def _resources(kernel: KernelInfo) -> Resources:
    return Resources(
        registers=kernel.registers,
        shared_bytes=kernel.shared,
        stack_bytes=kernel.stack,
        local_bytes=kernel.old_local,
        constant_bytes=kernel.constant,
    )


def judge(entries: Sequence[Entry], gpu: str, driver: Driver | None) -> GpuVerdict:
    """The verdict on all the code together, and on each fatbin: a library may choose among its own for the GPU that it finds."""
    whole = of_newer_toolkit(*_with_toolkit(verdict(entries, gpu, driver), driver), driver)
    parts = [verdict(part, gpu, driver) for part in _fatbins(entries)]
    failing = [each for each in parts if each.outcome == "fails"]
    partly = failing and whole.outcome != "fails"
    return GpuVerdict(
        gpu=gpu,
        outcome=whole.outcome,
        text=whole.text,
        status=whole.status,
        error=whole.error,
        cause=whole.cause,
        because=whole.because,
        help=whole.help,
        note=f"{len(failing):,} of the {len(parts):,} fatbins fail: {failing[0].text}" if partly else "",
        fatbins=dict(Counter(each.outcome for each in parts)),
    )


def _with_toolkit(judged: Verdict, driver: Driver | None) -> tuple[Verdict, tuple[int, int] | None]:
    """The verdict, and which toolkit made the machine code that it is about, where that matters."""
    if judged.outcome != "runs" or judged.entry is None or driver is None:
        return judged, None
    try:
        return judged, judged.entry.toolkit()
    except ImageError:
        return judged, None


def _fatbins(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    groups: dict[tuple[str, int | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.container, entry.fatbin), []).append(entry)
    yield from groups.values()
