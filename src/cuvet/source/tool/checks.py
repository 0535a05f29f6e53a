"""What a file puts around calls of CUDA to check their status, ``CHECK(cudaFree(p));``, and where else it can stand.

It can stand where it stood before in the same block, or one around it. A macro that the file defines, and that never leaves the function,
can stand wherever it is defined and all that it names is in sight. It never goes into a function that it calls itself.
"""

import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from cuvet.source.languages.interest import WORD
from cuvet.source.syntax.parsing import Node, arguments_of, text_of
from cuvet.source.textual.statuses import returns_status
from cuvet.source.textual.written import called_names, positions
from cuvet.source.tool.code import Code, called, encloses, function_around, statement

_LEAVES = re.compile(rb"\b(?:return|goto|break|continue|throw|co_return)\b")
_NOT_CHECKS = frozenset(("assert", "static_assert", "sizeof", "decltype"))
"""What looks like a check; with NDEBUG, ``assert`` does not even make the call."""
_LETS_PASS = re.compile(r"(?i)ignor|discard|suppress|unused|silen")
_DIRECTIVE = re.compile(rb"^[ \t]*#", re.M)
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?((?:[^\n\\]|\\\r?\n|\\.)*)", re.M)
_UNDEFINE = re.compile(rb"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.M)
_NAME = re.compile(rb"(?<![\w.:])(?<!->)[A-Za-z_]\w*")
"""Not of a member, nor in a namespace."""
_CONDITIONS = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"))
_SCOPES = frozenset(
    ("namespace_definition", "class_specifier", "struct_specifier", "function_definition", "lambda_expression")
)


@dataclass(frozen=True, slots=True)
class _Use:
    """A check that is a statement, around a call whose statuses are of ``family``: ``cuda`` (the runtime's) or ``cu`` (the driver's)."""

    name: str
    family: str
    node: Node

    @property
    def block(self) -> Node | None:
        found = statement(self.node)
        return found.parent if found is not None else None


@dataclass(frozen=True, slots=True)
class _Macro:
    start: int
    parameters: frozenset[bytes]
    body: bytes


class Checks:
    """Of one file. Calls that begin at an offset in ``wrong`` are to be corrected, and not only to be checked."""

    def __init__(self, code: Code, wrong: Set[int]) -> None:
        self._code = code
        self._wrong = wrong

    def fitting(self, call: Node) -> str | None:
        """The check that is used most for calls of this sort, among those that can stand around ``call``; None if there is none."""
        api, function = called(call), function_around(call)
        if api is None or function is None or not returns_status(api) or call.start_byte in self._wrong:
            return None
        if _DIRECTIVE.search(call.text or b""):
            return None  # not in the arguments of a macro
        uses = [use for use in self._uses if use.family == _family(api)]
        counted = Counter(use.name for use in uses)
        names = [name for name, _ in counted.most_common() if self._can_stand(name, call, function, uses)]
        return names[0] if names else None

    def _can_stand(self, name: str, call: Node, function: Node, uses: list[_Use]) -> bool:
        uses = [use for use in uses if use.name == name and _holds(_conditions(use.node), _conditions(call))]
        if not uses or self._calls(name, function):
            return False
        if any(self._stands_before(use, call, function) for use in uses):
            return True
        return not _is_destructor(function) and self._is_defined(name.encode(), call)

    def _stands_before(self, use: _Use, call: Node, function: Node) -> bool:
        """Whether the check stands further up in the same block, or in one around it, and means the same there."""
        block = use.block
        if block is None or use.node.start_byte >= call.start_byte or not encloses(block, call):
            return False
        between = self._code.text[use.node.end_byte : call.start_byte]
        return function_around(use.node) == function and not re.search(
            rb"\b" + use.name.encode() + rb"\b\s*[^\s(]", between
        )

    # Macros.

    def _is_defined(self, name: bytes, call: Node) -> bool:
        """Whether a macro of that name is defined above the call and never undefined, does not leave the function, and names nothing
        that is not in sight at the call."""
        waiting, seen = [name], {name}
        while waiting:
            macros = self._macros.get(waiting.pop(), [])
            if not macros or any(each.start >= call.start_byte for each in macros):
                return False
            for macro in macros:
                if _LEAVES.search(macro.body):
                    return False
                for word in set(_NAME.findall(macro.body)) - macro.parameters - seen:
                    seen.add(word)
                    if word in self._macros:
                        waiting.append(word)
                    elif not _declares(macro.body, word) and not self._is_in_sight(word, call):
                        return False
        return not seen & self._undefined

    def _is_in_sight(self, word: bytes, call: Node) -> bool:
        """Whether what the file declares under that name can be named at the call. What it does not declare comes from a header."""
        declared = list(self._declarations(word))
        return not declared or any(
            start < call.start_byte and all(encloses(scope, call) for scope in scopes) for start, scopes in declared
        )

    def _declarations(self, word: bytes) -> Iterator[tuple[int, list[Node]]]:
        """Where the file declares the name, and the scopes around that."""
        for offset in positions(self._code.source.code, word):
            node = self._code.root.descendant_for_byte_range(offset, offset + 1)
            if node is None or node.text != word or not _is_declared(node):
                continue
            scopes: list[Node] = []
            around = _definition_of(node).parent
            while around is not None:
                unnamed = around.type == "namespace_definition" and around.child_by_field_name("name") is None
                if around.type in _SCOPES and not unnamed:
                    scopes.append(around)
                around = around.parent
            yield offset, scopes

    # Which functions it calls.

    def _calls(self, name: str, function: Node) -> bool:
        """Whether the check calls the function, itself or through others of the file."""
        waiting, seen = [name.encode()], {name.encode()}
        while waiting:
            word = waiting.pop()
            definitions = self._code.functions.get(word.decode(), [])
            if any(encloses(each, function) for each in definitions):
                return True
            bodies = [each.text or b"" for each in definitions] + [macro.body for macro in self._macros.get(word, [])]
            words = {each for body in bodies for each in WORD.findall(body)} - seen
            seen |= words
            waiting += words
        return False

    # What the file has.

    @cached_property
    def _uses(self) -> list[_Use]:
        return list(_uses(self._code))

    @cached_property
    def _macros(self) -> dict[bytes, list[_Macro]]:
        found: dict[bytes, list[_Macro]] = {}
        for match in _DEFINE.finditer(self._code.source.code):
            parameters = frozenset(each.strip() for each in (match[2] or b"").split(b","))
            found.setdefault(match[1], []).append(_Macro(match.start(), parameters, match[3]))
        return found

    @cached_property
    def _undefined(self) -> set[bytes]:
        return {match[1] for match in _UNDEFINE.finditer(self._code.source.code)}


def _uses(code: Code) -> Iterator[_Use]:
    for name, offset in called_names(code.text):
        word = code.root.descendant_for_byte_range(offset, offset + 1)
        call = word.parent if word is not None else None
        listed = call.parent if call is not None else None
        outer = listed.parent if listed is not None and listed.type == "argument_list" else None
        if call is None or called(call) != name or not returns_status(name) or outer is None:
            continue
        check = called(outer)
        if check is None or len(arguments_of(outer)) != 1 or statement(call) is None or returns_status(check):
            continue
        if check not in _NOT_CHECKS and not _LETS_PASS.search(check):
            yield _Use(check, _family(name), outer)


def _family(api: str) -> str:
    """Functions of the runtime return other statuses than those of the driver."""
    return "cuda" if api.startswith("cuda") else "cu"


def _conditions(node: Node) -> list[tuple[int, bool]]:
    """The arms of #if around a node, the outermost first."""
    found: list[tuple[int, bool]] = []
    inner, around = node, node.parent
    while around is not None:
        if around.type in _CONDITIONS:
            found.append((around.start_byte, around.child_by_field_name("alternative") == inner))
        inner, around = around, around.parent
    return found[::-1]


def _holds(outer: list[tuple[int, bool]], inner: list[tuple[int, bool]]) -> bool:
    """Whether what is compiled under ``outer`` is compiled wherever ``inner`` is."""
    return inner[: len(outer)] == outer


def _declares(body: bytes, word: bytes) -> bool:
    """Whether the macro itself declares the name: ``cudaError_t status = (call);``."""
    for match in re.finditer(rb"(\w+)(?:<[^<>]*>)?[\s*&\\]+" + word + rb"\b\s*[=;({:]", body):
        if match[1] not in (b"return", b"else", b"throw", b"do", b"case"):
            return True
    return False


def _is_declared(name: Node) -> bool:
    parent = name.parent
    if parent is None:
        return False
    if parent.type.endswith(("_specifier", "_definition", "alias_declaration")) or parent.type == "enumerator":
        return parent.child_by_field_name("name") == name or parent.child_by_field_name("declarator") == name
    return parent.child_by_field_name("declarator") == name or (
        parent.type in ("reference_declarator", "parenthesized_declarator") and name in parent.named_children
    )


def _definition_of(name: Node) -> Node:
    """The function or the class of which this is the name; the name itself if it is that of something else."""
    node = name
    while node.parent is not None and (
        node.parent.type.endswith("declarator") or node.parent.child_by_field_name("name") == node
    ):
        node = node.parent
        if node.type in _SCOPES:
            return node
    around = node.parent
    return around if around is not None and around.type == "function_definition" else node


def _is_destructor(function: Node) -> bool:
    """What a check throws must not leave it."""
    declarator = function.child_by_field_name("declarator")
    return declarator is not None and "~" in text_of(declarator).split("(")[0]
