"""What was launched before a context was lost, in words: a verdict if one launch stands out, else the launches that it can have been."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cuvet.catalog.roles import Kind
from cuvet.kernels import Dimensions
from cuvet.model import Context, Launch, ModelView, Object, Stream, Word
from cuvet.model.view import PER_THREAD
from cuvet.printable import in_short
from cuvet.rules.faults import Suspicion, Suspicions, may_leave_out

MOST_SUSPECTS, MOST_OTHERS, MOST_POINTERS = 6, 4, 4
_ILLEGAL_ADDRESS = 700
_AWAITED = (
    "cuvet waited for the work of each launch (--narrow): what was launched before this one had ended without an error"
)


@dataclass(frozen=True, slots=True)
class Sort:
    """Launches that are told in one line, newest first, and what is wrong with them."""

    line: str
    wrong: tuple[Suspicion, ...]
    launches: tuple[Launch, ...]


@dataclass(frozen=True, slots=True)
class Dumped:
    """What a GPU core dump has of the kernel that failed: symbol, name, shape, and what it was given: words of 8 bytes by parameter and
    offset."""

    symbol: str
    kernel: str
    grid: Dimensions
    block: Dimensions
    words: Mapping[tuple[int, int], int]


def told_of_dump(context: Context, model: ModelView, dumped: Dumped) -> tuple[str, ...]:
    """The verdict on the kernel of which the dump tells, as on the launches that it can have been."""
    suspicions = Suspicions(context, model)
    launches = context.error.launches if context.error is not None else ()
    sorts = _sorts([each for each in launches if _is_dumped(each, dumped)], context, model, suspicions)
    if len(sorts) == 1:
        return f"verdict: {_shaped(sorts[0], context, model)}", *_pointers(sorts[0], suspicions)
    words = tuple(
        Word(parameter, offset, offset == 0, value, False, 8) for (parameter, offset), value in dumped.words.items()
    )
    thread = context.error.thread if context.error is not None else 0
    grid, block = dumped.grid, dumped.block
    launch = Launch(dumped.kernel, None, thread, 0, 0, "", words, grid=grid, block=block, symbol=dumped.symbol)
    sort = Sort(_name(launch, context, model, shaped=True), (), (launch,))
    places = dict.fromkeys(_name(each, context, model, shaped=True) for found in sorts for each in found.launches)
    listed = [f"it may be {place}" for place in islice(places, MOST_SUSPECTS)]
    return f"verdict: {sort.line}", *listed, *_pointers(sort, suspicions)


def _is_dumped(launch: Launch, dumped: Dumped) -> bool:
    """Whether it can be the launch: it has the same kernel and shape, and was given the same, as far as both are known."""
    same = (launch.symbol, launch.grid, launch.block) == (dumped.symbol, dumped.grid, dumped.block)
    known = (word for word in launch.words if word.size == 8 and word.value is not None)
    return same and all(dumped.words.get((word.parameter, word.offset), word.value) == word.value for word in known)


def _shaped(sort: Sort, context: Context, model: ModelView) -> str:
    """The line of launches that are alike, without what else is not known of them."""
    return sort.line if sort.wrong else _name(sort.launches[0], context, model, shaped=True)


def told(context: Context, model: ModelView) -> tuple[tuple[str, ...], tuple[Object, ...]]:
    """What was launched in the context that was lost: the verdict or the candidates, a line for each sort of launch, and the objects that
    these are about."""
    suspicions = Suspicions(context, model)
    launches = context.error.launches if context.error is not None else ()
    sorts = _sorts(launches, context, model, suspicions)
    suspects, others = ([each for each in sorts if bool(each.wrong) is wrong] for wrong in (True, False))
    awaited = _awaited(context, sorts)
    verdict = awaited or _verdict(context, suspects, others)
    if verdict is not None:
        lines = [f"verdict: {verdict.line}", *_pointers(verdict, suspicions)]
        more = sum(len(each.launches) for each in others if each is not verdict)
        lines += [_AWAITED] if verdict is awaited else []
        lines += [f"the other launches that were not waited for ({more:,}) have no such argument"] if more else []
        return tuple(lines), _objects([verdict])
    listed = [*suspects[:MOST_SUSPECTS], *others[:MOST_OTHERS]]
    alone = len(sorts) == 1
    lines = [*_awaited_graph(context, model, sorts)]
    lines += [line for each in listed for line in (each.line, *(_pointers(each, suspicions) if alone else ()))]
    left = len(sorts) - len(listed)
    if left:
        lines.append(f"{left} more sorts of launches were made before")
    if lines and context.error is not None and context.error.more_launches:
        lines.append("there may be others: of graphs, of threads that ended, or before the last 256 calls of a thread")
    return tuple(lines), _objects(suspects[:MOST_SUSPECTS])


def _objects(sorts: Iterable[Sort]) -> tuple[Object, ...]:
    return tuple(dict.fromkeys(wrong.object for each in sorts for wrong in each.wrong if wrong.object))


def _awaited(context: Context, sorts: list[Sort]) -> Sort | None:
    """The launch that lost the context, if it told that itself and no other can have run meanwhile."""
    error = context.error
    if error is None or error.more_launches or [len(each.launches) for each in sorts] != [1]:
        return None
    only = sorts[0].launches[0]
    return sorts[0] if _has_told(only, context) and only.graph is None else None


def _awaited_graph(context: Context, model: ModelView, sorts: list[Sort]) -> Iterator[str]:
    """The graph that lost the context, if its launch told that itself and no other launch can have run meanwhile."""
    error = context.error
    if error is None or not error.awaited or error.name != "cuGraphLaunch" or error.more_launches:
        return
    if all(_has_told(launch, context) for each in sorts for launch in each.launches):
        executable = model.find(Kind.GRAPH_EXEC, error.arg("hGraph"))
        yield f"verdict: a kernel of {executable.name if executable is not None else 'the graph'}{error.where()}"
        yield _AWAITED


def _has_told(launch: Launch, context: Context) -> bool:
    """Whether it is the launch that told that the context was lost."""
    error = context.error
    return error is not None and error.awaited and (launch.thread, launch.number) == (error.thread, error.number)


def _verdict(context: Context, suspects: list[Sort], others: list[Sort]) -> Sort | None:
    """The one sort of launch that the error certainly comes from, the oldest of those that make the same mistake, or that alone can have
    caused it as far as the host can know. None if there is another that can have, or whether the kernel uses the argument depends on what
    is not known."""
    if len(set(map(_mistake, suspects))) != 1:
        return None
    only = suspects[-1]
    if all(each.certain for each in only.wrong):
        return only
    error = context.error
    if context.error_status != _ILLEGAL_ADDRESS or error is None or error.more_launches or len(suspects) > 1:
        return None
    unread = any(word.value is None for each in (only, *others) for launch in each.launches for word in launch.words)
    sure = all(each.gone for each in only.wrong) and not any(map(may_leave_out, only.launches))
    return only if sure and not unread else None


def _mistake(sort: Sort) -> object:
    """What is the same of launches in a loop."""
    launch = sort.launches[0]
    return (
        launch.symbol,
        launch.where,
        launch.stream,
        launch.thread,
        tuple((each.object, each.certain) for each in sort.wrong),
    )


def _sorts(launches: Sequence[Launch], context: Context, model: ModelView, suspicions: Suspicions) -> list[Sort]:
    """Those with something wrong are told one by one, as far as they differ; the others by where they were launched."""
    alike: dict[tuple[str, str], list[Launch]] = {}
    what: dict[tuple[str, str], tuple[Suspicion, ...]] = {}
    for launch in reversed(launches):
        if not _may_run_in(launch, context, model):
            continue
        wrong = suspicions.of(launch)
        name = _name(launch, context, model, shaped=bool(wrong))
        line = f"{name}: {'; '.join(each.text for each in wrong)}" if wrong else name
        sort = (launch.symbol or launch.kernel, line)
        what[sort] = wrong
        same = alike.setdefault(sort, [])
        same.append(launch)
    return [
        Sort(sort[1] if what[sort] else _unwaited(same, context, model), what[sort], tuple(same))
        for sort, same in alike.items()
    ]


def _unwaited(launches: Sequence[Launch], context: Context, model: ModelView) -> str:
    first, count = launches[0], len(launches)
    alike = all((each.grid, each.block) == (first.grid, first.block) for each in launches)
    times = f", {count:,} times" if count > 1 else ""
    name = _name(first, context, model, shaped=alike)
    if _has_told(first, context):
        return name
    return f"{name} was launched before{times}; its thread has synchronised neither context nor stream since"


def _pointers(sort: Sort, suspicions: Suspicions) -> Iterator[str]:
    found = list(dict.fromkeys(suspicions.pointers(sort.launches[0])))[:MOST_POINTERS]
    yield from (f"its {text}" for text in found)


def _may_run_in(launch: Launch, context: Context, model: ModelView) -> bool:
    """False if its stream or its function is known to belong to another context."""
    stream = model.find(Kind.STREAM, launch.stream) if launch.stream else None
    owner = stream.context if stream is not None and stream.context is not None else launch.context
    return owner is None or owner is context or (stream is None and owner.of_green is not context.of_green)


def _name(launch: Launch, context: Context, model: ModelView, *, shaped: bool) -> str:
    name = in_short(launch.kernel) if launch.kernel else "a kernel whose name is not known"
    if shaped and launch.grid is not None and launch.block is not None:
        name += f"<<<{_dimensions(launch.grid)}, {_dimensions(launch.block)}>>>"
    other = context.error is not None and launch.thread != context.error.thread
    how = "added to" if launch.added else "captured in"
    graph = f", {how} {launch.graph.name}" if launch.graph is not None else ""
    return f"{name}{_on(launch, model)}{launch.where}{graph}" + (f" (thread {launch.thread})" if other else "")


def _dimensions(shape: tuple[int, int, int]) -> str:
    """As they are written in a launch: ``4``, ``(4, 2, 1)``."""
    return str(shape[0]) if shape[1:] == (1, 1) else f"({', '.join(map(str, shape))})"


def _on(launch: Launch, model: ModelView) -> str:
    """`` on stream#1``; nothing if it is not known, or is the default stream."""
    stream = model.find(Kind.STREAM, launch.stream) if launch.stream and launch.stream > PER_THREAD else None
    return f" on {stream.name}" if isinstance(stream, Stream) else ""
