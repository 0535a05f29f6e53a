"""Functions that name a device and work on whichever is current."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from cuvet.catalog.kinds import Home
from cuvet.findings import Finding
from cuvet.model.current import always_needs_context
from cuvet.rules.source.device_not_made_current import SourceDeviceNotMadeCurrent
from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import Definition
from cuvet.source.ownership import MAY_MAKE_CURRENT
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, is_within, text_of
from cuvet.source.textual.bounds import MOST, first
from cuvet.source.textual.declared import constant
from cuvet.source.textual.reached import is_in_lambda
from cuvet.source.textual.turns import LOOPS, loop_variable, names
from cuvet.source.textual.written import Body, Written, functions

_ASKS = {"cudaGetDeviceProperties": 1, "cudaGetDeviceProperties_v2": 1, "cudaDeviceGetAttribute": 2}
"""Which argument is the device that is asked about."""
_ASKS_CURRENT = frozenset({"cudaGetDevice", "cuCtxGetDevice", "cuCtxGetCurrent"})
_FREE_MEMORY = "cudaMemGetInfo"
_PLACE = re.compile(r"(?:this\s*->\s*)?[A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*")
_CAST = re.compile(r"\(\s*(?:int|unsigned|CUdevice)\s*\)\s*|static_cast<\w+>\((.*)\)")
_OF_NUMBERS = re.compile(rb"\b(?:std::)?(?:ato[il]|sto[iul]+|strtou?ll?|getenv|min|max)\s*\(")
_NUMBER = re.compile(rb"\s*-?\d+\s*")
_CALL, _CUDA_CALL = re.compile(rb"[\w>]\s*\("), re.compile(rb"\bcu(?:da)?[A-Z]\w*\s*\(")
_CALLED = re.compile(
    rb"\b([A-Za-z_]\w*)\s*(?:<[^;<>()]{0,80}>\s*)?\(([^()]{0,400}(?:\([^()]{0,200}\)[^()]{0,400}){0,20})\)"
)
_NAME_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;<>()]{0,80}>\s*)?\(")
_SHOWS = re.compile(
    rb"(?i)\w*(?:print|stderr|stdout|log|info|warn|show|message|report|throw|error|check|chk|assert|trace|name|exist|count)\w*|sizeof|if|for|while|switch"
)
_OF_DEVICES = re.compile(
    r"(?i)(?:n|num|number|count|total|max)?_?(?:of)?_?(?:visible|avail\w*|cuda)?_?(?:gpus?|devices?|devs?)(?:_?(?:count|num|size|s))?"
)
_ANYWHERE = re.compile(r"Managed|Host|Async|FromPool|Ipc")
"""What is made for all devices, or for that of the stream, the pool or the process that is named."""
_BOUND = re.compile(r"\w+\s*(?:<|!=)\s*(.+)")
_ELSEWHERE = re.compile(rb"thread|async|\[[&=\w]*\]\s*[({]")
_OF_OBJECT = re.compile(r"\w+(?:(?:\.|->)\w+)+|m_\w+|\w+_")
"""A place that lasts: a member, or something in an object."""
_GUARD = re.compile(
    rb"\b((?:\w+::)*\w*(?:(?:[Dd]evice|G[Pp][Uu]|C[Uu][Dd][Aa]|C(?:on)?te?xt?|[Aa]ctive|[Cc]urrent)\w*(?:[Gg]uard|[Ss]cope\w*|[Ss]etter|[Ss]witch\w*)"
    rb"|(?:[Ss]coped?|[Ss]et|[Uu]se|[Ww]ith)_?\w*(?:[Dd]evice|G[Pp][Uu]|C(?:on)?te?xt?)\w*))\s+(\w+)\s*[({]\s*([\w.>:-]+)\s*[)}]\s*;"
)
"""An object that makes a device current as long as it lives."""
_MAKES_CURRENT = re.compile(rb"Current|SetDevice|[Gg]uard|[Ss]cope|Set\w+GPU|SetActive")
_OF_TABLE = re.compile(rb"(?:->|\.)\s*(cu(?:vid)?[A-Z]\w+)\s*\(")
_OF_DECODER = re.compile(r"cuvid(?!CtxLock)[A-Z]\w+")
"""Calls of NVIDIA's video decoder, of which cuvidGetDecoderCaps was measured: without a current context it returns 201."""
_STATEMENT = re.compile(
    rb"(?:^|[;{}])\s*(?:(?:const\s+)?(?:auto|[\w:]+(?:<[^;<>]{0,80}>)?)\s*&?\s+\w+\s*(?:=\s*)?)?(?P<name>[\w:.>-]*?\w)?\s*[({]\s*&?\s*(?P<given>[\w.>-]*)\s*[,)}]"
)
"""What a statement, or the object that it declares, calls and gives first."""
_OF_LANGUAGE = frozenset(
    "if for while switch return else do sizeof dim3 int size_t float double char auto struct const unsigned".split()
)
_ALONE = re.compile(rb"(?:^|[;{}])\s*[A-Z][A-Z0-9_]{2,}\s*(?=;|\n)|\bauto\s+\w+\s*=\s*[\w:.>-]+\(\s*\)\s*;")
"""A macro that is a statement, and an object that something without arguments makes."""
_PRETENDS = re.compile(r"(?i)emulat|simulat|virtual|fake|mock")
"""In the name of a function whose devices are one."""
_FEW = 3
"""As many functions that make the same device current tell that the others shall."""


class _File:
    """The functions of a file, and which of them may make a device current."""

    def __init__(self, found: Sequence[Body], definitions: list[Definition], source: Source) -> None:
        self.found = found
        self._definitions, self._source = definitions, source

    def may_switch(self, body: Body) -> bool:
        """Whether the function, one that it calls, or one that calls it, may make a device current; or who calls it is not known."""
        code = self._source.code[body.body.start_byte : body.body.end_byte]
        return self.code_may_switch(code) or self._is_reached(body)

    def code_may_switch(self, code: bytes) -> bool:
        """Whether the code may make a device current, itself or by a function of the file."""
        return MAY_MAKE_CURRENT.search(code) is not None or not _called(code).isdisjoint(self._switching)

    def class_may_switch(self, body: Body) -> bool:
        """Whether a function of the same class may, or a base."""
        name = re.escape(body.owner.encode())
        is_derived = rb"\b(?:class|struct)\s+%s\b[^;{}()]*(?<!:):(?!:)[^;{}()]*\{" % name
        return bool(body.owner) and (body.owner in self._owners or re.search(is_derived, self._source.code) is not None)

    def _is_reached(self, body: Body) -> bool:
        """Whether a function that may make a device current calls this one, itself or by others, or something has its address."""
        bare = re.compile(rb"(?<![\w~])%s\b(?!\s*(?:<[^;()]{0,160}>\s*)?\()" % re.escape(body.name.encode()))
        if body.name.isidentifier() and not body.name.startswith("__") and bare.search(self._source.code):
            return True
        waiting, seen = [body.name], {body.name}
        while waiting and len(seen) < MOST:
            for name in self._callers.get(waiting.pop(), ()):
                if name in self._switching:
                    return True
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return False

    def _says_so(self, body: Body) -> bool:
        return MAY_MAKE_CURRENT.search(self._source.code, body.body.start_byte, body.body.end_byte) is not None

    @cached_property
    def _all(self) -> list[Body]:
        return list(functions(self._definitions, self._source))

    @cached_property
    def _callers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for body in self._all:
            for name in _called(self._source.code[body.body.start_byte : body.body.end_byte]) - {body.name}:
                found.setdefault(name, set()).add(body.name)
        return found

    @cached_property
    def _switching(self) -> set[str]:
        return {body.name for body in self._all if self._says_so(body)}

    @cached_property
    def _owners(self) -> set[str]:
        return {body.owner for body in self._all if body.owner and self._says_so(body)}


def _called(code: bytes) -> set[str]:
    return {match[1].decode() for match in _NAME_CALLED.finditer(code)}


def not_made_current(found: Sequence[Body], definitions: list[Definition], source: Source) -> Iterator[Finding]:
    """The first of each function."""
    file = _File(found, definitions, source)
    told = 0
    for body in found:
        if _PRETENDS.search(body.name):
            continue
        asking = [call for call in body.calls if call.name in _ASKS and len(call.arguments) > _ASKS[call.name]]
        if asking and told < MOST and not any(call.name in _ASKS_CURRENT for call in body.calls):
            told += 1
            if not file.class_may_switch(body) and not file.may_switch(body):
                yield from _asked(asking, body)
                continue
        if b"for" in body.text:
            yield from _in_loops(body, file)
    if len(found) > _FEW and _MAKES_CURRENT.search(source.code):
        yield from _unlike_others(file)


def _asked(asking: list[Written], body: Body) -> Iterator[Finding]:
    """Work on the current device, after another one was asked about."""
    for ask in first(asking):
        device = _device(ask.arguments[_ASKS[ask.name]])
        if not device or is_in_lambda(ask.node, body) or not _is_chosen(device, body):
            continue
        loop = enclosing(ask.node, *LOOPS)
        turn = loop if loop is not None and loop_variable(loop) == device else None
        later = (each for each in _work(body) if each.start > ask.end and (turn is None or is_within(each.node, turn)))
        work = next(later, None)
        if work is None or is_in_lambda(work.node, body) or _is_given_away(device, work, body):
            continue
        if turn is None or work.name == _FREE_MEMORY:
            message = f"this is about the current device, and {body.shown} never makes `{device}` current"
            path = (body.step(ask.node, f"`{device}` is asked about here"),)
            yield body.finding(SourceDeviceNotMadeCurrent, work.node, message, api=work.name, path=path)
            return


def _device(node: Node) -> str:
    """The place that holds the number of the device; empty for anything else."""
    text = _CAST.sub(r"\1", text_of(node).strip())
    return "".join(text.split()) if _PLACE.fullmatch(text) else ""


def _is_chosen(device: str, body: Body) -> bool:
    """Whether somebody chose the device: it comes from outside, or from text, and no function that is not known picked it."""
    root = re.split(r"\W+", device.removeprefix("this->"))[0]
    word = re.escape(device.encode())
    declared = body.declarations(root)
    where = body.code if declared and device == root else body.source.code
    filled = rb"&\s*(?:\w+\s*(?:->|\.)\s*)*%s\b" % re.split(rb"\W+", device.encode())[-1]
    if constant(device, body) is not None or re.search(filled, where):
        return False
    values = re.findall(rb"\b%s\s*(?:=(?!=)|\{)\s*([^;,{}]+)" % word, body.code if declared else body.source.code)
    whole = re.findall(rb"\b%s\s*=(?!=)\s*([^;]+)" % root.encode(), body.source.code) if root != device else []
    if any(_CALL.search(_OF_NUMBERS.sub(b"", value)) for value in (*values, *whole)):
        return False
    is_parameter = any(each.node.start_byte < body.body.start_byte for each in declared)
    is_member = device != root or device.startswith("m_") or device.endswith("_")
    return is_parameter or is_member or any(not _NUMBER.fullmatch(value) for value in values)


def _is_given_away(device: str, work: Written, body: Body) -> bool:
    """Whether a function that is not known is given the device, or what has it, before the work, and may make it current."""
    before = body.code[: work.start - body.body.start_byte]
    root = re.split(r"\W+", device.removeprefix("this->"))[0]
    for match in _CALLED.finditer(before):
        is_known = meaning(match[1].decode()) is not None or _SHOWS.fullmatch(match[1]) or _CUDA_CALL.search(match[2])
        if not is_known and names(match[2].decode("utf-8", "replace"), re.escape(device)):
            return True
    return _may_enter(before, {root, device, ""})


def _may_enter(code: bytes, places: set[str]) -> bool:
    """Whether a statement calls something that is not known, or makes an object, with one of the places or nothing, which may make the
    device current."""
    if _ALONE.search(code):
        return True
    for match in _STATEMENT.finditer(code):
        name, given = (
            (match["name"] or b"").decode("utf-8", "replace"),
            match["given"].decode("utf-8", "replace").removeprefix("this->"),
        )
        last = re.split(r"\W+", name)[-1]
        if (
            given in places
            and last not in _OF_LANGUAGE
            and meaning(last) is None
            and not _SHOWS.fullmatch(last.encode())
        ):
            return True
    return False


def _work(body: Body) -> Iterator[Written]:
    """Calls of the runtime and of libraries that depend on which device is current."""
    return (call for call in (*body.calls, *body.library_calls) if call.name == _FREE_MEMORY or _makes_there(call))


def _makes_there(call: Written) -> bool:
    """Whether the call makes an object on the current device."""
    known = meaning(call.name)
    if known is None or known.entry_point.api == "driver" or _ANYWHERE.search(call.name):
        return False
    return any(role.kind.row.home is Home.CONTEXT or role.kind.row.tied for _, role in known.made)


def _in_loops(body: Body, file: _File) -> Iterator[Finding]:
    """The first work of a loop over the devices that makes none of them current."""
    for work in first(_work(body)):
        loop = enclosing(work.node, *LOOPS)
        counter = loop_variable(loop) if loop is not None and loop.type == "for_statement" else ""
        if loop is None or not counter or not _counts_devices(loop, body):
            continue
        inside = body.source.code[loop.start_byte : work.start]
        made = text_of(work.arguments[0]) if work.arguments else ""
        asks = work.name == _FREE_MEMORY
        if not (asks or ("[" in made and names(made, counter))) or b"#" in inside or _is_handed_on(counter, inside):
            continue
        around = body.code[: loop.start_byte - body.body.start_byte]
        if file.code_may_switch(inside) or (not asks and (MAY_MAKE_CURRENT.search(around) or file.may_switch(body))):
            continue
        if not _may_enter(inside.partition(b"{")[2], {counter, ""}):
            message = f"each turn works on the current device, and none makes `{counter}` current"
            path = (body.step(loop.children[0], "this loop runs through the devices"),)
            yield body.finding(SourceDeviceNotMadeCurrent, work.node, message, api=work.name, path=path)
            return


def _counts_devices(loop: Node, body: Body) -> bool:
    """Whether the loop ends at the number of devices: one that cudaGetDeviceCount told, or that is named so."""
    match = _BOUND.fullmatch(field_text(loop, "condition").strip())
    bound = "".join(match[1].split()) if match is not None else ""
    if not bound or bound.isdigit():
        return False
    counts = (call for call in body.calls if call.name == "cudaGetDeviceCount" and call.arguments)
    told = {text_of(call.arguments[0]).replace(" ", "") for call in counts}
    return f"&{bound}" in told or _OF_DEVICES.fullmatch(re.split(r"\W+", bound.rstrip("()"))[-1]) is not None


def _is_handed_on(counter: str, inside: bytes) -> bool:
    """Whether an object of the turn may make the device current, or another thread does the work."""
    of_element = rb"\[\s*%s\s*\]\s*(?:\.|->)\s*\w+\s*\(" % counter.encode()
    return re.search(of_element, inside) is not None or _ELSEWHERE.search(inside) is not None


def _unlike_others(file: _File) -> Iterator[Finding]:
    """Functions that do not make current what most functions of the file do."""
    made = [(body, place, node) for body in file.found for place, node in _made_current(body)]
    counted = Counter(place for _, place in {(body.node.id, place) for body, place, _ in made})
    of_decoder = any(re.search(rb"\bcuvid[A-Z]", body.code) for body, _, _ in made)
    needed = (
        [(body, work) for body in file.found for work in _needed(body, of_decoder)]
        if max(counted.values(), default=0) >= _FEW
        else []
    )
    for place, count in first(counted.most_common()):
        if count < _FEW:
            return
        own = {body.node.id for body, each, _ in made if each == place}
        where, example = next((body, node) for body, each, node in made if each == place)
        without = [(body, work) for body, work in needed if body.node.id not in own and _could(body, place, where)]
        for body, work in first(without) if len(without) <= count else ():
            before = body.code[: work.start - body.body.start_byte]
            if not _may_enter(before, {place, re.split(r"\W+", place)[0], ""}) and not file.may_switch(body):
                message = f"{count} functions here make `{place}` current, and {body.shown} does not"
                path = (where.step(example, f"{where.shown} makes it current"),)
                yield body.finding(SourceDeviceNotMadeCurrent, work.node, message, api=work.name, path=path)


def _made_current(body: Body) -> Iterator[tuple[str, Node]]:
    """What the function makes current that lasts, with the call or the guard that does."""
    found = [
        (text_of(call.arguments[0]), call.node)
        for call in _calls(body)
        if call.arguments and (known := meaning(call.name)) is not None and (known.sets_device or known.switches)
    ]
    for match in _GUARD.finditer(body.code):
        node = body.at(body.body.start_byte + match.start(2))
        if node is not None:
            found.append((match[3].decode("utf-8", "replace"), node))
    for written, node in found:
        place = "".join(written.split()).removeprefix("this->")
        if _OF_OBJECT.fullmatch(place):
            yield place, node


def _calls(body: Body) -> list[Written]:
    """Calls of CUDA, also by a table of functions (``cu->cuMemAlloc(...)``)."""
    fields = (body.at(body.body.start_byte + match.start(1)) for match in _OF_TABLE.finditer(body.code))
    found = [*body.calls]
    for node in fields:
        call = enclosing(node, "call_expression")
        if node is not None and node.type == "field_identifier" and call is not None:
            found.append(Written(text_of(node), call, tuple(arguments_of(call)), "used"))
    return sorted(found, key=lambda call: call.start)


def _could(body: Body, place: str, like: Body) -> bool:
    """Whether the function has the place at hand, and is no constructor, which may not have it yet."""
    root = re.split(r"\W+", place)[0]
    if root == place:
        head = body.source.code[body.node.start_byte : body.body.start_byte]
        is_method = bool(body.owner) and body.owner == like.owner and body.name != "__init__"
        return is_method and re.search(rb"\bstatic\b|\boverride\b", head) is None
    return bool(body.words(root) or body.declarations(root))


def _needed(body: Body, of_decoder: bool) -> Iterator[Written]:
    """The first call that needs the right device or context; ``of_decoder``: decoders are known to need it."""
    for call in _calls(body):
        known = meaning(call.name)
        of_context = known is not None and known.entry_point.api == "driver" and always_needs_context(known.entry_point)
        decodes = of_decoder and _OF_DECODER.fullmatch(call.name) is not None
        if (of_context or decodes or call.name == _FREE_MEMORY or _makes_there(call)) and not is_in_lambda(
            call.node, body
        ):
            yield call
            return
