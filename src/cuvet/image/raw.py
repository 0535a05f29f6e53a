"""The verdict on the bytes of one image, as cuModuleLoadData, cuLibraryLoadData and their like are given it: whole or broken."""

import re
from dataclasses import replace

from cuvet.image import compatibility, cubin, elf, fatbin, ptx
from cuvet.image.compatibility import Driver
from cuvet.image.entries import Entry
from cuvet.image.errors import ImageError
from cuvet.image.source import of_bytes
from cuvet.image.verdicts import INVALID_IMAGE, INVALID_PTX, Verdict, ptx_name, ptx_too_new, verdict

_BIG_ENDIAN, _64_BIT = 2, 2
_FATBIN_VERSION = 1
_OLDEST_SM = 10
_WITHOUT_32_BIT = (13, 0)
"""The driver of this CUDA release compiles no PTX with 32-bit addresses: image_ptx_address_size_32."""
_ADDRESS_SIZE_32 = re.compile(r"^[ \t]*\.address_size\s+32\b", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WHOLE_LINE = re.compile(r"\.version\s+\d+\.\d+|\.target\s+\w.*|\.address_size\s+(32|64)|\.file\s.*|@@.*")
"""Lines at file scope that no semicolon or brace ends."""
_CUT = (
    "what the driver does with it depends on where it ends and on what follows: it was seen to return "
    "CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_UNKNOWN or CUDA_ERROR_NO_BINARY_FOR_GPU, to load it, to crash, and not to return",
)
"""NVIDIA H200, driver 580.159: image_cubin_cut_*, image_fatbin_cut_*, image_packed_cut_*."""


def image_verdict(
    data: bytes,
    gpu: str | None = None,
    driver: Driver | None = None,
    *,
    size: int | None = None,
    terminated: bool = True,
) -> Verdict:
    """What loading ``data`` does on ``gpu``. Never raises on any bytes.

    ``size``: how many bytes there are, if ``data`` is only their beginning. ``terminated``: a NUL follows the last byte; loads from
    files and NVRTC's output have one. Without ``gpu`` only what fails on every GPU is told, and else ``unknown``.
    """
    size = len(data) if size is None else size
    if not data.strip(b"\0"):
        return _not_recognised("all bytes are zero" if data else "there are no bytes")
    if data.startswith(elf.MAGIC):
        return _elf_verdict(data, size, gpu, driver)
    if data[:4] == fatbin.MAGIC.to_bytes(4, "little"):
        return _fatbin_verdict(data, size, gpu, driver)
    if data[:4] == fatbin.WRAPPER_MAGIC.to_bytes(4, "little"):
        return _unknown("a fatbin's wrapper: its code is elsewhere in memory")
    return _text_verdict(data, size, gpu, driver, terminated)


def _elf_verdict(data: bytes, size: int, gpu: str | None, driver: Driver | None) -> Verdict:
    if len(data) < 64:
        return _truncated(f"an ELF file that ends within its header, after {size} bytes")
    if data[5] == _BIG_ENDIAN:
        return _not_recognised("a big-endian ELF file: cubins are little-endian")
    machine = int.from_bytes(data[18:20], "little")
    if not machine:
        return _truncated("an ELF header without contents")
    if machine != cubin.EM_CUDA:
        return _not_recognised("an ELF file for a CPU, not for a GPU")
    if data[4] != _64_BIT:
        return _unknown("a 32-bit cubin")
    whole = elf.size_of(data)
    if whole > size:
        return _truncated(f"a cubin of {whole} bytes that ends after {size}")
    try:
        arch = cubin.arch_name(elf.parse(data)) if len(data) == size else _arch_of_header(data)
        if len(data) == size:
            cubin.parse(data)
    except ImageError as error:
        return _truncated(f"a broken cubin: {error}")
    if compatibility.target(arch).sm < _OLDEST_SM:
        return _unknown(f"a cubin for {arch}, which is no architecture")
    entry = Entry("cubin", arch, len(data), len(data), source=of_bytes(data))
    return verdict([entry], gpu, driver) if gpu else _unknown(f"a cubin for {arch}")


def _arch_of_header(data: bytes) -> str:
    """``sm_90``; whether the code is specific to it stands further on."""
    return f"sm_{cubin.architecture(int.from_bytes(data[48:52], 'little'), data[8])}"


def _fatbin_verdict(data: bytes, size: int, gpu: str | None, driver: Driver | None) -> Verdict:
    entries: list[Entry] = []
    broken = ""
    version = int.from_bytes(data[4:6], "little")
    if size >= 16 and version != _FATBIN_VERSION:
        return _not_recognised(f"a fatbin of version {version}")
    try:
        entries.extend(fatbin.entries(data))
        whole = fatbin.container_bytes(data)
        broken = f"a fatbin of {whole} bytes that ends after {size}" if whole > size else ""
    except ImageError as error:
        broken = f"a fatbin: {error}"
    if len(data) < size:
        return _unknown("a fatbin of which only the beginning is known")
    if broken:
        return _truncated(broken)
    return _checked(verdict(entries, gpu, driver), driver) if gpu else _unknown("a fatbin")


def _checked(found: Verdict, driver: Driver | None) -> Verdict:
    """The verdict, unless the code that would be run or compiled is not what the fatbin says."""
    if found.entry is None or found.outcome not in ("runs", "compiles"):
        return found
    try:
        data = found.entry.data()
        if found.outcome == "runs":
            return _checked_cubin(found, found.entry, data)
        text = data.split(b"\0", 1)[0].decode("utf-8", "replace")
        wrong = _wrong_with(text, ptx.header(text), driver)
    except ImageError as error:
        wrong = str(error)
    return _not_compiled(ptx_name(found.entry.ptx_version, found.entry.arch), wrong) if wrong else found


def _checked_cubin(found: Verdict, entry: Entry, data: bytes) -> Verdict:
    try:
        sm = cubin.parse(data).arch
    except ImageError as error:
        return _truncated(f"the cubin for {entry.arch} is broken: {error}")
    return found if sm == entry.sm else _not_recognised(f"what the fatbin has for {entry.arch} is a cubin for sm_{sm}")


def _text_verdict(data: bytes, size: int, gpu: str | None, driver: Driver | None, terminated: bool) -> Verdict:
    text = data.split(b"\0", 1)[0].decode("utf-8", "replace")
    if not ptx.begins(f"{text} "):
        return _not_recognised("neither ELF, fatbin nor PTX")
    try:
        head = ptx.header(text)
    except ImageError as error:
        return _not_compiled("PTX", str(error))
    what = ptx_name(".".join(map(str, head.version)), head.target)
    if _runs_on(data, terminated):
        return _not_terminated(what)
    newest = compatibility.newest_ptx(driver) if driver else None
    if newest is not None and head.version > newest:
        return ptx_too_new(head.version, head.target, driver)
    wrong = _wrong_with(text, head, driver) if len(data) == size else ""
    if wrong:
        return _not_compiled(what, wrong)
    entry = Entry(
        "ptx", head.target, len(data), len(data), ptx_version=".".join(map(str, head.version)), source=of_bytes(data)
    )
    return _for_gpu(entry, what, gpu, driver) if gpu else _unknown(what)


def _runs_on(data: bytes, terminated: bool) -> bool:
    """Whether no NUL ends the text: none follows, or other bytes than text stand before it."""
    text, nul, _ = data.partition(b"\0")
    return not (nul or terminated) or any(byte < 9 or 13 < byte < 32 for byte in text)


def _wrong_with(text: str, head: ptx.PtxHeader, driver: Driver | None) -> str:
    """Why the driver's compiler refuses the text on every GPU, as far as it is known."""
    release = compatibility.release_of_target(compatibility.target(head.target))
    if release is None:
        return f"there is no target {head.target}"
    if head.version < release.ptx:
        return f"the target {head.target} needs PTX {'.'.join(map(str, release.ptx))} or newer"
    if _ADDRESS_SIZE_32.search(text) and driver and (driver.cuda or _WITHOUT_32_BIT) >= _WITHOUT_32_BIT:
        return "its addresses are 32-bit ones"
    if not text.isascii():
        return f"it has a character that is not ASCII: {next(letter for letter in text if not letter.isascii())!r}"
    try:
        ptx.parse(text)
    except ImageError as error:
        return str(error)
    return _unfinished(text)


def _unfinished(text: str) -> str:
    """That the text ends with what is no function and no directive, if so."""
    last = _COMMENT.sub(" ", text).rstrip().rpartition("\n")[2].strip()
    if last.endswith(("}", ";")) or _WHOLE_LINE.fullmatch(last):
        return ""
    return f"it ends with {last[-40:]!r}, which is no function and no directive"


def _for_gpu(entry: Entry, what: str, gpu: str, driver: Driver | None) -> Verdict:
    """PTX that is loaded by itself is given to the compiler, whatever its target: 218 where a fatbin gives 209."""
    found = verdict([entry], gpu, driver)
    if found.cause != "image-wrong-gpu":
        return found
    return replace(
        found,
        text=f"{what} cannot be compiled for {gpu}",
        status=INVALID_PTX,
        cause="image-ptx-not-compiled",
        entry=entry,
    )


def _not_recognised(reason: str) -> Verdict:
    text = f"what is loaded is no device code: {reason}"
    return Verdict("fails", text, status=INVALID_IMAGE, cause="image-not-recognised")


def _truncated(reason: str) -> Verdict:
    text = f"what is loaded is not whole: {reason}"
    return Verdict("fails", text, status=INVALID_IMAGE, cause="image-truncated", because=_CUT, undefined=True)


def _not_compiled(what: str, reason: str) -> Verdict:
    text = f"{what} does not compile"
    return Verdict("fails", text, status=INVALID_PTX, cause="image-ptx-not-compiled", because=(reason,))


def _not_terminated(what: str) -> Verdict:
    text = f"{what} has no NUL at its end"
    return Verdict("fails", text, status=INVALID_PTX, cause="image-ptx-not-terminated", undefined=True)


def _unknown(what: str) -> Verdict:
    return Verdict("unknown", what)
