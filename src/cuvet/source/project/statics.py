"""Objects that outlive ``main``, or live as long as a thread, and whose destructors call CUDA."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from cuvet.findings import Finding, Severity, Step
from cuvet.rules.rule import Rule
from cuvet.rules.source.device_of_thread import SourceDeviceOfThread
from cuvet.rules.source.static_owner import SourceStaticOwner
from cuvet.source.languages.cpp import Definition, Found, name_of
from cuvet.source.languages.cpp_text import declaration_around, declared, holds_several
from cuvet.source.result import ClassOutline, Effect, Outline, StaticObject
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, field_text, storage

_STATIC = re.compile(rb"(?:static|thread_local)(?<!\wstatic)(?<!\wthread_local)\s")
_PER_THREAD = re.compile(rb"\b\w*ThreadLocal\w*\s*<([^;(){}]*)>")
"""A class of a library that has one object for each thread."""
_MADE = re.compile(r"\b(?:make_unique|make_shared)\s*<([^;(){}]*)>\s*\(|^\s*([\w:]+)\s*[({]")
_PLAIN = re.compile(r"^(?:const\s+)?(?:unsigned|int|long|bool|char|float|double|size_t|std::string|u?int\d+_t)\b")
_DEVICE = re.compile(rb"(?i:device|guard)")
_OF_DEVICE = re.compile(r"^(?:stream|event|device memory|memory pool|array)$|handle$|plan$|generator$")
"""Kinds of objects that belong to a device."""
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_WORDS = re.compile(r"[A-Za-z_]\w*|::|[<>*&,]")
_HOLDS = frozenset(
    "std const vector array deque list map unordered_map multimap set unordered_set stack queue optional pair tuple variant unique_ptr "
    "shared_ptr".split()
)
"""Templates whose objects destroy what they hold."""
_HOLDER = re.compile(rf"\s*(?:const\s+)?(?:(?:cuda\s*::\s*)?std\s*::\s*)?(?:{'|'.join(_HOLDS - {'std', 'const'})})\s*<")
_EMPTIES = (
    rb"\b%(it)b\s*(?:\.(?:(?:reset|clear)\(\s*\)|reset\(\s*(?:nullptr|NULL)\s*\)|resize\(\s*0\s*\))|"
    rb"=\s*(?:nullptr|\{\s*\})\s*;)|\bmove\(\s*%(it)b\s*\)"
)
_OF_NOTHING = re.compile(r"\(\s*(?:(?:static_cast|reinterpret_cast)\s*<[^<>]*>\s*\(\s*)?(?:0|NULL|nullptr)\s*\)?\s*\)")
"""An object that is made of a handle which is NULL has nothing to end."""
_DEEPEST = 4
"""Members of members."""
_T = TypeVar("_T")


def static_objects(found: Found, source: Source) -> Iterator[StaticObject]:
    """Variables of classes, at the file's top or static in a function."""
    for node in found.variables:
        yield from (each for each in _declared(node, source, outside=True) if not _emptied(each, node, source))
    for definition in found.functions:
        node = definition.node
        for match in _STATIC.finditer(source.text, node.start_byte, node.end_byte):
            local = declaration_around(node.descendant_for_byte_range(match.start(), match.end()))
            if local is not None and local.start_byte == match.start():
                for each in _declared(local, source, outside=False):
                    any_device = each.thread and not _mentions_devices(definition, source)
                    yield msgspec.structs.replace(each, any_device=any_device)
    for match in _PER_THREAD.finditer(source.text) if b"ThreadLocal" in source.text else ():
        at = frame(source, match.start(), match.end(), "")
        yield StaticObject(name=match[0].decode("utf-8", "replace"), type=match[1].decode(), thread=True, frame=at)


def _emptied(it: StaticObject, declaration: Node, source: Source) -> bool:
    """Whether a statement of the file lets go of what the object holds: at a shutdown, as far as one can see here."""
    if it.thread or not _HOLDER.match(it.type):
        return False
    empties = re.compile(_EMPTIES % {b"it": re.escape(it.name.rpartition("::")[2].encode())})
    return empties.search(source.code, declaration.end_byte) is not None


def _declared(node: Node, source: Source, *, outside: bool) -> Iterator[StaticObject]:
    """The variables of a declaration. Outside functions, ``T name(argument)`` is a function."""
    kind = field_text(node, "type")
    words = storage(node)
    if _PLAIN.match(kind) or b"extern" in words or _is_enumeration(kind, source):
        return
    for declarator in node.children_by_field_name("declarator"):
        name, shape = declared(declarator)
        if kind == "auto" and (made := _MADE.search(field_text(declarator, "value"))):
            kind = made[1] or made[2]
        if _OF_NOTHING.fullmatch(field_text(declarator, "value")) and not _HOLDER.match(kind):
            continue
        if name and "*" not in shape and "&" not in shape and not (outside and "()" in shape):
            at = frame(source, declarator.start_byte, declarator.end_byte, "")
            yield StaticObject(name=name, type=kind + shape, thread=b"thread_local" in words, frame=at)


def _is_enumeration(kind: str, source: Source) -> bool:
    """Whether the file declares the type as one: another class of the name is somebody else's."""
    name = kind.rpartition("::")[2].encode()
    return (
        b"enum" in source.code and re.search(rb"\benum\s+(?:(?:class|struct)\s+)?%s\b" % name, source.code) is not None
    )


def know_devices(found: Found, source: Source) -> Iterator[str]:
    """Classes whose functions mention devices."""
    for definition in found.functions:
        owner = name_of(definition)[0]
        if owner and _mentions_devices(definition, source):
            yield owner


def _mentions_devices(definition: Definition, source: Source) -> bool:
    text = source.text[definition.node.start_byte : definition.node.end_byte]
    return _DEVICE.search(_COMMENT.sub(b"", text)) is not None


def destroyed_with(kind: str) -> Iterator[str]:
    """Classes whose objects go with an object of the type."""
    around: list[str] = []
    words = _WORDS.findall(kind)
    for at, word in enumerate(words):
        following = _following(words, at + 1)
        if word == "<":
            around.append(words[at - 1] if at else "")
        elif word == ">" and around:
            around.pop()
        elif word[0] in "*&,:" or word in _HOLDS or following in ("*", "&", "::"):
            continue
        elif _HOLDS.issuperset(around):
            yield word


def _following(words: list[str], at: int) -> str:
    """The word after a name, behind its arguments."""
    depth = 0
    for word in words[at:]:
        if word in "<>":
            depth += 1 if word == "<" else -1
        elif not depth:
            return word
        if depth < 0:
            break
    return ""


class Destructors:
    """Which classes call CUDA when one of their objects goes."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self._calls: dict[str, dict[str, Effect]] = defaultdict(dict)
        self._classes: dict[str, dict[str, ClassOutline]] = defaultdict(dict)
        for outline in outlines:
            for effect in outline.effects:
                if effect.verb == "calls":
                    calls = self._calls[effect.owner]
                    if outline.file not in calls or (effect.kind and not calls[outline.file].kind):
                        calls[outline.file] = effect
            for each in outline.classes:
                self._classes[each.name][outline.file] = each

    def call(self, kind: str, file: str, depth: int = 0) -> Effect | None:
        """A call of CUDA that the end of an object of the type makes; ``file`` is where the type stands."""
        for name in destroyed_with(kind):
            classes = self._classes.get(name, {})
            calls = self._calls.get(name, {})
            found = _seen_from(file, calls) if len(classes) < 2 else calls.get(file)
            if found is not None:
                return found
            outline = _seen_from(file, classes)
            if outline is None or depth == _DEEPEST:
                continue
            for member in outline.members.values():
                if "*" not in member and "&" not in member:
                    found = self.call(member, outline.frame.file or file, depth + 1)
                    if found is not None:
                        return found
        return None


def _seen_from(file: str, by_file: dict[str, _T]) -> _T | None:
    """What the file itself defines, or else the only one."""
    return by_file.get(file) or (next(iter(by_file.values())) if len(by_file) == 1 else None)


def findings_of(outlines: Sequence[Outline]) -> Iterator[Finding]:
    """Static objects whose end calls CUDA, and those of threads that stay on one device."""
    destructors = Destructors(outlines)
    several = any(outline.several_devices for outline in outlines)
    for outline in outlines:
        for each in outline.objects:
            call = destructors.call(each.type, outline.file)
            if call is not None:
                yield _outlives_main(each, call)
        if several:
            yield from _on_any_device(outline)


def _outlives_main(it: StaticObject, call: Effect) -> Finding:
    lives = "ends with its thread, the main thread's after main" if it.thread else "outlives main"
    message = f"`{it.name}` {lives}, and ~{call.owner} calls {call.api}"
    severity: Severity = "note" if it.thread else SourceStaticOwner.severity
    return _finding(SourceStaticOwner, it, message, call, f"{call.api} is called here, after main", severity)


def _on_any_device(outline: Outline) -> Iterator[Finding]:
    """Objects of a thread whose constructors make something on whatever device is current."""
    for each in outline.objects:
        if not each.any_device or not each.thread or holds_several(each.type):
            continue
        for owner in destroyed_with(each.type):
            made = next((it for it in outline.effects if _constructs(it, owner)), None)
            if made is not None and owner not in outline.know_devices:
                message = f"`{each.name}` belongs to whatever device is current when its thread first comes here"
                step = f"{owner} makes a {made.kind} on the current device"
                yield _finding(SourceDeviceOfThread, each, message, made, step, SourceDeviceOfThread.severity)


def _constructs(effect: Effect, owner: str) -> bool:
    of_device = _OF_DEVICE.search(effect.kind) is not None
    return of_device and effect.verb == "makes" and effect.owner == owner and effect.function == "__init__"


def _finding(rule: type[Rule], it: StaticObject, message: str, call: Effect, step: str, severity: Severity) -> Finding:
    path = (Step(frame=call.frame, text=step),)
    return finding(rule, message, site(call.api, it.frame), path=path, severity=severity)
