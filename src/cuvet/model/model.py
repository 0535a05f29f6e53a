"""The executable specification: ``predict`` says what a call may do, ``observe`` follows what it did. Only ``observe`` changes state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

from cuvet.catalog import EntryPoint
from cuvet.catalog.results import NOT_READY, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model import library, precedence, statuses
from cuvet.model.alike import Alike, keeps_alike
from cuvet.model.call import Call, Outcome
from cuvet.model.current import NUMBERED_IN_CONTEXT
from cuvet.model.ledger import BACKED, Ledger
from cuvet.model.memory import MemoryTable
from cuvet.model.naming import is_named
from cuvet.model.objects import Allocation, Array, Capture, Context, Graph, HostMemory, MemoryPool, Object, Stream
from cuvet.model.order import Clock, Order
from cuvet.model.series import Series
from cuvet.model.table import ObjectTable
from cuvet.model.threads import Thread
from cuvet.model.touches import Touches
from cuvet.model.touching import Kernels
from cuvet.model.transitions import plan
from cuvet.model.transitions.capture import finish, observe_failure
from cuvet.model.view import ModelView, agrees, end_with_context
from cuvet.rules import rules_that_are
from cuvet.rules.occasions import UNUSUAL, is_usual
from cuvet.rules.rule import CallRule, Violation

T = TypeVar("T", bound=Object)

MORE_THAN_ANY_GPU = 1 << 40
"""Bytes."""


class Prediction(msgspec.Struct, frozen=True):
    """``statuses`` that the driver may return, the likeliest first (``CRASH`` for a signal): they follow from those of the
    ``violations`` that it comes upon first (``cuvet.model.precedence``). ``undefined`` if anything may happen. ``outputs`` (parameter
    index to word) are the values the model knows; new handles are made up by the emulated device."""

    statuses: tuple[int, ...]
    undefined: bool
    violations: tuple[Violation, ...]
    outputs: Mapping[int, int]


_SUCCEEDS = Prediction((SUCCESS,), False, (), MappingProxyType({}))


_Groups = tuple[tuple[Callable[[Call, ModelView], bool] | None, tuple[type[CallRule], ...]], ...]
"""Rules, with what has to hold for them to fire."""


class Rules(NamedTuple):
    """``usual``: without those that fire on unusual occasions only (``occasions.is_usual``)."""

    every: _Groups
    usual: _Groups


@dataclass(frozen=True, slots=True)
class Judged:
    """What is asked about calls of one entry point: all its rules; those that can fire when all objects are alive; of both, those that
    can fire when the call succeeds, of the latter those that need not say the same of calls that are alike; the roles that name
    objects. Rules that fire only when the same holds are together. ``others`` are ``rules`` themselves where they are no fewer."""

    rules: Rules
    others: Rules
    rules_of_success: Rules
    others_of_success: Rules
    others_of_each: Rules
    named: tuple[Role, ...]


class Model(ModelView):
    """State of one process. ``predict`` says what a call may do, ``observe`` what it did; what can be asked is in ``ModelView``.

    ``devices`` GPUs, the largest of ``memory`` bytes. ``complete`` says that every call is observed, ``all_work`` that every call is that
    gives a stream work or orders work; otherwise (lifecycle recordings leave out hot launches, but nothing that makes the host wait)
    nothing is claimed that an unseen launch could make wrong. With ``symbols`` no handle names one object in one context and another in
    the next: they are those of source code.
    """

    def __init__(
        self,
        devices: int = 1,
        *,
        memory: int = MORE_THAN_ANY_GPU,
        complete: bool = False,
        all_work: bool = False,
        symbols: bool = False,
    ) -> None:
        self._numbered: frozenset[Kind] = frozenset() if symbols else NUMBERED_IN_CONTEXT
        self.devices: int = devices
        self.memory: int = memory
        self.complete: bool = complete
        self.all_work: bool = complete or all_work
        self.touches: Touches | None = None
        self.kernels: Kernels | None = None
        self.table: ObjectTable = ObjectTable()
        self.order: Order = Order(self.all_work)
        self.allocations: MemoryTable[Allocation] = MemoryTable()
        self.host_memory: MemoryTable[HostMemory] = MemoryTable()
        self.ledger: Ledger = Ledger()
        self.threads: defaultdict[int, Thread] = defaultdict(Thread)
        self.live_captures: list[Capture] = []
        self.lost_contexts: list[Context] = []
        self.primaries: dict[int, Context] = {}
        self.default_pools: dict[int, MemoryPool] = {}
        self.resets: dict[int, Call] = {}
        self.initialised_by: Call | None = None
        self.not_initialised_by: tuple[Call, int] | None = None
        self.initialised_before_fork: Call | None = None
        self.shutdown_by: bool = False
        self.has_ended: bool = False
        self.driver_version: int = 0
        self.capabilities: tuple[int, ...] = ()
        self.not_pageable: frozenset[int] = frozenset()
        self.compiled: set[tuple[bytes, int]] = set()
        self.endangered: Clock = {}
        self.freed_twice_in: set[Context] = set()
        self.graphs_wait = False
        self.graphs_allocate: bool = False
        self.current_pools: dict[int | None, MemoryPool | None] = {}
        self._alike = Alike()
        self._default_stream_numbers = count(-1, -1)

    # What a call may do, and what it did.

    def violations(self, call: Call, *, succeeded: bool = False) -> list[Violation]:
        """What the rules say about ``call`` in this state; if it ``succeeded``, without what is about failures. Changes nothing."""
        found = self._violations(call, succeeded, self._is_calm(call))
        return found if call.entry_point.api == "driver" else [library.of_library(each) for each in found]

    def _violations(self, call: Call, succeeded: bool, usual: bool) -> list[Violation]:
        """``usual``: it is certain that nothing unusual holds. What calls of libraries are said to break in the driver's words."""
        judged, quiet = _judged(call.entry_point), succeeded and not self.live_captures
        if quiet and call.like in self._alike.silent:
            return self._broken(judged.others_of_each, call, usual)
        every = judged.rules_of_success if succeeded else judged.rules
        others = judged.others_of_success if succeeded else judged.others
        rules = others if others is not every and self._all_alive(call, judged) else every
        found = self._broken(rules, call, usual)
        if quiet and rules is not every and not found:
            self._alike.keep(self._alike.silent, call, None)
        return found

    def _broken(self, rules: Rules, call: Call, usual: bool) -> list[Violation]:
        found = [
            violation
            for occasion, several in (rules.usual if usual or is_usual(call, self) else rules.every)
            if occasion is None or occasion(call, self)
            for rule in several
            for violation in rule.check(call, self)
        ]
        if len(found) > 1:
            found.sort(key=lambda violation: violation.rule.code)
        return found

    def _is_calm(self, call: Call) -> bool:
        """Whether the call is certainly usual (``occasions.is_usual``), and the driver there and not in error. It is as long as calls of
        the thread and of others succeed and leave contexts as they are (``keeps_alike``)."""
        if call.context is not None or call.in_host_function or self.touches is not None:
            return False
        calm = self._alike.calm
        if call.thread in calm:
            return True
        if self.initialised_by is None or self.shutdown_by or self.lost_contexts or not is_usual(call, self):
            return False
        context = self.current_context(call)
        if context is not None:
            calm[call.thread] = context
        return context is not None

    def predict(self, call: Call) -> Prediction:
        """What the driver may do with ``call`` in this state. Changes nothing."""
        calm = self._is_calm(call)
        violations = self._violations(call, False, calm)
        if call.entry_point.api != "driver":
            return self._predict_library(call, [library.of_library(each) for each in violations])
        given = None if calm else statuses.of_process(self, call) or statuses.of_context(self, call)
        if given is None and not violations:
            if statuses.surely_succeeds(self, call):
                return _SUCCEEDS
            likely = statuses.of_legal_call(self, call)
            if self.freed_twice_in or self.endangered:
                likely = tuple(dict.fromkeys(likely + statuses.of_late_fault(self, call)))
            return Prediction(likely, False, (), statuses.outputs(self, call))
        decisive = precedence.decisive(call.name, violations, given and given[0]) if violations else ()
        outcomes = [status for violation in decisive for status in violation.outcomes] if decisive else []
        if not outcomes:
            outcomes += (given[1],) if given else statuses.of_legal_call(self, call)
        elif not self.complete and all(violation.only_if_failed for violation in decisive):
            outcomes += statuses.of_legal_call(self, call)
        outcomes += statuses.of_late_fault(self, call)
        return Prediction(
            statuses=tuple(dict.fromkeys(outcomes)),
            undefined=any(violation.undefined for violation in decisive) if decisive else False,
            violations=tuple(violations),
            outputs=statuses.outputs(self, call),
        )

    def _predict_library(self, call: Call, violations: list[Violation]) -> Prediction:
        outcomes = dict.fromkeys(status for violation in violations for status in violation.outcomes)
        return Prediction(
            statuses=tuple(outcomes) or library.statuses(self, call),
            undefined=any(violation.undefined for violation in violations),
            violations=tuple(violations),
            outputs=library.outputs(self, call),
        )

    def observe(self, call: Call, outcome: Outcome) -> None:
        """``call`` was made and ended so. A failed call changes nothing but errors; one that did not return counts as made."""
        if not keeps_alike(call.entry_point) or (outcome.status and outcome.status != NOT_READY):
            self._alike.forget()
        if call.entry_point.api != "driver":
            library.observe(self, call, outcome)
            return
        thread = self.threads[call.thread]
        if call.context is not None:
            self._follow_driver(thread, call.context)
        if outcome.status:
            self._observe_error(thread, call, outcome.status)
            return
        steps = plan(call.entry_point)
        for transition, role in steps.of_roles:
            transition(self, call, outcome, role)
        for step in steps.others:
            step(self, call, outcome)

    def accept(self, call: Call, violation: Violation) -> None:
        """The driver took a call that ``violation`` speaks against. If that is about an object which had ended, its handle
        names another one by now, which no call showed: libraries make objects past the shim."""
        self._alike.forget()
        dead = violation.objects[0] if violation.objects else None
        if dead is None or dead.alive or isinstance(dead, (Allocation, HostMemory)):
            return
        scope = self._scope(dead.kind, self.current_context(call))
        if self.table.find(dead.kind, dead.handle, 0, scope) is not dead:
            return
        if isinstance(dead, Context):
            back = self._bring_back(dead, call)
            for thread in self.threads.values():
                thread.stack = [back if context is dead else context for context in thread.stack]
            return
        found = self.table.add(type(dead), dead.kind, dead.handle, 0, scope)
        found.context = dead.context if dead.context is not None and dead.context.alive else self.current_context(call)
        found.device = dead.device

    def shutdown(self) -> None:
        """The process is exiting and the driver has shut down: later calls are answered CUDA_ERROR_DEINITIALIZED."""
        self._alike.forget()
        self.shutdown_by = True

    def forked(self) -> Model:
        """The model of a child process forked now. The child can use nothing that the parent had: it is not in its model."""
        child = Model(self.devices, memory=self.memory, complete=self.complete, all_work=self.all_work)
        child.driver_version = self.driver_version
        child.kernels = self.kernels
        child.touches = None if self.touches is None else Touches()
        child.capabilities = self.capabilities
        child.not_pageable = self.not_pageable
        child.ledger = Ledger(self.ledger.gpus)
        child.initialised_before_fork = self.initialised_by or self.initialised_before_fork
        return child

    def extent(self) -> object:
        """How much there is in the model: equal where calls that are repeated leave nothing behind."""
        held = tuple((heap, each.bytes, each.count, each.peak_bytes) for heap, each in self.ledger.totals.items())
        touched = self.touches.extent() if self.touches is not None else None
        return (self.table.alive(), held, self.order.extent(), len(self.threads), len(self.endangered), touched)

    # For transitions.

    def create(
        self,
        cls: type[T],
        kind: Kind,
        handle: int,
        call: Call,
        outcome: Outcome,
        parameter: str,
        parent: Object | None,
        generation: int = 0,
    ) -> T:
        """A new object, made by ``call`` through ``parameter``, in the context that is current."""
        context = self.current_context(call)
        index = call.entry_point.index.get(parameter, -1)
        scope = self._scope(kind, context)
        previous = self.table.find(kind, handle, 0, scope)
        if previous is not None:
            self.lose(previous)
        created = self.table.add(cls, kind, handle, generation or outcome.generations.get(index, 0), scope)
        created.created_by = call
        created.context = context
        created.device = None if context is None else context.device
        self.belong(created, parent)
        if call.name in BACKED:
            self.ledger.begin(created, call)
        return created

    def create_like(self, series: Series) -> None:
        """The objects of a series, which have been counted."""
        self._alike.forget()
        for handle in self.table.known(series.like.kind, series.handles):
            previous = self.table.find(series.like.kind, handle)
            if previous is not None:
                self.lose(previous)
        self.table.add_series(series)

    def belong(self, object: Object, parent: Object | None) -> None:
        """``object`` ends with ``parent`` from now on."""
        object.parent = parent
        if parent is not None and parent.alive:
            parent.children[object] = None

    def end(self, object: Object, call: Call, killed_by: Object | None = None) -> None:
        """``call`` ended ``object``, and with it all that belongs to it."""
        if not object.alive:
            return
        self.has_ended = True
        object.destroyed_by = call
        object.killed_by = killed_by
        if isinstance(object, Stream) and object.capture is not None and object.capture.origin is object:
            finish(self, call, object.capture)
        self._gone(object)
        self.table.make_children(object)
        for child in tuple(object.children):
            self.end(child, call, object)

    def living_context(self, call: Call) -> Context | None:
        """The current context, in which something was just made. If it was dead, it is back (a primary context after a reset)."""
        context = self.current_context(call)
        if context is None or context.destroyed_by is None:
            return context
        back = self._bring_back(context, call)
        if not back.primary or back.device is None:
            self.threads[call.thread].set_current(back)
        return back

    def _bring_back(self, context: Context, call: Call) -> Context:
        """The next context of a dead one's handle, as ``call`` shows it."""
        back = self.table.add(Context, Kind.CONTEXT, context.handle, 0)
        back.created_by, back.device, back.flags = call, context.device, context.flags
        back.primary, back.retained = context.primary, context.retained
        if back.primary and back.device is not None:
            self.primaries[back.device] = back
        return back

    def lose(self, object: Object) -> None:
        """``object`` cannot be there any more, nor what belongs to it, though nobody saw it end."""
        if not object.alive:
            return
        object.lost = True
        self._gone(object)
        self.table.make_children(object)
        for child in tuple(object.children):
            self.lose(child)

    def adopt_context(self, handle: int) -> Context:
        """The context of that handle, which may have been created before the first call that was seen."""
        found = self.context_at(handle)
        return self.table.add(Context, Kind.CONTEXT, handle, 0) if found is None else found

    def _follow_driver(self, thread: Thread, handle: int) -> None:
        """The driver says which context is current; ours differs if something went past what is seen."""
        if not agrees(thread.current, handle):
            self._alike.forget()
            thread.set_current(self.adopt_context(handle) if handle else None)

    def _observe_error(self, thread: Thread, call: Call, status: int) -> None:
        if status == NOT_READY:
            return
        thread.failure = (call, status)
        if call.name == "cuInit":
            self.not_initialised_by = thread.failure
        observe_failure(self, call, status)
        if status in statuses.STICKY:
            context = self.current_context(call)
            if context is not None and context.error is None:
                context.error, context.error_status = call, status
                self.lost_contexts.append(context)

    def _gone(self, object: Object) -> None:
        """Take a dead object out of what lists the living."""
        self.table.end(object)
        self.ledger.end(object)
        if object.parent is not None:
            object.parent.children.pop(object, None)
        if isinstance(object, Allocation | Array | HostMemory) and self.touches is not None:
            self.touches.end(object)
        if isinstance(object, Allocation):
            self.allocations.end(object)
        elif isinstance(object, HostMemory):
            self.host_memory.end(object)
        elif isinstance(object, Stream):
            self.order.destroy(object)
        elif isinstance(object, Context):
            for stream in object.default_streams.values():
                self.order.destroy(stream)
                end_with_context(stream, object)
            object.default_streams.clear()
            self.freed_twice_in.discard(object)
        elif isinstance(object, Graph):
            object.original = None

    def _all_alive(self, call: Call, judged: Judged) -> bool:
        """Whether every object that the call names is known and alive."""
        for role in judged.named:
            if role.field or role.count:
                if not all(found.alive for found in self.objects_named(call, role)):
                    return False
                continue
            index = call.entry_point.index[role.parameter]
            if call.args[index] == 0 and role.null and role.kind is not Kind.CUFFT_PLAN:
                continue
            found = self.object_of(call, index, role.kind)
            if (
                found is None
                or not found.alive
                or (role.verb is Verb.DESTROYS and isinstance(found, Stream) and found.builtin)
            ):
                return False
        return True


@cache
def _judged(entry_point: EntryPoint) -> Judged:
    of_library = entry_point.api != "driver"
    known = rules_that_are(CallRule)
    rules = tuple(rule for rule in known if (rule.libraries or not of_library) and rule.applies_to(entry_point))
    others = tuple(rule for rule in rules if not rule.only_for_dead)
    every, every_of_success = (_by_occasion(each) for each in (rules, _of_success(rules)))
    less, less_of_success = (_by_occasion(each) for each in (others, _of_success(others)))
    return Judged(
        rules=every,
        others=every if less == every else less,
        rules_of_success=every_of_success,
        others_of_success=every_of_success if less_of_success == every_of_success else less_of_success,
        others_of_each=_by_occasion(rule for rule in _of_success(others) if not rule.same_for_alike),
        named=tuple(role for role in entry_point.roles if role.parameter and is_named(role)),
    )


def _of_success(rules: Iterable[type[CallRule]]) -> tuple[type[CallRule], ...]:
    return tuple(rule for rule in rules if not rule.only_for_failed)


def _by_occasion(rules: Iterable[type[CallRule]]) -> Rules:
    together: dict[Callable[[Call, ModelView], bool] | None, list[type[CallRule]]] = {}
    for rule in rules:
        together.setdefault(rule.only_when, []).append(rule)
    every = tuple((occasion, tuple(several)) for occasion, several in together.items())
    return Rules(every, tuple(group for group in every if group[0] not in UNUSUAL))
