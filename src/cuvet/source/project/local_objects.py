"""What classes may end of what a function lost: members of local objects, when the function is left, and what their methods were given."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.findings import Finding
from cuvet.rules.source.leak import SourceLeak
from cuvet.rules.source.leak_on_return import SourceLeakOnReturn
from cuvet.source.calls import resets_device
from cuvet.source.paths.handles import root
from cuvet.source.program import Function
from cuvet.source.result import Outline
from cuvet.source.syntax.parsing import Source

_VALUE = re.compile(r"(?:(?:const|struct|class|typename)\s+)*(?:\w+::)*([A-Za-z_]\w*)\s*(?:<.*>)?\s*(?:\[.*)?")
"""The type of an object, or of an array of objects, that ends with the function."""
_TEST = re.compile(r"(?:TYPED_)?TEST_[FP]")
_CONTEXT = re.compile(rb"\bcu(?:da)?::[Cc]ontext\s+\w+\s*[({]")
"""A local object that owns a context (cudawrappers, ``cu::Context``): with it goes what is made in the context."""
_BY_LIBRARIES = {kind.noun for kind in LIBRARY_OBJECTS}
_MOST_NAMES = 8
"""Other names of a class, one for another; classes that it is derived from, and those of members."""


def held(findings: Iterable[Finding], function: Function, name: str) -> Iterator[tuple[str, str]]:
    """For what ``Outline.held`` says: local objects of the function, which findings call ``name``, whose members the findings are about."""
    for finding in findings:
        for variable, _, member in (each.name.partition(".") for each in finding.objects):
            match = _VALUE.fullmatch(function.locals.get(root(variable), ""))
            if member and match is not None:
                yield f"{name} {root(variable)}", match[1]


def resetting_fixtures(functions: Iterable[Function]) -> frozenset[str]:
    """Fixtures that reset the device when a test is over."""
    ending = (each for each in functions if each.name in ("TearDown", "__del__") and each.owner)
    return frozenset(each.owner for each in ending if any(resets_device(call.name) for call in each.calls))


def outlasting(findings: list[Finding], function: Function, fixtures: frozenset[str], source: Source) -> list[Finding]:
    """The findings, without those about what ends with the context or the test that the function is."""
    is_test = _TEST.fullmatch(function.name) and any(each.type in fixtures for each in function.parameters[:1])
    if not findings or not (is_test or _CONTEXT.search(source.code, function.start, function.end)):
        return findings
    return [
        each
        for each in findings
        if each.rule not in (SourceLeak.code, SourceLeakOnReturn.code)
        or any(it.kind in _BY_LIBRARIES for it in each.objects)
    ]


def given(findings: Iterable[Finding], function: Function, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """For what ``Outline.given`` says: local variables that the findings are about, and the methods that the function gives them to."""
    lost = {root(each.name) for finding in findings for each in finding.objects if each.name}
    methods: dict[str, set[str]] = defaultdict(set)
    for call in function.calls if lost else ():
        for value in call.arguments if call.receiver else ():
            if isinstance(value, str) and value in lost:
                methods[value].add(call.name.rpartition("::")[2])
    for variable, names in methods.items():
        yield f"{name} {variable}", tuple(sorted(names))


def taking_methods(outlines: Iterable[Outline]) -> frozenset[str]:
    """Methods that set a member which a function of the class ends."""
    effects = [effect for outline in outlines for effect in outline.effects if effect.method]
    ended = {(effect.owner, effect.member) for effect in effects if effect.verb == "ends"}
    return frozenset(each.function for each in effects if each.verb == "sets" and (each.owner, each.member) in ended)


def ending_classes(outlines: Iterable[Outline]) -> frozenset[str]:
    """Classes of which a destructor is in sight, or one of a member's, or of which a base is not, by all their names."""
    outlines = list(outlines)
    classes = [each for outline in outlines for each in outline.classes]
    known = {each.name for each in classes}
    parents = {name: of for outline in outlines for name, of in outline.parents.items()}
    names = {each.name for each in classes if "__del__" in each.declared}
    names |= {owner for outline in outlines for owner, name in outline.functions if name == "__del__"}
    names |= {each.name for each in classes if each.bases and parents.get(each.name) not in known}
    others = [pair for outline in outlines for pair in (*outline.synonyms.items(), *outline.parents.items())]
    members = ((each.name, _VALUE.fullmatch(kind)) for each in classes for kind in each.members.values())
    others += [(name, match[1]) for name, match in members if match is not None]
    for _ in range(_MOST_NAMES):
        names |= {name for name, of in others if of in names}
    return frozenset(names)


def may_be_ended(finding: Finding, outline: Outline | None, ending: frozenset[str], taking: frozenset[str]) -> bool:
    """Whether all that the finding says is lost belongs to objects of such classes, or was given to such methods."""
    if outline is None or not (outline.held or outline.given) or not finding.objects:
        return False
    names = [f"{finding.site.frames[0].function} {root(each.name)}" for each in finding.objects]
    return all(outline.held.get(each) in ending for each in names) or all(
        not taking.isdisjoint(outline.given.get(each, ())) for each in names
    )
