"""What the operations on a path do: to the variables, and, through the model, to CUDA's objects."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from cuvet.catalog import driver
from cuvet.model import HostMemory, Outcome
from cuvet.rules.memory.size_zero import MemorySizeZero
from cuvet.source.calls import ASKING, LAST_ERROR, Meaning, meaning, meaning_of
from cuvet.source.methods import THIS
from cuvet.source.ownership import (
    HEAP,
    ON_HEAP,
    UNMAPS,
    holds_no_handle,
    is_view,
    names_what_it_holds,
    only_borrows,
    takes_over,
    uses_stream,
    works_on_stream,
)
from cuvet.source.paths.arms import Arms
from cuvet.source.paths.contexts import EndedContext
from cuvet.source.paths.failures import Statuses
from cuvet.source.paths.handles import FIRST, NOWHERE, SOME_FUNCTION, Handles, root
from cuvet.source.paths.judging import given_to_heap
from cuvet.source.paths.trace import Here, Key, Left, SourceCall, Unset
from cuvet.source.paths.world import FAILED, World, told
from cuvet.source.program import (
    Address,
    Assign,
    Escape,
    Function,
    Inside,
    Invoke,
    Operation,
    Return,
    Value,
    lvalue_of,
    pointed_at,
)
from cuvet.source.result import RESULT, Ending, Summaries, Summary
from cuvet.source.summaries import parts_of, struct_of, summary_of


@dataclass(slots=True, frozen=True)
class Mark:
    """What a path knew when it came to a decision."""

    words: dict[str, int]
    lent: dict[str, frozenset[int]]
    origins: dict[str, Key]
    doubtful: dict[str, Key]
    failed: set[Key]
    views: set[str]
    escaped: set[int]
    newest: int
    counts: tuple[int, int, int, SourceCall | None]


class Progress(NamedTuple):
    """How much has happened on a path."""

    changed: int
    newest: int
    escaped: int
    moved: int


_MOST_UNSET = 32
"""Variables without a value that a path ends."""


class Effects:
    """The state of a path. ``failing`` are the calls that fail on it; ``refused`` is for ``World``."""

    def __init__(
        self, function: Function, summaries: Summaries, arms: Arms, failing: frozenset[Key], refused: Iterable[int] = ()
    ) -> None:
        self.function = function
        self.arms = arms
        self.failing = failing
        self.handles = Handles(function)
        self.world = World(self.handles, refused, arms.may_race)
        self.statuses = Statuses()
        self.left: list[Left] = []
        self.unset: list[Unset] = []
        self._summaries = summaries
        self._ended_context = EndedContext(function, self.world)
        self._lent: dict[str, frozenset[int]] = {}
        """By result of a function that is not CUDA's: what it was given; and by view: what it refers to."""
        self._views: set[str] = set()
        self._moved = 0
        """How often an lvalue got, or held before, an object that was seen made, or a constant."""
        self._structs: dict[str, tuple[Invoke, Summary]] = {}
        """By result of a function that returns a struct: the call, of which members are made."""
        self._on_heap: set[int] = set()
        """Memory of the host, which CUDA cannot end."""
        self._holding: set[int] = set()
        """Of that, what may hold objects in turn."""
        self._nothing: dict[int, tuple[Assign, Here]] = {}
        """By the word of a variable that was declared without a value: where that was."""
        self._unchecked: set[int] = set()
        """Made by calls whose status nobody looked at."""

    def progress(self) -> Progress:
        return Progress(len(self.world.changed), self.handles.newest, len(self.handles.escaped), self._moved)

    def only_makes(self, since: Progress, until: Progress) -> bool:
        """Whether all that became of objects between the two is that new ones were made, each in an lvalue of its own."""
        changed = self.world.changed[since.changed : until.changed]
        new = len(set(changed)) == len(changed) and all(word > since.newest for word in changed)
        return new and (since.escaped, since.moved) == (until.escaped, until.moved)

    def mark(self) -> Mark:
        """What the path knows now."""
        handles, statuses = self.handles, self.statuses
        return Mark(
            handles.words.copy(),
            self._lent.copy(),
            statuses.origins.copy(),
            statuses.doubtful.copy(),
            statuses.failed.copy(),
            self._views.copy(),
            handles.escaped.copy(),
            handles.newest,
            self._counts(),
        )

    def back_to(self, mark: Mark) -> None:
        """The variables hold again what they held then."""
        self.handles.words, self.handles.escaped = mark.words, mark.escaped
        self.statuses.origins, self.statuses.doubtful = mark.origins, mark.doubtful
        self.statuses.failed = set(mark.failed)
        self._lent, self._views = mark.lent, mark.views

    def is_as_at(self, mark: Mark, matters: Callable[[str], bool], less: bool = False) -> bool:
        """Whether nothing was learned and nothing happened since, as far as lvalues are concerned that matter from here on. Objects that
        were made since have ended, or are known elsewhere. With ``less``, also where less is known."""
        handles, world, statuses = self.handles, self.world, self.statuses
        changed = world.changed[mark.counts[0] :]
        learned = statuses.failed != mark.failed
        if learned or self._counts()[1:] != mark.counts[1:] or any(word <= mark.newest for word in changed):
            return False
        escaped = set() if less else {word for word in handles.escaped ^ mark.escaped if FIRST <= word <= mark.newest}
        if escaped and any(matters(lvalue) for lvalue, word in handles.words.items() if word in escaped):
            return False
        known = (statuses.origins.items() ^ mark.origins.items()) | (statuses.doubtful.items() ^ mark.doubtful.items())
        if any(matters(lvalue) for lvalue in {lvalue for lvalue, _ in known} | (self._views ^ mark.views)):
            return False
        lent, words = self._lent.items() ^ mark.lent.items(), handles.words.items() ^ mark.words.items()
        return not any(matters(lvalue) or any(map(world.is_lost_with, given)) for lvalue, given in lent) and not any(
            world.is_lost_with(word)
            or (
                matters(lvalue) and not self._is_only_named(lvalue, mark) and not (less and lvalue not in handles.words)
            )
            for lvalue, word in words
        )

    def _is_only_named(self, lvalue: str, mark: Mark) -> bool:
        """Whether an lvalue that was not set before has a word now, of which nothing is known."""
        word = self.handles.words.get(lvalue, 0)
        return (
            lvalue not in mark.words
            and word > mark.newest
            and self.handles.lvalues.get(word) == lvalue
            and word not in self.handles.escaped
            and not self.world.model.kinds_of(word)
        )

    def _counts(self) -> tuple[int, int, int, SourceCall | None]:
        return len(self.world.changed), len(self.world.broken), len(self.left) + len(self.unset), self._ended_context.by

    def operate(self, operation: Operation, here: Here) -> None:
        if isinstance(operation, Assign):
            self._assign(operation, here)
        elif isinstance(operation, Escape):
            self._share_heap(Address(operation.lvalue))
            self._give(operation.lvalue, operation.written)
        elif isinstance(operation, Return):
            self._end(operation, here)
        elif operation.launch:
            self._copy_heap(operation)
            self._launch(operation, here)
        elif (found := meaning(operation.name)) is not None:
            self._copy_heap(operation)
            self._cuda(operation, found, here)
        else:
            self._not_of_cuda(operation, here)

    def _not_of_cuda(self, operation: Invoke, here: Here) -> None:
        if operation.name in HEAP and operation.arguments:
            self._lose_members(operation, here)
        elif self._holding:
            for value in (*operation.arguments, operation.receiver):
                self._share_heap(value)
        summary = summary_of(operation, self._summaries)
        if summary is not None:
            self._summarised(operation, summary, here)
        else:
            self._other(operation, here)

    # Variables.

    def _assign(self, operation: Assign, here: Here) -> None:
        lvalue, value, handles = operation.lvalue, operation.value, self.handles
        self._follow_status(operation)
        if self._holding:
            self._share_heap(value)
        word = None if value is None else handles.word(value)
        if word in self._on_heap and not holds_no_handle(
            self.function.locals.get(lvalue, "").strip().removesuffix("*")
        ):
            self._holding.add(word)
        self._moved += isinstance(value, int) or not self.world.made_by.keys().isdisjoint(
            (word, handles.words.get(lvalue))
        )
        if isinstance(value, Inside) and value.lvalue == lvalue:
            handles.give(lvalue)  # the start can be found again
        if "[*]" in lvalue or not handles.is_local(lvalue):
            self._give(value)
        elif isinstance(value, str):
            self._give_any(value)
        elif isinstance(value, Address | Inside):
            self._point_into(lvalue, value.lvalue.split("[")[0])
        if not operation.declared and handles.words.get(lvalue) != word:
            self._lost(lvalue, operation, here)
        handles.set(lvalue, word)
        if operation.unset and lvalue not in self.function.captured:
            self._nothing[handles.word(lvalue)] = operation, here
        if word is not None and handles.lvalues.get(word, "")[:1] == "%":
            handles.lvalues[word] = lvalue
        if isinstance(value, str):
            self._copy_struct(value, lvalue, here)

    def _copy_struct(self, value: str, lvalue: str, here: Here) -> None:
        """What its members hold is held by both, if they are of one type."""
        kind = struct_of(self.function.locals.get(lvalue, ""))
        made = self._structs.get(value)
        if made is not None and made[1].parts[RESULT].type == kind != "" and lvalue not in self._reached:
            for part, api in parts_of(made[1], RESULT, Address(lvalue)):
                self._made_by(made[0], api, Address(part), here)
        elif kind and kind == struct_of(self.function.locals.get(value, "")):
            self.handles.copy_parts(value, lvalue)
        else:
            self.handles.give_parts(value)

    def _point_into(self, lvalue: str, start: str) -> None:
        """A local pointer points into memory or an array of which another lvalue holds the start: whoever keeps it can find that."""
        if held := self.handles.held(start):
            self._views.add(lvalue)
            self._lent[lvalue] = held

    def _follow_status(self, operation: Assign) -> None:
        """The lvalue may hold a status now, or what a function made of what it was lent."""
        lvalue, value = operation.lvalue, operation.value
        name = value if isinstance(value, str) else ""
        if name in self._views:
            self._views.add(lvalue)
            self._lent[lvalue] = self._lent[name]
        elif name in self._lent and not holds_no_handle(operation.kind or self.function.locals.get(lvalue, "")):
            self.handles.escaped |= self._lent[name]
        self.statuses.copy(name, lvalue)

    def _give(self, value: Value, written: bool = False) -> None:
        """The value is known elsewhere from now on, and what it is a view of."""
        self.handles.give(value, written)
        if not self._views or not (lvalue := lvalue_of(value)):
            return
        for view in [each for each in self._views if each == lvalue or each.startswith(f"{lvalue}.")]:
            self.handles.escaped |= self._lent[view]

    def _give_any(self, value: Value) -> None:
        """An element, nobody knows which, is ended or held by another variable: so each may be."""
        if isinstance(value, str) and "[*]" in value:
            self._give(value)

    def _lost(self, lvalue: str, by: Assign | Invoke, here: Here) -> None:
        """The lvalue gets another value: what it held may have been its last."""
        old = self.handles.words.get(lvalue)
        if old is not None and all(name == lvalue for name in self.handles.holders(old)):
            self._leave(old, by, here)

    def _end(self, operation: Return, here: Here) -> None:
        if operation.how == "exit":
            return
        self._share_heap(operation.value)
        self._give(operation.value)
        for lvalue, word in tuple(self.handles.words.items()):
            if not self._is_in_own_heap(lvalue):
                self._leave(word, operation, here)

    def _leave(self, word: int, end: Return | Assign | Invoke, here: Here) -> None:
        key = self.world.made_by.get(word)
        if not self.world.judging or key is None or word in self.handles.escaped:
            return
        if self.statuses.may_have_failed(key, here.guards, self.arms.leaving):
            return
        for made in self.world.model.kinds_of(word):
            by = made.created_by
            if made.alive and isinstance(by, SourceCall):
                lvalue = self.handles.lvalues.get(word, "")
                self.left.append(Left(made, by, lvalue, end, here.guards, here.step, bool(self.failing)))

    # Calls.

    def _launch(self, operation: Invoke, here: Here) -> None:
        launch = driver()["cuLaunchKernel"]
        given = {"f": SOME_FUNCTION, "hStream": self.handles.word(operation.stream)}
        words = tuple(given.get(parameter.name, 0) for parameter in launch.parameters)
        pointers = tuple(map(self.handles.word, operation.arguments))
        self.world.observe(told(launch, words, operation, here, pointers), Outcome(0))

    def _cuda(self, operation: Invoke, found: Meaning, here: Here) -> None:
        if operation.once and self._is_dead(operation.argument(found.ended[0][0])):
            return
        fails = here.key in self.failing
        if operation.result:
            self.handles.words[operation.result] = FAILED if fails else 0
            self.statuses.origins[operation.result] = here.key
        given = operation.arguments
        if found.sets_device:
            self.world.use_device(self.world.device(operation.argument(0)))
            return
        if found.resets:
            if not fails:
                self._reset(operation, here)
            return
        if operation.name in ASKING:
            for value in given:
                self.handles.give(value, written=isinstance(value, str))
        freed = operation.argument(0) if found.told.name in ("cuMemFree", "cuMemFreeHost") else None
        if self.handles.known(freed) in self._on_heap:
            return
        if found.told.name == "cuMemFreeHost" and isinstance(freed, str):
            self.handles.escaped |= self._lent.get(freed, frozenset())  # the device's pointer may be the host's
        if fails and operation.name in LAST_ERROR:
            self.handles.escaped |= self._unchecked  # it may be the failure of what should have made them
        self._ends_nothing(operation, found, here)
        empty = _is_of_no_bytes(operation, found)
        for at, _ in found.made if fails or empty else ():
            self._may_be_set(pointed_at(operation.argument(at)))
        if empty:
            return
        made = {at: self.handles.fresh() for at, _ in found.made} if found.made and not fails else {}
        words = found.words(given, self.handles.word)
        self._prepare(operation, found, fails)
        outputs = {index: made[at] for index, at in enumerate(found.taken) if at in made} if made else {}
        call = told(found.told, words, operation, here)
        self.world.observe(call, Outcome(FAILED if fails else 0, outputs))
        self._ended_context.follow(call, found)
        if found.told.name == "cuGraphLaunch":
            self.world.forget_unseen()
        if found.told.name == "cuMemHostGetDevicePointer" and isinstance(host := operation.argument(1), str):
            self._point_into(pointed_at(operation.argument(0)), host)
        for at, word in made.items():
            self._made(operation.argument(at), word, operation, here)
            if not operation.checked and not operation.result:
                self._unchecked.add(word)

    def _reset(self, operation: Invoke, here: Here) -> None:
        device = self.world.current_device
        self.world.observe(told(driver()["cuDevicePrimaryCtxReset"], (device,), operation, here), Outcome(0))
        self.world.use_device(device)
        self.handles.escaped |= self.world.perhaps_of(device, self.world.made_by)

    def _ends_nothing(self, operation: Invoke, found: Meaning, here: Here) -> None:
        """The call may end what a variable holds that was given no value."""
        if not self._nothing or not self.world.judging or len(self.unset) == _MOST_UNSET:
            return
        for at, role in found.ended:
            value = operation.argument(at)
            word = self.handles.known(value) or 0
            if word in self._nothing and word not in self.handles.escaped and isinstance(value, str):
                declared, then = self._nothing[word]
                if declared.lvalue == value:
                    call = told(found.told, found.with_argument(at, word), operation, here)
                    self.unset.append(Unset(value, role.kind, declared, then.guards, then.step, call))

    def _may_be_set(self, lvalue: str) -> None:
        """A function, or a macro, may give a value to a variable that has none."""
        if self._nothing and self.handles.words.get(lvalue, 0) in self._nothing:
            self.handles.set(lvalue, None)

    def _prepare(self, operation: Invoke, found: Meaning, fails: bool) -> None:
        """What the call ends is there; what it gets the address of is known to CUDA."""
        given = operation.arguments
        for at, role in found.ended:
            if at < len(given):
                word = self.handles.word(given[at])
                self._give_any(given[at])
                if (lvalue := lvalue_of(given[at])) != (pointer := root(lvalue)):
                    self.handles.escaped |= self._lent.get(pointer, frozenset())
                    self.handles.escaped |= self.handles.held(self.handles.target(pointer))
                self.world.adopt(role, word)
                if fails:
                    self.handles.escaped.add(word)  # a release that failed was meant as one
        for at in found.kept:
            self._give(operation.argument(at))
        source, to = found.copies
        for at, value in enumerate(given):
            if isinstance(value, Address) and all(at != each for each, _ in found.made) and not found.fills(at):
                target = operation.argument(to) if at == source and value.lvalue not in self.handles.words else None
                made = isinstance(target, str) and self.handles.words.get(target) in self.world.made_by
                if made and isinstance(target, str) and self.handles.is_local(target):
                    self._point_into(target, value.lvalue)  # a struct is copied there, with what its members hold
                else:
                    self.handles.give(value, written=not found.only_reads(at))
                if at == to and isinstance(copy := operation.argument(source), str):
                    self.handles.escaped |= self._lent.get(copy, frozenset())  # and from there to somebody else

    def _made(self, target: Value, word: int, operation: Invoke, here: Here) -> None:
        """A new object is written to what ``target`` points to."""
        handles = self.handles
        self.world.made_by[word] = here.key
        lvalue = pointed_at(target)
        if not lvalue or "[*]" in lvalue:
            if lvalue:
                handles.set(lvalue, None)
            return
        self._lost(lvalue, operation, here)
        handles.set(lvalue, word)
        if lvalue in self.function.captured:
            handles.escaped.add(word)
        if handles.is_local(lvalue) or self._is_in_own_heap(lvalue):
            return
        if handles.of_caller(lvalue) or not self.arms.always_ends(lvalue, operation.start):
            handles.escaped.add(word)

    # Structs on the heap.

    def _owns_heap(self, name: str) -> bool:
        """Whether the variable points to memory of the heap that only this function knows, and by no other variable."""
        word = self.handles.words.get(name)
        if word not in self._holding or word in self.handles.escaped:
            return False
        return name in self.function.locals and name not in self.function.captured

    def _is_in_own_heap(self, lvalue: str) -> bool:
        if not self._holding or "[" in lvalue or lvalue.count("->") != 1:
            return False
        name = root(lvalue)
        return lvalue.startswith(f"{name}->") and self._owns_heap(name)

    def _share_heap(self, value: Value) -> None:
        """Such memory, a copy of it, or the address of a part is passed on: what it holds, or will hold, can be reached from elsewhere."""
        lvalue = lvalue_of(value)
        name = root(lvalue)
        if not self._owns_heap(name):
            return
        if lvalue in (name, f"{name}[0]") or isinstance(value, Address | Inside):
            self.handles.give(name)

    def _copy_heap(self, operation: Invoke) -> None:
        """What CUDA is given of such memory may be copied to the device, with what it holds."""
        if self._holding:
            for value in operation.arguments:
                if isinstance(value, str):
                    self._share_heap(value)

    def _lose_members(self, operation: Invoke, here: Here) -> None:
        """Memory of the heap is freed, and with it the only variables of what it holds."""
        name = lvalue_of(operation.arguments[0])
        if not self._owns_heap(name):
            return
        for lvalue, word in tuple(self.handles.words.items()):
            if self._is_in_own_heap(lvalue) and all(root(each) == name for each in self.handles.holders(word)):
                self._leave(word, operation, here)

    # Functions that are not CUDA's.

    def _summarised(self, operation: Invoke, summary: Summary, here: Here) -> None:
        """A function of the same file."""
        self._object(operation, summary, here)
        for at, value in enumerate(operation.arguments):
            if isinstance(value, str) and value in self._views:
                self.handles.escaped |= self._lent[value]  # it may be read from there
            if at in summary.uses:
                self._used_by(operation, at, summary.uses[at], here)
            if at in summary.ends:
                given = value.lvalue if isinstance(value, Address) and at in summary.variables else value
                self._ended_by(operation, summary.ends[at], given, here, sets=at in summary.sets)
            elif at in summary.makes and here.key not in self.failing:
                target = Address(value) if isinstance(value, str) and at in summary.references else value
                if at in summary.at_times and self._may_not_make(operation, pointed_at(target)):
                    self.handles.give(target, written=True)
                else:
                    self._made_by(operation, summary.makes[at], target, here)
            elif at in summary.keeps or isinstance(value, Address):
                self.handles.give(value, written=True)
            elif at in summary.references and isinstance(value, str):
                self._forget_constant(value)
            if at in summary.parts and here.key not in self.failing and self._is_struct(value, summary.parts[at].type):
                for lvalue, api in parts_of(summary, at, value):
                    self._made_by(operation, api, Address(lvalue), here)
        result = operation.result
        if (summary.makes or summary.parts) and result:
            self.statuses.doubtful[result] = here.key
        unsure = RESULT in summary.at_times and self._may_not_make(operation, self.arms.named(result))
        if summary.returns and here.key not in self.failing and not unsure:
            self._made_by(operation, summary.returns, Address(result), here)
        elif result:
            self.handles.words[result] = self.handles.fresh()
        if RESULT in summary.parts and result and here.key not in self.failing:
            self._structs[result] = operation, summary

    def _is_struct(self, value: Value, kind: str) -> bool:
        """Whether it is a variable of the type, and nothing else is known by whom it can be reached."""
        variable = lvalue_of(value)
        return struct_of(self.function.locals.get(variable, "")) == kind != "" and variable not in self._reached

    @cached_property
    def _reached(self) -> frozenset[str]:
        """Variables whose address others may keep: whoever does can end what is made there later."""
        found = set(self.function.captured)
        for operation in self.function.operations:
            given: Iterable[Value] = ()
            if isinstance(operation, Assign):
                given = (operation.value,)
            elif isinstance(operation, Escape):
                given = (operation.lvalue,)
            elif isinstance(operation, Invoke) and not (operation.launch or self._is_known(operation)):
                given = (*operation.arguments, operation.receiver)
            found.update(lvalue_of(value) for value in given)
        return frozenset(found)

    def _is_known(self, call: Invoke) -> bool:
        known = meaning(call.name) is not None or only_borrows(call.name)
        return known or summary_of(call, self._summaries) is not None

    def _may_not_make(self, operation: Invoke, lvalue: str) -> bool:
        """Whether a function that makes something at times may make nothing here: it is told so by a constant, or its caller ends what it
        made somewhere, and knows when."""
        return self.arms.lets_go(lvalue) or any(value in (0, 1) for value in operation.arguments)

    def _object(self, operation: Invoke, summary: Summary, here: Here) -> None:
        """What a method does with the members of the object that it is called on. Of an object that others know nothing is told."""
        receiver, handles = operation.receiver, self.handles
        if "." not in operation.name:  # a method that is not sure to be this one
            handles.give(receiver, written=True)
        if not summary.members:
            return
        if receiver != THIS and (receiver in self.arms.shared or not handles.is_local(receiver)):
            handles.give(receiver, written=True)
            return
        whole = replace(operation, spans=())
        for deed in summary.members:
            lvalue = f"{receiver}.{deed.member}" if deed.member else receiver
            if deed.verb == "changes" or "[*]" in lvalue:
                handles.give(lvalue, written=True)
            elif deed.verb == "clears":
                handles.set(lvalue, 0)
            elif deed.verb == "makes":
                self._made_by(whole, deed.api, Address(lvalue), here)
                handles.escaped.add(handles.word(lvalue))  # the object ends it, sometime
            elif not deed.once if self._is_dead(lvalue) else deed.verb == "ends":
                self._end_or_use(whole, meaning_of(deed.api), deed.at, handles.word(lvalue), here)

    def _end_or_use(self, operation: Invoke, found: Meaning, at: int, word: int, here: Here) -> None:
        for ended, role in found.ended:
            if ended == at:
                self.world.adopt(role, word)
        self.world.observe(told(found.told, found.with_argument(at, word), operation, here), Outcome(0))

    def _used_by(self, operation: Invoke, position: int, use: tuple[str, int], here: Here) -> None:
        """A function uses an argument, which matters if that has ended. The argument is marked where the entry point has its own."""
        api, at = use
        found, value = meaning_of(api), operation.arguments[position]
        if not operation.receiver and self._is_dead(value):
            marked = operation.spans[position : position + 1] * len(found.taken)
            self._end_or_use(replace(operation, spans=marked), found, at, self.handles.word(value), here)

    def _ended_by(self, operation: Invoke, ending: Ending, value: Value, here: Here, sets: bool) -> None:
        """``sets``: the function may put something else there."""
        found = meaning_of(ending.api)
        if ending.through:
            value, sets = pointed_at(value) or None, True
        self._give_any(value)
        if ending.always and not (ending.once and self._is_dead(value)):
            self._end_or_use(operation, found, found.ended[0][0], self.handles.word(value), here)
        if sets or not ending.always:
            self.handles.give(value, written=True)

    def _made_by(self, operation: Invoke, api: str, target: Value, here: Here) -> None:
        found = meaning_of(api)
        (at, _), *_ = found.made
        word = self.handles.fresh()
        outputs = {index: word for index, taken in enumerate(found.taken) if taken == at}
        call = told(found.told, found.with_argument(at, NOWHERE), operation, here)
        self.world.observe(call, Outcome(0, outputs))
        self._made(target, word, operation, here)

    def _other(self, operation: Invoke, here: Here) -> None:
        """It may change variables whose address it gets, or which it takes by reference; its name tells whether it keeps a handle."""
        handles = self.handles
        name = operation.name
        if (name in HEAP or name in UNMAPS) and operation.arguments:
            self._heap(operation, here)
        several = len(operation.arguments) > 1 and uses_stream(name)
        of_object = bool(operation.receiver) or operation.of == ""
        sets = of_object and len(operation.arguments) == 1 and names_what_it_holds(name)
        may_take = takes_over(name) or sets
        given: set[int] = set()
        for value in operation.arguments:
            word = handles.known(value) or 0
            takes = may_take and not (works_on_stream(name) and self.world.is_stream(word))
            if several and self.world.is_dead_stream(word):
                self.world.observe(told(driver()["cuStreamSynchronize"], (word,), operation, here), Outcome(0))
            if isinstance(value, Address) or (isinstance(value, str) and (takes or self._is_dead(value))):
                self._give(value, written=True)
                if takes:
                    handles.escaped |= self._lent.get(lvalue_of(value), frozenset())  # an object made of it is kept
            elif isinstance(value, str):
                handles.give_parts(value)
                self._forget_constant(value)
            elif takes:
                self._give(value)
            given.add(word)
        handles.give(operation.receiver, written=True)
        if operation.result:
            handles.words[operation.result] = handles.fresh()
            if name in ON_HEAP:
                self._on_heap.add(handles.words[operation.result])
            self._lent[operation.result] = frozenset(given - {0})
            if is_view(name):
                self._views.add(operation.result)

    def _forget_constant(self, lvalue: str) -> None:
        """A function that is given the variable may set it: its parameter may be a reference. Statuses are only looked at."""
        self._may_be_set(lvalue)
        word = self.handles.words.get(lvalue)
        if word is not None and word < FIRST and lvalue not in self.statuses:
            self.handles.set(lvalue, None)

    def _is_dead(self, value: Value) -> bool:
        """Whether what is passed on has ended: who does so wants it to be made anew, or uses it."""
        word = self.handles.known(value)
        return word is not None and self.world.is_dead(word)

    def _heap(self, operation: Invoke, here: Here) -> None:
        """free or delete; or munmap, which matters for registered memory alone."""
        word = self.handles.known(operation.arguments[0]) or 0
        memory = self.world.memory_at(word)
        registered = isinstance(memory, HostMemory) and memory.registered
        if memory is None or not (registered or operation.name in HEAP):
            return
        by = memory.created_by
        if isinstance(by, SourceCall) and self.statuses.may_have_failed(by.key, here.guards, self.arms.leaving):
            return
        self.world.report(given_to_heap(memory), told(driver()["cuMemFree"], (word,), operation, here))


def _is_of_no_bytes(operation: Invoke, found: Meaning) -> bool:
    """Whether it asks for no memory: the driver refuses it, and cudaMalloc succeeds with none."""
    if found.told.name not in MemorySizeZero.entry_points:
        return False
    index = found.entry_point.index
    return any(operation.argument(index.get(role.size, -1)) == 0 for _, role in found.made)
