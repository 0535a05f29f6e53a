"""What the quarantine keeps, and what the driver is asked."""

from __future__ import annotations

import pytest
from tests.native.conftest import Bench, Run

from cuvet.catalog.kinds import Kind
from cuvet.catalog.quarantine import KEPT
from cuvet.recording.records import CallRecord

DECLARED = """
uint32_t cuMemGetInfo_v2(size_t *free, size_t *total);
uint32_t cuStreamAttachMemAsync(handle stream, handle address, size_t bytes, uint32_t flags);
uint32_t cuGraphRetainUserObject(handle graph, handle object, uint32_t count, uint32_t flags);
"""
ON = "64000000"
STREAMS = KEPT[Kind.STREAM].most


def run(bench: Bench, body: str, quarantine: str = ON, before: str = "", **environment: str) -> tuple[Run, list[str]]:
    """The program's run, and what the driver was asked after its context was made."""
    log = bench.folder / "log"
    program = f"{DECLARED}{before}int main(void) {{ start(); {body} return 0; }}"
    more = {"CUVET_QUARANTINE": quarantine} if quarantine else {}
    done = bench.run(program, NULL_DRIVER_LOG=str(log), NULL_DRIVER_STRICT="1", **more, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    lines = log.read_text().splitlines()
    made = next(i for i, line in enumerate(lines) if line.startswith(("cuCtxCreate", "cuDevicePrimaryCtxRetain")))
    return done, lines[made + 1 :]


def asked(lines: list[str], *names: str) -> list[str]:
    return [line for line in lines if line.split()[0] in names]


def seen(record: CallRecord) -> tuple[bool, bool]:
    return record.objects[0].alive, record.objects[0].kept


USED_LATER = {
    "stream": (
        "cuStreamCreate(&a, 0)",
        "cuStreamDestroy_v2(a)",
        "cuStreamSynchronize(a)",
        "cuStreamCreate(&b, 0)",
        400,
    ),
    "event": ("cuEventCreate(&a, 2)", "cuEventDestroy_v2(a)", "cuEventQuery(a)", "cuEventCreate(&b, 2)", 400),
    "graph": (
        "cuGraphCreate(&a, 0)",
        "cuGraphDestroy(a)",
        "cuGraphAddEmptyNode(&node, a, 0, 0)",
        "cuGraphCreate(&b, 0)",
        1,
    ),
    "memory": (
        "cuMemAlloc_v2(&a, 4096)",
        "cuMemFree_v2(a)",
        "cuMemcpyAsync(a, 0, 8, 0)",
        "cuMemAlloc_v2(&b, 4096)",
        1,
    ),
}


def program(kind: str) -> str:
    make, end, use, other, _ = USED_LATER[kind]
    return f"""
        handle a, b, node; {make}; {end}; {other};
        printf("%d ", a == b);
        printf("%u ", {use});
        printf("%u\\n", {end});
    """


@pytest.mark.parametrize("kind", USED_LATER)
def test_the_value_of_what_has_ended_is_not_issued_again(kind: str, bench: Bench) -> None:
    _, end, use, _, refused = USED_LATER[kind]
    done, lines = run(bench, program(kind))
    assert done.stdout == f"0 0 {refused}\n"
    ended, used = end.split("(")[0], use.split("(")[0]
    assert len(asked(lines, ended)) == (kind == "memory")
    record = done.trace.one(used.removesuffix("_v2"))
    assert seen(record) == (False, True)
    first, second = done.trace.named(ended.removesuffix("_v2"))
    assert (seen(first), first.status) == ((True, False), 0)
    assert (seen(second), second.status) == ((False, True), refused)


@pytest.mark.parametrize("kind", USED_LATER)
def test_without_the_option_it_is_issued_again(kind: str, bench: Bench) -> None:
    make, end, _, other, _ = USED_LATER[kind]
    done, lines = run(bench, f'handle a, b; {make}; {end}; {other}; printf("%d\\n", a == b);', quarantine="")
    assert done.stdout == "1\n"
    assert len(asked(lines, end.split("(")[0])) == 1


def test_the_oldest_leaves_when_there_are_too_many(bench: Bench) -> None:
    body = f"""
        handle all[{STREAMS + 3}];
        for (int i = 0; i < {STREAMS + 3}; i++) cuStreamCreate(&all[i], 0);
        for (int i = 0; i < {STREAMS + 3}; i++) cuStreamDestroy_v2(all[i]);
        for (int i = 0; i < 4; i++) printf("cuStreamDestroy_v2 %lx\\n", all[i]);
        handle again; cuStreamCreate(&again, 0);
        printf("%d\\n", again == all[2]);
    """
    done, lines = run(bench, body)
    *first, last, same = done.stdout.splitlines()
    assert asked(lines, "cuStreamDestroy_v2") == first
    assert last not in lines
    assert same == "1"


@pytest.mark.parametrize(("most", "released"), [(80_000, []), (130_000, ["a"]), (100_000, ["a", "b"]), (170_000, [])])
def test_memory_is_bounded_by_its_bytes(most: int, released: list[str], bench: Bench) -> None:
    body = """
        handle a, b, c;
        cuMemAlloc_v2(&a, 40000); cuMemAlloc_v2(&b, 40000); cuMemAlloc_v2(&c, 90000);
        cuMemFree_v2(a); cuMemFree_v2(b); cuMemFree_v2(c);
        printf("%lx %lx %lx\\n", a, b, c);
    """
    done, lines = run(bench, body, quarantine=str(most))
    names = dict(zip(done.stdout.split(), "abc", strict=True))
    freed = [names[line.split()[1]] for line in asked(lines, "cuMemFree_v2")]
    assert freed == ["a", "b", *released, "c"]


def test_no_memory_is_held_if_none_may_be(bench: Bench) -> None:
    body = 'handle a, b; cuMemAlloc_v2(&a, 512); cuMemFree_v2(a); cuMemAlloc_v2(&b, 512); printf("%d\\n", a == b);'
    assert run(bench, body, quarantine="0")[0].stdout == "1\n"


def test_an_allocation_that_fails_is_made_again_when_what_is_kept_was_released(bench: Bench) -> None:
    body = """
        handle a, b, c, d;
        cuMemAlloc_v2(&a, 4096); cuStreamCreate(&b, 0); cuEventCreate(&d, 0);
        cuMemFree_v2(a); cuStreamDestroy_v2(b); cuEventDestroy_v2(d);
        printf("%lx %lx %u\\n", a, b, cuMemAllocManaged(&c, 4096, 1));
    """
    done, lines = run(bench, body, NULL_DRIVER_FAIL_ONCE="cuMemAllocManaged=2")
    memory, stream, status = done.stdout.split()
    assert status == "0"
    last = asked(lines, "cuMemAllocManaged", "cuMemFree_v2", "cuStreamDestroy_v2", "cuEventDestroy_v2")
    assert [line.split()[0] for line in last] == [
        "cuMemFree_v2", "cuMemAllocManaged", "cuMemFree_v2", "cuStreamDestroy_v2", "cuMemAllocManaged",
    ]  # fmt: skip
    assert last[2:4] == [f"cuMemFree_v2 {memory}", f"cuStreamDestroy_v2 {stream}"]
    assert done.trace.one("cuMemAllocManaged").status == 0


def test_an_allocation_that_fails_with_nothing_kept_is_made_once(bench: Bench) -> None:
    done, lines = run(bench, 'handle a; printf("%u\\n", cuMemAlloc_v2(&a, 64));', NULL_DRIVER_FAIL="cuMemAlloc_v2=2")
    assert done.stdout == "2\n"
    assert len(asked(lines, "cuMemAlloc_v2")) == 1


def test_what_another_context_keeps_is_released_there(bench: Bench) -> None:
    body = """
        handle a, first, second, c;
        cuCtxGetCurrent(&first);
        cuMemAlloc_v2(&a, 4096); cuMemFree_v2(a);
        cuCtxCreate_v2(&second, 0, 0);
        cuMemAllocManaged(&c, 4096, 1);
        handle now; cuCtxGetCurrent(&now);
        printf("%lx %lx %d\\n", first, a, now == second);
    """
    done, lines = run(bench, body, NULL_DRIVER_FAIL_ONCE="cuMemAllocManaged=2")
    context, memory, same = done.stdout.split()
    assert same == "1"
    at = lines.index(f"cuCtxPushCurrent_v2 {context}")
    assert lines[at + 1] == f"cuMemFree_v2 {memory}"
    assert lines[at + 2].startswith("cuCtxPopCurrent_v2")


@pytest.mark.parametrize("end", ["cuCtxDestroy_v2(context)", "cuDevicePrimaryCtxReset_v2(0)"])
def test_what_ended_with_its_context_is_forgotten(end: str, bench: Bench) -> None:
    body = f"""
        handle context, a, b;
        {"cuDevicePrimaryCtxRetain(&context, 0); cuCtxSetCurrent(context);" if "Primary" in end else "cuCtxGetCurrent(&context);"}
        cuMemAlloc_v2(&b, 4096); cuMemFree_v2(b);
        cuStreamCreate(&a, 0); cuStreamDestroy_v2(a);
        {end};
        handle other, all[{STREAMS}];
        cuCtxCreate_v2(&other, 0, 0);
        for (int i = 0; i < {STREAMS}; i++) cuStreamCreate(&all[i], 0);
        for (int i = 0; i < {STREAMS}; i++) cuStreamDestroy_v2(all[i]);
        cuMemAllocManaged(&b, 4096, 1);
        printf("%lx\\n", a);
    """
    done, lines = run(bench, body, NULL_DRIVER_FAIL_ONCE="cuMemAllocManaged=2")
    destroyed = asked(lines, "cuStreamDestroy_v2")
    assert f"cuStreamDestroy_v2 {done.stdout.strip()}" not in destroyed
    assert len(destroyed) == STREAMS
    assert len(asked(lines, "cuMemFree_v2")) == 1


ENDS_AT_ONCE = {
    "interprocess event": "cuEventCreate(&a, 6); cuEventDestroy_v2(a);",
    "stream with attached memory": "cuStreamCreate(&a, 0); cuStreamAttachMemAsync(a, 0x1000, 0, 4); cuStreamDestroy_v2(a);",
    "graph with a user object": "cuGraphCreate(&a, 0); cuGraphRetainUserObject(a, 0x1000, 1, 0); cuGraphDestroy(a);",
    "unknown stream": "cuStreamDestroy_v2(0x7000);",
    "stream while a stream is captured": """
        cuStreamCreate(&a, 0); cuStreamBeginCapture_v2(a, 0); cuStreamCreate(&b, 0); cuStreamDestroy_v2(b);
    """,
    "stream with no context current": "cuStreamCreate(&a, 0); cuCtxSetCurrent(0); cuStreamDestroy_v2(a);",
}


@pytest.mark.parametrize("what", ENDS_AT_ONCE)
def test_what_ends_at_once(what: str, bench: Bench) -> None:
    _, lines = run(bench, f"handle a, b; {ENDS_AT_ONCE[what]}")
    assert len(asked(lines, "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuGraphDestroy")) == 1


def test_nothing_is_kept_when_a_context_is_lost(bench: Bench) -> None:
    """The driver's answers to the program's calls are the program's."""
    body = 'handle a; cuStreamCreate(&a, 0); cuStreamSynchronize(a); printf("%u\\n", cuStreamDestroy_v2(a));'
    done, _ = run(bench, body, NULL_DRIVER_FAIL="cuStreamSynchronize=700,cuStreamDestroy_v2=700")
    assert done.stdout == "700\n"


def test_a_driver_that_has_shut_down_is_asked(bench: Bench) -> None:
    body = 'handle a; cuStreamCreate(&a, 0); printf("%u\\n", cuStreamDestroy_v2(a));'
    done, _ = run(bench, body, NULL_DRIVER_FAIL="cuCtxGetCurrent=4,cuStreamDestroy_v2=4")
    assert done.stdout == "4\n"


MEMORY_THAT_IS_NOT_HELD = {
    "managed": "cuMemAllocManaged(&a, 4096, 1); cuMemFree_v2(a);",
    "stream-ordered": "cuMemAllocAsync(&a, 4096, 0); cuMemFree_v2(a);",
    "freed in stream order": "cuMemAlloc_v2(&a, 4096); cuMemFreeAsync(a, 0);",
    "freed in a capture": "cuMemAlloc_v2(&a, 4096); cuStreamCreate(&s, 0); cuStreamBeginCapture_v2(s, 2); cuMemFree_v2(a);",
}


@pytest.mark.parametrize("what", MEMORY_THAT_IS_NOT_HELD)
def test_memory_that_is_not_held(what: str, bench: Bench) -> None:
    body = f'handle a, s, b; {MEMORY_THAT_IS_NOT_HELD[what]} cuMemAlloc_v2(&b, 4096); printf("%d\\n", a == b);'
    assert run(bench, body)[0].stdout == "1\n"


def test_held_memory_is_not_freed_in_stream_order(bench: Bench) -> None:
    body = 'handle a; cuMemAlloc_v2(&a, 4096); cuMemFree_v2(a); printf("%u\\n", cuMemFreeAsync(a, 0));'
    done, lines = run(bench, body)
    assert done.stdout == "1\n"
    assert asked(lines, "cuMemFreeAsync") == []


def test_memory_is_freed_as_without_the_option(bench: Bench) -> None:
    """The driver's answer is the program's, and nothing is held of memory that was not freed."""
    body = 'handle a; cuMemAlloc_v2(&a, 4096); printf("%u\\n", cuMemFree_v2(a));'
    done, lines = run(bench, body, NULL_DRIVER_FAIL="cuMemFree_v2=700")
    assert done.stdout == "700\n"
    assert len(asked(lines, "cuMemAlloc_v2")) == 1


def test_graphs_are_destroyed_before_a_module_is_unloaded(bench: Bench) -> None:
    body = "handle a, m; cuModuleLoadData(&m, 0); cuGraphCreate(&a, 0); cuGraphDestroy(a); cuModuleUnload(m);"
    _, lines = run(bench, body)
    assert [line.split()[0] for line in asked(lines, "cuGraphDestroy", "cuModuleUnload")] == [
        "cuGraphDestroy",
        "cuModuleUnload",
    ]


def test_free_memory_does_not_show_what_is_kept(bench: Bench) -> None:
    body = """
        handle a, b, s; size_t free, total;
        cuMemAlloc_v2(&a, 5 << 20); cuMemFree_v2(a); cuMemAlloc_v2(&b, 4096); cuMemFree_v2(b);
        cuStreamCreate(&s, 0); cuStreamDestroy_v2(s);
        cuMemGetInfo_v2(&free, &total);
        printf("%zu\\n", free - (1 << 30));
    """
    done, lines = run(bench, body)
    assert done.stdout == f"{4 << 20}\n"
    assert len(asked(lines, "cuStreamDestroy_v2")) == 1


def test_nothing_is_destroyed_at_exit(bench: Bench) -> None:
    _, lines = run(bench, "handle a; cuStreamCreate(&a, 0); cuStreamDestroy_v2(a);")
    assert asked(lines, "cuStreamDestroy_v2") == []


def test_a_forked_child_has_nothing_of_its_parents(bench: Bench) -> None:
    body = f"""
        handle a, all[{STREAMS + 1}]; cuStreamCreate(&a, 0); cuStreamDestroy_v2(a);
        pid_t child = fork();
        if (!child) {{
            handle context; cuInit(0); cuCtxCreate_v2(&context, 0, 0);
            for (int i = 0; i <= {STREAMS}; i++) cuStreamCreate(&all[i], 0);
            for (int i = 0; i <= {STREAMS}; i++) cuStreamDestroy_v2(all[i]);
            fprintf(stdout, "%lx\\n", all[0]);
            fflush(stdout);
            _exit(0);
        }}
        waitpid(child, 0, 0);
    """
    done, lines = run(bench, body)
    assert asked(lines, "cuStreamDestroy_v2") == [f"cuStreamDestroy_v2 {done.stdout.strip()}"]


THREADS = """
static void *work(void *own) {
    handle context, e[4], s, a, g;
    for (int turn = 0; turn < 400; turn++) {
        if (own && turn % 20 == 0) cuCtxCreate_v2(&context, 0, 0);
        for (int i = 0; i < 4; i++) cuEventCreate(&e[i], 0);
        cuStreamCreate(&s, 0); cuMemAlloc_v2(&a, 4096 + turn); cuGraphCreate(&g, 0);
        cuMemFree_v2(a); cuStreamDestroy_v2(s); cuGraphDestroy(g);
        for (int i = 0; i < 4; i++) cuEventDestroy_v2(e[i]);
        cuMemAllocManaged(&a, 64, 1);
        if (own && turn % 20 == 19) cuCtxDestroy_v2(context);
    }
    return 0;
}
"""


def test_threads_that_end_objects_and_contexts_at_once(bench: Bench) -> None:
    """The driver aborts if anything is destroyed twice. Every other allocation fails, and releases what all threads keep."""
    body = """
        handle first; cuCtxGetCurrent(&first);
        pthread_t all[6];
        for (intptr_t i = 0; i < 6; i++) pthread_create(&all[i], 0, work, (void *)(i % 2));
        for (int i = 0; i < 6; i++) pthread_join(all[i], 0);
    """
    _, lines = run(bench, body, quarantine="100000", before=THREADS, NULL_DRIVER_FAIL_ONCE="cuMemAllocManaged=2")
    assert len(asked(lines, "cuStreamDestroy_v2")) > 0
