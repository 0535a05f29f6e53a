"""What waits for no work of a device, and touches nothing that a device may be at work on: the one table of such names for all checks."""

import re
from collections.abc import Iterator
from functools import lru_cache

from cuvet.source.syntax.lexing import block_end

CUDA = re.compile(
    r"cuda\w+Async|cu(?:Memcpy(?:DtoH|HtoD|DtoD)|Memset\w+)Async|cu(?:da)?EventRecord\w*|cu(?:da)?StreamWaitEvent|"
    r"cu(?:da)?LaunchKernel\w*|cudaSetDevice|cudaGetDevice|cudaGetLastError|cudaPeekAtLastError|"
    r"cudaGetError(?:String|Name)|cu(?:da)?(?:Stream|Event)Create\w*"
)
"""Calls of CUDA. A copy from or to memory of the host may wait all the same: ``copies_quietly``."""
PLAIN = frozenset(
    """
    printf fprintf puts snprintf fabs fabsf abs sqrt sqrtf sin cos min max rand srand clock gettimeofday dim3 size_t int float double
    sizeof static_cast reinterpret_cast const_cast
    """.split()
)
"""Functions of C and C++, with or without ``std::``, and what only looks like a call."""
ON_HOST = frozenset({"memcpy", "memset"})
"""They touch memory of the host, and nothing else."""
PYTHON = frozenset("len range enumerate zip isinstance time.time time.perf_counter".split())
"""Functions of Python. What prints, compares or converts may be given a value of the device."""
OF_TORCH = frozenset(
    """
    torch.cuda.Event torch.cuda.Stream torch.cuda.current_stream torch.cuda.stream torch.Event torch.Stream torch.device torch.no_grad
    torch.inference_mode torch.empty torch.zeros torch.ones torch.empty_like torch.zeros_like torch.from_numpy
    """.split()
)
"""Functions of PyTorch."""
OF_TENSORS = frozenset("view reshape size dim numel record_stream".split())
"""Methods of tensors, wherever these are."""

_TO_OR_FROM_HOST = re.compile(
    rb"\bcudaMemcpy(?:DeviceToHost|HostToDevice|HostToHost|Default)\b|^cuMemcpy(?:DtoH|HtoD)|^cudaMemcpy(?:To|From)"
)
_WITHIN_DEVICE = re.compile(rb"\bcudaMemcpyDeviceToDevice\b|^cuMemcpyDtoD|^cudaMemcpyPeer")
_CALLED = re.compile(r"(?<![\w.:])([A-Za-z_][\w.:]*)\s*(?:<[^;<>()]{0,200}>\s*)?\(")
"""A chain of names is looked at once, from its beginning."""
CHECKED = re.compile(rb"\b(\w+)\s{0,80}\(\s{0,80}(?:::\s{0,80})?(cu\w{1,100})\s{0,80}\(")
"""What is called with a call of CUDA first, and that call."""
_SOUNDS_LIKE_CHECK = re.compile(r"(?i)check|chk|err|assert|verify|safe|cuda_?(?:call|try)")
_SOUNDS_LIKE_WAIT = re.compile(r"(?i)sync|wait|(?<!run)time|finish|block|join|drain")
_IS_HARMLESS = re.compile(
    r"(?i)\w*(?:error|exit|abort|print|terminate|assert|stringify)\w*|if|for|while|do|switch|return|throw|defined|fflush|"
    r"to_string|c_str|what|str|o?stringstream|string|format|RuntimeError|isinstance"
)
"""What a check does where something failed."""
_DEEPEST = 4
"""Of checks that call checks."""


def called_in(text: str) -> Iterator[str]:
    """The names that stand before an opening bracket; a method's name comes with what stands before it."""
    return (match[1] for match in _CALLED.finditer(text.replace("->", ".")))


def is_plain(name: str) -> bool:
    return name.removeprefix("std::").partition("<")[0] in PLAIN


def is_plain_python(name: str) -> bool:
    return name in PYTHON or name.startswith("ctypes.")


def copies_quietly(name: str, text: bytes) -> bool:
    """Whether a call of that name and text is no copy that may go from or to memory of the host."""
    if "cpy" not in name or _WITHIN_DEVICE.search(text):
        return True
    return False if _TO_OR_FROM_HOST.search(text) else not name.startswith("cudaMemcpy")


@lru_cache(maxsize=256)
def is_check(name: str, code: bytes, depth: int = 0) -> bool:
    """Whether what the file calls so only looks at the status that it is given: each definition in the file shows it, or there is none and
    the name says so. ``code`` is the file's, without comments."""
    last = name.rpartition(".")[2].rpartition("::")[2]
    if not last.isidentifier() or _SOUNDS_LIKE_WAIT.search(last) or depth > _DEEPEST:
        return False
    bodies = list(definitions(last.encode(), code))
    if not bodies:
        return _SOUNDS_LIKE_CHECK.search(last) is not None
    return all(_only_looks(body.decode("utf-8", "replace"), code, depth) for body in bodies)


def _only_looks(body: str, code: bytes, depth: int) -> bool:
    if _SOUNDS_LIKE_WAIT.search(body):
        return False
    for name in called_in(body):
        last = name.rpartition(".")[2].rpartition("::")[2]
        if not (
            CUDA.fullmatch(last) or is_plain(name) or _IS_HARMLESS.fullmatch(last) or is_check(name, code, depth + 1)
        ):
            return False
    return True


def definitions(name: bytes, code: bytes) -> Iterator[bytes]:
    """What stands in the macros and functions of that name."""
    if name not in code:
        return
    for match in re.finditer(rb"(?m)^[ \t]*#[ \t]*define[ \t]+" + name + rb"\b(?:\([^()\n]*\))?", code):
        yield _MACRO_BODY.match(code, match.end())[0]  # type: ignore[index]
    for match in re.finditer(rb"\b" + name + rb"\s*\([^(){};]*\)\s*(?:const\s*|noexcept\s*)?\{", code):
        yield code[match.end() : block_end(code, match.end())]
    for match in re.finditer(rb"(?m)^[ \t]*def[ \t]+" + name + rb"\(.*(?:\n(?:[ \t].*)?)*", code):
        yield match[0].partition(b":")[2]


_MACRO_BODY = re.compile(rb"(?:[^\\\n]|\\\r?\n|\\.)*")
