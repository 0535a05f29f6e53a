"""What a name in a Python file means: which function of CUDA a module has under it, and how its arguments are those of CUDA's."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Literal

from cuvet.catalog.catalog import EntryPoint, Parameter
from cuvet.source.calls import meaning, symbols
from cuvet.source.languages.cpp import Definition

Style = Literal["tuple", "value", "pycuda", "ctypes"]
"""``tuple``: the status comes first in what is returned, outputs follow it. ``value``: an exception says that the call failed, and
the outputs are returned. ``pycuda``: like ``value``, and what is made is freed when nothing names it any more.
``ctypes``: as in C, the status is returned."""

_LOADED = "<ctypes>"
"""In place of a module's name: the driver or the runtime, loaded with ctypes."""
_MODULES: dict[str, Style] = {
    "cuda.bindings.driver": "tuple",
    "cuda.bindings.runtime": "tuple",
    "cuda.cuda": "tuple",
    "cuda.cudart": "tuple",
    "cupy.cuda.runtime": "value",
    "cupy.cuda.api.runtime": "value",
    "cupy_backends.cuda.api.runtime": "value",
    "pycuda.driver": "pycuda",
    _LOADED: "ctypes",
}
_PYCUDA = {
    "mem_alloc": ("cuMemAlloc", (1,)),
    "memcpy_htod": ("cuMemcpyHtoD", (0, 1)),
    "memcpy_dtoh": ("cuMemcpyDtoH", (0, 1)),
    "memcpy_dtod": ("cuMemcpyDtoD", (0, 1, 2)),
    "memcpy_htod_async": ("cuMemcpyHtoDAsync", (0, 1, 3)),
    "memcpy_dtoh_async": ("cuMemcpyDtoHAsync", (0, 1, 3)),
    "memcpy_dtod_async": ("cuMemcpyDtoDAsync", (0, 1, 2, 3)),
    "memset_d8": ("cuMemsetD8", (0, 1, 2)),
    "memset_d16": ("cuMemsetD16", (0, 1, 2)),
    "memset_d32": ("cuMemsetD32", (0, 1, 2)),
}
"""PyCUDA's functions that are one function of the driver each: its name, and which of its parameters the arguments are."""

_IMPORT = re.compile(
    rb"^(?:\xef\xbb\xbf)?[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]{0,2000}\)|[^\n#;]+)|import[ \t]+([^\n#;]+))",
    re.MULTILINE,
)
_BOUND = re.compile(rb"^[ \t]*(\w+)[ \t]+=(?!=)[ \t]*(?!None\b)\S", re.MULTILINE)

LOADS = re.compile(
    rb"^(\w+)[ \t]*=[ \t]*(?:ctypes\.)?(?:CDLL|PyDLL|cdll\.LoadLibrary)"
    rb"""\(\s*["'](?:lib(?:cuda|cudart)\.so|nvcuda\.dll|cudart64_)""",
    re.MULTILINE,
)
"""The driver or the runtime is loaded by its own name."""
_ALIAS = re.compile(rb"^(\w+)[ \t]*=[ \t]*([A-Za-z_]\w*(?:\.\w+)*)[ \t]*(?:#.*)?\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Api:
    """An entry point of CUDA, and how Python calls it."""

    name: str
    style: Style
    taken: tuple[int, ...] = ()
    """PyCUDA's functions: the parameters that the arguments are."""

    @property
    def returns_status(self) -> bool:
        return self.style in ("tuple", "ctypes")


class Names:
    """What the names of a file mean that it imports."""

    def __init__(self, text: bytes) -> None:
        self.modules: dict[str, str] = {}
        self.all_of: list[str] = []
        for match in _IMPORT.finditer(text):
            origin = match[1].decode() if match[1] else ""
            for part in (match[2] or match[3]).decode("utf-8", "replace").strip("() \t\r\n").split(","):
                self._bind(origin, re.sub(r"#.*|\\", "", part).split())
        bound = Counter(match[1].decode() for match in _BOUND.finditer(text))
        imported = {name: self.modules.pop(name, "") for name in bound}
        for match in _ALIAS.finditer(text):
            name, module = match[1].decode(), self.full(match[2].decode())
            if bound[name] == 1 and not imported.get(name) and _holds_cuda(module):
                self.modules[name] = module
        for match in LOADS.finditer(text) if b"LL" in text or b"LoadLibrary" in text else ():
            if bound[match[1].decode()] == 1:
                self.modules[match[1].decode()] = _LOADED
        self._found: dict[str, Api | None] = {}

    def calls(self, text: bytes) -> list[tuple[int, Api]]:
        """(offset, entry point) of all calls of CUDA in the text, in order."""
        roots = [name for name, meant in self.modules.items() if _leads_to_cuda(meant)]
        if self.all_of and not set(self.all_of).isdisjoint(_MODULES):
            roots.append(r"cu(?:da)?[A-Z]\w+")
        if not roots:
            return []
        pattern = rf"(?<![\w.])(?:{'|'.join(roots)})(?:\.\w+)*(?=\s*\()"
        found = ((match.start(), self.api(match.group().decode())) for match in re.finditer(pattern.encode(), text))
        return [(at, api) for at, api in found if api is not None]

    def attributes_of_bindings(self, text: bytes) -> list[tuple[int, str]]:
        """(offset, name) of what is called as a function of a module of ``cuda.bindings``, in order."""
        modules = [name for name, meant in self.modules.items() if _MODULES.get(meant) == "tuple"]
        if not modules:
            return []
        pattern = rf"(?<![\w.])(?:{'|'.join(modules)})\.(cu\w+)(?=\s*\()"
        return [(match.start(1), match[1].decode()) for match in re.finditer(pattern.encode(), text)]

    def _bind(self, origin: str, words: list[str]) -> None:
        if not words or not all(each == "*" or each.replace(".", "_").isidentifier() for each in words):
            return
        name = words[0]
        if name == "*":
            self.all_of.append(origin)
        elif origin:
            self.modules[words[-1]] = f"{origin}.{name}"
        elif len(words) == 3:
            self.modules[words[2]] = name
        else:
            root = name.split(".")[0]
            self.modules[root] = root

    def api(self, dotted: str) -> Api | None:
        """What calling that name calls; None if it is nothing of CUDA's."""
        if dotted not in self._found:
            self._found[dotted] = self._api(dotted)
        return self._found[dotted]

    def _api(self, dotted: str) -> Api | None:
        if full := self.full(dotted):
            module, _, name = full.rpartition(".")
            return _of_module(module, name)
        found = [] if "." in dotted else [_of_module(module, dotted) for module in self.all_of]
        return next(filter(None, found), None)

    def full(self, dotted: str) -> str:
        """The name with its module; ``""`` if it was not imported."""
        root, dot, rest = dotted.partition(".")
        return self.modules[root] + dot + rest if root in self.modules else ""

    def is_module(self, dotted: str) -> bool:
        """Whether the name is that of a module or of something in it."""
        return dotted.partition(".")[0] in self.modules


@dataclass(kw_only=True)
class PythonDefinition(Definition):
    """``names`` are those of the file, ``calls`` its calls of CUDA, ``functions`` the functions that it defines, ``inner`` where those
    inside of this one stand."""

    names: Names
    calls: list[tuple[int, Api]]
    functions: frozenset[str]
    inner: tuple[tuple[int, int], ...] = ()


def _leads_to_cuda(name: str) -> bool:
    return any(module.startswith(name) or name.startswith(module) for module in _MODULES)


def _holds_cuda(module: str) -> bool:
    """Whether it is a module of CUDA, or one that has such modules in it."""
    return module in ("torch", "torch.cuda", "numba", "numba.cuda") or any(
        each == module or each.startswith(f"{module}.") for each in _MODULES if module
    )


def _of_module(module: str, name: str) -> Api | None:
    style = _MODULES.get(module)
    if style in ("tuple", "ctypes"):
        return Api(name, style) if name in symbols() else None
    if style == "value":
        runtime = f"cuda{name[:1].upper()}{name[1:]}"
        return Api(runtime, style) if name[:1].islower() and runtime in symbols() else None
    if style == "pycuda" and name in _PYCUDA:
        return Api(_PYCUDA[name][0], style, _PYCUDA[name][1])
    return None


@dataclass(frozen=True, slots=True)
class Shape:
    """``given`` are the parameters that the arguments of a call are, ``outputs`` those that come back instead; ``names`` all of them."""

    given: tuple[int, ...]
    outputs: tuple[int, ...]
    names: dict[str, int]
    count: int


@cache
def shape(api: Api, arguments: int) -> Shape | None:
    """How a call with so many arguments corresponds to the entry point; None where it does not.

    The bindings leave out what CUDA writes through pointers to scalars and handles, and structs that it fills in. Releases differ in the
    number of parameters: the signature with as many as are given is the one that is meant.
    """
    found = meaning(api.name)
    if found is None:
        return None
    own = found.entry_point
    made = {own.parameters[at].name for at, _ in found.made}
    names = {parameter.name: at for at, parameter in enumerate(own.parameters)}
    if api.style == "ctypes":
        every = tuple(range(len(own.parameters)))
        return Shape(every, (), {}, len(every)) if len(every) == arguments else None
    if api.taken:
        return Shape(api.taken, tuple(sorted(at for at, _ in found.made)), {}, len(own.parameters))
    signatures = dict.fromkeys((own.parameters, *(each.parameters for each in own.signatures)))
    candidates = [_inputs(own, parameters, made, structs) for structs in (False, True) for parameters in signatures]
    given = next((inputs for inputs in candidates if len(inputs) == arguments), None)
    if given is None and api.style == "value":  # CuPy's functions have default values
        given = next((inputs[:arguments] for inputs in candidates if len(inputs) > arguments), None)
    if given is None:
        return None
    outputs = tuple(at for at, parameter in enumerate(own.parameters) if parameter.name in made or parameter.out)
    return Shape(given, outputs, names, len(own.parameters))


def _inputs(own: EntryPoint, parameters: tuple[Parameter, ...], made: set[str], structs: bool) -> tuple[int, ...]:
    """Positions of the parameters that Python passes; with ``structs`` those too are left out that are filled in."""
    return tuple(
        own.index.get(parameter.name, -1)
        for parameter in parameters
        if not (parameter.name in made or parameter.out)
        and not (structs and parameter.pointee not in (None, "void") and not parameter.const)
    )
