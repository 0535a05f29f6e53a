"""Memory, and handles, that are given to a ``std::unique_ptr`` whose deleter frees another kind of memory."""

import re
from collections.abc import Iterator, Sequence

from cuvet.catalog import Kind
from cuvet.findings import Finding
from cuvet.rules.memory.free_wrong_function import MemoryFreeWrongFunction
from cuvet.source.callees import made_by_type
from cuvet.source.calls import meaning
from cuvet.source.ownership import WRONG_FUNCTION
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import Source, text_of
from cuvet.source.textual.pointers import allocated, is_sound
from cuvet.source.textual.written import Body

_DELETER = re.compile(rb"\b(?:struct|class)\s+(\w+)\s*(?:final\s*)?\{")
_CALLED = re.compile(rb"\boperator\s*\(\s*\)\s*\(\s*[\w:<>\s]+\*\s*(?:const\s+)?(\w+)\s*\)[\w\s]*\{")
_OPERATOR = re.compile(rb"\boperator\s*\(\s*\)")
_GIVEN = rb"\b(\w+)\s*\(\s*(?:\([\w\s*]+\)\s*)?%s\b"
_OF_HANDLE = re.compile(
    rb"\bunique_ptr\s{0,80}<\s{0,80}(?:(?:typename\s{1,80})?(?:std\s{0,80}::\s{0,80})?remove_pointer(?:_t)?\s{0,80}<\s{0,80}(\w+)\s{0,80}>"
    rb"(?:\s{0,80}::\s{0,80}type)?|(?:struct\s{1,80})?(cuda(?:Mipmapped)?Array))\s{0,80},\s{0,80}"
    rb"(?:(\w+)|decltype\s{0,80}\(\s{0,80}&\s{0,80}(\w+)\s{0,80}\))\s{0,80}>"
)
"""``unique_ptr<std::remove_pointer_t<cudaArray_t>, Deleter>``, ``unique_ptr<cudaArray, decltype(&cudaFree)>``."""
_NAMED = rb"\busing\s+%s\s*="
_ALIAS = rb"\busing\s+(\w+)\s*=\s*(?:std\s*::\s*)?unique_ptr\s*<[^<>;]{1,80},\s*%s\s*>\s*;"


def of_other_memory(source: Source, bodies: Sequence[Body]) -> Iterator[Finding]:
    """In functions that allocate memory and give it to such a pointer."""
    code = source.code
    if b"unique_ptr" not in code:
        return
    for name, frees in _deleters(code):
        named = {*re.findall(_ALIAS % re.escape(name), code)}
        alias = b"|".join(re.escape(each) for each in named if len(re.findall(_NAMED % re.escape(each), code)) == 1)
        owner = rb"(?:std\s*::\s*)?unique_ptr\s*<[^<>;]{1,80},\s*%s\s*>" % re.escape(name)
        owners = rb"(?:%s|\b(?:%s)\b)" % (owner, alias) if alias else owner
        for body in bodies:
            yield from _given(body, owners, name.decode(), frees)


def of_handles(source: Source) -> Iterator[Finding]:
    """Pointers whose type says that they hold a handle, and whose deleter frees memory."""
    code = source.code
    found = list(_OF_HANDLE.finditer(code)) if b"unique_ptr" in code else []
    deleters = dict(_deleters(code)) if found else {}
    for match in found:
        pointee, opaque, deleter, function = match.groups()
        frees = deleters.get(deleter) if deleter else function.decode()
        handle = f"{opaque.decode()}_t" if opaque else pointee.decode()
        made = made_by_type(handle)
        if made is None or frees is None or freed(frees) is None:
            continue
        who = f"{deleter.decode()} frees it with {frees}" if deleter else f"{frees} frees it"
        message = f"the pointer holds a {handle}, which {made[1]} makes, and {who}"
        place = frame(source, match.start(), match.end(), "")
        yield finding(MemoryFreeWrongFunction, message, site(frees, place))


def _deleters(code: bytes) -> Iterator[tuple[bytes, str]]:
    """Classes whose objects are called with a pointer, and the one function that frees it."""
    names = [match[1] for match in _DELETER.finditer(code)]
    for match in _DELETER.finditer(code):
        inside = code[match.end() : block_end(code, match.end())]
        called = _CALLED.search(inside)
        if called is None or names.count(match[1]) > 1 or len(_OPERATOR.findall(inside)) > 1:
            continue
        end = block_end(inside, called.end())
        calls = re.findall(rb"\w\s*\(", inside[called.end() : end])
        given = re.search(_GIVEN % called[1], inside[called.end() : end])
        if given is not None and len(calls) == 1 and freed(given[1].decode()) is not None:
            yield match[1], given[1].decode()


def freed(name: str) -> Kind | None:
    """The kind of memory that a function frees."""
    found = meaning(name)
    kinds = {role.kind for _, role in found.ended} if found is not None else set()
    return kinds.pop() if len(kinds) == 1 and kinds <= WRONG_FUNCTION.keys() else None


def _is_freed(name: str, body: Body) -> bool:
    frees = (call for call in body.calls if freed(call.name) is not None and call.arguments)
    return any(name in text_of(call.arguments[0]) for call in frees)


def _given(body: Body, owners: bytes, deleter: str, frees: str) -> Iterator[Finding]:
    for buffer in allocated(body):
        made = Kind.HOST_MEMORY if buffer.kind == "pinned" else Kind.MEMORY
        if not is_sound(buffer, body) or b".release()" in body.code or _is_freed(buffer.name, body):
            continue
        given = (
            owners
            + rb"(?:\s+\w+)?\s*[({]\s*(?:(?:static|reinterpret)_cast\s*<[^<>]{1,80}>\s*\(\s*|\([\w\s:*]+\)\s*)?%s\s*\)?\s*[)}]"
        )
        match = re.search(given % re.escape(buffer.name.encode()), body.code) if freed(frees) is not made else None
        node = body.at(body.body.start_byte + match.start()) if match is not None else None
        if node is not None:
            kind, counterpart = WRONG_FUNCTION[made]
            message = f"{buffer.name} is {kind}, which is for {counterpart}, and {deleter} frees it with {frees}"
            path = (body.step(buffer.made[0].node, f"{buffer.name} is allocated here"),)
            yield body.finding(MemoryFreeWrongFunction, node, message, api=frees, path=path)
