"""Objects that a function keeps for each thread."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.thread_leak import SourceThreadLeak
from cuvet.source.calls import LOST, meaning, symbols
from cuvet.source.languages.cpp_text import declaration_around, declared
from cuvet.source.ownership import takes_over
from cuvet.source.syntax.parsing import Node, text_of
from cuvet.source.textual.written import Body

_RAW = frozenset({"", "*"})
"""Shapes of variables that nothing ends when their thread does."""


def lost_with_thread(body: Body) -> Iterator[Finding]:
    """What the function makes for each thread, keeps in a ``thread_local`` variable of its own, and never ends."""
    declarator = body.node.child_by_field_name("declarator")
    if declarator is None or b"thread_local" not in body.text or declarator.type == "reference_declarator":
        return
    for name in _kept(body):
        making = _making(name, body)
        if making is not None:
            call, api, noun = making
            message = f"{noun} `{name}` is made once for each thread, and lost when the thread ends"
            yield body.finding(SourceThreadLeak, call, message, api=api)


def _kept(body: Body) -> Iterator[str]:
    for match in re.finditer(rb"\bthread_local\b", body.text):
        declaration = declaration_around(body.at(body.body.start_byte + match.start()))
        for each in declaration.children_by_field_name("declarator") if declaration is not None else ():
            name, shape = declared(each)
            if shape in _RAW:
                yield name


def _making(name: str, body: Body) -> tuple[Node, str, str] | None:
    """The one call that makes an object in the variable, its function and the object's noun; None if anything may end or keep it."""
    made: list[tuple[Node, str, str]] = []
    for offset in body.words(name):
        node = body.at(offset)
        parent = node.parent if node is not None else None
        if node is None or parent is None:
            return None
        address = parent.type == "pointer_expression" and parent.children[0].type == "&"
        given = parent if address else node
        call = given.parent.parent if given.parent is not None and given.parent.type == "argument_list" else None
        function = call.child_by_field_name("function") if call is not None else None
        if call is None or function is None:
            if address:
                return None
            continue
        api = text_of(function)
        known = meaning(api) if api in symbols() else None
        if known is None and (address or takes_over(api)):
            return None
        if known is not None and known.ended:
            return None
        if known is not None and address:
            kinds = [role.kind for _, role in known.made]
            if not kinds or kinds[0] not in LOST:
                return None
            made.append((call, api, kinds[0].noun))
    return made[0] if len(made) == 1 else None
