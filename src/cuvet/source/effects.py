"""What the operations on a path do: to the variables, and, through the model, to CUDA's objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cuvet.catalog import OF_CONTEXT, EntryPoint, Kind, Role, Verb, driver
from cuvet.model import Call as ModelCall
from cuvet.model import Model, Object, Outcome
from cuvet.model.objects import Allocation, Event, Graph, GraphExec, HostMemory, MemoryPool, Stream
from cuvet.rules.rule import Violation
from cuvet.source.calls import Meaning, meaning
from cuvet.source.handles import FIRST, NOWHERE, SIZE, SOME_FUNCTION, Handles
from cuvet.source.judging import SOME_DEVICE, ended_after_context, given_to_heap, is_refused, judge
from cuvet.source.ownership import HEAP, UNMAPS, holds_no_handle, is_view, takes_over, uses_stream, works_on_stream
from cuvet.source.program import Address, Assign, Call, Escape, Function, Inside, Operation, Return, Value
from cuvet.source.result import Ending, Summaries, Summary
from cuvet.source.summaries import summary_of

_CLASSES: dict[Kind, type[Object]] = {
    Kind.STREAM: Stream,
    Kind.EVENT: Event,
    Kind.GRAPH: Graph,
    Kind.GRAPH_EXEC: GraphExec,
    Kind.MEMORY_POOL: MemoryPool,
}
FAILED = 999
"""The status of a call that fails on a path (CUDA_ERROR_UNKNOWN)."""

Key = tuple[int, int, int]
"""An operation on a path: block, index in the block, how often the block was passed before."""
Guards = tuple[tuple[int, int], ...]
"""Decisions (block, edge) that lead to a block, the outermost first."""


@dataclass(slots=True, frozen=True)
class Here:
    """Where a path is: ``key`` names the operation, ``guards`` the branches around it, ``step`` counts the operations."""

    key: Key
    guards: Guards
    step: int


@dataclass(slots=True, eq=False)
class SourceCall(ModelCall):
    """A call on a path. ``written`` is what stands in the source."""

    written: Call | None = None
    guards: Guards = ()
    step: int = 0
    again: bool = False
    """In a repetition of a loop."""


@dataclass(slots=True)
class Broken:
    """A rule broken by a call."""

    violation: Violation
    call: SourceCall


@dataclass(slots=True)
class Left:
    """An object that is still there at ``end``, where the last place that held it ends or, if it is ``overwritten``, holds something
    else. ``failed``: on a path on which a call of CUDA failed."""

    object: Object
    by: SourceCall
    place: str
    end: Return | Assign | Call
    guards: Guards
    step: int
    overwritten: bool
    failed: bool


class Effects:
    """The state of a path. ``failing`` are the calls that fail on it. ``origins`` and ``doubtful`` name, by place, the call whose status
    it holds, and the one whose status some function made its value of. Nothing is reported before ``judging`` is True; until then
    ``refused`` has the steps of the calls that break a rule for which CUDA refuses them, later on they are added."""

    def __init__(
        self, function: Function, summaries: Summaries, failing: frozenset[Key], refused: Iterable[int] = ()
    ) -> None:
        self.function = function
        self.handles = Handles(function)
        self.model = Model(symbols=True)
        self.failing = failing
        self.refused = set(refused)
        self.judging = True
        self.origins: dict[str, Key] = {}
        self.doubtful: dict[str, Key] = {}
        self.doubted: dict[Key, list[tuple[int, int]]] = {}
        """By call: branches in which it may have failed."""
        self.made_by: dict[int, Key] = {}
        self.broken: list[Broken] = []
        self.left: list[Left] = []
        self._summaries = summaries
        self._lent: dict[str, set[int]] = {}
        """By result of a function that is not CUDA's: what it was given; and by view: what it refers to."""
        self._views: set[str] = set()
        self._devices: dict[int, int] = {}
        self._context_ended: SourceCall | None = None
        """The call that destroyed a context that was not seen made, while no other was made current."""
        self._use_device(SOME_DEVICE)

    def operate(self, operation: Operation, here: Here) -> None:
        if isinstance(operation, Assign):
            self._assign(operation, here)
        elif isinstance(operation, Escape):
            self._give(operation.place, operation.written)
        elif isinstance(operation, Return):
            self._end(operation, here)
        elif operation.launch:
            self._launch(operation, here)
        elif (found := meaning(operation.name)) is not None:
            self._cuda(operation, found, here)
        elif (summary := summary_of(operation, self._summaries)) is not None:
            self._summarised(operation, summary, here)
        else:
            self._context_ended = None
            self._other(operation, here)

    # Variables.

    def _assign(self, operation: Assign, here: Here) -> None:
        place, value, handles = operation.place, operation.value, self.handles
        self._follow_status(operation)
        word = None if value is None else handles.word(value)
        old = handles.words.get(place)
        if isinstance(value, Inside) and value.place == place and old is not None:
            handles.escaped.add(old)  # the start can be found again
        if isinstance(value, str | Address | Inside) and ("[*]" in place or not handles.is_local(place)):
            self._give(value)
        elif isinstance(value, Inside) or (isinstance(value, Address) and "[" in value.place):
            self._point_into(place, value.place.split("[")[0])
        if not operation.declared and old is not None and old != word:
            self._lost(place, old, operation, here)
        handles.set(place, word)
        if word is not None and handles.places.get(word, "")[:1] == "%":
            handles.places[word] = place

    def _point_into(self, place: str, start: str) -> None:
        """A local pointer points into the memory that another place holds the start of: whoever keeps it can find the start."""
        word = self.handles.words.get(start)
        if word is not None:
            self._views.add(place)
            self._lent[place] = {word}

    def _follow_status(self, operation: Assign) -> None:
        """The place may hold a status now, or what a function made of what it was lent."""
        place, value = operation.place, operation.value
        name = value if isinstance(value, str) else ""
        if name in self._views and self.handles.is_local(place):
            self._views.add(place)
            self._lent[place] = self._lent[name]
        elif name in self._lent and not holds_no_handle(operation.kind or self.function.locals.get(place, "")):
            self.handles.escaped |= self._lent[name]
        origin = self.origins.get(name)
        doubt = self.origins.get(name[:-1]) if name.endswith("?") else self.doubtful.get(name)
        for statuses, key in ((self.origins, origin), (self.doubtful, doubt)):
            if key is None:
                statuses.pop(place, None)
            else:
                statuses[place] = key

    def _give(self, value: Value, written: bool = False) -> None:
        """The value is known elsewhere from now on, and what it is a view of."""
        self.handles.give(value, written)
        if isinstance(value, str) and value in self._views:
            self.handles.escaped |= self._lent[value]

    def _lost(self, place: str, old: int, by: Assign | Call, here: Here) -> None:
        """The place gets another value: what it held may have been its last."""
        if all(name == place for name in self.handles.holders(old)):
            self._leave(old, by, here, overwritten=True)

    def _end(self, operation: Return, here: Here) -> None:
        if operation.how == "exit":
            return
        self._give(operation.value)
        for word in tuple(self.handles.words.values()):
            self._leave(word, operation, here, overwritten=False)

    def _leave(self, word: int, end: Return | Assign | Call, here: Here, overwritten: bool) -> None:
        key = self.made_by.get(word)
        if not self.judging or key is None or word in self.handles.escaped:
            return
        if any(doubt in here.guards for doubt in self.doubted.get(key, ())):
            return
        for made in self.model.kinds_of(word):
            by = made.created_by
            if made.alive and isinstance(by, SourceCall):
                place = self.handles.places.get(word, "")
                self.left.append(Left(made, by, place, end, here.guards, here.step, overwritten, bool(self.failing)))

    # Calls.

    def _told(
        self,
        entry_point: EntryPoint,
        words: tuple[int, ...],
        operation: Call,
        here: Here,
        pointers: tuple[int, ...] = (),
    ) -> SourceCall:
        """The call as the model is told it."""
        return SourceCall(
            entry_point,
            words,
            pointers=pointers,
            number=operation.start,
            written=operation,
            guards=here.guards,
            step=here.step,
            again=here.key[2] > 0,
        )

    def _observe(self, call: SourceCall, outcome: Outcome) -> None:
        if self.judging and not outcome.status:
            for violation in judge(call, self.model):
                self._report(violation, call)
                if is_refused(violation):
                    self.refused.add(call.step)
        self.model.observe(call, Outcome(FAILED) if call.step in self.refused else outcome)

    def _report(self, violation: Violation, call: SourceCall) -> None:
        self.broken.append(Broken(violation, call))
        self.handles.escaped.update(each.handle for each in violation.objects)  # one defect, one finding

    def _launch(self, operation: Call, here: Here) -> None:
        launch = driver()["cuLaunchKernel"]
        given = {"f": SOME_FUNCTION, "hStream": self.handles.word(operation.stream)}
        words = tuple(given.get(parameter.name, 0) for parameter in launch.parameters)
        pointers = tuple(self.handles.word(value) for value in operation.arguments if isinstance(value, str | Inside))
        self._observe(self._told(launch, words, operation, here, pointers), Outcome(0))

    def _cuda(self, operation: Call, found: Meaning, here: Here) -> None:
        fails = here.key in self.failing
        if operation.result:
            self.handles.words[operation.result] = FAILED if fails else 0
            self.origins[operation.result] = here.key
        given = operation.arguments
        if found.sets_device:
            self._use_device(self._device(given[0] if given else None))
            return
        if found.resets:
            reset = self._told(driver()["cuDevicePrimaryCtxReset"], (self.device,), operation, here)
            self._observe(reset, Outcome(0))
            self._use_device(self.device)
            return
        made = {} if fails else {at: self.handles.fresh() for at, _ in found.made}
        words = found.words(given, self.handles.word)
        self._prepare(operation, found, fails)
        outputs = {index: made[at] for index, at in enumerate(found.taken) if at in made}
        call = self._told(found.told, words, operation, here)
        self._observe(call, Outcome(FAILED if fails else 0, outputs))
        self._follow_context(call, found, here)
        if found.told.name == "cuGraphLaunch":
            self._forget_unseen()
        for at, word in made.items():
            self._made(given[at] if at < len(given) else None, word, operation, here)

    def _follow_context(self, call: SourceCall, found: Meaning, here: Here) -> None:
        """What is ended after the context, and was not seen made, was made in it."""
        kinds = {role.kind for _, role in found.ended}
        first, operation = self._context_ended, call.written
        assert operation is not None
        if Kind.CONTEXT in kinds:
            unseen = call.args[found.taken.index(found.ended[0][0])] not in self.made_by
            self._context_ended = call if unseen and here.key[2] == 0 else None
        elif not kinds & OF_CONTEXT or operation.name.startswith("cuda"):
            self._context_ended = None
        elif first is not None and first.written is not None and first.written.start < operation.start:
            (at, role), *_ = found.ended
            place = operation.arguments[at] if at < len(operation.arguments) else None
            ended = self.model.find(role.kind, call.args[found.taken.index(at)])
            if ended is None or ended.created_by is not None or not isinstance(place, str):
                return
            around = tuple(guard for guard in here.guards if not self._asks_about(guard, place))
            before = tuple(guard for guard in first.guards if not self._asks_about(guard, _named_by(first)))
            if self.judging and around[: len(before)] == before:
                self._report(ended_after_context(ended, call, first), call)

    def _asks_about(self, guard: tuple[int, int], place: Value) -> bool:
        """Whether the branch asks what the place holds."""
        condition = self.function.blocks[guard[0]].edges[0].condition
        return condition is not None and condition.place == place

    def _prepare(self, operation: Call, found: Meaning, fails: bool) -> None:
        """What the call ends is there; what it gets the address of is known to CUDA."""
        given = operation.arguments
        made = [at for at, _ in found.made]
        for at, role in found.ended:
            if at < len(given):
                word = self.handles.word(given[at])
                self._adopt(role, word)
                if fails:
                    self.handles.escaped.add(word)  # a release that failed was meant as one
        for at, value in enumerate(given):
            if isinstance(value, Address) and at not in made:
                self.handles.give(value, written=not found.only_reads(at))

    def _made(self, target: Value, word: int, operation: Call, here: Here) -> None:
        """A new object is written to what ``target`` points to."""
        handles = self.handles
        self.made_by[word] = here.key
        place = pointed_at(target)
        if not place or "[*]" in place:
            handles.escaped.add(word)
            if place:
                handles.set(place, None)
            return
        old = handles.words.get(place)
        if old is not None:
            self._lost(place, old, operation, here)
        handles.set(place, word)
        handles.places[word] = place
        if not handles.is_local(place) and (
            handles.of_caller(place) or not ended_later(self.function, place, operation.start)
        ):
            handles.escaped.add(word)

    def _adopt(self, role: Role, word: int) -> None:
        """What is ended but was never seen made is there from now on, so that its end can be seen."""
        model, kind = self.model, role.kind
        if word < FIRST or word not in self.handles.places or model.kinds_of(word):
            return
        if kind in (Kind.MEMORY, Kind.HOST_MEMORY):
            if model.allocation_at(word) is not None or model.host_memory_at(word) is not None:
                return
            if kind is Kind.MEMORY:
                memory = model.table.add(Allocation, kind, word, 0)
                memory.size, memory.variant = SIZE, "adopted"
                model.allocations.add(memory)
            else:
                pinned = model.table.add(HostMemory, kind, word, 0)
                pinned.size, pinned.registered = SIZE, role.verb is Verb.UNREGISTERS
                model.host_memory.add(pinned)
        elif kind not in (Kind.CONTEXT, Kind.DEVICE, Kind.NONE):
            model.table.add(_CLASSES.get(kind, Object), kind, word, 0)

    def _forget_unseen(self) -> None:
        """A graph is launched: memory that was made out of sight may be its own, and be there again."""
        unseen = {memory.handle for memory in self.model.objects(Kind.MEMORY, alive=False) if memory.created_by is None}
        for name in [name for name, word in self.handles.words.items() if word in unseen]:
            del self.handles.words[name]

    # Functions that are not CUDA's.

    def _summarised(self, operation: Call, summary: Summary, here: Here) -> None:
        """A function of the same file."""
        for at, value in enumerate(operation.arguments):
            if at in summary.ends:
                self._ended_by(operation, summary.ends[at], value, here)
            elif at in summary.makes:
                target = Address(value) if isinstance(value, str) and at in summary.references else value
                self._made_by(operation, summary.makes[at], target, here)
            elif at in summary.keeps or isinstance(value, Address):
                self.handles.give(value, written=True)
            elif at in summary.references and isinstance(value, str):
                self._forget_constant(value)
        result = operation.result
        if summary.makes and result:
            self.doubtful[result] = here.key
        if summary.returns:
            self._made_by(operation, summary.returns, Address(result) if result else None, here)
        elif result:
            self.handles.words[result] = self.handles.fresh()

    def _ended_by(self, operation: Call, ending: Ending, value: Value, here: Here) -> None:
        found = meaning(ending.api)
        place = pointed_at(value) if ending.through else value
        if not isinstance(place, str) or found is None:
            return
        if ending.always:
            (at, role), *_ = found.ended
            word = self.handles.word(place)
            self._adopt(role, word)
            self._observe(self._told(found.told, found.with_argument(at, word), operation, here), Outcome(0))
        if ending.through or not ending.always:
            self.handles.give(place, written=True)

    def _made_by(self, operation: Call, api: str, target: Value, here: Here) -> None:
        found = meaning(api)
        if found is None:
            return
        (at, _), *_ = found.made
        word = self.handles.fresh()
        outputs = {index: word for index, taken in enumerate(found.taken) if taken == at}
        call = self._told(found.told, found.with_argument(at, NOWHERE), operation, here)
        self._observe(call, Outcome(0, outputs))
        self._made(target, word, operation, here)

    def _other(self, operation: Call, here: Here) -> None:
        """It may change variables whose address it gets, or which it takes by reference; its name tells whether it keeps a handle."""
        handles = self.handles
        if operation.name in HEAP | UNMAPS and operation.arguments:
            self._heap(operation, here)
        given: set[int] = set()
        for value in operation.arguments:
            word = handles.known(value) or 0
            takes = self._may_take(operation.name, word)
            if self._uses_dead_stream(operation, word):
                self._observe(self._told(driver()["cuStreamSynchronize"], (word,), operation, here), Outcome(0))
            if isinstance(value, Address) or (isinstance(value, str) and (takes or self._is_dead(value))):
                self._give(value, written=True)
            elif isinstance(value, str):
                handles.give_parts(value)
                self._forget_constant(value)
            elif takes:
                self._give(value)
            given.add(word)
        handles.give(operation.receiver, written=True)
        if operation.result:
            handles.words[operation.result] = handles.fresh()
            self._lent[operation.result] = given - {0}
            if is_view(operation.name):
                self._views.add(operation.result)

    def _forget_constant(self, place: str) -> None:
        """A function that is given the variable may set it: its parameter may be a reference. Statuses are only looked at."""
        word = self.handles.words.get(place)
        if word is not None and word < FIRST and place not in self.origins and place not in self.doubtful:
            self.handles.set(place, None)

    def _may_take(self, name: str, word: int) -> bool:
        return takes_over(name) and not (works_on_stream(name) and self.model.find(Kind.STREAM, word) is not None)

    def _uses_dead_stream(self, operation: Call, word: int) -> bool:
        held = [each for each in self.model.kinds_of(word) if each.kind is Kind.STREAM]
        several = len(operation.arguments) > 1 and uses_stream(operation.name)
        return several and bool(held) and not any(each.alive for each in held)

    def _is_dead(self, place: str) -> bool:
        """Whether what the place holds has ended: who passes it on then wants it to be made anew."""
        word = self.handles.words.get(place)
        return word is not None and any(not held.alive for held in self.model.kinds_of(word))

    def _heap(self, operation: Call, here: Here) -> None:
        """free or delete; or munmap, which matters for registered memory alone."""
        word = self.handles.known(operation.arguments[0]) or 0
        memory: Object | None = self.model.host_memory_at(word) or self.model.allocation_at(word)
        if memory is None or not memory.alive or memory.handle != word or memory.created_by is None:
            return
        if operation.name in UNMAPS and not (isinstance(memory, HostMemory) and memory.registered):
            return
        if self.judging:
            self._report(given_to_heap(memory), self._told(driver()["cuMemFree"], (word,), operation, here))

    # Devices.

    def _device(self, value: Value) -> int:
        if isinstance(value, int):
            return value
        return self._devices.setdefault(self.handles.word(value), SOME_DEVICE + 1 + len(self._devices))

    def _use_device(self, device: int) -> None:
        """Make the device's primary context current."""
        self.device = device
        retain, current = driver()["cuDevicePrimaryCtxRetain"], driver()["cuCtxSetCurrent"]
        handle = (1 << 40) + (device << 8)
        self.model.observe(ModelCall(retain, (1, device)), Outcome(0, {0: handle}))
        self.model.observe(ModelCall(current, (handle,)), Outcome(0))


def _named_by(call: SourceCall) -> Value:
    """The first argument, as it is written."""
    return call.written.arguments[0] if call.written is not None and call.written.arguments else None


def pointed_at(value: Value) -> str:
    """The place that a pointer points to; empty if that is not known."""
    if isinstance(value, Address):
        return value.place
    if isinstance(value, Inside):
        return f"{value.place}[*]"
    return f"{value}[0]" if isinstance(value, str) else ""


def ended_later(function: Function, place: str, after: int) -> bool:
    """Whether the function itself ends what the place holds, whatever happens, further down than the offset ``after``: then it means
    to do so on every way out."""
    return any(
        isinstance(operation, Call) and not block.guards and operation.start > after and ends_place(operation, place)
        for block in function.blocks
        for operation in block.operations
    )


def ends_place(call: Call, place: str) -> bool:
    """Whether the call ends what the place holds."""
    found = None if call.launch else meaning(call.name)
    return found is not None and any(at < len(call.arguments) and call.arguments[at] == place for at, _ in found.ended)
