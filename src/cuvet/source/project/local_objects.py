"""Members of local objects, which the object's class may end when the function is left."""

import re
from collections.abc import Iterable, Iterator

from cuvet.findings import Finding
from cuvet.source.paths.handles import root
from cuvet.source.program import Function
from cuvet.source.result import Outline

_VALUE = re.compile(r"(?:(?:const|struct|class|typename)\s+)*(?:\w+::)*([A-Za-z_]\w*)\s*(?:<.*>)?\s*(?:\[.*)?")
"""The type of an object, or of an array of objects, that ends with the function."""
_MOST_NAMES = 8
"""Other names of a class, one for another; classes that it is derived from, and those of members."""


def held(findings: Iterable[Finding], function: Function, name: str) -> Iterator[tuple[str, str]]:
    """For what ``Outline.held`` says: local objects of the function, which findings call ``name``, whose members the findings are about."""
    for finding in findings:
        for variable, _, member in (each.name.partition(".") for each in finding.objects):
            match = _VALUE.fullmatch(function.locals.get(root(variable), ""))
            if member and match is not None:
                yield f"{name} {root(variable)}", match[1]


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


def may_be_ended(finding: Finding, outline: Outline | None, ending: frozenset[str]) -> bool:
    """Whether all that the finding says is lost belongs to objects of such classes."""
    if outline is None or not outline.held or not finding.objects:
        return False
    name = finding.site.frames[0].function
    return all(outline.held.get(f"{name} {root(each.name)}") in ending for each in finding.objects)
