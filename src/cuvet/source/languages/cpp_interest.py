"""Which text of a function in C++ is of interest."""

import re
from collections.abc import Iterable, Iterator

from cuvet.source.calls import spellings
from cuvet.source.languages.cpp_scopes import hidden
from cuvet.source.languages.interest import WORD, Interest, follow_copies, handles
from cuvet.source.ownership import leaves_function, never_returns
from cuvet.source.program import Parameter
from cuvet.source.syntax.parsing import Node, Source, arguments_of, call_named_by, enclosing

_WORD = re.compile(rb"[A-Za-z_]\w*|<<<")
_COPY = re.compile(
    rb"(?<!\w)([A-Za-z_][\w.\->\[\]]{0,200})\s{0,80}=(?!=)\s{0,80}"
    rb"((?:\w{1,80}_cast<[^>;]{0,200}>|\([\w\s*:<>]{1,200}\))?\s{0,80}\(?[&*]?[A-Za-z_][\w.\->\[\]]{0,200}\)?)\s{0,80}[;,)]"
)
"""One variable is set to another."""
_INTO = re.compile(
    rb"\b([A-Za-z_]\w*)\s*=\s*(?:\(\s*(?:const\s+)?[\w:]{1,80}[\s*]{0,8}\*\s*\)\s*|\w{1,80}_cast\s*<[^<>;]{0,80}>\s*|[(&]\s*){0,8}"
    rb"([A-Za-z_]\w*)\s*\)?\s*(?:\[|[+-](?![=+-]))[^;=]{0,200};"
)
"""A variable is set to an address in the memory of another: ``&all[i]``, ``all + i``, ``(T *)((char *)all + i)``."""
_SWAP = re.compile(rb"\bswap\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_EACH = re.compile(rb"\bfor\s*\([^;:()]{1,200}?(\w+|\[[\w\s,]{1,100}\])\s*:(?!:)([^;{}]{1,200}?)\)")
"""A variable is each element of something in turn."""
_TARGET = re.compile(
    rb"(?<!\w)([\w.\->\[\]]{1,200})\s{0,80}=(?!=)\s{0,80}(?:[^;=?]{1,200}\?(?:[^;=?]{0,200}:)?\s{0,80})?"
    rb"(?:\w{1,80}_cast<[^>;]{0,200}>|\([\w\s*:<>]{1,200}\))?\s{0,80}\(?[\w:]{0,200}$"
)
"""What the result of a call is assigned to, up to the call's name, which may stand in an arm of ``?:``."""
_VIEW = re.compile(
    rb"\b\w*(?:[vV]iew|[sS]pan)\w*(?:\s*<[^;{}=]{0,400}>)?\s+(?P<declared>\w+)\s*(?P<of>[({][^;]{0,400});|"
    rb"\b(?P<set>\w+)\s*=\s*(?P<to>[\w:]*(?:[vV]iew|[sS]pan)\b[^;]{0,400});"
)
"""A variable that is made a view of something."""
_BOOL = re.compile(rb"\bbool\s*[\s&]\s*([A-Za-z_]\w*)")
_SET = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(?:(?:true|false)\b|[!(]?\s*(?:cu|nccl|nvrtc|nvJitLink)\w{1,80}\s*\()")
"""A variable is set to true or false, or to what a call of CUDA gives or is compared with."""
_INT = re.compile(rb"\b(?:u?int(?:\d+_t)?|unsigned|short|char|long|size_t)\s*[\s&]\s*([A-Za-z_]\w*)\s*[=;,)]")
_SET_TO_NUMBER = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(-?\d{1,3}|cudaError\w+|CUDA_ERROR\w+)\s*;")
_STATUS = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(?:cu(?:[a-z]{2,9}?)?|nccl|nvrtc|nvJitLink)[A-Z]\w{0,80}\s*\(")
"""A variable is set to what a call of CUDA gives."""
_LEAVES = frozenset({b"return", b"throw", b"goto", b"break", b"continue"})
_NOT_NAMES = frozenset(
    b"void const sizeof float double int char unsigned long short size_t this NULL nullptr reinterpret_cast static_cast "
    b"cudaStream_t cudaEvent_t CUdeviceptr".split()
)


def interest_in(
    source: Source,
    function: Node,
    body: Node,
    parameters: Iterable[Parameter],
    wrappers: frozenset[bytes],
    members: frozenset[bytes],
) -> tuple[bool, Interest]:
    """Whether the function calls CUDA or one of the ``wrappers``; and the names that such calls take, with the ``members`` of its class,
    and the offsets of all words that make a statement worth looking at. A name that stands for several variables is none. Nothing of a
    function that neither makes such a call nor knows a member."""
    text = source.text
    words = [(match.start(), match.group()) for match in _WORD.finditer(text, function.start_byte, function.end_byte)]
    there = {word for _, word in words}
    known = there & spellings()
    concerned = bool(known) or b"<<<" in there or not wrappers.isdisjoint(there)
    if not concerned and not members:
        return False, Interest(frozenset(), [])
    names = set(members)
    for at, word in words:
        if word in known:
            names.update(_handles_given(body, at, word.decode()))
        elif word in wrappers:
            names.update(_around_wrapped(text, body, at, len(word)))
    copies: list[tuple[bytes, bytes]] = _COPY.findall(text, body.start_byte, body.end_byte)
    _follow_copies(text, body, copies, names)
    given = ((each.name, each.type) for each in parameters)
    several = hidden(body, text, function.start_byte, given, names)
    names -= several
    names |= _flags(text, function.start_byte, body.end_byte)
    names |= _copied_statuses(text, body.start_byte, body.end_byte, copies)
    wanted = there & (names | several | _LEAVES | wrappers | known | {b"<<<"})
    wanted |= {word for word in there if never_returns(word.decode()) or leaves_function(word.decode())}
    sites = [at for at, word in words if word in wanted]
    return concerned, Interest(frozenset(names), sites, frozenset(several))


def _handles_given(body: Node, at: int, api: str) -> Iterator[bytes]:
    """Words in the arguments of a call of CUDA that are handles."""
    call = call_named_by(body.descendant_for_byte_range(at, at + len(api)))
    given = arguments_of(call) if call is not None else []
    for position in handles(api):
        if position < len(given):
            yield from _names_in(given[position])


def _around_wrapped(text: bytes, body: Node, at: int, length: int) -> Iterator[bytes]:
    """The arguments of a function that makes or ends objects, and what its result is assigned to."""
    node = enclosing(body.descendant_for_byte_range(at, at + length), "call_expression", "compound_statement")
    if node is None or node.type != "call_expression":
        return
    arguments = node.child_by_field_name("arguments")
    if arguments is not None:
        yield from _names_in(arguments)
    if match := _TARGET.search(text, text.rfind(b";", 0, at) + 1, at):
        yield from WORD.findall(match[1])


def _names_in(node: Node) -> Iterator[bytes]:
    return (word for word in WORD.findall(node.text or b"") if word not in _NOT_NAMES)


def _follow_copies(text: bytes, body: Node, copies: list[tuple[bytes, bytes]], names: set[bytes]) -> None:
    """What is copied to or from one of the names, or is a view of one, is one too. ``copies``: what ``_COPY`` finds."""
    start, end = body.start_byte, body.end_byte
    pairs = [
        (set(WORD.findall(target)), set(WORD.findall(of)) - _NOT_NAMES)
        for found in (copies, _EACH.findall(text, start, end), _SWAP.findall(text, start, end))
        for target, of in found
    ]
    if text.find(b"iew", start, end) >= 0 or text.find(b"pan", start, end) >= 0:
        for match in _VIEW.finditer(text, start, end):
            if not names.isdisjoint(WORD.findall(match["of"] or match["to"])):
                names.add(match["declared"] or match["set"])
    pairs += [({match[1]}, {match[2]}) for match in _INTO.finditer(text, start, end) if match[2] in names]
    follow_copies(names, pairs)


def _flags(text: bytes, start: int, end: int) -> set[bytes]:
    """Variables of the function that are set to true and false, or to several numbers: branches ask them what was done before."""
    integers = set(_INT.findall(text, start, end))
    declared = integers | set(_BOOL.findall(text, start, end))
    flags = declared and declared.intersection(_SET.findall(text, start, end))
    numbers: dict[bytes, set[bytes]] = {}
    for name, number in _SET_TO_NUMBER.findall(text, start, end):
        numbers.setdefault(name, set()).add(number)
    states = {name for name, values in numbers.items() if len(values) > 1}
    return flags | (states & integers)


def _copied_statuses(text: bytes, start: int, end: int, copies: list[tuple[bytes, bytes]]) -> set[bytes]:
    """Variables that hold a status, and others that they are copied to."""
    statuses = set(_STATUS.findall(text, start, end))
    return {name for copy in copies if copy[1] in statuses for name in copy}
