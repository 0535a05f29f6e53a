"""Sizes in elements in C# and Python, where the same function gives another size for the same memory."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuvet.findings import Finding, Step
from cuvet.rules.source.size_in_elements import SourceSizeInElements
from cuvet.source.calls import sized
from cuvet.source.paths.reporting import Reporter
from cuvet.source.program import Address, Assign, Function, Invoke, lvalue_of
from cuvet.source.sites import finding
from cuvet.source.textual.csharp_directions import array_at, type_of
from cuvet.source.textual.sizes import is_times_sizeof

_CAST = re.compile(r"\((?:int|uint|long|ulong|nint|nuint|IntPtr|UIntPtr|SizeT)\)|new(?:IntPtr|UIntPtr|SizeT)(?=\()")
_SIZE_OF = re.compile(r"Marshal\.SizeOf(?:<(\w+)>\(\)|\(typeof\((\w+)\)\))")
_ELEMENTS = re.compile(r"(\w+(?:\.\w+)*)\.size|len\((\w+(?:\.\w+)*)\)")
_ARE_LARGER = re.compile(rb"float|double|complex|int(?:16|32|64)|linspace|arange|\brandom\b|\brng\b")
_ARE_BYTES = re.compile(rb"int8|packbits|frombuffer|fromarray|imread|np\.(?:bool|byte)|dtype=bool")
"""What the file makes arrays of."""
_MAY_BE_BYTES = re.compile(
    rb"(?i)int8|byte(?!ref|s\b)|bytearray|bytes\(|bool|char|frombuffer|image|fromarray|[\"'](?:[|<>=]?[iuS]1|B|b)[\"']"
)
"""What may make an array of bytes in the function."""
_LENGTH = re.compile(r"(\w+)\.(?:Long)?Length")
_LARGER_TYPES = frozenset("float double int uint long ulong short ushort char decimal Half nint nuint IntPtr".split())
_BYTE_TYPES = frozenset("byte sbyte bool Byte SByte Boolean".split())
_MAKES_LARGER = re.compile(
    rb"^\s*(?:np|numpy)\.\w+\(.*(?:float|int|complex)(?:16|32|64|128)\b|.*\.astype\(\s*(?:np|numpy)\.(?:float|int|complex)(?:16|32|64|128)\s*\)\s*$"
)
_LARGER = re.compile(r"<(?:float|double|int|uint|long|ulong|short|ushort)[1-4]?>$")


class _Given(NamedTuple):
    """The size that a call is given. ``elements``: it is the constructor of an object of ManagedCuda, and counts elements."""

    call: Invoke
    size: str
    at: tuple[int, int]
    elements: bool = False


def in_elements(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """The first size of the function that is in elements, while another one of the same memory is in bytes."""
    made: dict[str, _Given] = {}
    for each in sorted(function.operations, key=lambda operation: operation.start):
        if isinstance(each, Assign):
            made.pop(each.lvalue, None)
        where = sized(each.name) if isinstance(each, Invoke) and not each.launch else None
        if not isinstance(each, Invoke) or where is None:
            continue
        given, target = _given(each, where.size, reporter), each.argument(where.memory[0])
        if where.made and isinstance(target, Address):
            made.pop(target.lvalue, None)
            if given is not None and (not given.elements or _is_larger(function, target.lvalue)):
                made[target.lvalue] = given
        elif not where.made and given is not None:
            sides = (lvalue_of(each.argument(at)) for at in where.memory)
            found = [wrong for side in sides if side in made and (wrong := _compared(made[side], given, reporter))]
            if found:
                yield found[0]
                return


def of_arrays(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """Copies from or to an array whose size is its number of elements, if these are larger than a byte."""
    for call in function.calls:
        where = sized(call.name) if not call.launch else None
        if where is None or where.made or max(*where.memory, where.size) >= len(call.spans):
            continue
        if not reporter.source.slice(call.start, call.end).partition("(")[0].endswith(call.name):
            continue  # a method of ManagedCuda, which may count elements
        size = _plain(reporter.source.slice(*call.spans[where.size]))
        array = _counted(size, function, reporter)
        for side in where.memory if array else ():
            if _passed(call.spans[side], function, reporter) == array:
                message = f"{call.name} is given the size `{size}`, the number of elements of `{array}`, which are larger than a byte"
                at = reporter.site(call, *call.spans[where.size])
                yield finding(SourceSizeInElements, message, at, severity="note")
                return


def _counted(size: str, function: Function, reporter: Reporter) -> str:
    """The array whose elements the size counts, if they are larger than a byte; ``""`` if that is not sure."""
    text, of_csharp = reporter.source.text, reporter.source.language == "c#"
    match = (_LENGTH if of_csharp else _ELEMENTS).fullmatch(size)
    name = next(filter(None, match.groups()), "") if match is not None else ""
    if not name.isidentifier():
        return ""
    if of_csharp:
        kind = type_of(name, function).rstrip("?")
        return name if kind.endswith("[]") and _is_larger_type(kind.removesuffix("[]"), text) else ""
    set_here = rb"(?<![\w.])%s[ \t]*(?::[^=\n]{1,80})?=(?!=)([^\n]*)" % name.encode()
    made = re.findall(set_here, text[function.start : function.end])
    return name if len(made) == 1 and _MAKES_LARGER.search(made[0]) else ""


def _is_larger_type(kind: str, text: bytes) -> bool:
    """Whether it is a type of C# that is larger than a byte, or one of the program's whose size the file asks for."""
    name = re.escape(kind.encode())
    asked = rb"\b(?:sizeof\(%s\)|SizeOf<%s>|SizeOf\(typeof\(%s\)\))" % (name, name, name)
    return kind in _LARGER_TYPES or (kind not in _BYTE_TYPES and re.search(asked, text) is not None)


def _passed(span: tuple[int, int], function: Function, reporter: Reporter) -> str:
    """The array that is passed there."""
    given = reporter.source.slice(*span)
    if reporter.source.language == "c#":
        return array_at(given, span[0], function, reporter.source.text)
    return given.strip().removesuffix(".ctypes.data").removesuffix(".ctypes").strip()


def _is_larger(function: Function, lvalue: str) -> bool:
    """Whether the variable is an object whose elements are larger than a byte."""
    return _LARGER.search(function.locals.get(lvalue, "").replace(" ", "")) is not None


def _given(call: Invoke, at: int, reporter: Reporter) -> _Given | None:
    """None if the size is not written there."""
    span = call.spans[at] if at < len(call.spans) else (call.start, call.end)
    if span == (call.start, call.end):
        return None
    return _Given(
        call,
        _plain(reporter.source.slice(*span)),
        span,
        reporter.source.language == "c#" and reporter.source.text.startswith(b"new", call.start),
    )


def _compared(made: _Given, moved: _Given, reporter: Reporter) -> Finding | None:
    if made.elements:
        same = made.size == moved.size and not made.size.isdigit()
        return _finding(moved, made, made.size, reporter) if same else None
    if _is_in_bytes(moved.size, made.size, reporter):
        return _finding(made, moved, moved.size, reporter)
    if _is_in_bytes(made.size, moved.size, reporter):
        return _finding(moved, made, made.size, reporter)
    return None


def _is_in_bytes(size: str, elements: str, reporter: Reporter) -> bool:
    """Whether one size is the other one in bytes: times ``sizeof``, or of an array of NumPy with elements larger than a byte."""
    if reporter.source.language != "python":
        return is_times_sizeof(size, elements)
    array = _ELEMENTS.fullmatch(elements)
    name = (array[1] or array[2]) if array is not None else ""
    function = reporter.function
    return (
        bool(name)
        and size in (f"{name}.nbytes", f"{elements}*{name}.itemsize", f"{elements}*{name}.dtype.itemsize")
        and _MAY_BE_BYTES.search(reporter.source.text, function.start, function.end) is None
        and _ARE_BYTES.search(reporter.source.text) is None
        and _ARE_LARGER.search(reporter.source.text) is not None
    )


def _finding(wrong: _Given, right: _Given, size: str, reporter: Reporter) -> Finding:
    line = reporter.source.line(right.call.start)
    other = "as many elements" if right.elements else f"`{size}`"
    message = f"{wrong.call.name} is given the size `{wrong.size}`, and {right.call.name} in line {line} {other} for the same memory"
    path = (
        Step(
            frame=reporter.frame(*right.at),
            text="elements are meant here" if right.elements else "bytes are meant here",
        ),
    )
    return finding(SourceSizeInElements, message, reporter.site(wrong.call, *wrong.at), path=path)


def _plain(text: str) -> str:
    """The expression without spaces, casts between numbers, and brackets around all of it; sizes of types as ``sizeof``."""
    text = _SIZE_OF.sub(lambda match: f"sizeof({match[1] or match[2]})", re.sub(r"\s+", "", text))
    text = _CAST.sub("", text)
    while text[:1] == "(" and _closing(text) == len(text) - 1:
        text = text[1:-1]
    return text


def _closing(text: str) -> int:
    """Where the bracket closes that the text begins with."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return at
    return -1
