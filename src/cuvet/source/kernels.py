"""What the kernels that a file defines do with what they are given."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from cuvet.source.quiet import called_in
from cuvet.source.syntax.lexing import block_end

_KERNEL = re.compile(
    rb"__global__[\w\s]{1,100}?(?:__launch_bounds__\s{0,8}\([^(){};]{0,100}\)\s{0,80})?\b(\w+)\s{0,80}\(([^(){};]{0,4000})\)\s{0,80}\{"
)
_WORD = re.compile(rb"\w+")
_SIGNALS = re.compile(
    rb"\bvolatile\b|\bcuda::|__threadfence_system|\basm\b|nanosleep|\bmemory_order|_release\b|_acquire\b"
)
"""How kernels, and whoever else uses their memory, tell one another something."""
_REPEATS = re.compile(
    rb"\bwhile\b|\bdo\b|\bgoto\b|\bfor\s*\([^;]*;(?:[^;]*[\[(]|[^;]*->|[^;]*[!=<>]\s*\*|\s*[!*]|\s*;)"
)
"""What may go on until somebody changes something in memory."""
_USED_ATOMIC = re.compile(rb"(?:[=(,!<>&|+?]|\breturn)\s*atomic\w+\s*\(")
"""An atomic operation of which the result is used."""
_SIZE_OF = re.compile(rb"\bsizeof\s*\([^()]*\)")
_OF_DEVICE = re.compile(rb"__device__[^;{}()]{0,200}?\b(\w+)\s{0,80}\(")
_KNOWN = re.compile(
    r"if|for|switch|sizeof|return|\w+_cast|atomic\w+|__syncthreads|__ldg|printf|assert|int|float|double|__\w+_rn|"
    r"(?:f?min|f?max|f?abs|exp2?|log2?|sin|cos|tanh?|r?sqrt|pow|floor|ceil|round|fma|erf)f?"
)
"""What a kernel may call: nothing of it waits for another kernel."""
_STORED = re.compile(
    rb"(?:(?:->|\.)\s*\w+|\]|[;{}]\s*\*\s*\w+|^\s*\*\s*\w+)\s*(?<![=!<>])=\s*"
    rb"(?:\([\w\s*]{1,80}\)\s*|\w{1,40}_cast<[^<>;]{1,80}>\s*\(\s*|[^;=?]{1,80}\?\s*|\w{0,40}\s*\{[^;}]{0,80}?)?\Z"
)
"""What stands before a pointer that is written to memory."""
_MADE_OF = re.compile(rb"\bnew\b[^;]{1,120}\Z")
_NEXT_GIVEN = re.compile(rb"\s*[,)]")
"""What stands around a pointer that an object is made of."""
_PART = re.compile(rb"\s*(?:\[|->|\.|\()")
_FAR_BACK = 300
"""Bytes."""
_THREAD = frozenset(b"threadIdx blockIdx blockDim gridDim x y z int unsigned size_t const auto".split())


@dataclass(frozen=True, slots=True)
class Kernel:
    """``parameters`` are their names; empty where there is none."""

    parameters: tuple[bytes, ...]
    inside: bytes


def kernel(code: bytes, name: str, given: int) -> Kernel | None:
    """The one kernel of that name that the file defines, if it takes as many arguments."""
    found = _kernels(code).get(name.partition("<")[0].rpartition("::")[2].strip().encode(), [])
    return found[0] if len(found) == 1 and len(found[0].parameters) == given else None


@lru_cache(maxsize=1)
def _kernels(code: bytes) -> dict[bytes, list[Kernel]]:
    found: dict[bytes, list[Kernel]] = {}
    for match in _KERNEL.finditer(code):
        words = (_WORD.findall(each) for each in match[2].split(b","))
        parameters = tuple(each[-1] if each else b"" for each in words)
        found.setdefault(match[1], []).append(Kernel(parameters, code[match.end() : block_end(code, match.end())]))
    return found


def how(code: bytes, name: str, at: int, given: int) -> str:
    """Whether the kernel ``writes`` or ``reads`` elements of its argument ``at``, and the first of them among these; else nothing."""
    defined = kernel(code, name, given)
    parameter = defined.parameters[at] if defined is not None and at < given else b""
    if defined is None or not parameter or _is_redeclared(parameter, defined.inside):
        return ""
    element = re.compile(rb"(?<![\w.])" + parameter + rb"\s*\[([^\[\]]*)\]\s*((?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)?")
    used = [match for match in element.finditer(defined.inside) if _begins_with_first(match[1], defined)]
    set_itself = re.search(rb"(?:^|[;{})])\s*\*\s*" + parameter + rb"\s*[-+*/%|&^]?=(?!=)", defined.inside)
    if set_itself or any(match[2] for match in used):
        return "writes"
    return "reads" if used else ""


def keeps(code: bytes, name: str, at: int, given: int) -> bool:
    """Whether the kernel writes the pointer that its argument ``at`` is to memory: ``node->values = values;``."""
    defined = kernel(code, name, given)
    parameter = defined.parameters[at] if defined is not None and at < given else b""
    if defined is None or not parameter:
        return False
    inside = defined.inside
    return any(
        _STORED.search(inside, max(start - _FAR_BACK, 0), start)
        or (_MADE_OF.search(inside, max(start - _FAR_BACK, 0), start) and _NEXT_GIVEN.match(inside, end))
        for start, end in _wholes(parameter, inside)
    )


def _wholes(word: bytes, inside: bytes) -> Iterator[tuple[int, int]]:
    """Where the word stands without an index, a member or arguments behind it."""
    at = inside.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_is_of_word(inside[at - 1 : at]) or _is_of_word(inside[end : end + 1]) or _PART.match(inside, end)):
            yield at, end
        at = inside.find(word, end)


def _is_of_word(letter: bytes) -> bool:
    return letter.isalnum() or letter == b"_"


def touches(code: bytes, name: str, at: int, given: int) -> bool:
    """Whether the kernel is seen to use memory through its argument ``at``, and is sure not to wait for what somebody else writes."""
    defined = kernel(code, name, given)
    parameter = defined.parameters[at] if defined is not None and at < given else b""
    if defined is None or not parameter or _is_redeclared(parameter, defined.inside):
        return False
    if _SIGNALS.search(code) or _REPEATS.search(defined.inside) or _USED_ATOMIC.search(defined.inside):
        return False
    own = {match[1].decode() for match in _OF_DEVICE.finditer(code)}
    if any(
        name not in own and not _KNOWN.fullmatch(name) for name in called_in(defined.inside.decode("utf-8", "replace"))
    ):
        return False
    return _is_used(parameter, defined.inside, own)


def _is_used(parameter: bytes, inside: bytes, functions: set[str]) -> bool:
    """Whether the memory is used: an element, what it points to, or by a function that is given the pointer."""
    inside = _SIZE_OF.sub(b"", inside)
    element = rb"(?<![\w.&])(?<!& )" + parameter + rb"\s*(?:\[|->)"
    whole = rb"(?:^|[-+=(,;{}!<>?:])\s*\*\s*" + parameter + rb"\b"
    if re.search(element + rb"|" + whole, inside):
        return True
    passed = re.finditer(rb"\b(\w+)\s*\((?:[^(){};]*,)?\s*&?\s*" + parameter + rb"\s*[,)+\[]", inside)
    return any(match[1].decode() in functions or match[1].startswith(b"atomic") for match in passed)


def _is_redeclared(name: bytes, inside: bytes) -> bool:
    """Whether something in the kernel may have the name of a parameter."""
    return (
        re.search(
            rb"(?<!\belse)(?<!\breturn)(?<=[\w>])\s+[*&]*\s*" + name + rb"\s*(?:[=;,]|\[[^\]]*\]\s*[;={])", inside
        )
        is not None
    )


def _begins_with_first(index: bytes, defined: Kernel, depth: int = 3) -> bool:
    """Whether an index is counted by the numbers of threads and blocks alone, or is zero, so that the first element is one of those."""
    for word in _WORD.findall(index):
        if word in _THREAD or word == b"0":
            continue
        set_to = re.findall(rb"(?<![\w.])" + word + rb"\s*=(?!=)\s*([^;]*);", defined.inside)
        if not depth or word in defined.parameters or len(set_to) != 1:
            return False
        if not _begins_with_first(set_to[0], defined, depth - 1):
            return False
    return b"-" not in index
