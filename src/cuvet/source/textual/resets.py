"""Resets of the device by a library, which the calls of a function show without following its paths."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.reset_in_library import SourceResetInLibrary
from cuvet.source.calls import resets_device
from cuvet.source.ownership import FIXTURE
from cuvet.source.paths.reporting import Reporter
from cuvet.source.program import Function, Invoke
from cuvet.source.syntax.parsing import Source

_TEST = re.compile(r"(?i)test|fixture|bench|example|sample|app|main")
_NAMED_SO = re.compile(
    r"(?i)_*(?:cu|cuda|gpu|device|context|ctx)*_*reset_*(?:cuda|gpu|device|context|ctx|all)*_*|global_*\w*|\w+_?at_?exit"
)
"""Of the device, or of all that the process has."""
_MAIN = re.compile(rb"\b(?:w?main|Main|wWinMain|WinMain)\s*\(|\bTEST(?:_F|_P)?\s*\(|__name__")


_LOADED = re.compile(
    rb"#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10|pybind11|nanobind|boost/python)[/.]"
    rb"|#[ \t]*include[ \t]*[<\"](?:Python|jni|mex|Rcpp|Rinternals|node_api|napi)\.h"
)
"""Headers of code that is loaded into programs of others, which have objects of their own on the device."""
_EMBEDS = re.compile(rb"\bPy_Initialize|\bpybind11/embed\.h|\bJNI_CreateJavaVM")
"""The program loads the others."""
_EXPORTED = re.compile(
    rb"\bdllexport\b|\bvisibility\s*\(\s*\"default\"|\b(?:[A-Z0-9]+_)*(?:DLL)?EXPORTS?\b|\b[A-Z0-9_]+_API\b"
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_EXITS = re.compile(
    rb"\b(?:_?exit|_Exit|quick_exit|abort|terminate)\s*\(|\bassert\s*\(\s*(?:0|false|!\s*\"[^\"]*\")\s*\)"
)
_BOUND = re.compile(rb"\"[^\"\n]*(?i:reset)[^\"\n]*\"\s*,\s*\[[^][]*\]\s*\([^(){}]*\)[^{};]*\{[^{}]*\Z")
"""A lambda that is bound to a name which says what it does: ``m.def("device_reset", []() { …``"""


def resets(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """The first reset of the device in a function of a library that does not say so."""
    reset = next((call for call in function.calls if resets_device(call.name)), None)
    of_library = _is_of_class if function.owner else _is_exported
    if reset is not None and of_library(function, reset, reporter.source):
        who = function.owner or function.name
        yield reporter.plain(
            SourceResetInLibrary, reset, f"{who} resets the device, which belongs to the whole process"
        )


def _is_of_class(function: Function, reset: Invoke, source: Source) -> bool:
    """Whether the function's class is likely to be used by others: it is not the program itself, nor a test. In C# all functions belong
    to classes: only what ends an object tells."""
    if function.name in FIXTURE or _NAMED_SO.fullmatch(function.name) or _is_program(source):
        return False
    if source.is_cpp and _EXITS.search(source.code, reset.end, function.end):
        return False
    if _TEST.search(function.owner) or _derives_from_test(function.owner, source):
        return False
    return source.is_cpp or function.name in ("__del__", "Dispose", "__exit__", "close")


def _is_exported(function: Function, reset: Invoke, source: Source) -> bool:
    """Whether a function of no class is certain to run in programs of others, which go on after the reset."""
    if not source.is_cpp or "reset" in function.name.lower() or _is_program(source):
        return False
    if _EXITS.search(source.code, reset.end, function.end):
        return False
    if _LOADED.search(source.text):
        bound = _BOUND.search(source.text, max(0, reset.start - 400), reset.start)
        return bound is None and _EMBEDS.search(source.text) is None
    line = source.lines[source.line(function.start) - 1]
    head = _COMMENT.sub(b"", source.text[line : reset.start]).partition(b"{")[0]
    return _EXPORTED.search(head) is not None


def _is_program(source: Source) -> bool:
    return _TEST.search(str(source.path.parent)) is not None or _MAIN.search(source.code) is not None


def _derives_from_test(owner: str, source: Source) -> bool:
    bases = re.search(rf"\b(?:class|struct)\s+{re.escape(owner)}\b[^{{;]*:([^{{;]*)".encode(), source.code)
    return bases is not None and _TEST.search(bases[1].decode("utf-8", "replace")) is not None
