"""PTX texts: version, target, kernels and their parameters. Checked as far as a kernel's launch needs it, not compiled."""

import re
from dataclasses import dataclass
from math import prod

from cuvet.image.cubin import DeviceCode, KernelInfo, KernelParameter
from cuvet.image.errors import ImageError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_VERSION = re.compile(r"^[ \t]*\.version\s+(\d{1,3})\.(\d{1,3})", re.MULTILINE)
_TARGET = re.compile(r"(?:^|(?<=\s))\.target\s+(sm_(\d{1,4})[af]?)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>[a-z]\w*)(?:\s+\.ptr(?:\s+\.\w+)*(?:\s+\d+)?)?\s+[\w$%]+\s*(?:\[(?P<count>\d+)\])?"
)
_VARIABLE = re.compile(
    r"^[ \t]*(?:\.visible\s+)?\.(global|const|shared)\s+(?:\.align\s+(\d{1,9})\s+)?\.([a-z]\d{1,4})\s+([\w$%]+)((?:\s*\[\d{0,12}\])*)",
    re.MULTILINE,
)
_IN_BODY = re.compile(
    r"\.(shared|local)\s+(?:\.align\s+(\d{1,9})\s+)?\.([a-z]\d{1,4})\s+[\w$%]+((?:\s*\[\d{1,12}\])*)\s*;"
)
_NAME = re.compile(r"[\w$%]+")
_BRACE = re.compile(r"[{}]")
_MAX_THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_KERNEL = re.compile(r"\.entry\s+([\w$%]+)")
_ADDRESS_SIZE = re.compile(r"(?:^|(?<=\s))\.address_size\s+(\d{1,3})", re.MULTILINE)
_HEADER_CHARACTERS = 1 << 16
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f]")
_LABEL = re.compile(r"^[\w$%]+\s*:")
_STRING = re.compile(r'"[^"]*"')
_PREDICATE = re.compile(r"^@!?[\w$%]+\s*")
KNOWN_TARGETS = frozenset(
    map(int, "20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 110 120 121".split())
)

_INSTRUCTIONS = set(
    """abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clusterlaunchcontrol
    clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep
    istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg
    not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt
    st stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff
    vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub
    vsub2 vsub4 wgmma wmma xor""".split()
)
"""Instructions of PTX ISA 9.0, without their qualifiers."""


@dataclass(frozen=True, slots=True)
class PtxHeader:
    """``address_bits`` is 32 if the text does not say."""

    version: tuple[int, int]
    target: str
    arch: int
    address_bits: int = 32


def header(text: str) -> PtxHeader:
    """ImageError if it has no .version or no .target, and so is no PTX."""
    plain = _COMMENT.sub(" ", text[:_HEADER_CHARACTERS])
    version, target, address = _VERSION.search(plain), _TARGET.search(plain), _ADDRESS_SIZE.search(plain)
    if version is None:
        raise ImageError("no .version directive: this is no PTX")
    if target is None:
        raise ImageError("the PTX has no .target directive")
    bits = int(address[1]) if address else 32
    return PtxHeader((int(version[1]), int(version[2])), target[1], int(target[2]), bits)


def begins(text: str) -> bool:
    """Whether the first directive is .version, as PTX has it: other texts may contain PTX further on."""
    plain = _COMMENT.sub(" ", text[:_HEADER_CHARACTERS]).lstrip()
    return plain.startswith(".version") and plain[8:9].isspace()


def kernel_names(data: bytes) -> tuple[str, ...]:
    """In the order of the text, up to the NUL that ends it."""
    plain = _COMMENT.sub(" ", data.split(b"\0", 1)[0].decode("utf-8", "replace"))
    return tuple(_KERNEL.findall(plain))


def parse(text: str) -> DeviceCode:
    """ImageError if it is no PTX, or has an instruction that PTX lacks."""
    plain = _STRING.sub('""', _COMMENT.sub(" ", text))
    if _CONTROL.search(plain):
        raise ImageError("the PTX has characters that are not text")
    code = DeviceCode(header(text).arch)
    outside, bodies, unclosed = _split(plain)
    for body in bodies.values():
        for statement in re.split(r"[{};]", body):
            _check_instruction(statement.strip())
    if unclosed:
        raise ImageError("the PTX ends within a function")
    shared = _read_variables(outside, code)
    for entry in _ENTRY.finditer(plain):
        kernel = KernelInfo(entry[1], _parameters(entry[2] or ""))
        limit = _MAX_THREADS.search(entry[3])
        if limit:
            kernel.max_threads = int(limit[1]) * int(limit[2] or 1) * int(limit[3] or 1)
        code.kernels[kernel.name] = kernel
        _count_memory(kernel, bodies.get(entry.end(), ""), shared)
    return code


def _read_variables(outside: str, code: DeviceCode) -> list[tuple[str, int, int]]:
    """Note the module's variables; those in shared memory are returned (name, bytes, alignment)."""
    shared: list[tuple[str, int, int]] = []
    for space, align, kind, name, extents in _VARIABLE.findall(outside):
        size = _array_bytes(kind, extents)
        if space == "shared":
            shared.append((name, size, int(align or _type_bytes(kind))))
            continue
        code.variables[name] = size
        if space == "const":
            code.constant = _behind(code.constant, size, int(align or _type_bytes(kind)))
    return shared


def _split(plain: str) -> tuple[str, dict[int, str], int]:
    """What stands outside all braces, what in braces that are in no others by where it begins, and how many are not closed."""
    outside, bodies, depth, start, end = "", dict[int, str](), 0, 0, 0
    for brace in _BRACE.finditer(plain):
        outside += plain[end : brace.start()] if depth <= 0 else ""
        end = brace.end()
        depth += 1 if brace[0] == "{" else -1
        if depth == 1 and brace[0] == "{":
            start = brace.start()
        elif depth == 0 and brace[0] == "}":
            bodies[start] = plain[start:end]
    if depth > 0:
        bodies[start] = plain[start:]
    return outside + (plain[end:] if depth <= 0 else ""), bodies, depth


def _count_memory(kernel: KernelInfo, body: str, shared: list[tuple[str, int, int]]) -> None:
    """What the kernel declares, and the module's ``shared`` variables (name, bytes, alignment) that it names. What functions declare
    that it calls is not counted."""
    for space, align, kind, extents in _IN_BODY.findall(body):
        size, alignment = _array_bytes(kind, extents), int(align or _type_bytes(kind))
        if space == "shared":
            kernel.static_shared = _behind(kernel.static_shared, size, alignment)
        else:
            kernel.local = _behind(kernel.local, size, alignment)
    named = set(_NAME.findall(body)) if shared else set()
    for name, size, alignment in shared:
        if name in named:
            kernel.static_shared = _behind(kernel.static_shared, size, alignment)


def _behind(end: int, size: int, alignment: int) -> int:
    """Where something ends that is laid behind ``end``."""
    return -(-end // max(alignment, 1)) * max(alignment, 1) + size


def _array_bytes(kind: str, extents: str) -> int:
    """Of an array's type and its ``[4][8]``; an extent that is missing counts once."""
    return _type_bytes(kind) * prod(int(extent) for extent in re.findall(r"\d+", extents))


def _type_bytes(name: str) -> int:
    digits = re.sub(r"\D", "", name)
    return max(int(digits) // 8, 1) if digits else 1


def _parameters(text: str) -> tuple[KernelParameter, ...]:
    found, offset = [], 0
    for parameter in _PARAMETER.finditer(text):
        element = _type_bytes(parameter["type"])
        size = element * int(parameter["count"] or 1)
        align = int(parameter["align"] or element)
        offset = -(-offset // align) * align
        found.append(KernelParameter(offset, size))
        offset += size
    return tuple(found)


def _check_instruction(statement: str) -> None:
    while label := _LABEL.match(statement):
        statement = statement[label.end() :].lstrip()
    statement = _PREDICATE.sub("", statement)
    if not statement or statement[0] in '.,-0123456789"' or "=" in statement:
        return
    name = re.split(r"[.\s]", statement, maxsplit=1)[0]
    if re.fullmatch(r"[a-z]\w*", name) and name not in _INSTRUCTIONS:
        raise ImageError(f"PTX has no instruction {name}")
