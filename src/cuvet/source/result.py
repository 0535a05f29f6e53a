"""What checking source files gives: findings, what could not be checked, and what other files need to know."""

import msgspec

from cuvet.findings import Finding, Frame


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """``cuda`` is the CUDA release that entry points are looked up in, ``13.0``; None: the newest that is known."""

    cuda: str | None = None


class NotChecked(msgspec.Struct, frozen=True, kw_only=True):
    """Lines [first, last] of a file that could not be checked, and why, in one sentence."""

    file: str
    first: int
    last: int
    why: str


class Ending(msgspec.Struct, frozen=True):
    """``api`` ends what the parameter names; with ``through`` what it points to. ``always``: whatever happens in the function. ``once``: as
    of ``Invoke``."""

    api: str
    through: bool
    always: bool
    once: bool = False


class MemberDeed(msgspec.Struct, frozen=True):
    """What a method does with a member of its object, whenever it is called: ``ends``, ``makes`` or ``uses`` it by argument ``at`` of the
    entry point ``api``, ``clears`` it, or ``changes`` it in a way that is not known. ``once``: as of ``Invoke``."""

    member: str
    verb: str
    api: str = ""
    at: int = 0
    once: bool = False


class Parts(msgspec.Struct, frozen=True):
    """Members of a struct of the type that a function always makes and does nothing else with, and the entry points that do."""

    type: str
    made: dict[str, str]


RESULT = -1
"""In place of a parameter: what the function returns."""


class Summary(msgspec.Struct):
    """What a function does with its parameters: ``ends``, ``makes`` and ``keeps`` by their positions. ``makes`` and ``returns`` name the
    entry point that made it."""

    ends: dict[int, Ending] = {}
    makes: dict[int, str] = {}
    parts: dict[int, Parts] = {}
    """By position, or ``RESULT``."""
    keeps: set[int] = set()
    uses: dict[int, tuple[str, int]] = {}
    """Parameters that it gives to CUDA whenever it is called: to which entry point, as which argument."""
    references: set[int] = set()
    """Parameters that are the caller's own variables."""
    variables: set[int] = set()
    """Those of them that are no pointers."""
    sets: set[int] = set()
    """Those of ``references`` that may hold something else afterwards."""
    members: list[MemberDeed] = []
    """In the order of its text; of methods of C# that are called by the name of their class."""
    returns: str = ""
    at_times: set[int] = set()
    """Of ``makes``, those that it makes only if more is true than that its calls succeed; ``RESULT`` is what it returns."""
    owner: str | None = None
    """The class of the function, ``""`` for none; None: not known."""
    scopes: tuple[str, ...] | None = None
    """Namespaces around a function of another file: a call that names another one is of another function. None: not known."""

    qualified: bool = False
    """Only calls that name the innermost of these are of this function: it may be of a class."""

    several: bool = False
    """Several functions have the name and as many parameters: nothing is known of any of them."""

    @property
    def matters(self) -> bool:
        """Whether a caller's objects are made or ended by it."""
        return bool(
            self.ends
            or self.makes
            or self.parts
            or self.returns
            or any(it.verb in ("ends", "makes") for it in self.members)
        )


Summaries = dict[str, dict[int, Summary]]
"""By name, and by number of parameters."""


class ClassOutline(msgspec.Struct, frozen=True, kw_only=True):
    """A class as its definition shows it. ``members`` maps data members to their types, ``shared`` the static ones; ``declared`` has its
    functions' names (``__init__``, ``__del__``), ``undefined`` those without a body in the class. ``copies``: it says itself how it is
    copied, or that it cannot be; ``defaulted``: it says that the compiler copies it."""

    name: str
    members: dict[str, str]
    shared: dict[str, str] = {}
    declared: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    copies: bool
    defaulted: bool = False
    bases: bool
    initialised: tuple[str, ...] = ()
    """Data members with a value in the class."""
    broken: bool = False
    """It holds text that could not be parsed."""
    frame: Frame


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What a function does with a member of a class. ``verb``: ``makes``, ``ends``, ``sets``, ``clears``, ``tests``, ``shows`` (returns
    it), ``gives`` (to somebody of whom nothing is known), ``asks`` (gives its address to a function that is named as if it created
    things), ``borrows`` (sets it to a parameter of the function), or ``calls``: what a destructor calls of CUDA, which is about no member.
    A member ``stream()`` is what the function of that name shows. ``kind`` is the noun of the object's kind, ``api`` the function that was
    called, ``value`` the member that it is set to."""

    owner: str
    member: str
    verb: str
    function: str
    within: tuple[str, ...] = ()
    """Members of the member, down to the one that is meant."""
    method: bool
    guarded: bool
    """It happens under a condition."""
    under: tuple[tuple[str, bool], ...] = ()
    """The conditions around it, and what each has to be."""
    left_before: tuple[tuple[str, bool], ...] = ()
    """The conditions at which the function returns before, and what each has to be so that it does not."""
    kind: str = ""
    api: str = ""
    value: str = ""
    grows: bool = False
    """It is made where a size that lasts is too small, and the function ends nothing before."""
    frame: Frame


class Constructor(msgspec.Struct, frozen=True, kw_only=True):
    """A constructor with a body: the words in it, whether it calls functions of this object or of none, and the names that it gives a
    value other than NULL, as far as the text tells."""

    owner: str
    words: frozenset[str]
    calls: bool
    fills: frozenset[str]
    frame: Frame


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A constructor that makes members: the checks to which it gives statuses of CUDA (the check, the call, where that is), in order, and
    the ``last`` line of it."""

    owner: str
    checks: tuple[tuple[str, str, Frame], ...]
    last: int
    frame: Frame


class StaticObject(msgspec.Struct, frozen=True, kw_only=True):
    """A variable that lives as long as the program or, with ``thread``, as a thread."""

    name: str
    type: str
    thread: bool
    any_device: bool = False
    """It is of a thread and stands in a function that mentions no device."""
    frame: Frame


class UnknownName(msgspec.Struct, frozen=True, kw_only=True):
    """A type or a ``function`` that CUDA does not have, where it is first used; ``meant`` is the one whose name is nearest."""

    name: str
    meant: str
    function: bool = False
    frame: Frame


class NearNames(msgspec.Struct, frozen=True, kw_only=True):
    """Of names that are spelt like CUDA's types, and are not among them, those that stand for the type of something; of names that have the
    words of a function of CUDA in another order, or with the other API's prefix, those that are called; and of both sorts the file's
    ``own``, which it may declare. ``includes`` is what the file includes beside headers of CUDA and of the standard library: known of
    headers, and of files with ``unknown`` names."""

    unknown: tuple[UnknownName, ...] = ()
    own: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """What the other files of a project need to know of a file. ``functions`` are the (class, function) that it defines;
    ``handed`` are names that stand among the arguments of functions that sound as if they took something over."""

    file: str
    classes: tuple[ClassOutline, ...] = ()
    parents: dict[str, str] = {}
    """In C++, classes that are derived from one other class, and that one."""
    synonyms: dict[str, str] = {}
    """Other names of types, and the types'."""
    effects: tuple[Effect, ...] = ()
    objects: tuple[StaticObject, ...] = ()
    know_devices: tuple[str, ...] = ()
    """Classes whose functions mention devices; only where there are ``objects`` of threads."""
    several_devices: bool = False
    """The file asks for devices, or switches between them."""
    constructors: tuple[Constructor, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    throwing: dict[str, tuple[str, ...]] = {}
    """Functions that are given a status, and macros: what each calls, and ``throw``."""
    functions: tuple[tuple[str, str], ...] = ()
    own_calls: tuple[tuple[str, str, str], ...] = ()
    """(class, function, function of the same object that it calls), where one of the two sounds like an end."""
    handed: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    """Members that are made somewhere in the file, and assigned something else in it."""
    variables: dict[str, tuple[str, ...]] = {}
    """Variables of the file that its functions make, and the functions that name them."""
    offers: Summaries = {}
    """Functions that other files can call, and that make or end objects for their callers."""
    calls: tuple[str, ...] = ()
    """Functions that the file calls and does not define."""
    guessed: tuple[str, ...] = ()
    """Those of them of which it was guessed what they do."""
    declares: tuple[str, ...] = ()
    """Functions named like CUDA's that the file declares or defines."""
    near: NearNames = NearNames()
    held: dict[str, str] = {}
    """Local objects whose members are lost with them, unless the class ends these: the function and the variable, and its class."""
    given: dict[str, tuple[str, ...]] = {}
    """What is lost, unless a method that it was given to keeps it: the function and the variable, and these methods."""


class FileResult(msgspec.Struct, frozen=True, kw_only=True):
    """All of it is plain data (msgspec encodes and decodes it), and depends on the file's bytes, its path and the options alone."""

    file: str
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    outline: Outline | None = None
    stats: dict[str, int] = {}
    """``lines``, ``functions`` (with CUDA), ``paths``, ``steps`` (blocks and operations that these pass), ``bytes``."""
