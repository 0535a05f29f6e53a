"""A function as the checker sees it, whatever the language: a graph of blocks whose operations touch CUDA's objects.

Everything is plain data (msgspec), so that it can be kept on disk. An *lvalue* names a variable or a part of one, in normal form:
``stream``, ``self.stream`` is ``stream`` of class ``C``, ``config.event``, ``p->next``, ``streams[0]``; ``streams[*]`` is an element
of which the index is not a constant. A *value* is

* an ``int``: a constant (NULL, an enumerator, a number),
* a ``str``: what an lvalue holds; ``%3`` is the result of the call that has this name,
* ``Address``: the address of an lvalue, ``Inside``: an address in the memory that an lvalue's value points to,
* None: anything else.

Positions are byte offsets into the file.
"""

from collections.abc import Iterator

import msgspec


class Address(msgspec.Struct, frozen=True, tag="address", gc=False):
    lvalue: str


class Inside(msgspec.Struct, frozen=True, tag="inside", gc=False):
    lvalue: str


Value = int | str | Address | Inside | None


def lvalue_of(value: Value) -> str:
    """The lvalue that the value was read from, or whose address or memory it is; empty if there is none."""
    if isinstance(value, str):
        return value
    return value.lvalue if isinstance(value, Address | Inside) else ""


def pointed_at(value: Value) -> str:
    """The lvalue that a pointer points to; empty if that is not known."""
    if isinstance(value, Address):
        return value.lvalue
    if isinstance(value, Inside):
        return f"{value.lvalue}[*]"
    return f"{value}[0]" if isinstance(value, str) else ""


class Invoke(msgspec.Struct, tag="call", gc=False):
    """A call of a function, or a kernel launch: then ``stream`` is its stream, and ``launch`` is True.

    ``result`` is the lvalue that the returned value goes to, ``""`` if it is dropped. ``checked`` says that a macro or a function
    around the call is handed what it returns, or that it is returned or compared on the spot.
    ``spans`` are the arguments' [start, end).
    """

    name: str
    arguments: tuple[Value, ...]
    start: int
    end: int
    result: str = ""
    receiver: str = ""
    spans: tuple[tuple[int, int], ...] = ()
    checked: bool = False
    launch: bool = False
    stream: Value = 0
    once: bool = False
    """It ends an object for somebody who knows whether he has ended it before, and does nothing then."""
    of: str | None = None
    """In C++, the type of the object that it is called on, empty if that is not known; ``::`` and the class of the calling function if it
    names no object."""

    def argument(self, at: int) -> Value:
        """None if it is left out, or there is none."""
        return self.arguments[at] if 0 <= at < len(self.arguments) else None


class Assign(msgspec.Struct, tag="assign", gc=False):
    """``declared``: the lvalue is a new variable of type ``kind``; ``unset``: it holds nothing yet."""

    lvalue: str
    value: Value
    start: int
    end: int
    declared: bool = False
    kind: str = ""
    unset: bool = False


class Escape(msgspec.Struct, tag="escape", gc=False):
    """What the lvalue holds is known elsewhere from now on; with ``written``, the lvalue itself may be changed from elsewhere."""

    lvalue: str
    start: int
    written: bool = False


class Return(msgspec.Struct, tag="return", gc=False):
    """The function ends. ``how``: ``return``, ``throw``, or ``end`` of the body."""

    start: int
    end: int
    value: Value = None
    how: str = "return"


Operation = Invoke | Assign | Escape | Return


class Condition(msgspec.Struct, frozen=True, tag="condition", gc=False):
    """What a branch asks. Two that have the same ``text`` have the same answer; it depends on ``names``. Where it compares an lvalue
    with a value (or with zero), these are ``lvalue``, ``same`` (True for ==) and ``value``."""

    text: str
    names: tuple[str, ...]
    start: int
    end: int
    lvalue: str = ""
    same: bool = False
    value: Value = 0
    compares: bool = False
    """With == or !=, as it is written."""


OF_BUILD = "#if "
"""What the text of a condition begins with that the preprocessor asks."""


THROWN = "an exception is thrown"
"""What the text of the condition begins with whether what stands in a try ends early; its offset follows."""


class Edge(msgspec.Struct, gc=False, array_like=True):
    """To a block; taken if ``condition`` is ``truth``. ``kind`` is ``back`` for the edge that repeats a loop."""

    target: int
    condition: Condition | None = None
    truth: bool = True
    kind: str = ""


class Block(msgspec.Struct, gc=False):
    """``guards`` are the branches (block that decides, which edge) that enclose it in the text, the outermost first."""

    operations: list[Operation] = []
    edges: list[Edge] = []
    guards: tuple[tuple[int, int], ...] = ()


class Parameter(msgspec.Struct, frozen=True, gc=False):
    name: str
    type: str
    reference: bool = False
    """The function can change the caller's variable through it: a reference, or a pointer."""


class Range(msgspec.Struct, frozen=True, gc=False):
    """A loop from offset ``start`` to ``end`` whose variable ``name`` is each element of ``elements`` in turn."""

    name: str
    elements: str
    start: int
    end: int


class Function(msgspec.Struct):
    """``owner`` is the class it belongs to, ``""`` for none; a constructor is called ``__init__``, a destructor ``__del__``.
    ``locals`` are the variables that end with it. ``broken``: it holds text that could not be parsed."""

    name: str
    owner: str
    parameters: tuple[Parameter, ...]
    blocks: list[Block]
    start: int
    end: int
    locals: dict[str, str] = {}
    broken: bool = False
    static: bool = False
    ranges: list[Range] = []
    captured: frozenset[str] = frozenset()
    """Variables that a lambda of the function knows by reference: it may end what they hold later."""
    labels: frozenset[int] = frozenset()
    """Blocks that begin at a label."""
    states: dict[str, list[int]] = {}
    """By variable, where it is set to a constant, counted up, or set to what a call of CUDA gives: there it may say what was done."""

    def reached_without_jumps(self) -> set[int]:
        """Blocks that are reached without goto or break: not those that only clean up after a failure."""
        reached, waiting = {0}, [0]
        while waiting:
            for edge in self.blocks[waiting.pop()].edges:
                if edge.kind != "jump" and edge.target not in reached:
                    reached.add(edge.target)
                    waiting.append(edge.target)
        return reached

    @property
    def operations(self) -> Iterator[Operation]:
        """Those of all blocks, block by block."""
        return (operation for block in self.blocks for operation in block.operations)

    @property
    def calls(self) -> Iterator[Invoke]:
        """Also launches."""
        return (operation for operation in self.operations if isinstance(operation, Invoke))
