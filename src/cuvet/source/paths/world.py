"""CUDA as a path sees it: the model that the path's calls are told to, and the rules that they break."""

from collections.abc import Iterable, Iterator
from functools import cache

from cuvet.catalog import EntryPoint, Kind, Role, Verb, driver
from cuvet.catalog.kinds import ALLOCATIONS, FUNCTIONS
from cuvet.catalog.results import UNKNOWN
from cuvet.catalog.roles import ENDS, MAKES
from cuvet.model import Call, Model, Object, Outcome
from cuvet.model.objects import CLASSES, Allocation, HostMemory
from cuvet.model.touches import Touches
from cuvet.rules.rule import Violation
from cuvet.source.paths.handles import FIRST, SIZE, Handles
from cuvet.source.paths.judging import SOME_DEVICE, is_refused, judge
from cuvet.source.paths.trace import Broken, Here, Key, SourceCall
from cuvet.source.program import Invoke, Value

_USES = frozenset({Verb.USES, Verb.READS, Verb.WRITES, Verb.ON, Verb.WAITS, Verb.BLOCKS, Verb.QUERIES})
_OF_ONE = MAKES | ENDS | {Verb.RECORDS, Verb.RELEASES, Verb.REGISTERS}
FAILED = UNKNOWN
"""The status of a call that fails on a path."""


class World:
    """``made_by`` has, by word, the call that made the object. Nothing is reported before ``judging`` is True; until then ``refused`` has
    the steps of the calls that break a rule for which CUDA refuses them, later on they are added. ``races``: those between streams are
    looked for, so all work has to be told."""

    def __init__(self, handles: Handles, refused: Iterable[int], races: bool = False) -> None:
        self.handles = handles
        self.model = Model(symbols=True, all_work=races)
        self.model.touches = Touches() if races else None
        self.refused = set(refused)
        self.judging = True
        self.made_by: dict[int, Key] = {}
        self.broken: list[Broken] = []
        self.changed: list[int] = []
        """The words of the objects to which more happened than that they were used; 0 if it is more than one object that changed."""
        self._devices: dict[int, int] = {}
        self.use_device(SOME_DEVICE)

    def observe(self, call: SourceCall, outcome: Outcome) -> None:
        if self.judging and not outcome.status:
            for violation in judge(call, self.model):
                self.report(violation, call)
                if is_refused(violation):
                    self.refused.add(call.step)
        self.changed += _changed(call, outcome)
        self.model.observe(call, Outcome(FAILED) if call.step in self.refused else outcome)
        for word in outcome.outputs.values():
            self._give_size(word)

    def _give_size(self, word: int) -> None:
        """Some calls do not say the size of the memory that they hand out: that of another process, or of another API."""
        for memory in self.model.kinds_of(word):
            if isinstance(memory, Allocation) and not memory.size:
                memory.size = SIZE
                self.model.allocations.add(memory)

    def report(self, violation: Violation, call: SourceCall, unless: SourceCall | None = None) -> None:
        self.broken.append(Broken(violation, call, unless))
        self.handles.escaped.update(each.handle for each in violation.objects)  # one defect, one finding

    def adopt(self, role: Role, word: int) -> None:
        """What is ended but was never seen made is there from now on, so that its end can be seen."""
        model, kind = self.model, role.kind
        if word < FIRST or word not in self.handles.lvalues or model.kinds_of(word):
            return
        if kind in ALLOCATIONS:
            if model.allocation_at(word) is not None or model.host_memory_at(word) is not None:
                return
            self.changed.append(word)
            if kind is Kind.MEMORY:
                memory = model.table.add(Allocation, kind, word, 0)
                memory.size, memory.variant = SIZE, "adopted"
                model.allocations.add(memory)
            else:
                pinned = model.table.add(HostMemory, kind, word, 0)
                pinned.size, pinned.registered = SIZE, role.verb is Verb.UNREGISTERS
                model.host_memory.add(pinned)
        elif kind not in (Kind.CONTEXT, Kind.DEVICE, Kind.NONE):
            self.changed.append(word)
            model.table.add(CLASSES.get(kind, Object), kind, word, 0)

    def memory_at(self, word: int) -> Object | None:
        """Memory that begins there, is still there, and was seen made."""
        found: Object | None = self.model.host_memory_at(word) or self.model.allocation_at(word)
        is_whole = found is not None and found.alive and found.handle == word and found.created_by is not None
        return found if is_whole else None

    def forget_unseen(self) -> None:
        """A graph is launched: memory that was made out of sight may be its own, and be there again."""
        unseen = {memory.handle for memory in self.model.objects(Kind.MEMORY, alive=False) if memory.created_by is None}
        for name in [name for name, word in self.handles.words.items() if word in unseen]:
            del self.handles.words[name]

    # What is asked of objects by their words.

    def is_stream(self, word: int) -> bool:
        return self.model.find(Kind.STREAM, word) is not None

    def is_dead_stream(self, word: int) -> bool:
        held = [each for each in self.model.kinds_of(word) if each.kind is Kind.STREAM]
        return bool(held) and not any(each.alive for each in held)

    def is_lost_with(self, word: int | None) -> bool:
        """Whether an object is there that was seen made, and that nobody else knows: it is missed when no lvalue holds the word."""
        if word is None or word not in self.made_by or word in self.handles.escaped:
            return False
        return any(held.alive for held in self.model.kinds_of(word))

    def is_dead(self, word: int) -> bool:
        return any(not held.alive for held in self.model.kinds_of(word))

    # Devices.

    def device(self, value: Value) -> int:
        """The number of the device; one of those that stand for devices that are not known, if it is no constant."""
        if isinstance(value, int):
            return value
        return self._devices.setdefault(self.handles.word(value), SOME_DEVICE + 1 + len(self._devices))

    def perhaps_of(self, device: int, words: Iterable[int]) -> set[int]:
        """Those of the words whose objects may be on the device, as far as the two numbers are not known to differ."""
        found = set()
        for word in words:
            for each in self.model.kinds_of(word):
                own = each.context.device if each.alive and each.context is not None else None
                if own is not None and max(own, device) >= SOME_DEVICE:
                    found.add(word)
        return found

    def use_device(self, device: int) -> None:
        """Make the device's primary context current."""
        self.current_device = device
        self.changed.append(0)
        retain, current = driver()["cuDevicePrimaryCtxRetain"], driver()["cuCtxSetCurrent"]
        handle = (1 << 40) + (device << 8)
        self.model.observe(Call(retain, (1, device)), Outcome(0, {0: handle}))
        self.model.observe(Call(current, (handle,)), Outcome(0))


def _changed(call: SourceCall, outcome: Outcome) -> Iterator[int]:
    """The words of the objects to which the call does more than to use them; 0 for everything else that it changes."""
    for index, parent in _parameters_changed(call.entry_point):
        yield 0 if index < 0 else outcome.outputs.get(index, call.args[index])
        if parent >= 0:
            yield call.args[parent]


@cache
def _parameters_changed(entry_point: EntryPoint) -> tuple[tuple[int, int], ...]:
    """Those that name an object which is more than used, and the object that it belongs to; -1 where there is none."""
    index = entry_point.index
    return tuple(
        (index.get(role.parameter, -1) if _is_about_one(role) else -1, index.get(role.parent, -1))
        for role in entry_point.roles
        if role.verb not in _USES and not (role.verb is Verb.LAUNCHES and role.kind in FUNCTIONS)
    )


def _is_about_one(role: Role) -> bool:
    """Whether what happens concerns nothing but the object that the parameter names."""
    if role.kind is Kind.CONTEXT or role.field or role.count or role.when:
        return False
    return role.verb in _OF_ONE or (role.verb is Verb.RETURNS and role.kind in FUNCTIONS)


def told(
    entry_point: EntryPoint, words: tuple[int, ...], written: Invoke, here: Here, pointers: tuple[int, ...] = ()
) -> SourceCall:
    """The call that is written there, as the model is told it."""
    return SourceCall(
        entry_point,
        words,
        pointers=pointers,
        number=written.start,
        time_ns=here.step,
        written=written,
        guards=here.guards,
        step=here.step,
        key=here.key,
    )
