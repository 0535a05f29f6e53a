"""Calls that are made again are stored in few bytes, and read as if each were stored in full."""

from __future__ import annotations

import signal
from collections import Counter

import pytest
from tests.native.conftest import Bench, Seen

from cuvet.recording import layout
from cuvet.recording.layout import RecordType
from cuvet.recording.records import CallRecord

PAIRS = """
static void pair(void) { handle e; cuEventCreate(&e, 2); cuEventDestroy_v2(e); }
static void memory(handle stream) { handle m; cuMemAllocAsync(&m, 64, stream); cuMemFreeAsync(m, stream); }
"""


def types(trace: Seen) -> Counter[int]:
    """How many records of each type the file holds."""
    data, found = trace.path.read_bytes(), Counter[int]()
    for chunk in range(layout.HEADER_BYTES, len(data), layout.CHUNK_BYTES):
        if layout.CHUNK_HEADER.unpack_from(data, chunk)[1] != layout.ChunkKind.RECORDS:
            continue
        place = layout.CHUNK_HEADER_BYTES
        while place + 8 <= layout.CHUNK_BYTES:
            size, kind, _ = layout.RECORD_HEADER.unpack_from(data, chunk + place)
            if not size:
                break
            found[kind] += 1
            place += size & 0xFFFF
    return found


def numbered(trace: Seen) -> list[CallRecord]:
    """All calls of the only thread, each once."""
    calls = sorted(trace.calls, key=lambda call: call.number)
    assert [call.number for call in calls] == list(range(1, len(calls) + 1))
    assert not trace.recording.problems
    return calls


@pytest.mark.parametrize("what", ["pair()", "memory(s)"])
def test_a_pair_takes_few_bytes(bench: Bench, what: str) -> None:
    run = bench.run(
        f"""{PAIRS} int main(void) {{
            handle s;
            start();
            CHECK(cuStreamCreate(&s, 1) == 0);
            for (int i = 0; i < 20000; i++) {what};
            return 0;
        }}"""
    )
    assert run.returncode == 0, run.stderr
    found = types(run.trace)
    assert found[RecordType.CALL] < 200 and found[RecordType.CALL_AGAIN] > 39_800
    assert run.trace.path.stat().st_size < 40 * 20_000
    calls = numbered(run.trace)[3:]
    assert [call.status for call in calls] == [0] * 40_000
    for made, ended in zip(calls[::2], calls[1::2], strict=True):
        (output,), named = made.outputs, ended.objects[-1]
        assert (
            (named.handle, named.generation) == (output.value, output.generation) == (ended.args[0], named.generation)
        )
        assert made.entered <= made.returned <= ended.entered <= ended.returned
        assert named.alive and named.known and not ended.outputs
    generations = [call.outputs[0].generation for call in calls[::2]]
    assert generations == list(range(generations[0], generations[0] + 20_000))


RANDOM = """
static handle alive[40];
static uint64_t state = SEED;
static uint64_t drawn(uint64_t below) { state = state * 6364136223846793005u + 1442695040888963407u; return (state >> 33) % below; }
int main(void) {
    handle s[2], e[2];
    start();
    for (int i = 0; i < 2; i++) { CHECK(cuStreamCreate(&s[i], 1) == 0); CHECK(cuEventCreate(&e[i], 2) == 0); }
    for (int i = 0; i < 6000; i++) {
        int at = drawn(drawn(2) ? 3 : 40), on = drawn(2), bytes = 64 << drawn(3);
        if (drawn(20) == 0) {
            printf("query %lx 0 0\\n", e[on]);
            cuEventQuery(e[on]);
        } else if (!alive[at]) {
            CHECK(cuMemAllocAsync(&alive[at], bytes, s[on]) == 0);
            printf("alloc %lx %x %lx\\n", alive[at], bytes, s[on]);
        } else {
            printf("free %lx 0 %lx\\n", alive[at], s[on]);
            CHECK(cuMemFreeAsync(alive[at], s[on]) == 0);
            alive[at] = 0;
        }
    }
    return 0;
}
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_order_of_calls_is_read_as_it_was(bench: Bench, seed: int) -> None:
    run = bench.run(RANDOM.replace("SEED", str(seed)))
    assert run.returncode == 0, run.stderr
    told = [line.split() for line in run.stdout.splitlines()]
    made = numbered(run.trace)[6:]
    assert types(run.trace)[RecordType.CALL_AGAIN] > 4000
    names = {"alloc": "cuMemAllocAsync", "free": "cuMemFreeAsync", "query": "cuEventQuery"}
    assert [run.trace.name(call) for call in made] == [names[what] for what, *_ in told]
    generations = Counter[int]()
    before = 0
    for call, (what, handle, size, stream) in zip(made, told, strict=True):
        first = int(handle, 16)
        assert before < call.entered < call.returned and call.status == 0
        before = call.returned
        if what == "alloc":
            generations[first] += 1
            assert [(each.value, each.generation) for each in call.outputs] == [(first, generations[first])]
            assert call.args[1:] == (int(size, 16), int(stream, 16))
        elif what == "free":
            assert call.args == (first, int(stream, 16))
            stream_named, memory = call.objects
            assert stream_named.handle == int(stream, 16) and stream_named.generation == 1
            assert (memory.handle, memory.generation) == (first, generations[first])
        else:
            assert call.args == (first,)


@pytest.mark.parametrize("name", ["cuEventCreate", "cuEventDestroy"])
def test_a_call_that_fails_after_others_is_told_in_full(bench: Bench, name: str) -> None:
    """What a call that fails would have ended lives on, and can be ended later."""
    symbol = "cuEventDestroy_v2" if name == "cuEventDestroy" else name
    run = bench.run(
        f"""{PAIRS} int main(void) {{
            handle e = 0;
            start();
            char *statuses = strchr(getenv("NULL_DRIVER_FAIL"), '=') + 1;
            for (int i = 0; i < 100; i++) {{
                if (i % 10 == 9) memcpy(statuses, "700", 3);
                for (int again = 0; again < 2; again++) {{
                    if (!e) cuEventCreate(&e, 2);
                    if (cuEventDestroy_v2(e) == 0) e = 0;
                    memcpy(statuses, "000", 3);
                }}
            }}
            return 0;
        }}""",
        NULL_DRIVER_FAIL=f"{symbol}=000",
    )
    assert run.returncode == 0, run.stderr
    calls = numbered(run.trace)
    failed = [call for call in calls if call.status == 700]
    assert len(failed) == 10 and {run.trace.name(call) for call in failed} == {name}
    assert all(call.flags & layout.CallFlag.FAILED and call.stack and call.entered < call.returned for call in failed)
    assert all(call.outputs == (() if name == "cuEventDestroy" else call.outputs[:1]) for call in failed)
    assert types(run.trace)[RecordType.CALL_AGAIN] > 150
    ended = [call.objects[0] for call in calls if run.trace.name(call) == "cuEventDestroy" and call.args[0]]
    assert all(each.alive and each.known for each in ended)
    lives = [each.generation for each in ended]
    assert lives == sorted(lives) and len(lives) - len(set(lives)) == (10 if name == "cuEventDestroy" else 0)


NEXT_TIME = """
#include <sys/mman.h>
static volatile long pairs;
static void *work(void *unused) { for (;;) { pair(); memory(0); __atomic_fetch_add(&pairs, 1, __ATOMIC_RELAXED); } }
int main(int count, char **arguments) {
    pthread_t thread;
    start();
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&thread, 0, work, 0) == 0);
    while (pairs < atoi(arguments[1])) sched_yield();
    kill(getpid(), SIGKILL);
}
"""


def test_killed_within_any_of_them(bench: Bench) -> None:
    """Of each thread only the last call can have not returned, and no call is there twice."""
    program = bench.compile(PAIRS + NEXT_TIME)
    for kills in range(5):
        done = bench.run([str(program), str(200 + kills * 331)])
        assert done.returncode == -signal.SIGKILL
        assert not done.trace.recording.problems
        for thread in {call.thread for call in done.trace.calls}:
            calls = sorted((call for call in done.trace.calls if call.thread == thread), key=lambda call: call.number)
            assert [call.number for call in calls] == list(range(1, len(calls) + 1))
            assert None not in [call.status for call in calls[:-1]]
        done.trace.path.unlink()
