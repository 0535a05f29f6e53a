"""What a launch certainly does wrong, and which of its arguments point to memory that its kernel cannot use.

Where the PTX of a kernel is known, a few of its threads are followed through it with the arguments of the launch (``cuvet.kernels``). What
such a thread accesses is certain; what an argument points to is not: a kernel need not use its arguments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cuvet.catalog.roles import Kind
from cuvet.kernels import PAGE_BITS, Program, Way, follow
from cuvet.kernels.use import ANY, KernelUse, chooses_by_arguments, use_of
from cuvet.model import Allocation, Call, Context, HostMemory, Launch, ModelView, Object, Word
from cuvet.rules.lifecycle import ending, written
from cuvet.sizes import binary_size, counted

_STEPS = 1000
"""Instructions of a thread that are followed."""
_MOST_FOLLOWED = 64
"""Launches that differ in what they were given."""
_PAGE = 1 << PAGE_BITS
_NEAR = 1 << 20
"""Bytes behind memory in which an argument is said to point beyond its end, if the memory is as large."""
_OF_ONE_DEVICE = frozenset({"linear", "pitched", "stream-ordered", "mapped"})
"""Variants of memory that a kernel on another device needs access to."""
_GONE_WHEN_FREED = frozenset({"linear", "pitched", "mapped"})
"""Variants of which a freed page is gone (measured: launch_freed_malloc). Stream-ordered memory goes back to its pool, and a kernel that
uses it need not fail (measured: use_after_freeasync)."""
_ILLEGAL_ADDRESS, _MISALIGNED = 700, 716
_TRAPS = (710, 719)
_OF_ADDRESSES = (700, 719)
"""Statuses that an address without memory gives. Of 719 it is a common cause ("dereferencing an invalid device pointer": CUDA Driver API,
CUresult); others tell of something else: an assertion, a stack, an instruction, an alignment, an address space."""

Memory = Allocation | HostMemory


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why an argument cannot be used; ``object`` is what it points into, if CUDA knows that. ``gone``: there certainly is no memory, and of
    an argument of a launch: its code has an access to it. ``certain``: a thread certainly makes such an access."""

    text: str
    object: Object | None = None
    gone: bool = False
    certain: bool = False


class Suspicions:
    """What is wrong with launches in a context that was lost."""

    def __init__(self, context: Context, model: ModelView) -> None:
        self._context = context
        self._model = model
        self._alone = sum(1 for _ in model.objects(Kind.CONTEXT, alive=False)) <= 1
        self._followed: dict[object, tuple[Way, ...]] = {}
        self._uses: dict[tuple[Program, str], KernelUse | None] = {}
        memory = [each for each in model.objects(Kind.MEMORY, alive=False) if isinstance(each, Allocation)]
        self._ended = [each for each in memory if not each.alive]
        self._living = sorted((each for each in memory if each.alive), key=lambda each: each.end)
        self._reserved = [each for each in model.objects(Kind.ADDRESS_RANGE) if isinstance(each, Allocation)]

    def of(self, launch: Launch) -> tuple[Suspicion, ...]:
        """What its code certainly does wrong, else the arguments that cannot be used, as far as its kernel may use them."""
        certain = self._certain(launch)
        if certain is not None:
            return (certain,)
        if self._context.error_status not in _OF_ADDRESSES:
            return ()
        ends = self._ends(launch.words)
        use = self._use(launch)
        words = (word for word in launch.words if word.size == 8 and word.value is not None and word.value not in ends)
        found = ((word, self._wrong(word, launch)) for word in words if _may_be_used(use, word))
        return tuple(
            Suspicion(f"{_argument(word)} {wrong.text}", wrong.object, wrong.gone and _is_used(use, word))
            for word, wrong in found
            if wrong
        )

    def pointers(self, launch: Launch) -> Iterator[str]:
        """What the arguments point to that can be used."""
        for word in launch.words:
            memory = self._memory_at(word.value) if word.size == 8 and word.value else None
            if memory is not None and memory.alive:
                offset = (word.value or 0) - memory.handle
                into = f"{counted(offset, 'byte')} into" if offset else "to"
                yield f"{_argument(word, value=False)} points {into} {self._placed(memory)}"

    def _use(self, launch: Launch) -> KernelUse | None:
        """What the code of the kernel does with its arguments; None if that is not known."""
        if launch.code is None:
            return None
        key, uses = (launch.code, launch.symbol), self._uses
        if key not in uses:
            uses[key] = use_of(launch.code, launch.symbol)
        return uses[key]

    # An argument that cannot be used.

    def _wrong(self, word: Word, launch: Launch) -> Suspicion | None:
        address = word.value or 0
        declared = word.whole and word.parameter in launch.pointers
        if not address:
            return Suspicion("is a null pointer", gone=True) if declared else None
        memory = self._memory_at(address)
        if memory is None:
            return self._unknown(word, declared)
        if memory.alive and _was_made_after(memory, launch):
            memory = self._before(address, memory) or memory
        if memory.alive:
            return self._foreign(memory, launch)
        freed = memory.destroyed_by
        if freed is None or not was_before(freed, launch):
            return None
        gone = isinstance(memory, Allocation) and memory.variant in _GONE_WHEN_FREED
        return Suspicion(
            f"points into {_described(memory)}, which was {ending(freed)} before by {written(freed)}{freed.where()}",
            memory,
            gone=gone and not self._is_mapped(address, launch),
        )

    def _foreign(self, memory: Memory, launch: Launch) -> Suspicion | None:
        if not self._is_unreachable(memory) or not (self._runs_here(launch) or self._uses_this_device(launch)):
            return None
        gone = self._runs_here(launch) and not self._is_mapped(memory.handle, launch)
        return Suspicion(f"points into {self._placed(memory)}, to which this context has no access", memory, gone=gone)

    def _is_unreachable(self, memory: Memory) -> bool:
        """Whether it is another device's, without access from the context."""
        if isinstance(memory, HostMemory) or memory.variant not in _OF_ONE_DEVICE:
            return False
        return not self._model.reaches(self._context, memory)

    def _unknown(self, word: Word, declared: bool) -> Suspicion | None:
        """An address at which CUDA has no memory."""
        address = word.value or 0
        for reserved in self._reserved:
            if reserved.handle <= address < reserved.end:
                return Suspicion(f"points into {_described(reserved)}, where no memory is mapped", reserved, gone=True)
        if word.whole and word.on_host:
            apart = self._context.device in self._model.not_pageable
            return Suspicion("points into memory of the host that CUDA does not know", gone=apart)
        below = self._below(address) if declared else None
        if below is None or address - below.end > min(_NEAR, below.size):
            return None
        beyond = counted(address - below.end, "byte")
        place = f"{beyond} beyond the end" if address > below.end else "to the end"
        return Suspicion(f"points {place} of {_described(below)}", below)

    # What a followed thread does.

    def _certain(self, launch: Launch) -> Suspicion | None:
        status = self._context.error_status
        for way in self._ways(launch):
            if status == _ILLEGAL_ADDRESS:
                for address in way.addresses:
                    if (found := self._nowhere(address, launch)) is not None:
                        return found
            elif status == _MISALIGNED and way.misaligned is not None:
                address, size = way.misaligned
                return Suspicion(
                    f"its code accesses {size} bytes at {address:#x}, which is no multiple of {size}", certain=True
                )
            elif way.trapped == status and status in _TRAPS:
                what = "a failed assertion" if status == 710 else "a trap"
                return Suspicion(f"its code leads to {what} with these arguments", certain=True)
        return None

    def _ways(self, launch: Launch) -> tuple[Way, ...]:
        """What a few threads of the launch certainly do; nothing if too many launches differ."""
        key, known = (launch.code, launch.symbol, launch.words, launch.grid, launch.block), self._followed
        if key not in known and len(known) < _MOST_FOLLOWED:
            known[key] = _followed(launch)
        return known.get(key, ())

    def _nowhere(self, address: int, launch: Launch) -> Suspicion | None:
        """Why there is certainly no memory at the address, which a thread of the launch accesses."""
        if address < _PAGE:
            return _null(address, launch, self._use(launch))
        word = next((each for each in launch.words if each.size == 8 and self._leads_to(each, address)), None)
        if word is not None:
            wrong = self._wrong(word, launch)
            if wrong is not None and wrong.gone and not self._is_mapped(address, launch):
                return Suspicion(f"{_argument(word)} {wrong.text}; its code uses it", wrong.object, True, True)
            return None
        if not self._runs_here(launch):
            return None
        if self._memory_at(address) is not None or self._is_mapped(address, launch):
            return None
        return self._outside(address, launch)

    def _outside(self, address: int, launch: Launch) -> Suspicion | None:
        """Of an access outside of all memory. What the arguments point into is named if it is one: else it is not known where the thread
        began to count."""
        found = ((each, self._memory_at(each.value)) for each in launch.words if each.size == 8 and each.value)
        into = {memory: word for word, memory in found if memory is not None and memory.alive}
        if not into:
            return None
        text = f"its code accesses {address:#x}, where no memory is known"
        if len(into) > 1:
            return Suspicion(text, None, True, True)
        ((memory, word),) = into.items()
        beyond, before = address - memory.end, memory.handle - address
        place = (
            f"{counted(beyond, 'byte')} beyond the end"
            if beyond >= 0
            else f"{counted(before, 'byte')} before the start"
        )
        return Suspicion(
            f"its code accesses {address:#x}, {place} of {_described(memory)}, into which argument {word.parameter} points",
            memory,
            True,
            True,
        )

    def _leads_to(self, word: Word, address: int) -> bool:
        """Whether the address is in what the argument points into."""
        if not word.value:
            return False
        memory = self._memory_at(word.value)
        if memory is None:
            return word.value <= address < word.value + _PAGE
        return memory.handle <= address < memory.end

    # Memory.

    def _memory_at(self, address: int | None) -> Memory | None:
        if not address:
            return None
        return self._model.allocation_at(address) or self._model.host_memory_at(address)

    def _before(self, address: int, newest: Memory) -> Memory | None:
        """What was freed last of what was at the address before ``newest``."""
        found = (each for each in self._ended if each is not newest)
        return next((each for each in reversed([*found]) if each.handle <= address < each.end), None)

    def _below(self, address: int) -> Allocation | None:
        """The living memory that ends last before the address."""
        place = bisect_right(self._living, address, key=lambda each: each.end)
        return self._living[place - 1] if place else None

    def _is_mapped(self, address: int, launch: Launch) -> bool:
        """Whether there may be memory in the page of the address while the launch runs: the GPU maps whole pages."""
        if self._model.graphs_allocate:
            return True
        page = address >> PAGE_BITS << PAGE_BITS
        near = self._model.overlapping_allocations(page, _PAGE)
        if not all(map(self._is_unreachable, near)) or self._model.overlapping_host_memory(page, _PAGE):
            return True
        ended = (each for each in self._ended if each.handle < page + _PAGE and page < each.end)
        return any(not _is_gone(each, launch) for each in ended)

    def _is_elsewhere(self, memory: Memory) -> bool:
        return memory.device is not None and memory.device != self._context.device

    def _placed(self, memory: Memory) -> str:
        return _described(memory) + (f" of device {memory.device}" if self._is_elsewhere(memory) else "")

    def _ends(self, words: Iterable[Word]) -> set[int]:
        """Ends of memory that other arguments point into. Such an argument may be an end, not the start of the memory that follows."""
        found = (self._model.allocation_at(word.value) for word in words if word.size == 8 and word.value)
        return {memory.end for memory in found if memory is not None}

    def _runs_here(self, launch: Launch) -> bool:
        """Whether the launch certainly ran in the context that was lost."""
        if self._alone:
            return True
        stream = self._model.find(Kind.STREAM, launch.stream) if launch.stream else None
        return self._context in (stream.context if stream is not None else None, launch.context)

    def _uses_this_device(self, launch: Launch) -> bool:
        """Whether another of its arguments points to memory of this device."""
        found = (self._memory_at(word.value) for word in launch.words if word.size == 8)
        return any(each is not None and each.device == self._context.device for each in found)


def _null(address: int, launch: Launch, use: KernelUse | None) -> Suspicion:
    """Of an access near NULL, where there is never memory (measured: launch_null_pointer, sticky_error)."""
    null = [each for each in launch.words if each.size == 8 and each.value == 0 and _may_be_used(use, each)]
    what = (
        f"{_argument(null[0])} is a null pointer; its code uses it"
        if len(null) == 1
        else f"its code accesses {address:#x}"
    )
    return Suspicion(what, None, True, True)


def _followed(launch: Launch) -> tuple[Way, ...]:
    function = launch.code.function(launch.symbol) if launch.code is not None else None
    if function is None or launch.code is None or launch.grid is None or launch.block is None:
        return ()
    arguments = [known(launch.words, number) for number in range(len(function.parameters))]
    return follow(launch.code, launch.symbol, arguments, launch.grid, launch.block, _STEPS)


def known(words: Iterable[Word], parameter: int) -> dict[int, int]:
    """The bytes of a parameter that are known, by offset."""
    return {
        word.offset + place: word.value >> 8 * place & 0xFF
        for word in words
        if word.parameter == parameter and word.value is not None
        for place in range(word.size)
    }


def may_leave_out(launch: Launch) -> bool:
    """Whether its code may leave out what it does with an argument, or nothing is known of its code."""
    function = launch.code.function(launch.symbol) if launch.code is not None else None
    return function is None or chooses_by_arguments(function)


def _may_be_used(use: KernelUse | None, word: Word) -> bool:
    """False if the code of the kernel shows that it accesses no memory through that argument."""
    if use is None or use.elsewhere:
        return True
    return any(each.parameter == word.parameter and each.offset in (word.offset, ANY) for each in use.uses)


def _is_used(use: KernelUse | None, word: Word) -> bool:
    """Whether the code of the kernel has an access to memory that begins where the argument points; and none through pointers in memory."""
    if use is None or use.elsewhere:
        return False
    place = (word.parameter, word.offset)
    return any((each.parameter, each.offset) == place and not each.indexed for each in use.uses)


def was_before(call: Call, launch: Launch) -> bool:
    """Whether the call is known to have been made before the launch."""
    return call.number < launch.number if call.thread == launch.thread else call.time_ns < launch.after_ns


def _was_made_after(memory: Memory, launch: Launch) -> bool:
    """Whether the memory is known to have been made after the launch."""
    made = memory.created_by
    return made is not None and made.thread == launch.thread and made.number > launch.number


def _is_gone(memory: Allocation, launch: Launch) -> bool:
    """Whether memory that was ended was certainly gone when the launch was made."""
    freed = memory.destroyed_by
    return freed is not None and memory.variant in _GONE_WHEN_FREED and was_before(freed, launch)


def _argument(word: Word, *, value: bool = True) -> str:
    inside = "" if word.whole else f", byte {word.offset},"
    return f"argument {word.parameter}{inside}" + (f" = {word.value:#x}" if value else "")


def _described(memory: Memory) -> str:
    """``allocation#3 (1 MiB by cudaMalloc at app.cu:10)``."""
    made = memory.created_by
    by = f" by {written(made)}{made.where()}" if made is not None else ""
    return f"{memory.name} ({binary_size(memory.size)}{by})"
