"""CUVET_PROTECT: a call that names for certain what has ended never reaches the driver, and everything else does."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.native.conftest import Bench, Run, Seen

from cuvet.recording.records import CallRecord

INVALID_HANDLE, INVALID_CONTEXT, CONTEXT_IS_DESTROYED = 400, 201, 709
REFUSED_EXIT_CODE = 86
NEW = """
static handle s, e, x;
uint32_t cuEventElapsedTime(float *ms, handle from, handle to);
uint32_t cuStreamGetFlags(handle stream, uint32_t *flags);
static void new(void) { start(); CHECK(cuStreamCreate(&s, 1) == 0); CHECK(cuEventCreate(&e, 2) == 0); }
static void gone(void) { new(); CHECK(cuStreamDestroy_v2(s) == 0); }
"""


class Ran:
    """What became of a program, and which calls reached the driver."""

    def __init__(self, run: Run, log: Path) -> None:
        self.run = run
        self.reached = [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def trace(self) -> Seen:
        return self.run.trace

    def refused(self) -> list[CallRecord]:
        return [call for call in self.trace.calls if call.refused]


def protected(bench: Bench, body: str, mode: str = "refuse", code: int = 0, **more: str) -> Ran:
    """Run a program whose driver writes down the calls that reach it."""
    log = bench.folder / "log"
    run = bench.run(f"{NEW} {body}", CUVET_PROTECT=mode, NULL_DRIVER_LOG=str(log), **more)
    assert run.returncode == code, run.stderr
    return Ran(run, log)


def main(body: str) -> str:
    return f"int main(void) {{ {body} return 0; }}"


@pytest.mark.parametrize(
    "call",
    [
        "cuStreamSynchronize(s)",
        "cuStreamQuery(s)",
        "cuEventRecord(e, s)",
        "cuMemcpyAsync(8, 16, 4, s)",
        "cuStreamDestroy_v2(s)",
        "cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)",
    ],
)
def test_a_call_with_a_dead_stream_is_not_made(bench: Bench, call: str) -> None:
    name = call.partition("(")[0]
    ran = protected(
        bench,
        main(f"""
            handle m, f;
            gone();
            CHECK(cuModuleLoadData(&m, "x") == 0 && cuModuleGetFunction(&f, m, "k") == 0);
            CHECK({call} == {INVALID_HANDLE});"""),
    )
    assert ran.reached.count(name) == (1 if name == "cuStreamDestroy_v2" else 0)
    (refused,) = ran.refused()
    assert refused.status == INVALID_HANDLE
    assert [(each.handle, each.alive, each.known) for each in refused.objects if not each.alive] == [
        (ran.trace.one("cuStreamCreate").outputs[0].value, False, True)
    ]
    assert refused.stack and refused.returned and refused.refused == "returned"


def test_outputs_are_untouched(bench: Bench) -> None:
    protected(
        bench,
        main(f"""
            float ms = 17;
            uint32_t flags = 18;
            gone();
            CHECK(cuEventDestroy_v2(e) == 0);
            CHECK(cuEventElapsedTime(&ms, e, e) == {INVALID_HANDLE} && ms == 17);
            CHECK(cuStreamGetFlags(s, &flags) == {INVALID_HANDLE} && flags == 18);"""),
    )


def test_functions_that_the_driver_hands_out_are_protected_where_calls_are_quick(bench: Bench) -> None:
    ran = protected(
        bench,
        main(f"""
            uint32_t (*record)(handle, handle), (*query)(handle);
            uint32_t found;
            new();
            CHECK(cuGetProcAddress_v2("cuEventRecord", (void **)&record, 13000, 0, &found) == 0);
            CHECK(cuGetProcAddress_v2("cuStreamQuery", (void **)&query, 13000, 0, &found) == 0);
            for (int i = 0; i < 100; i++) CHECK(record(e, s) == 0 && query(s) == 0);
            CHECK(cuStreamDestroy_v2(s) == 0);
            for (int i = 0; i < 3; i++) CHECK(record(e, s) == {INVALID_HANDLE} && query(s) == {INVALID_HANDLE});"""),
    )
    assert (ran.reached.count("cuEventRecord"), ran.reached.count("cuStreamQuery")) == (100, 100)
    assert len(ran.refused()) == 6


def test_a_value_that_is_issued_again_names_the_new_object(bench: Bench) -> None:
    ran = protected(
        bench,
        main("""
            gone();
            CHECK(cuStreamCreate(&x, 1) == 0 && x == s);
            CHECK(cuStreamSynchronize(s) == 0 && cuEventRecord(e, s) == 0 && cuStreamDestroy_v2(s) == 0);"""),
    )
    assert not ran.refused()


def test_what_could_not_be_destroyed_lives(bench: Bench) -> None:
    ran = protected(
        bench,
        main("new(); CHECK(cuStreamDestroy_v2(s) == 906 && cuStreamSynchronize(s) == 0);"),
        NULL_DRIVER_FAIL="cuStreamDestroy_v2=906",
    )
    assert not ran.refused()


def test_threads_that_make_and_end_streams_of_the_same_values_are_left_alone(bench: Bench) -> None:
    ran = protected(
        bench,
        """
        static void *work(void *unused) {
            for (int i = 0; i < 500; i++) {
                handle mine, done;
                CHECK(cuStreamCreate(&mine, 1) == 0 && cuEventCreate(&done, 2) == 0);
                CHECK(cuEventRecord(done, mine) == 0 && cuStreamSynchronize(mine) == 0);
                CHECK(cuEventDestroy_v2(done) == 0 && cuStreamDestroy_v2(mine) == 0);
            }
            return 0;
        }"""
        + main("""
            pthread_t threads[4];
            new();
            for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], 0, work, 0) == 0);
            for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], 0) == 0);"""),
    )
    assert not ran.refused() and ran.reached.count("cuStreamSynchronize") == 2000


def test_a_stream_lives_until_the_call_that_destroys_it_has_returned_success(bench: Bench) -> None:
    """It fails in the end; in the middle of it, another thread uses the stream."""
    ran = protected(
        bench,
        """
        static void *use(void *unused) { CHECK(cuStreamSynchronize(s) == 0); return 0; }
        static void inside(int number) {
            pthread_t thread;
            CHECK(pthread_create(&thread, 0, use, 0) == 0 && pthread_join(thread, 0) == 0);
        }"""
        + main("signal(SIGUSR1, inside); new(); CHECK(cuStreamDestroy_v2(s) == 906);"),
        NULL_DRIVER_SIGNAL=f"cuStreamDestroy_v2={int(signal.SIGUSR1)}",
        NULL_DRIVER_FAIL="cuStreamDestroy_v2=906",
    )
    assert not ran.refused() and ran.reached.count("cuStreamSynchronize") == 1


def test_a_call_inside_of_another_reaches_the_driver(bench: Bench) -> None:
    """A profiler's callback knows of a new object before the call that makes it has returned."""
    ran = protected(
        bench,
        "static void inside(int number) { if (s) CHECK(cuStreamSynchronize(s) == 0); }"
        + main("signal(SIGUSR1, inside); gone(); CHECK(cuStreamCreate(&x, 1) == 0 && x == s);"),
        NULL_DRIVER_SIGNAL=f"cuStreamCreate={int(signal.SIGUSR1)}",
    )
    assert not ran.refused() and ran.reached.count("cuStreamSynchronize") == 1


def test_what_another_thread_destroys_is_dead(bench: Bench) -> None:
    ran = protected(
        bench,
        """static void *end(void *unused) { CHECK(cuStreamDestroy_v2(s) == 0); return 0; }"""
        + main(f"""
            pthread_t thread;
            new();
            CHECK(pthread_create(&thread, 0, end, 0) == 0 && pthread_join(thread, 0) == 0);
            CHECK(cuStreamSynchronize(s) == {INVALID_HANDLE});"""),
    )
    assert len(ran.refused()) == 1


def test_while_a_stream_made_unseen_is_about_none_is_certain_to_be_dead(bench: Bench) -> None:
    """The address of a variable is one that the driver answers with success."""
    ran = protected(
        bench,
        main("gone(); CHECK(cuStreamSynchronize((handle)&x) == 0); CHECK(cuStreamSynchronize(s) == 0);"),
    )
    assert not ran.refused() and ran.reached.count("cuStreamSynchronize") == 2


@pytest.mark.parametrize("value", ["0x1234567000", "0xdeadbeef"])
def test_a_value_from_nowhere_that_is_no_address_is_refused(bench: Bench, value: str) -> None:
    ran = protected(bench, main(f"new(); CHECK(cuStreamSynchronize({value}) == {INVALID_HANDLE});"))
    assert "cuStreamSynchronize" not in ran.reached


def test_a_value_from_nowhere_that_can_be_read_reaches_the_driver(bench: Bench) -> None:
    ran = protected(bench, main("new(); CHECK(cuStreamSynchronize((handle)&x) == 0);"))
    assert "cuStreamSynchronize" in ran.reached


def test_a_handle_of_another_kind_that_lives_reaches_the_driver(bench: Bench) -> None:
    ran = protected(bench, main("new(); CHECK(cuStreamSynchronize(e) == 0);"))
    assert not ran.refused() and "cuStreamSynchronize" in ran.reached


GREEN = """
uint32_t cuGreenCtxCreate(handle *green, const void *description, int32_t device, uint32_t flags);
uint32_t cuGreenCtxDestroy(handle green);
uint32_t cuCtxFromGreenCtx(handle *context, handle green);
uint32_t cuEventSynchronize(handle event);
static handle g, c;
static void green(void) {
    CHECK(cuInit(0) == 0 && cuGreenCtxCreate(&g, 0, 0, 1) == 0);
    CHECK(cuCtxFromGreenCtx(&c, g) == 0 && cuCtxSetCurrent(c) == 0 && cuEventCreate(&e, 0) == 0);
}
"""


def test_events_end_with_a_green_context_that_was_all_that_retained_the_primary_one(bench: Bench) -> None:
    ran = protected(
        bench,
        GREEN
        + main(f"""
            green();
            CHECK(cuEventSynchronize(e) == 0 && cuGreenCtxDestroy(g) == 0);
            CHECK(cuDevicePrimaryCtxRetain(&x, 0) == 0 && cuCtxSetCurrent(x) == 0);
            CHECK(cuEventSynchronize(e) == {CONTEXT_IS_DESTROYED} && cuEventDestroy_v2(e) == {CONTEXT_IS_DESTROYED});
            CHECK(cuEventCreate(&e, 0) == 0 && cuEventSynchronize(e) == 0 && cuEventDestroy_v2(e) == 0);"""),
    )
    assert (ran.reached.count("cuEventSynchronize"), ran.reached.count("cuEventDestroy_v2")) == (2, 1)
    assert [(call.status, call.objects[0].known) for call in ran.refused()] == [(CONTEXT_IS_DESTROYED, True)] * 2


def test_while_the_primary_context_is_retained_events_of_a_green_one_live_on(bench: Bench) -> None:
    """By whomever: the driver is asked."""
    ran = protected(
        bench,
        GREEN + main("green(); CHECK(cuGreenCtxDestroy(g) == 0 && cuEventSynchronize(e) == 0);"),
        NULL_DRIVER_ACTIVE="1",
    )
    assert not ran.refused() and ran.reached.count("cuEventSynchronize") == 1


def test_the_context_of_a_destroyed_green_context_is_not_made_current(bench: Bench) -> None:
    """Whether or not the primary context lives; only asking for it reaches the driver."""
    ran = protected(
        bench,
        GREEN
        + main(f"""
            green();
            CHECK(cuGreenCtxDestroy(g) == 0 && cuCtxSetCurrent(c) == {INVALID_CONTEXT});
            CHECK(cuGreenCtxCreate(&g, 0, 0, 1) == 0 && cuCtxFromGreenCtx(&c, g) == 0 && cuCtxSetCurrent(c) == 0);"""),
        NULL_DRIVER_ACTIVE="1",
    )
    assert ran.reached.count("cuCtxSetCurrent") == 2
    assert [(call.status, call.objects[0].known) for call in ran.refused()] == [(INVALID_CONTEXT, True)]


def test_a_green_context_that_could_not_be_destroyed_keeps_its_events(bench: Bench) -> None:
    ran = protected(
        bench,
        GREEN + main("green(); CHECK(cuGreenCtxDestroy(g) == 1 && cuEventSynchronize(e) == 0);"),
        NULL_DRIVER_FAIL="cuGreenCtxDestroy=1",
    )
    assert not ran.refused() and ran.reached.count("cuEventSynchronize") == 1


MISTAKEN = """
uint32_t cuLibraryLoadData(handle *library, const void *code, void *, void *, uint32_t, void *, void *, uint32_t);
uint32_t cuLibraryGetKernel(handle *kernel, handle library, const char *name);
uint32_t cuCtxPushCurrent_v2(handle context);
uint32_t cuCtxSetCurrent(handle context);
static handle m, f, l, k, own;
static void some(void) {
    new();
    CHECK(cuModuleLoadData(&m, "x") == 0 && cuModuleGetFunction(&f, m, "k") == 0);
    CHECK(cuLibraryLoadData(&l, "x", 0, 0, 0, 0, 0, 0) == 0 && cuCtxCreate_v2(&own, 0, 0) == 0);
}
"""


PTX = """
static char *before_nothing(const char *text, size_t bytes) {
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
    return memcpy(pages + 4096 - bytes, text, bytes);
}
static const char ptx[] = "// made by hand\\n/* .version */\\n.version 8.0\\n.target sm_90\\n.visible .entry k() { ret; }\\n";
"""
INVALID_PTX = 218


@pytest.mark.parametrize("call", ["cuModuleLoadData(&m, image)", "cuLibraryLoadData(&l, image, 0, 0, 0, 0, 0, 0)"])
def test_ptx_that_runs_into_nothing_is_not_loaded(bench: Bench, call: str) -> None:
    body = f"start(); char *image = before_nothing(ptx, sizeof ptx - 1); CHECK({call} == {INVALID_PTX});"
    ran = protected(bench, MISTAKEN + PTX + main(body))
    assert call.partition("(")[0] not in ran.reached
    (refused,) = ran.refused()
    assert refused.status == INVALID_PTX


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("ptx", "sizeof ptx"),
        (r'"words without a directive"', "25"),
        (r'".version 8.0\n\1\n.target sm_90"', "27"),
        (r'"\177ELF and more of it"', "19"),
    ],
)
def test_what_ends_or_is_no_ptx_reaches_the_driver(bench: Bench, text: str, size: str) -> None:
    """The second has no measurement; the third has an end for a reader that minds control characters."""
    body = f"start(); CHECK(cuModuleLoadData(&m, before_nothing({text}, {size})) == 0);"
    ran = protected(bench, MISTAKEN + PTX + main(body))
    assert not ran.refused() and "cuModuleLoadData" in ran.reached


@pytest.mark.parametrize(
    ("call", "right", "status"),
    [
        ("cuCtxPushCurrent_v2(s)", "cuCtxPushCurrent_v2(own)", INVALID_CONTEXT),
        ("cuCtxSetCurrent(s)", "cuCtxSetCurrent(own)", INVALID_CONTEXT),
        ("cuLibraryGetKernel(&k, m, 0)", "cuLibraryGetKernel(&k, l, 0)", INVALID_HANDLE),
        (
            "cuLaunchKernel(m, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)",
            "cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, 0, 0)",
            INVALID_HANDLE,
        ),
    ],
)
def test_what_kills_in_the_place_of_another_kind_is_refused(bench: Bench, call: str, right: str, status: int) -> None:
    """What was measured to: the call with a handle of the right kind is made."""
    ran = protected(bench, MISTAKEN + main(f"some(); CHECK({call} == {status}); CHECK({right} == 0);"))
    assert ran.reached.count(call.partition("(")[0]) == 1
    (refused,) = ran.refused()
    assert (refused.status, refused.objects[0].known, refused.refused) == (status, False, "returned")


def test_what_was_a_stream_and_is_none_any_more_reaches_the_driver(bench: Bench) -> None:
    """Contexts can be made unseen: the value of a dead stream, if it is an address, may be one."""
    ran = protected(
        bench,
        MISTAKEN + main("some(); CHECK(cuStreamDestroy_v2(s) == 0); CHECK(cuCtxSetCurrent(s) == 0);"),
    )
    assert not ran.refused() and "cuCtxSetCurrent" in ran.reached


def test_while_streams_are_made_unseen_none_is_certain_to_live(bench: Bench) -> None:
    ran = protected(
        bench,
        MISTAKEN + main("some(); CHECK(cuStreamSynchronize((handle)&x) == 0); CHECK(cuCtxSetCurrent(s) == 0);"),
    )
    assert not ran.refused() and "cuCtxSetCurrent" in ran.reached


def test_default_streams_and_null_reach_the_driver(bench: Bench) -> None:
    ran = protected(
        bench,
        main("""
            new();
            for (handle i = 0; i < 3; i++) CHECK(cuStreamSynchronize(i) == 0);
            CHECK(cuEventRecord(e, 0) == 0 && cuEventQuery(0) == 0);"""),
    )
    assert not ran.refused()
    assert ran.reached.count("cuStreamSynchronize") == 3 and "cuEventQuery" in ran.reached


def test_after_a_reset_and_after_the_end_of_a_context(bench: Bench) -> None:
    ran = protected(
        bench,
        main(f"""
            handle primary, own;
            CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuCtxSetCurrent(primary) == 0);
            CHECK(cuStreamCreate(&s, 1) == 0 && cuEventCreate(&e, 2) == 0);
            CHECK(cuDevicePrimaryCtxReset_v2(0) == 0);
            CHECK(cuStreamSynchronize(s) == {CONTEXT_IS_DESTROYED} && cuStreamDestroy_v2(s) == {INVALID_HANDLE});
            CHECK(cuEventQuery(e) == {INVALID_CONTEXT} && cuEventDestroy_v2(e) == {INVALID_CONTEXT});
            CHECK(cuCtxCreate_v2(&own, 0, 0) == 0 && cuStreamCreate(&s, 1) == 0 && cuEventCreate(&e, 2) == 0);
            CHECK(cuCtxDestroy_v2(own) == 0);
            CHECK(cuStreamDestroy_v2(s) == {CONTEXT_IS_DESTROYED} && cuEventDestroy_v2(e) == 0);"""),
    )
    assert ran.reached.count("cuStreamDestroy_v2") == 0
    assert (ran.reached.count("cuEventQuery"), ran.reached.count("cuEventDestroy_v2")) == (0, 1)


CONTEXTS = """
uint32_t cuCtxPushCurrent_v2(handle context);
uint32_t cuCtxSetCurrent(handle context);
static handle own, other, primary;
"""


def test_a_destroyed_context_is_not_destroyed_again_nor_made_current(bench: Bench) -> None:
    ran = protected(
        bench,
        CONTEXTS
        + main(f"""
            CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&own, 0, 0) == 0 && cuCtxCreate_v2(&other, 0, 0) == 0);
            CHECK(cuCtxDestroy_v2(own) == 0 && cuCtxDestroy_v2(own) == {CONTEXT_IS_DESTROYED});
            CHECK(cuCtxSetCurrent(own) == {INVALID_CONTEXT} && cuCtxPushCurrent_v2(own) == {INVALID_CONTEXT});
            CHECK(cuCtxSetCurrent(other) == 0 && cuCtxPushCurrent_v2(other) == 0 && cuCtxDestroy_v2(other) == 0);"""),
    )
    assert ran.reached.count("cuCtxDestroy_v2") == 2
    assert (ran.reached.count("cuCtxSetCurrent"), ran.reached.count("cuCtxPushCurrent_v2")) == (1, 1)
    statuses = [CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_CONTEXT]
    assert [(call.status, call.objects[0].known) for call in ran.refused()] == [(each, True) for each in statuses]


@pytest.mark.parametrize("end", ["cuDevicePrimaryCtxRelease_v2(0)", "cuDevicePrimaryCtxReset_v2(0)"])
def test_a_primary_context_that_has_ended_is_asked(bench: Bench, end: str) -> None:
    ran = protected(
        bench,
        CONTEXTS
        + main(f"""
            CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&primary, 0) == 0 && {end} == 0);
            CHECK(cuCtxSetCurrent(primary) == 0 && cuCtxPushCurrent_v2(primary) == 0);
            CHECK(cuCtxDestroy_v2(primary) == 0);"""),
    )
    assert ran.reached.count("cuCtxDestroy_v2") == 1
    assert not ran.refused()


def test_streams_of_the_next_life_of_a_context_are_alive(bench: Bench) -> None:
    ran = protected(
        bench,
        main("""
            handle primary;
            CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuCtxSetCurrent(primary) == 0);
            CHECK(cuStreamCreate(&x, 1) == 0 && cuDevicePrimaryCtxReset_v2(0) == 0);
            CHECK(cuStreamCreate(&s, 1) == 0 && cuStreamSynchronize(s) == 0 && cuStreamDestroy_v2(s) == 0);"""),
    )
    assert not ran.refused()


def test_nodes_of_a_graph_that_was_made_unseen_are_not_taken_for_dead(bench: Bench) -> None:
    """A conditional node hands out its body graph where the shim does not look; it may have a dead graph's value."""
    ran = protected(
        bench,
        "uint32_t cuGraphDestroyNode(handle node);"
        + main("""
            handle graph, node;
            new();
            CHECK(cuGraphCreate(&graph, 0) == 0 && cuGraphDestroy(graph) == 0);
            CHECK(cuGraphAddEmptyNode(&node, graph, 0, 0) == 0 && cuGraphDestroyNode(node) == 0);"""),
    )
    assert not ran.refused()


def test_uses_lets_what_is_destroyed_twice_pass(bench: Bench) -> None:
    ran = protected(
        bench,
        main(f"gone(); CHECK(cuStreamSynchronize(s) == {INVALID_HANDLE}); CHECK(cuStreamDestroy_v2(s) == 0);"),
        "uses",
    )
    assert [call.status for call in ran.refused()] == [INVALID_HANDLE, 0]
    assert ran.reached.count("cuStreamDestroy_v2") == 1


def test_trap_stops_at_the_call_after_it_was_stored(bench: Bench) -> None:
    ran = protected(bench, main("gone(); cuStreamSynchronize(s); _exit(1);"), "trap", -signal.SIGTRAP)
    (refused,) = ran.refused()
    assert (refused.status, refused.refused) == (INVALID_HANDLE, "trapped")


def test_a_debugger_may_go_on_after_a_trap(bench: Bench) -> None:
    ran = protected(
        bench,
        "static int traps; static void stopped(int number) { traps++; }"
        + main(f"signal(SIGTRAP, stopped); gone(); CHECK(cuStreamSynchronize(s) == {INVALID_HANDLE} && traps == 1);"),
        "trap",
    )
    assert len(ran.refused()) == 1


def test_abort_ends_with_a_code_of_its_own_after_the_call_was_stored(bench: Bench) -> None:
    ran = protected(
        bench,
        "static void last(void) { _exit(1); }" + main("atexit(last); gone(); cuStreamSynchronize(s); _exit(1);"),
        "abort",
        REFUSED_EXIT_CODE,
    )
    (refused,) = ran.refused()
    assert (refused.status, refused.refused) == (INVALID_HANDLE, "ended")


def test_a_forked_child_is_answered_by_the_driver(bench: Bench) -> None:
    """It answers every call that it is not initialised."""
    log = bench.folder / "log"
    run = bench.run(
        f"""{NEW} int main(void) {{
            int status;
            gone();
            if (fork() == 0) _exit(cuStreamSynchronize(s) != 0);
            CHECK(wait(&status) > 0 && status == 0);
            CHECK(cuStreamSynchronize(s) == {INVALID_HANDLE});
            return 0;
        }}""",
        CUVET_PROTECT="refuse",
        NULL_DRIVER_LOG=str(log),
    )
    assert run.returncode == 0, run.stderr
    assert log.read_text().count("cuStreamSynchronize ") == 1


def test_what_cannot_be_stored_is_not_refused(bench: Bench) -> None:
    """Nobody would hear of it."""
    ran = protected(
        bench,
        main("""
            new();
            for (int i = 0; i < 20000; i++) CHECK(cuStreamCreate(&x, 1) == 0);
            CHECK(cuStreamDestroy_v2(s) == 0 && cuStreamSynchronize(s) == 0);"""),
        CUVET_LIMIT="200000",
    )
    assert int(ran.trace.header["dropped"]) > 0
    assert not ran.refused() and "cuStreamSynchronize" in ran.reached


def test_nothing_is_refused_unless_it_is_asked_for(bench: Bench) -> None:
    ran = protected(bench, main("gone(); CHECK(cuStreamSynchronize(s) == 0);"), "")
    assert not ran.refused() and "cuStreamSynchronize" in ran.reached
