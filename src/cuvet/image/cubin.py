"""Cubins: ELF files of device code for one architecture."""

import re
import struct
from dataclasses import dataclass, field

from cuvet.image import elf
from cuvet.image.errors import ImageError

EM_CUDA = 190
_FUNCTION, _OBJECT = 2, 1
_ENTRY = 0x10
"""In a symbol's ``other`` byte: the function is a kernel (STO_CUDA_ENTRY)."""
_WORD, _SIZED = (1, 2, 3), 4
"""Formats of a .nv.info attribute: a value in the header, or bytes after it."""
_PARAMETER, _PARAMETER_V2, _PARAMETER_BYTES, _REGISTERS = 0x17, 0x45, 0x19, 0x2F
_MAX_THREADS, _REQUIRED_THREADS, _FRAME, _CLUSTER = 0x05, 0x10, 0x11, 0x3D
_STACK = 0x12
_LOCAL, _KERNEL_CONSTANT = ".nv.local.", ".nv.constant0."
_SHARED, _SHARED_RESERVED, _CONSTANT = ".nv.shared.", ".nv.shared.reserved.0", ".nv.constant3"
"""Sections: of each kernel with static shared memory, of what the system takes of every block's, and of a module's constants."""
_RESERVED_BYTES = 1024
"""Of each block's shared memory, from compute capability 8.0 on (CUDA C++ Programming Guide, "Compute Capabilities"). Kernels' sections
have them in front; as a kernel's own count only those behind."""
_ARCH_SPECIFIC = {7: 0x800, 8: 0x8}
"""In an ELF header's flags, per ABI version: the code is for sm_90a, not sm_90 (LLVM's ELF.h: EF_CUDA_ACCELERATORS)."""
_COMPATIBILITY_ARCH_SPECIFIC = 9
"""Attribute of .nv.compat that ptxas 13.0 writes in place of the flag: 1 for sm_90a, 0 for sm_90 and sm_100f."""
_RELEASE = re.compile(rb"Cuda compilation tools, release (\d+)\.(\d+)")
"""In the note that ptxas and nvlink write from ABI version 8 on; before, the ELF version is that of the toolkit: 118 for 11.8."""
_COMMAND_ARCH = re.compile(rb"-arch[ =]sm_\d+([af]?)\b")


@dataclass(frozen=True, slots=True)
class KernelParameter:
    offset: int
    size: int


@dataclass(slots=True)
class KernelInfo:
    """A kernel. ``parameters`` in order; ``static_shared`` bytes of shared memory that every block uses, ``local`` bytes of local memory
    that every thread uses. ``cluster``: blocks of a cluster along x, y and z, 0 if it does not say. ``registers`` are 0 if not known.

    As ``cuobjdump --dump-resource-usage`` counts, of a cubin only: ``shared`` bytes with those that the system takes, ``stack`` bytes
    of the kernel and the functions it calls (0 in object files), ``old_local`` bytes of a section of local memory, ``constant`` bytes of
    parameters and constants (bank 0)."""

    name: str
    parameters: tuple[KernelParameter, ...] = ()
    registers: int = 0
    static_shared: int = 0
    max_threads: int = 1024
    local: int = 0
    cluster: tuple[int, int, int] = (0, 0, 0)
    shared: int = 0
    stack: int = 0
    old_local: int = 0
    constant: int = 0


@dataclass(slots=True)
class DeviceCode:
    """What a cubin or a PTX text holds. ``arch`` is 90 for sm_90; ``variables`` maps global names to bytes; ``constant``: bytes of all that
    are in constant memory; ``toolkit``: (13, 0), of a cubin that says who made it."""

    arch: int
    kernels: dict[str, KernelInfo] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    constant: int = 0
    toolkit: tuple[int, int] | None = None


def architecture(machine_flags: int, abi_version: int) -> int:
    """SM number from an ELF header; it moved to the second byte with ABI version 8 (CUDA 12.8 and newer)."""
    return machine_flags >> 8 & 0xFF if abi_version >= 8 else machine_flags & 0xFF


def arch_name(file: elf.Elf) -> str:
    """``sm_90``, ``sm_90a``, ``sm_100f``. That code is family-specific says only the note of ptxas with its own command line."""
    name = f"sm_{architecture(file.flags, file.abi_version)}"
    if file.flags & _ARCH_SPECIFIC.get(file.abi_version, 0):
        return f"{name}a"
    compatibility, note = file.section(".nv.compat"), file.section(".note.nv.tkinfo")
    attributes = dict(_attributes(compatibility.data)) if compatibility else {}
    if attributes.get(_COMPATIBILITY_ARCH_SPECIFIC, b"")[:1] == b"\1":
        return f"{name}a"
    command = _COMMAND_ARCH.search(note.data) if note else None
    return f"{name}f" if command and command[1] == b"f" else name


def toolkit(data: bytes) -> tuple[int, int] | None:
    """(13, 0): the release of ptxas or nvlink that made the cubin; None if it does not say. ImageError if it is no whole cubin."""
    return _toolkit(_parse_elf(data))


def _toolkit(file: elf.Elf) -> tuple[int, int] | None:
    note = file.section(".note.nv.tkinfo")
    found = _RELEASE.search(note.data) if note else None
    if found:
        return int(found[1]), int(found[2])
    return divmod(file.version, 10) if file.abi_version < 8 and file.version >= 100 else None


def _parse_elf(data: bytes) -> elf.Elf:
    file = elf.parse(data)
    if file.machine != EM_CUDA:
        raise ImageError("an ELF file for a CPU, not for a GPU")
    return file


def _kernels(file: elf.Elf) -> list[str]:
    return [symbol.name for symbol in file.symbols() if symbol.type == _FUNCTION and symbol.other & _ENTRY]


def parse(data: bytes) -> DeviceCode:
    """ImageError if it is no whole cubin."""
    file = _parse_elf(data)
    code = DeviceCode(architecture(file.flags, file.abi_version), toolkit=_toolkit(file))
    code.kernels = {name: KernelInfo(name) for name in _kernels(file)}
    symbols = file.symbols()
    for symbol in symbols:
        if symbol.type == _OBJECT and symbol.section and symbol.name:
            code.variables[symbol.name] = symbol.size
    reserved = _RESERVED_BYTES if file.section(_SHARED_RESERVED) else 0
    for section in file.sections:
        _read_section(section, code, symbols, reserved)
    return code


def _read_section(section: elf.Section, code: DeviceCode, symbols: tuple[elf.Symbol, ...], reserved: int) -> None:
    """``reserved``: bytes of shared memory that no kernel's own are."""
    if section.name == _CONSTANT:
        code.constant = section.size
    elif section.name == ".nv.info":
        _read_all_kernels(section, code, symbols)
    elif kernel := code.kernels.get(section.name.removeprefix(".nv.info.")):
        _read_kernel(section, kernel)
    elif kernel := code.kernels.get(section.name.removeprefix(_SHARED)):
        kernel.static_shared = max(section.size - reserved, 0)
        kernel.shared = section.size
    elif kernel := code.kernels.get(section.name.removeprefix(_LOCAL)):
        kernel.old_local = section.size
    elif kernel := code.kernels.get(section.name.removeprefix(_KERNEL_CONSTANT)):
        kernel.constant = section.size


def _read_all_kernels(section: elf.Section, code: DeviceCode, symbols: tuple[elf.Symbol, ...]) -> None:
    for attribute, value in _attributes(section.data):
        if attribute in (_REGISTERS, _FRAME, _STACK) and len(value) == 8:
            index, number = struct.unpack("<II", value)
            kernel = code.kernels.get(symbols[index].name) if index < len(symbols) else None
            if kernel is not None and attribute == _REGISTERS:
                kernel.registers = number
            elif kernel is not None and attribute == _FRAME:
                kernel.local = number
            elif kernel is not None:
                kernel.stack = number


def _read_kernel(section: elf.Section, kernel: KernelInfo) -> None:
    kernel.parameters = _parameters(section.data)
    for attribute, value in _attributes(section.data):
        if attribute in (_MAX_THREADS, _REQUIRED_THREADS, _CLUSTER) and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            if attribute == _CLUSTER:
                kernel.cluster = x, y, z
            else:
                kernel.max_threads = x * y * z


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """(attribute, value) of each entry, up to the first that does not fit."""
    found, position = [], 0
    while position + 4 <= len(data):
        layout, attribute, size = struct.unpack_from("<BBH", data, position)
        if layout in _WORD:
            found.append((attribute, data[position + 2 : position + 4]))
            position += 4
        elif layout == _SIZED and position + 4 + size <= len(data):
            found.append((attribute, data[position + 4 : position + 4 + size]))
            position += 4 + size
        else:
            break
    return found


def _parameters(data: bytes) -> tuple[KernelParameter, ...]:
    found: dict[int, KernelParameter] = {}
    for attribute, value in _attributes(data):
        if attribute in (_PARAMETER, _PARAMETER_V2) and len(value) >= 12:
            _, ordinal, offset, described = struct.unpack_from("<IHHI", value)
            size = described >> 18 if attribute == _PARAMETER else described >> 16
            found[ordinal] = KernelParameter(offset, size)
    return tuple(found[ordinal] for ordinal in sorted(found))
