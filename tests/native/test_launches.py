"""What launches leave in the flight recorder, and what is stored of it when a context is lost."""

from __future__ import annotations

import pytest
from tests.native.conftest import Bench, Seen

from cuvet.analysis import analyze
from cuvet.analysis.calls import function_before
from cuvet.catalog import Kind, driver
from cuvet.model import Call, Function
from cuvet.recording.launches import Launched, unwaited
from cuvet.recording.sites import Sites

NUMBERS = {entry_point.id: entry_point for entry_point in driver().entry_points}

# The null driver's kernels have parameters of 8, 4 and 8 bytes.
PROGRAM = """
uint32_t cuCtxSynchronize(void);
static handle module, function, other, stream;
static void go(handle which, uint64_t first, int second, uint64_t third) {
    void *arguments[] = {&first, &second, &third};
    cuLaunchKernel(which, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0);
}
static void deep(int depth) { char frame[64]; frame[0] = depth; if (depth) deep(depth - 1); else go(function, 7, 8, 9); }
static void *thread(void *unused) { cuCtxSetCurrent(context); go(other, 70, 0, 90); return 0; }
int main(int count, char **arguments) {
    start();
    cuStreamCreate(&stream, 0);
    cuModuleLoadData(&module, "image");
    cuModuleGetFunction(&function, module, "kernel");
    cuModuleGetFunction(&other, module, "other");
    %s
    return cuCtxSynchronize() ? 0 : 1;
}
"""


def launches(bench: Bench, body: str, **environment: str) -> tuple[Seen, list[Launched]]:
    """What is stored with cuCtxSynchronize, which tells that the context is lost."""
    run = bench.run(PROGRAM % body, **{"NULL_DRIVER_FAIL": "cuCtxSynchronize=700", **environment})
    assert run.returncode == 0, run.stderr
    stored = run.trace.recording.launches
    assert len(stored) == 1
    (rings,) = stored.values()
    return run.trace, [each for ring in rings for each in unwaited(ring, run.trace.recording, NUMBERS.get).launches]


def values(found: list[Launched]) -> list[list[int | None]]:
    """The words of 8 bytes."""
    return [[word.value for word in launch.words if word.size == 8] for launch in found]


def lines(trace: Seen, found: list[Launched]) -> list[int | None]:
    sites = Sites(trace.recording)
    return [sites.of_stack(launch.stack)[1][1].line for launch in found]


@pytest.mark.parametrize("record", ["lifecycle", "full"])
def test_a_launch_leaves_its_function_stream_arguments_and_place(bench: Bench, record: str) -> None:
    trace, found = launches(
        bench, "go(function, 1, 2, 3);\n go(other, 4, 5, 6);\n go(function, 7, 8, 9);", CUVET_RECORD=record
    )
    assert values(found) == [[1, 3], [4, 6], [7, 9]]
    assert [[(word.parameter, word.offset, word.size) for word in launch.words] for launch in found] == [
        [(0, 0, 8), (2, 0, 8), (1, 0, 4)]
    ] * 3
    assert [launch.words[2].value for launch in found] == [2, 5, 8]
    made = [call.outputs[0].value for call in trace.named("cuModuleGetFunction")]
    assert [launch.function for launch in found] == [made[0], made[1], made[0]]
    assert {launch.stream for launch in found} == {trace.one("cuStreamCreate").outputs[0].value}
    first = lines(trace, found)[0]
    assert first is not None
    assert lines(trace, found) == [first, first + 1, first + 2]


def test_a_place_is_stored_once_however_often_it_launches(bench: Bench) -> None:
    trace, found = launches(
        bench, "for (int i = 0; i < 1000; i++) {\n go(function, i, 0, i);\n go(function, i, 1, 5);\n }"
    )
    assert len({place.stack for place in trace.recording.places.values()}) == 2
    assert len(trace.recording.places) <= 4  # the first launch takes another way through the shim
    assert len(found) == 255
    assert values(found)[-2:] == [[999, 999], [999, 5]]
    assert len(set(lines(trace, found))) == 2


def test_places_are_bounded(bench: Bench) -> None:
    trace, found = launches(bench, "for (int i = 0; i < 5000; i++) deep(i);", NULL_DRIVER_FAIL="cuCtxSynchronize=700")
    assert len(trace.recording.places) <= 4096
    assert values(found)[-1] == []
    assert found[-1].function == trace.named("cuModuleGetFunction")[0].outputs[0].value


@pytest.mark.parametrize(("waited", "left"), [("stream", [[4, 6]]), ("1", [[1, 3], [4, 6]])])
def test_what_the_thread_waited_for_is_left_out(bench: Bench, waited: str, left: list[list[int]]) -> None:
    _, found = launches(bench, f"go(function, 1, 2, 3); cuStreamSynchronize({waited}); go(function, 4, 5, 6);")
    assert values(found) == left


STAYS = "static volatile int done; static void *stays(void *unused) { thread(0); done = 1; pause(); return 0; }\n"


@pytest.mark.parametrize("ends", [True, False])
def test_launches_of_all_living_threads_are_stored(bench: Bench, ends: bool) -> None:
    wait = (
        "pthread_create(&id, 0, thread, 0); pthread_join(id, 0);"
        if ends
        else "pthread_create(&id, 0, stays, 0); while (!done);"
    )
    source = PROGRAM.replace("int main", STAYS + "int main") % f"pthread_t id; {wait} go(function, 1, 2, 3);"
    recording = bench.run(source, NULL_DRIVER_FAIL="cuCtxSynchronize=700").trace.recording
    (rings,) = recording.launches.values()
    found = values([each for ring in rings for each in unwaited(ring, recording, NUMBERS.get).launches])
    assert sorted(found) == [[1, 3], *([] if ends else [[70, 90]])]


def test_a_module_loaded_anew_has_kernels_of_its_own(bench: Bench) -> None:
    again = "cuModuleUnload(module); cuModuleLoadData(&module, 0); cuModuleGetFunction(&function, module, 0);"
    trace, found = launches(
        bench, f"for (int i = 0; i < 3; i++) {{ go(function, i, 0, i); {again} }} go(function, 9, 9, 9);"
    )
    assert values(found) == [[0, 0], [1, 1], [2, 2], [9, 9]]
    assert len(trace.recording.places) == 4


def test_arguments_that_cannot_be_read_are_the_driver_s_business(bench: Bench) -> None:
    bad = "{ void *bad[] = {(void *)8, (void *)16, (void *)24}; cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, %s, 0); }"
    _, found = launches(bench, bad % "bad" + bad % "(void **)40")
    assert [[word.value for word in launch.words] for launch in found] == [[None, None, None]] * 2


def test_a_null_argument_is_not_one_that_cannot_be_read(bench: Bench) -> None:
    _, found = launches(
        bench,
        "void *bad[] = {&(uint64_t){0}, &(int){-1}, (void *)24};"
        " cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, bad, 0);",
    )
    assert [word.value for word in found[0].words] == [0, None, 0xFFFFFFFF]


@pytest.mark.parametrize("record", ["lifecycle", "full"])
def test_a_launch_leaves_its_grid_and_block(bench: Bench, record: str) -> None:
    """In full recordings launches take the other way through the shim."""
    many = """struct { unsigned grid[3], block[3], shared; uint64_t stream; void *attributes; unsigned count; }
        config = {{7, 8, 9}, {10, 11, 12}, 0, stream, 0, 0};
        uint64_t a = 1; int b = 2; void *given[] = {&a, &b, &a};
        cuLaunchKernelEx(&config, function, given, 0);
        cuLaunchKernelEx((void *)8, function, given, 0);
        cuLaunchCooperativeKernel(function, 5, 1, 1, 32, 2, 1, 0, stream, given);
        cuLaunchKernel(function, 0x7fffffff, 0xffff, 0xffff, 1024, 1024, 64, 0, stream, given, 0);"""
    _, found = launches(bench, f"go(function, 1, 2, 3); {many}", CUVET_RECORD=record)
    shapes = [(launch.grid, launch.block) for launch in found]
    assert shapes == [
        ((1, 1, 1), (1, 1, 1)),
        ((7, 8, 9), (10, 11, 12)),
        (None, None),
        ((5, 1, 1), (32, 2, 1)),
        ((0x7FFFFFFF, 0xFFFF, 0xFFFF), (1024, 1024, 64)),
    ]


def test_packed_arguments(bench: Bench) -> None:
    packed = """uint64_t buffer[3] = {11, 12, 13}; size_t size = sizeof buffer;
        void *extra[] = {(void *)1, buffer, (void *)2, &size, 0};
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, extra);"""
    _, found = launches(bench, packed)
    assert values(found) == [[11, 13]]


def test_an_error_that_is_not_sticky_stores_no_launches(bench: Bench) -> None:
    run = bench.run(PROGRAM % "go(function, 1, 2, 3);", NULL_DRIVER_FAIL="cuCtxSynchronize=1")
    assert run.trace.recording.launches == {}


def test_a_lost_context_is_told_once(bench: Bench) -> None:
    run = bench.run(
        PROGRAM % "go(function, 1, 2, 3); for (int i = 0; i < 9; i++) cuCtxSynchronize();",
        NULL_DRIVER_FAIL="cuCtxSynchronize=719",
    )
    assert len(run.trace.recording.launches) == 1


def test_words_that_are_addresses_of_the_host_are_marked(bench: Bench) -> None:
    _, found = launches(bench, "go(function, (uint64_t)&stream, 2, 4096);")
    assert [word.on_host for word in found[0].words] == [True, False, False]


def test_a_lost_context_is_told_though_the_driver_does_not_say_which(bench: Bench) -> None:
    run = bench.run(PROGRAM % "go(function, 1, 2, 3);", NULL_DRIVER_FAIL="cuCtxSynchronize=700,cuCtxGetCurrent=700")
    assert len(run.trace.recording.launches) == 1


def test_a_forked_child_has_places_of_its_own(bench: Bench) -> None:
    body = "for (int i = 0; i < 5000; i++) deep(i); if (!fork()) { start(); cuModuleLoadData(&module, 0); "
    body += "cuModuleGetFunction(&function, module, 0); go(function, 1, 2, 3); return 0; } wait(0);"
    run = bench.run(PROGRAM % body)
    assert sorted(len(trace.recording.places) for trace in run.traces)[0] == 1


ATTRIBUTES = """
    struct attribute { uint32_t id, pad; uint64_t event, value[7]; };
    struct { unsigned grid[3], block[3], shared; uint64_t stream; void *attributes; unsigned count; }
        config = {{1, 1, 1}, {1, 1, 1}, 0, stream, 0, 0};
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mprotect(page + 4096, 4096, PROT_NONE) == 0);
    struct attribute *last = (struct attribute *)(page + 4096) - 1, *all = (struct attribute *)page;
    uint64_t a = 1; int b = 2; void *given[] = {&a, &b, &a};
    last->id = 7, last->event = 0x7e57;
    for (int i = 0; i < 20; i++) all[i].id = i == 3 || i == 17 ? 12 : 8, all[i].event = i;
"""


def attributes(bench: Bench, body: str, record: str = "lifecycle") -> list[list[tuple[int, int]]]:
    """Number and event of the attributes that are stored, of each launch with a CUlaunchConfig that is stored."""
    run = bench.run(PROGRAM % (ATTRIBUTES + body), CUVET_RECORD=record, NULL_DRIVER_FAIL="cuCtxSynchronize=1")
    assert run.returncode == 0, run.stderr
    stored = [call.inputs.get(4, b"") for call in run.trace.named("cuLaunchKernelEx")]
    assert all(len(data) % 72 == 0 for data in stored)
    return [
        [(int.from_bytes(data[at : at + 4], "little"), data[at + 8]) for at in range(0, len(data), 72)]
        for data in stored
    ]


@pytest.mark.parametrize("record", ["lifecycle", "full", "accesses"])
def test_a_launch_that_records_events_is_stored_with_them(bench: Bench, record: str) -> None:
    """As many attributes are read as there are, up to 16."""
    body = """
    for (int i = 0; i < 3; i++) {
        config.attributes = last, config.count = 1;
        cuLaunchKernelEx(&config, function, given, 0);
        config.attributes = all, config.count = 20;
        cuLaunchKernelEx(&config, function, given, 0);
    }"""
    assert attributes(bench, body, record) == [[(7, 0x57)], [(12, 3)]] * 3


@pytest.mark.parametrize(("record", "stored"), [("lifecycle", 0), ("full", 5)])
def test_other_launches_are_not(bench: Bench, record: str, stored: int) -> None:
    body = """
    go(function, 1, 2, 3);
    cuLaunchKernelEx(&config, function, given, 0);
    config.attributes = all, config.count = 3;
    cuLaunchKernelEx(&config, function, given, 0);
    config.attributes = last, config.count = 0;
    cuLaunchKernelEx(&config, function, given, 0);
    config.attributes = last, config.count = 2;
    cuLaunchKernelEx(&config, function, given, 0);
    config.attributes = 0;
    cuLaunchKernelEx(&config, function, given, 0);"""
    assert attributes(bench, body, record) == [[]] * stored


GRAPH = """
uint32_t cuGraphCreate(handle *graph, uint32_t flags);
uint32_t cuGraphAddKernelNode_v2(handle *node, handle graph, const handle *from, size_t count, const void *parameters);
uint32_t cuGraphInstantiateWithFlags(handle *exec, handle graph, uint64_t flags);
uint32_t cuGraphLaunch(handle exec, handle stream);
static handle graph, exec;
static void capture(uint64_t given) {
    graph = (handle)&graph;
    cuStreamBeginCapture_v2(stream, 0);
    go(function, given, 0, 5);
    cuStreamEndCapture(stream, &graph);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
}
"""


def because(bench: Bench, body: str) -> tuple[str, ...]:
    """What the report says of the lost context."""
    source = PROGRAM.replace("int main", f"{GRAPH} int main") % body
    run = bench.run(source, NULL_DRIVER_FAIL="cuCtxSynchronize=700")
    assert run.returncode == 0, run.stderr
    (finding,) = (each for each in analyze([bench.folder / "trace"]).findings if each.name == "error-sticky")
    return finding.because


FREED = "handle memory; cuMemAlloc_v2(&memory, 1 << 22);"


def test_the_kernels_of_a_launched_graph_are_candidates_as_they_were_captured(bench: Bench) -> None:
    told = because(
        bench, f"{FREED} go(other, 1, 2, 3); capture(memory); cuMemFree_v2(memory); cuGraphLaunch(exec, stream);"
    )
    (line,) = (each for each in told if each.startswith("kernel"))
    assert ", captured in executable-graph#1: argument 0 = " in line
    assert "points into device-memory#1 (4 MiB by cuMemAlloc" in line
    assert "which was freed before" in line
    assert not any(each.startswith("verdict") for each in told)


def test_memory_that_is_freed_after_the_graph_was_launched_is_no_mistake(bench: Bench) -> None:
    told = because(bench, f"{FREED} capture(memory); cuGraphLaunch(exec, stream); cuMemFree_v2(memory);")
    assert not any("freed before" in each for each in told)


ADDED = """
    struct { handle function; uint32_t grid[3], block[3], shared; void **given, **extra; handle kernel, context; }
        node = {function, {4, 2, 1}, {32, 1, 1}, 0, (void *[]){&(uint64_t){7}, &(int){0}, &(uint64_t){5}}, 0, 0, 0};
    handle added;
    CHECK(cuGraphCreate(&graph, 0) == 0 && cuGraphAddKernelNode_v2(&added, graph, 0, 0, &node) == 0);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
"""


def test_the_kernels_that_were_added_to_a_launched_graph_are_candidates(bench: Bench) -> None:
    told = because(bench, ADDED + "go(other, 1, 2, 3); cuGraphLaunch(exec, stream); cuGraphLaunch(exec, stream);")
    (line,) = (each for each in told if each.startswith("kernel"))
    assert (
        line.startswith("kernel<<<(4, 2, 1), 32>>> on stream#1 at ")
        and ", added to executable-graph#1 was launched" in line
    )
    assert not any(each.startswith("verdict") for each in told)


@pytest.mark.parametrize(("thread", "number", "is_known"), [(1, 4, True), (1, 6, False), (2, 6, True)])
def test_a_function_that_was_made_after_its_launch_is_another(thread: int, number: int, is_known: bool) -> None:
    """Its handle was issued again. Of calls of two threads it is not known which was first."""
    made = Call(driver()["cuModuleGetFunction"], (0, 0, 0), thread=thread, number=number)
    function = Function(kind=Kind.FUNCTION, handle=7, generation=1, number=1, created_by=made)
    assert function_before(function, 1, 5) == (function if is_known else None)


@pytest.mark.parametrize("launch", ["", "cuGraphLaunch(exec, stream); cuStreamSynchronize(stream);"])
def test_kernels_added_to_a_graph_that_did_not_run_or_was_waited_for_are_none(bench: Bench, launch: str) -> None:
    told = because(bench, f"{ADDED} {launch} go(other, 1, 2, 3);")
    assert not any("added to" in each for each in told)


@pytest.mark.parametrize("launch", ["", "cuGraphLaunch(exec, stream); cuStreamSynchronize(stream);"])
def test_a_graph_that_did_not_run_or_was_waited_for_is_no_candidate(bench: Bench, launch: str) -> None:
    told = because(bench, f"{FREED} capture(memory); cuMemFree_v2(memory); {launch} go(other, 1, 2, 3);")
    assert not any("captured in" in each for each in told)


def test_what_was_launched_before_the_capture_is_not_of_the_graph(bench: Bench) -> None:
    told = because(bench, "go(other, 1, 2, 3); capture(7); cuGraphLaunch(exec, stream); cuGraphLaunch(exec, stream);")
    (of_graph,) = (each for each in told if "captured in executable-graph#1" in each)
    assert of_graph.startswith("kernel<<<1, 1>>> on stream#1 at ")
    (before,) = (each for each in told if each.startswith("other"))
    assert before.startswith("other<<<1, 1>>> on stream#1 at ")
