"""What a path holds: words of lvalues, statuses, arms of its decisions, and what of it is left behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cuvet.catalog import Kind, Role, driver
from cuvet.catalog.roles import ENDS
from cuvet.model import Allocation, HostMemory, Object, Outcome, Stream
from cuvet.source import check_source
from cuvet.source.paths.arms import Arms
from cuvet.source.paths.failures import Statuses
from cuvet.source.paths.handles import FIRST, SIZE, Handles, root
from cuvet.source.paths.judging import SOME_DEVICE, is_refused, judge
from cuvet.source.paths.trace import Here
from cuvet.source.paths.world import World, _parameters_changed, told
from cuvet.source.program import (
    OF_BUILD,
    Address,
    Assign,
    Block,
    Condition,
    Edge,
    Escape,
    Function,
    Inside,
    Invoke,
    Operation,
    Parameter,
    Return,
)


def function(*blocks: Block, **locals: str) -> Function:
    return Function("f", "", (Parameter("given", "S *"),), list(blocks), 0, 100, locals=locals)


# Words.


@pytest.fixture
def handles() -> Handles:
    return Handles(function(a="T", b="T", p="T *", list="T []", grid="T *"))


def test_a_word_is_that_of_its_lvalue_until_it_is_set(handles: Handles) -> None:
    assert handles.known("a") is None and handles.known(5) == 5 and handles.known(Address("a")) is None
    word = handles.word("a")
    assert word >= FIRST and handles.word("a") == word == handles.known("a")
    assert handles.lvalues[word] == "a" and list(handles.holders(word)) == ["a"]
    handles.set("b", word)
    assert list(handles.holders(word)) == ["a", "b"] and handles.lvalues[word] == "a"
    handles.set("a", None)
    assert handles.known("a") is None and list(handles.holders(word)) == ["b"]
    assert handles.word("a") != word


def test_a_word_is_aligned_as_memory_is_that_cuda_allocates(handles: Handles) -> None:
    """CUDA C++ Programming Guide, Device Memory Accesses: "aligned to at least 256 bytes". Rules about alignment are silent."""
    assert handles.fresh() % 256 == handles.word("a") % 256 == 0


def test_words_of_values_that_are_no_lvalues(handles: Handles) -> None:
    assert handles.word(7) == 7
    assert handles.word(Address("a")) == handles.word("&a") != handles.word("a")
    assert handles.word(Inside("a")) != handles.word("a") and handles.word(Inside("a")) == handles.word(Inside("a"))
    for unknown in (None, "list[*]", "a?"):
        assert handles.word(unknown) != handles.word(unknown)
        assert handles.known(unknown) is None


def test_what_is_set_loses_its_parts_and_no_others(handles: Handles) -> None:
    names = ["a.x", "a->y", "a[0]", "a.x.z", "ab.x", "b.x"]
    for name in names:
        handles.set(name, handles.fresh())
    assert handles.held("a") == {handles.words[name] for name in names[:4]}
    handles.set("a.x", handles.fresh())
    assert handles.known("a.x.z") is None and handles.known("a->y") is not None
    handles.set("a", None)
    assert [name for name in names if handles.known(name) is not None] == ["ab.x", "b.x"]


def test_an_element_may_be_any_of_the_others(handles: Handles) -> None:
    for name in ("list[0]", "list[1]", "grid[0]"):
        handles.set(name, handles.fresh())
    handles.set("list[*]", handles.fresh())
    assert [handles.known(f"{name}[0]") is None for name in ("list", "grid")] == [True, False]


def test_what_is_given_is_known_elsewhere_and_changed_there_if_it_is_written(handles: Handles) -> None:
    whole, part, other = (handles.word(name) for name in ("a", "a.x", "b"))
    handles.give("a")
    assert handles.escaped == {whole, part} and handles.known("a") == whole
    handles.give(Address("a"), written=True)
    assert handles.known("a") is None and handles.known("a.x") is None and handles.known("b") == other
    element = handles.word("list[0]")
    handles.give("list[*]")
    assert element in handles.escaped and other not in handles.escaped
    handles.give(None)
    handles.give(3, written=True)
    assert other not in handles.escaped


def test_parts_of_a_struct_are_given_without_the_struct(handles: Handles) -> None:
    whole, part = handles.word("a"), handles.word("a.x")
    handles.give_parts("a")
    assert handles.escaped == {part} and handles.known("a") == whole and handles.known("a.x") is None


@pytest.mark.parametrize(
    ("lvalue", "local", "of_caller"),
    [
        ("a", True, True),
        ("a.x", True, True),
        ("p->x", False, True),
        ("list[0]", True, True),
        ("grid[0]", False, True),
        ("given->x", False, True),
        ("other", False, False),
        ("other.a", False, False),
        ("%3", True, False),
        ("%x", False, False),
    ],
)
def test_what_ends_with_the_function(handles: Handles, lvalue: str, local: bool, of_caller: bool) -> None:
    assert (handles.is_local(lvalue), handles.of_caller(lvalue)) == (local, of_caller)


def test_the_variable_that_an_lvalue_is_part_of() -> None:
    assert [root(each) for each in ("a", "a.b[0]", "a[0].b", "a->b.c", "%3")] == ["a", "a", "a", "a", "%3"]


# Statuses.

KEY, OTHER = (0, 0, 0), (0, 1, 0)


def condition(lvalue: str = "", *names: str, text: str = "c", value: int = 0) -> Condition:
    return Condition(text, names, 0, 1, lvalue=lvalue, value=value)


def test_a_status_is_copied_and_what_a_function_makes_of_it_is_in_doubt() -> None:
    statuses = Statuses()
    statuses.origins["e"] = KEY
    statuses.copy("e", "f")
    statuses.copy("e?", "g")
    statuses.copy("g", "h")
    assert statuses.origins == {"e": KEY, "f": KEY} and statuses.doubtful == {"g": KEY, "h": KEY}
    assert [each in statuses for each in "efgx"] == [True, True, True, False]
    assert (statuses.of("f"), statuses.of("h"), statuses.of("x")) == (KEY, KEY, None)
    statuses.copy("", "f")
    statuses.copy("x", "h")
    assert "f" not in statuses and "h" not in statuses
    statuses.copy("g?", "h")
    assert "h" not in statuses


def test_a_call_may_have_failed_in_an_arm_that_asks_for_it() -> None:
    for asked in (condition("e?"), condition("g"), condition("", "x", "e"), condition("", "g", "o")):
        statuses = Statuses()
        statuses.origins.update(e=KEY, o=OTHER)
        statuses.doubtful["g"] = KEY
        statuses.doubt(asked, (3, 1))
        assert statuses.may_have_failed(KEY, ((1, 0), (3, 1)), set()) and statuses.may_have_failed(KEY, (), {(3, 1)})
        assert not statuses.may_have_failed(KEY, ((1, 0), (3, 0)), {(3, 0)})
        assert not statuses.may_have_failed(OTHER, ((3, 1),), {(3, 1)})
    statuses = Statuses()
    statuses.origins["e"] = KEY
    for asked in (condition("e"), condition("x?"), condition("", "x")):
        statuses.doubt(asked, (3, 1))
    assert not statuses.may_have_failed(KEY, ((3, 1),), {(3, 1)})


# Arms.


def call(name: str, *arguments: object, start: int = 10, **more: object) -> Invoke:
    return Invoke(name, arguments, start, start + 5, **more)  # type: ignore[arg-type]


def decision(
    *arms: list[Operation], ways: tuple[str, str] = ("", ""), text: str = "c", after: list[Operation] | None = None
) -> Function:
    """A decision, its two arms, and what follows; ``ways``: how each arm goes on."""
    first, second = (*arms, [], [])[:2]
    return function(
        Block([], [Edge(1, condition("", "n", text=text), True), Edge(2, condition("", "n", text=text), False)]),
        Block(first, [] if ways[0] == "return" else [Edge(3, kind=ways[0])], ((0, 0),)),
        Block(second, [] if ways[1] == "return" else [Edge(3, kind=ways[1])], ((0, 1),)),
        Block(after or [], []),
    )


def test_which_arms_leave_what_follows_and_which_end_the_function() -> None:
    returns: list[Operation] = [Return(20, 25)]
    arms = Arms(decision(returns, ways=("return", "")))
    assert (arms.leaving, arms.ending) == ({(0, 0)}, {(0, 0)})
    arms = Arms(decision([], ways=("", "jump")))
    assert (arms.leaving, arms.ending) == ({(0, 1)}, set())
    arms = Arms(decision(returns, returns, ways=("return", "return")))
    assert (arms.leaving, arms.ending) == ({(0, 0), (0, 1)}, {(0, 0), (0, 1)})


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        (Assign("s", None, 10, 15), {"s"}),
        (Assign("t", "s", 10, 15), {"s", "t"}),
        (Assign("t", Inside("s[0]"), 10, 15), {"s", "t"}),
        (Assign("t", Address("s[0]"), 10, 15), {"s", "t"}),
        (Escape("s", 10), {"s"}),
        (Return(10, 15, value="s"), {"s"}),
        (call("cudaStreamDestroy", "s"), {"s"}),
        (call("cudaStreamSynchronize", "s"), set()),
        (call("cudaStreamCreate", Address("s")), {"s"}),
        (call("use", "s"), set()),
        (call("keep", "s"), {"s"}),
        (call("kernel", "s", launch=True), set()),
        (call("renew", receiver="s"), set()),
    ],
)
def test_what_an_arm_may_change(operation: Operation, changed: set[str]) -> None:
    arms = Arms(decision([], [operation]))
    assert {name for name in ("s", "t") if arms.changing(name)} == changed
    assert all(arms.changing(name) == {(0, 1)} for name in changed)


def test_a_method_may_change_the_members_of_its_object() -> None:
    arms = Arms(decision([call("renew", receiver="s")], [call("work", receiver="s.t")]))
    assert arms.changing("s.x") == {(0, 0)} and arms.changing("s.t.x") == {(0, 0), (0, 1)}
    assert arms.changing("t.x") == arms.changing("s") == set()


def test_which_arms_make_another_device_current() -> None:
    assert Arms(decision([call("cudaSetDevice", 1)], [call("cudaMalloc", Address("p"), 4)])).switching == {(0, 0)}
    assert Arms(decision([], [call("cudaDeviceSynchronize")], after=[call("cudaSetDevice", 1)])).switching == set()


def test_where_a_function_ends_what_an_lvalue_holds() -> None:
    arms = Arms(
        decision([call("cudaFree", "p", start=10)], after=[call("cudaFree", "q", start=30), call("cudaFree", 0)])
    )
    assert arms.ends("p") and arms.ends("q") and not arms.ends("r")
    assert (
        arms.ends("p", within=((0, 0),))
        and not arms.ends("p", within=((0, 1),))
        and not arms.ends("q", within=((0, 0),))
    )
    assert arms.always_ends("q", 10) and not arms.always_ends("q", 30) and not arms.always_ends("p", 0)


def test_whether_arms_join_with_nothing_to_tell_them_apart() -> None:
    def alike(*arms: list[Operation], text: str = "c", again: str = "d") -> bool:
        made = decision(*arms, text=text)
        made.blocks[3].edges = [
            Edge(3, condition("", "n", text=again), True),
            Edge(3, condition("", "n", text=again), False),
        ]
        arms = Arms(made)
        return arms.asks_alone(0, condition("", "n", text=text)) and not list(arms.uneven(0, lambda lvalue: True))

    assert alike([call("use", "s")])
    assert not alike([Assign("s", None, 10, 15)])
    assert alike([Assign("s", None, 10, 15)], [Escape("s", 10)])
    assert not alike([call("renew", receiver="s")])
    assert not alike([], again="c")
    assert alike([], text=f"{OF_BUILD}A", again=f"{OF_BUILD}B")
    assert not alike([], text=f"{OF_BUILD}A", again=f"{OF_BUILD}A && B")
    assert alike([], text=f"{OF_BUILD}A", again="A")


def test_what_can_matter_in_another_block() -> None:
    made = decision(
        [call("a", result="%1"), call("b", "%1"), call("c", result="%2")],
        after=[call("d", "%2"), Assign("x", "y", 1, 2)],
    )
    arms = Arms(made)
    assert (
        not arms.matters("%1", 3)
        and arms.matters("%2", 3)
        and arms.matters("x", 3)
        and arms.matters("n", 3)
        and arms.matters("unseen", 3)
    )
    made.blocks[0].edges = [Edge(1, condition("e"), True), Edge(2, condition("e"), False)]
    assert not Arms(made).matters("e", 3)
    made.blocks[3].operations.append(Escape("e", 10))
    assert Arms(made).matters("e", 3)
    made.blocks[0].edges = [Edge(1, condition("e?"), True), Edge(2, condition("e?"), False)]
    assert Arms(made).matters("e", 3)


# What is left behind.


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("ab", "(and `b`)"),
        ("abcd", "(and `b`, `c`, `d`)"),
        ("abcde", "(and `b`, `c`, `d` and 1 more)"),
        ("abcdef", "(and `b`, `c`, `d` and 2 more)"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "noun", "word"), [("Stream", "stream", "made"), ("Malloc", "device memory", "allocated")]
)
def test_several_objects_are_said_to_be_lost_in_one_sentence(
    names: str, said: str, kind: str, noun: str, word: str
) -> None:
    made, ended, type = {
        "Stream": ("cudaStreamCreate(&{})", "cudaStreamDestroy({})", "cudaStream_t"),
        "Malloc": ("cudaMalloc(&{}, n)", "cudaFree({})", "void *"),
    }[kind]
    lines = [f"{type} {name}; CHECK({made.format(name)});" for name in names]
    lines += ["if (n > 3) return;", *(f"CHECK({ended.format(name)});" for name in names)]
    body = "\n".join(lines)
    result = check_source(Path("example.cu"), f"void f(int n) {{\n{body}\n}}".encode())
    (found,) = result.findings
    assert found.message == f"{noun} `a` {said} {word} here is lost when the function returns in line {len(names) + 2}"
    assert [each.name for each in found.objects] == list(names)


# CUDA as a path sees it.


def ending(name: str) -> Role:
    """The role of what the entry point ends."""
    return next(role for role in driver()[name].roles if role.verb in ENDS)


def made(world: World, name: str, *words: int, **outputs: int) -> None:
    entry_point = driver()[name]
    args = words + (0,) * (len(entry_point.parameters) - len(words))
    written = Invoke(name, (), 0, 5)
    model_call = told(entry_point, args, written, Here((0, 0, 0), (), 1))
    world.model.observe(model_call, Outcome(0, {entry_point.index[at]: word for at, word in outputs.items()}))


@pytest.fixture
def world(handles: Handles) -> World:
    return World(handles, ())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cuMemFree", Allocation),
        ("cuMemFreeHost", HostMemory),
        ("cuMemHostUnregister", HostMemory),
        ("cuStreamDestroy", Stream),
    ],
)
def test_what_is_ended_but_was_not_seen_made_is_there(world: World, name: str, kind: type[Object]) -> None:
    word, role, changes = world.handles.word("p"), ending(name), len(world.changed)
    world.adopt(role, word)
    (found,) = world.model.kinds_of(word)
    assert isinstance(found, kind) and found.alive and found.created_by is None and len(world.changed) == changes + 1
    assert not isinstance(found, Allocation) or (found.size, found.variant) == (SIZE, "adopted")
    assert not isinstance(found, HostMemory) or (found.size, found.registered) == (SIZE, name == "cuMemHostUnregister")
    world.adopt(role, word)
    assert len(world.changed) == changes + 1 and world.model.kinds_of(word) == (found,)
    if kind is not Stream:
        world.adopt(role, word + 8)
        world.handles.lvalues[word + 8] = "q"
        world.adopt(role, word + 8)
        assert len(world.changed) == changes + 1
    assert world.memory_at(word) is None


def test_what_is_no_handle_of_the_program_is_not_there(world: World) -> None:
    role, changes = ending("cuStreamDestroy"), len(world.changed)
    for word in (0, 5, FIRST + 16):
        world.adopt(role, word)
    world.handles.lvalues[5] = "five"
    world.adopt(role, 5)
    world.adopt(ending("cuCtxDestroy"), world.handles.word("a"))
    assert len(world.changed) == changes and world.model.kinds_of(world.handles.word("a")) == ()


def test_what_is_asked_of_objects_by_their_words(world: World) -> None:
    stream, memory, pinned = (world.handles.word(name) for name in ("a", "p", "b"))
    assert not world.is_stream(stream) and not world.is_dead_stream(stream) and not world.is_dead(stream)
    made(world, "cuStreamCreate", 0, 0, phStream=stream)
    made(world, "cuMemAlloc", 0, 64, dptr=memory)
    made(world, "cuMemHostAlloc", 0, 64, 0, pp=pinned)
    assert world.is_stream(stream) and not world.is_stream(memory) and not world.is_dead(stream)
    assert [world.memory_at(word) is not None for word in (memory, memory + 8, pinned, stream)] == [
        True,
        False,
        True,
        False,
    ]
    made(world, "cuStreamDestroy", stream)
    made(world, "cuMemFree", memory)
    assert world.is_dead_stream(stream) and world.is_dead(stream)
    assert world.is_dead(memory) and not world.is_dead_stream(memory) and world.memory_at(memory) is None


def test_memory_that_was_made_out_of_sight_may_be_a_graph_s(world: World) -> None:
    seen, unseen = world.handles.word("a"), world.handles.word("p")
    made(world, "cuMemAlloc", 0, 64, dptr=seen)
    world.adopt(ending("cuMemFree"), unseen)
    for word in (seen, unseen):
        made(world, "cuMemFree", word)
    world.forget_unseen()
    assert (world.handles.known("a"), world.handles.known("p")) == (seen, None)


def test_devices_that_are_not_known_have_numbers_of_their_own(world: World) -> None:
    assert world.current_device == SOME_DEVICE and world.device(3) == 3
    first, second = world.device("a"), world.device("b")
    assert SOME_DEVICE < first < second and world.device("a") == first
    changes = len(world.changed)
    world.use_device(first)
    assert (world.current_device, len(world.changed)) == (first, changes + 1)
    made(world, "cuStreamCreate", 0, 0, phStream=world.handles.word("p"))
    found = world.model.find(Kind.STREAM, world.handles.word("p"))
    assert found is not None and found.device == first


def test_which_calls_only_use_what_is_there() -> None:
    for name, uses in (
        ("cuLaunchKernel", True),
        ("cuStreamSynchronize", True),
        ("cuMemcpyDtoHAsync", True),
        ("cuEventQuery", True),
        ("cuEventRecord", False),
        ("cuGraphLaunch", False),
        ("cuMemAlloc", False),
        ("cuStreamDestroy", False),
        ("cuCtxSetCurrent", False),
    ):
        assert (not _parameters_changed(driver()[name])) is uses, name


def test_what_a_call_does_more_than_to_use_objects(world: World) -> None:
    stream, event = world.handles.word("a"), world.handles.word("p")
    for name, given, made_there, changed in (
        ("cuEventCreate", (0, 0), {0: event}, [event]),
        ("cuEventRecord", (event, stream), {}, [event]),
        ("cuStreamWaitEvent", (stream, event, 0), {}, []),
        ("cuEventDestroy", (event,), {}, [event]),
        ("cuCtxSetCurrent", (5,), {}, [0]),
        ("cuStreamBeginCapture", (stream, 0), {}, [0]),
    ):
        before = len(world.changed)
        written = Invoke(name, (), 10, 15)
        world.observe(told(driver()[name], given, written, Here((0, 1, 0), (), 2)), Outcome(0, made_there))
        assert world.changed[before:] == changed, name


def test_a_call_is_refused_if_cuda_returns_an_error_and_nothing_else_may_happen(world: World) -> None:
    stream = world.handles.word("a")
    made(world, "cuStreamCreate", 0, 0, phStream=stream)
    made(world, "cuStreamDestroy", stream)
    again = told(
        driver()["cuStreamDestroy"], (stream,), Invoke("cudaStreamDestroy", ("a",), 10, 15), Here((0, 1, 0), (), 2)
    )
    violation = next(iter(judge(again, world.model)))
    for outcomes, undefined, refused in (
        ((400,), False, True),
        ((), False, False),
        ((400,), True, False),
        ((-11, 400), False, False),
        ((0, 400), False, False),
    ):
        assert is_refused(replace(violation, outcomes=outcomes, undefined=undefined)) is refused


@pytest.mark.parametrize(("refused", "alive"), [((), False), ((2,), True), ((1,), False)])
def test_a_call_that_cuda_refuses_changes_nothing(handles: Handles, refused: tuple[int, ...], alive: bool) -> None:
    world = World(handles, refused)
    world.judging = False
    stream = world.handles.word("a")
    made(world, "cuStreamCreate", 0, 0, phStream=stream)
    destroy = told(
        driver()["cuStreamDestroy"], (stream,), Invoke("cudaStreamDestroy", ("a",), 10, 15), Here((0, 1, 0), (), 2)
    )
    world.observe(destroy, Outcome(0))
    found = world.model.find(Kind.STREAM, stream)
    assert found is not None and found.alive is alive and world.broken == []
