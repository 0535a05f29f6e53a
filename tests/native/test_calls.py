"""What the shim passes on, and what it stores about a call."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.native.conftest import Bench

from cuvet.catalog import Kind
from cuvet.recording.records import Image, Output
from cuvet.rules.mappings import first_hole, mappings

LIFECYCLE, SUSPECT, FAILED, ORDER, STREAM_ORDERED, PER_THREAD = 1, 2, 4, 8, 16, 32

EVERY_SHAPE = """
int main(void) {
    handle out = 0;
    ipc_handle ipc;
    for (int i = 0; i < 64; i++) ipc.bytes[i] = (char)(i * 3 + 1);
    cuLaunchKernel(0x1111, 2, 3, 4, 5, 6, 7, 8, 0x2222, (void **)0x0, (void **)0x0);
    cuIpcOpenMemHandle_v2(&out, ipc, 9);
    cuTexRefSetMipmapLevelBias(0x3333, -1.5f);
    cuMemsetD16_v2(0x4444, 0xBEEF, 77);
    cuMemsetD2D8Async(0x5555, 640, 0xAB, 10, 20, 0x6666);
    cuDeviceGetName((char *)0x10, -5, -1);
    return 0;
}
"""


def test_arguments_of_every_shape_arrive_as_they_were_passed(bench: Bench) -> None:
    log = bench.folder / "log"
    assert bench.run(EVERY_SHAPE, NULL_DRIVER_LOG=str(log)).returncode == 0
    lines = {line.split()[0]: line.split()[1:] for line in log.read_text().splitlines()}
    assert lines["cuLaunchKernel"] == ["1111", "2", "3", "4", "5", "6", "7", "8", "2222", "0", "0"]
    assert lines["cuIpcOpenMemHandle_v2"][1:] == ["0", "9", ":" + bytes(i * 3 + 1 & 255 for i in range(64)).hex()]
    assert lines["cuTexRefSetMipmapLevelBias"] == ["3333", "bfc00000"]
    assert lines["cuMemsetD16_v2"] == ["4444", "beef", "4d"]
    assert lines["cuMemsetD2D8Async"] == ["5555", "280", "ab", "a", "14", "6666"]
    assert lines["cuDeviceGetName"][1:] == ["fffffffffffffffb", "ffffffffffffffff"]


def test_words_floats_and_structs_are_stored(bench: Bench) -> None:
    trace = bench.run(EVERY_SHAPE, CUVET_RECORD="full").trace
    opened = trace.one("cuIpcOpenMemHandle")
    assert opened.args[1:] == (0, 9)
    assert opened.inputs[1] == bytes(i * 3 + 1 & 255 for i in range(64))
    assert trace.one("cuTexRefSetMipmapLevelBias").args == (0x3333, 0xBFC00000)
    assert trace.one("cuDeviceGetName").args[1:] == (2**64 - 5, 2**64 - 1)


def test_lifecycle_calls_are_stored_with_stack_handles_and_generations(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle a, b;
            start();
            cuStreamCreate(&a, 1); cuStreamDestroy_v2(a);
            cuStreamCreate(&b, 1); CHECK(a == b); cuStreamDestroy_v2(b);
            return 7;
        }""")
    assert run.returncode == 7, run.stderr
    first, second = run.trace.named("cuStreamCreate")
    assert first.outputs[0].value == second.outputs[0].value
    assert [first.outputs[0].generation, second.outputs[0].generation] == [1, 2]
    destroyed = run.trace.named("cuStreamDestroy")
    assert [call.objects[0].generation for call in destroyed] == [1, 2]
    assert all(call.objects[0].alive for call in destroyed)
    context = run.trace.one("cuCtxCreate").outputs[0].value
    assert first.context == context and destroyed[0].objects[0].context == context
    assert all(
        call.flags == LIFECYCLE and call.status == 0 and call.returned >= call.entered for call in run.trace.calls
    )
    assert all(len(run.trace.recording.stacks[call.stack].native) >= 2 for call in run.trace.calls)
    assert len({call.stack for call in run.trace.calls}) == len(run.trace.calls)


def test_stacks_are_stored_once_and_lead_into_the_program(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle s;
            start();
            for (int i = 0; i < 10; i++) cuStreamCreate(&s, 1);
            return 0;
        }""")
    calls = run.trace.named("cuStreamCreate")
    assert len(calls) == 10 and len({call.stack for call in calls}) == 1
    address = run.trace.recording.stacks[calls[0].stack].native[0]
    (module,) = [m for m in run.trace.recording.modules if m.start <= address < m.end]
    assert module.path == str(bench.folder / "client")
    assert len(module.build_id) == 40 or module.build_id == ""


def test_a_file_that_was_loaded_by_a_relative_name_is_stored_with_its_whole_path(bench: Bench) -> None:
    (bench.folder / "plugin.c").write_text(
        "int cuStreamCreate(void **, unsigned); int make(void **s) { return cuStreamCreate(s, 1); }"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libplugin.so", "plugin.c"], cwd=bench.folder, check=True)
    run = bench.run("""
        #include <dlfcn.h>
        int main(void) {
            handle s;
            start();
            int (*make)(handle *) = dlsym(dlopen("./libplugin.so", RTLD_NOW), "make");
            return make(&s);
        }""")
    address = run.trace.recording.stacks[run.trace.one("cuStreamCreate").stack].native[0]
    (module,) = [m for m in run.trace.recording.modules if m.start <= address < m.end]
    assert module.path == str(bench.folder / "libplugin.so")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_a_stale_handle_is_on_disk_before_the_driver_is_entered(bench: Bench, name: str) -> None:
    number = int(signal.Signals[name])
    run = bench.run(
        """int main(void) {
            handle s;
            start();
            cuStreamCreate(&s, 1);
            cuStreamDestroy_v2(s);
            cuStreamSynchronize(s);
            return 0;
        }""",
        NULL_DRIVER_SIGNAL=f"cuStreamSynchronize={number}",
    )
    assert run.returncode == -number
    call = run.trace.one("cuStreamSynchronize")
    assert call.flags & SUSPECT and call.status is None and call.stack
    (stream,) = call.objects
    assert (stream.alive, stream.known, stream.generation, stream.handle) == (False, True, 1, call.args[0])
    assert int(run.trace.header["end"]) == 0


def test_a_fault_is_recorded_and_kills_the_process_as_before(bench: Bench) -> None:
    run = bench.run("int main(void) { start(); return *(volatile int *)0x1234; }")
    assert run.returncode == -signal.SIGSEGV
    (fault,) = run.trace.recording.faults
    assert (fault.signal, fault.address) == (signal.SIGSEGV, 0x1234)
    path = str(bench.folder / "client")
    (module,) = [m for m in run.trace.recording.modules if m.path == path]
    assert module.start <= fault.instruction < module.end
    assert any(module.start <= address < module.end for address in run.trace.recording.stacks[fault.stack].native)


def test_a_handler_of_the_program_is_left_alone(bench: Bench) -> None:
    run = bench.run("""
        static void handler(int number) { _exit(42); }
        int main(void) { signal(SIGSEGV, handler); start(); return *(volatile int *)0; }""")
    assert run.returncode == 42
    assert not run.trace.recording.faults


def test_a_destroy_that_the_driver_refuses_leaves_the_object_alive(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s;
            start();
            cuStreamCreate(&s, 1);
            CHECK(cuStreamDestroy_v2(s) == 400);
            cuStreamDestroy_v2(s);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuStreamDestroy_v2=400",
    )
    calls = run.trace.named("cuStreamDestroy")
    assert [(call.flags, call.objects[0].alive, call.status) for call in calls] == [(LIFECYCLE | FAILED, True, 400)] * 2


def test_a_refused_destroy_revives_the_object_of_its_own_generation_only(tmp_path: Path) -> None:
    """While the driver thinks about it, another thread can be given the handle anew, and end that object."""
    (tmp_path / "liveness.cpp").write_text("""
        #include "liveness.h"
        using namespace cuvet;
        static Object* stream;
        static bool alive_after(bool issued_again) {
            give_birth(stream, stream->state, Kind::STREAM, nullptr, 0, 0);
            const uint64_t before = kill(stream);
            if (issued_again) {
                give_birth(stream, stream->state, Kind::STREAM, nullptr, 0, 0);
                kill(stream);
            }
            revive(stream, before);
            return is_alive(stream);
        }
        int main() {
            stream = add_object(Kind::STREAM, 0x1000);
            return (alive_after(false) ? 1 : 0) + (alive_after(true) ? 2 : 0);
        }""")
    native, program = Path(__file__).parents[2] / "native", tmp_path / "liveness"
    sources = (tmp_path / "liveness.cpp", native / "liveness.cpp")
    subprocess.run(["c++", "-std=c++17", f"-I{native}", "-o", program, *sources], check=True)
    assert subprocess.run([program], check=False).returncode == 1


def test_hot_calls_on_live_objects_are_not_stored_but_in_the_flight_recorder(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle s, m, f;
            start();
            cuStreamCreate(&s, 1);
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            for (int i = 0; i < 3000; i++) cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, i, s, 0, 0);
            return 0;
        }""")
    assert not run.trace.named("cuLaunchKernel")
    (slots,) = run.trace.recording.flight().values()
    assert len(slots) == 256
    assert slots["number"].tolist() == list(range(3005 - 255, 3006))
    assert run.trace.recording.entry_points[int(slots["entry_point"][-1])] == "cuLaunchKernel"
    assert set(slots["status"].tolist()) == {0}
    assert int(run.trace.header["calls"]) == 3005


def test_full_stores_every_call(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s, f = 0, m;
            start();
            cuStreamCreate(&s, 1);
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            for (int i = 0; i < 3000; i++) cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, i, s, 0, 0);
            return 0;
        }""",
        CUVET_RECORD="full",
    )
    launches = run.trace.named("cuLaunchKernel")
    assert [call.args[7] for call in launches] == list(range(3000))
    assert {call.status for call in launches} == {0}
    assert {call.stack for call in launches} == {0}
    assert [call.number for call in run.trace.calls] == list(range(1, 3006))


def test_a_hot_call_that_fails_is_stored_with_its_stack(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s;
            start();
            cuStreamCreate(&s, 1);
            CHECK(cuMemcpyAsync(1 << 20, 2 << 20, 3, s) == 700);
            CHECK(cuEventQuery(0) == 600);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuMemcpyAsync=700,cuEventQuery=600",
    )
    call = run.trace.one("cuMemcpyAsync")
    assert call.flags == FAILED and call.status == 700 and call.stack
    assert call.args == (1 << 20, 2 << 20, 3, run.trace.one("cuStreamCreate").outputs[0].value)


def test_a_launch_that_fails_is_stored_and_counted_once(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s, m, f;
            start();
            cuStreamCreate(&s, 1);
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            for (int i = 0; i < 3; i++) CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, i, s, 0, 0) == 719);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuLaunchKernel=719",
    )
    launches = run.trace.named("cuLaunchKernel")
    assert [(call.flags, call.status, call.number, bool(call.stack)) for call in launches] == [
        (FAILED, 719, number, True) for number in (6, 7, 8)
    ]
    assert int(run.trace.header["calls"]) == 8


def test_launches_of_what_lived_a_moment_ago_are_suspect(bench: Bench) -> None:
    run = bench.run("""
        static handle s, f;
        static void launch(int n) { cuLaunchKernel(f, n, 1, 1, 1, 1, 1, 0, s, 0, 0); }
        int main(void) {
            handle m, first;
            start();
            cuStreamCreate(&s, 1);
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            for (int n = 1; n < 4; n++) launch(n);
            first = s;
            cuStreamDestroy_v2(s);
            launch(4);                                        // suspect
            cuStreamCreate(&s, 1);
            CHECK(s == first);
            for (int n = 5; n < 8; n++) launch(n);
            cuModuleUnload(m);
            launch(8);                                        // suspect
            return 0;
        }""")
    launches = run.trace.named("cuLaunchKernel")
    assert [(call.args[1], bool(call.flags & SUSPECT)) for call in launches] == [(4, True), (8, True)]


def test_what_orders_work_is_not_stored_but_that_an_event_was_recorded(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s, e, first;
            start();
            cuStreamCreate(&s, 1);
            for (int life = 0; life < 2; life++) {
                cuEventCreate(&e, 0);
                if (life) CHECK(e == first);
                first = e;
                for (int i = 0; i < 3; i++) {
                    cuStreamWaitEvent(s, e, 0);
                    CHECK(cuEventQuery(e) == 600);
                    cuEventRecord(e, s);
                    cuEventSynchronize(e);
                    cuStreamSynchronize(s);
                }
                cuEventDestroy_v2(e);
            }
            cuEventCreate(&e, 0);
            cuEventDestroy_v2(e);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuEventQuery=600",
    )
    of_events = [("cuEventCreate", LIFECYCLE), ("cuEventDestroy", LIFECYCLE)]
    assert [(run.trace.name(call), call.flags) for call in run.trace.calls[3:]] == of_events * 3
    assert [call.objects[0].recorded for call in run.trace.named("cuEventDestroy")] == [True, True, False]
    (slots,) = run.trace.recording.flight().values()
    assert slots["number"].tolist() == list(range(1, 40))
    assert slots["status"].tolist().count(600) == 6
    assert int(run.trace.header["calls"]) == 39


def test_what_orders_work_of_what_lived_a_moment_ago_is_suspect(bench: Bench) -> None:
    run = bench.run("""
        static handle s, e;
        static void all(void) {
            cuEventRecord(e, s); cuStreamWaitEvent(s, e, 0); cuEventQuery(e); cuStreamQuery(s); cuStreamSynchronize(s);
        }
        int main(void) {
            handle first;
            start();
            cuStreamCreate(&s, 1);
            cuEventCreate(&e, 0);
            all(); all(); all();
            first = s;
            cuStreamDestroy_v2(s);
            all();
            cuStreamCreate(&s, 1);
            CHECK(s == first);
            all(); all();
            cuEventDestroy_v2(e);
            all();
            return 0;
        }""")
    of_stream = ["cuEventRecord", "cuStreamWaitEvent", "cuStreamQuery", "cuStreamSynchronize"]
    of_event = ["cuEventRecord", "cuStreamWaitEvent", "cuEventQuery"]
    assert [run.trace.name(call) for call in run.trace.calls if call.flags & SUSPECT] == of_stream + of_event


def test_what_orders_work_is_stored_while_a_capture_is_under_way_and_once_work_is(bench: Bench) -> None:
    run = bench.run("""
        static handle s, e;
        static void all(void) { cuEventRecord(e, s); cuStreamWaitEvent(s, e, 0); cuEventQuery(e); cuStreamQuery(s); }
        int main(void) {
            handle graph = 0;
            start();
            cuStreamCreate(&s, 1);
            cuEventCreate(&e, 0);
            all(); all();
            cuStreamBeginCapture_v2(s, 0); all(); cuStreamEndCapture(s, &graph);
            all();
            cuMemcpyAsync(1 << 20, 2 << 20, 3, s + 8);  // no stream, so that it is stored
            all();
            return 0;
        }""")
    ordered = ["cuEventRecord", "cuStreamWaitEvent", "cuEventQuery", "cuStreamQuery"]
    assert [run.trace.name(call) for call in run.trace.calls if call.flags == ORDER] == [*ordered, *ordered]


@pytest.mark.parametrize("record", ["cuEventRecord(e, s)", "cuEventRecordWithFlags(e, s, 0)", "cuCtxRecordEvent(c, e)"])
@pytest.mark.parametrize("mode", ["lifecycle", "full", "accesses"])
def test_every_way_to_record_an_event_is_noted(bench: Bench, record: str, mode: str) -> None:
    run = bench.run(
        f"""int main(void) {{
            handle s, e, c;
            start();
            cuCtxGetCurrent(&c);
            cuStreamCreate(&s, 1);
            cuEventCreate(&e, 0);
            CHECK({record} == 0);
            cuEventDestroy_v2(e);
            return 0;
        }}""",
        CUVET_RECORD=mode,
    )
    assert run.trace.one("cuEventDestroy").objects[0].recorded


def test_a_record_that_failed_is_none(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s, e;
            start();
            cuStreamCreate(&s, 1);
            cuEventCreate(&e, 0);
            CHECK(cuEventRecord(e, s) == 400);
            CHECK(cuEventElapsedTime_v2(&s, e, e) == 1);
            CHECK(cuEventRecord(e, s) == 0);
            CHECK(cuEventElapsedTime_v2(&s, e, e) == 1);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuEventElapsedTime_v2=1",
        NULL_DRIVER_FAIL_ONCE="cuEventRecord=400",
    )
    assert [call.objects[0].recorded for call in run.trace.named("cuEventElapsedTime")] == [False, True]
    assert [call.status for call in run.trace.named("cuEventRecord")] == [400]


def test_what_orders_work_and_fails_is_stored_and_counted_once(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s;
            start();
            cuStreamCreate(&s, 1);
            for (int i = 0; i < 3; i++) CHECK(cuStreamSynchronize(s) == 700);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuStreamSynchronize=700",
    )
    failed = run.trace.named("cuStreamSynchronize")
    assert [(call.flags, call.status, call.number) for call in failed] == [(FAILED, 700, n) for n in (4, 5, 6)]
    assert int(run.trace.header["calls"]) == 6


def test_of_many_functions_each_is_told_apart(bench: Bench) -> None:
    """More than are remembered; those that the program makes up are stored, each once."""
    run = bench.run("""int main(void) {
        handle m, f[400];
        start();
        cuModuleLoadData(&m, "image");
        for (int i = 0; i < 400; i++) cuModuleGetFunction(&f[i], m, "kernel");
        for (int n = 0; n < 3; n++)
            for (int i = 0; i < 400; i++) cuLaunchKernel(f[i], 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
        for (int i = 0; i < 400; i++) cuLaunchKernel(f[i] + 8, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0);
        return 0;
    }""")
    launches = run.trace.named("cuLaunchKernel")
    assert len({call.args[0] for call in launches}) == 400 and {call.args[1] for call in launches} == {2}


def test_who_asks_a_dead_object_is_told_though_the_answer_is_known(bench: Bench) -> None:
    run = bench.run("""int main(void) {
        handle s, of;
        start();
        cuStreamCreate(&s, 1);
        for (int i = 0; i < 3; i++) {
            cuStreamGetCtx(s, &of);
            CHECK(of == context);
            if (i == 1) cuStreamDestroy_v2(s);
        }
        return 0;
    }""")
    asked = run.trace.one("cuStreamGetCtx")
    assert asked.flags & SUSPECT and not asked.objects[0].alive


def test_what_was_seen_alive_dies_with_its_context_too(bench: Bench) -> None:
    """A context that was made again under the same handle brings nothing back."""
    run = bench.run("""
        int main(void) {
            handle e, again;
            start();
            cuEventCreate(&e, 0);
            for (int i = 0; i < 3; i++) cuEventQuery(e);
            cuCtxDestroy_v2(context);
            cuCtxCreate_v2(&again, 0, 0);
            CHECK(again == context);
            cuEventQuery(e);
            return 0;
        }""")
    event = run.trace.one("cuEventQuery")
    assert event.flags & SUSPECT and not event.objects[0].alive


def test_what_belongs_to_a_context_dies_with_it(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle e, m, f;
            start();
            cuEventCreate(&e, 0);
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            cuCtxDestroy_v2(context);
            cuEventQuery(e);
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
            return 0;
        }""")
    event = run.trace.one("cuEventQuery")
    assert event.flags & SUSPECT and not event.objects[0].alive and event.objects[0].generation == 1
    launch = run.trace.one("cuLaunchKernel")
    assert launch.flags & SUSPECT and not launch.objects[0].alive


def test_a_reset_ends_what_is_in_the_primary_context(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle c, e, again;
            cuInit(0);
            cuDevicePrimaryCtxRetain(&c, 0);
            cuCtxSetCurrent(c);
            cuEventCreate(&e, 0);
            cuDevicePrimaryCtxReset_v2(0);
            cuEventQuery(e);
            cuDevicePrimaryCtxRetain(&again, 0);
            cuEventCreate(&e, 0);
            cuEventQuery(e);
            return 0;
        }""")
    (stale,) = run.trace.named("cuEventQuery")
    assert stale.flags & SUSPECT and not stale.objects[0].alive
    first, second = run.trace.named("cuDevicePrimaryCtxRetain")
    assert [first.outputs[0].generation, second.outputs[0].generation] == [1, 2]


def test_an_unloaded_module_takes_its_functions_along(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle m, f;
            start();
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            cuModuleUnload(m);
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
            return 0;
        }""")
    assert run.trace.one("cuLaunchKernel").flags & SUSPECT


def test_a_handle_never_seen_is_stored_once(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            start();
            for (int i = 0; i < 5; i++) cuStreamSynchronize(0xABC00);
            return 0;
        }""")
    call = run.trace.one("cuStreamSynchronize")
    assert call.flags & SUSPECT
    assert (call.objects[0].known, call.objects[0].generation) == (False, 0)


def test_freed_memory_named_by_a_copy_is_suspect(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle s, d;
            start();
            cuStreamCreate(&s, 1);
            cuMemAlloc_v2(&d, 100);
            cuMemcpyAsync(d, d, 4, s);
            cuMemFree_v2(d);
            cuMemcpyAsync(d, 0x1000, 4, s);
            return 0;
        }""")
    call = run.trace.one("cuMemcpyAsync")
    assert call.flags & SUSPECT and call.args[1] == 0x1000 and call.stack


def test_uses_of_stream_ordered_memory_are_stored(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle s, t, m, f, d, e;
            start();
            cuStreamCreate(&s, 1); cuStreamCreate(&t, 1); cuEventCreate(&e, 0);
            cuModuleLoadData(&m, "image");
            cuModuleGetFunction(&f, m, "kernel");
            cuEventRecord(e, s);
            cuEventRecord(e, s);
            uint64_t other = 5;
            void *arguments[] = {&other, &other, &other};
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, arguments, 0);
            cuMemAllocAsync(&d, 100, s);
            arguments[0] = &d;
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 1, s, arguments, 0);
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 2, t, arguments, 0);
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 3, t, arguments, 0);
            arguments[0] = &other;
            cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 4, t, arguments, 0);
            cuMemsetD8Async(d, 0, 1, t);
            cuEventRecord(e, s);
            cuStreamQuery(s);
            return 0;
        }""")
    address = run.trace.one("cuMemAllocAsync").outputs[0].value
    launches = run.trace.named("cuLaunchKernel")
    assert [call.args[7] for call in launches] == [1, 2, 3]
    assert all(call.flags == STREAM_ORDERED and call.pointers == (address,) for call in launches)
    assert [bool(call.stack) for call in launches] == [False, True, False]
    assert run.trace.one("cuMemsetD8Async").flags == STREAM_ORDERED
    # None before there was such memory.
    assert [(call.flags, call.stack) for call in run.trace.named("cuEventRecord")] == [(ORDER, 0)]
    assert run.trace.one("cuStreamQuery").flags == ORDER


def test_per_thread_variants_name_the_per_thread_stream(bench: Bench) -> None:
    run = bench.run("int main(void) { start(); cuStreamSynchronize_ptsz(0); return 0; }", CUVET_RECORD="full")
    call = run.trace.one("cuStreamSynchronize")
    assert call.args == (2,) and call.flags & PER_THREAD


def test_a_failed_load_keeps_its_image_and_a_failed_registration_its_mappings(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle m;
            start();
            CHECK(cuModuleLoadData(&m, ".version 99.9\\n") == 218);
            CHECK(cuMemHostRegister_v2(&m, 64, 0) == 1);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuModuleLoadData=218,cuMemHostRegister_v2=1",
    )
    load, register = run.trace.one("cuModuleLoadData"), run.trace.one("cuMemHostRegister")
    image = run.trace.recording.images[load.thread, load.number]
    assert image.data.startswith(b".version 99.9\n\0") and image.terminated and image.readable >= 15
    maps = run.trace.recording.maps[register.thread, register.number].splitlines()
    ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps]
    assert "[stack]" in run.trace.recording.maps[register.thread, register.number]
    assert any(start <= register.args[0] < end for start, end in ranges) and len(ranges) <= 3


def test_unregistering_keeps_the_mappings_of_what_is_not_all_mapped_any_more(bench: Bench) -> None:
    run = bench.run(
        """enum { PAGE = 4096, BYTES = 8 * PAGE };
        static char *registered(void) {
            char *at = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(cuMemHostRegister_v2(at + 100, BYTES - 200, 0) == 0);
            return at;
        }
        int main(void) {
            start();
            char *kept = registered(), *closed = registered(), *again = registered(), *gone = registered(), *part = registered();
            mprotect(closed, BYTES, PROT_NONE);
            munmap(again, BYTES);
            mmap(again, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            munmap(gone, BYTES);
            munmap(part + 7 * PAGE, PAGE);
            char *all[] = {kept, closed, again, gone, part};
            for (int i = 0; i < 5; i++) CHECK(cuMemHostUnregister(all[i] + 100) == 0);
            cuMemHostUnregister(gone + 100);
            return 0;
        }"""
    )
    _kept, _closed, _again, gone, part, _twice = run.trace.named("cuMemHostUnregister")
    maps = run.trace.recording.maps
    assert set(maps) == {(gone.thread, gone.number), (part.thread, part.number)}
    start = part.args[0] - 100
    assert f"-{start + 7 * 4096:x} " in maps[part.thread, part.number]
    assert first_hole(mappings(tuple(maps[gone.thread, gone.number].splitlines())), gone.args[0], gone.args[0] + 1)


def test_unregistering_fails_for_memory_that_moved_since_it_was_registered(bench: Bench) -> None:
    """The mappings around the registration that is not mapped any more are kept, where others are."""
    run = bench.run(
        """enum { PAGE = 4096, BYTES = 8 * PAGE };
        static char *registered(void) {
            char *at = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(cuMemHostRegister_v2(at, BYTES, 0) == 0);
            return at;
        }
        int main(void) {
            start();
            char *kept = registered(), *moved = registered();
            cuMemHostUnregister(kept + PAGE);
            munmap(moved, BYTES);
            cuMemHostUnregister(kept + PAGE);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuMemHostUnregister=713",
    )
    _whole, refused = run.trace.named("cuMemHostUnregister")
    moved = run.trace.named("cuMemHostRegister")[1].args[0]
    maps = run.trace.recording.maps
    assert set(maps) == {(refused.thread, refused.number)}
    assert first_hole(mappings(tuple(maps[refused.thread, refused.number].splitlines())), moved, moved + 1) == moved


@pytest.mark.parametrize(
    ("image", "stored"),
    [
        (".version 8.0", True),
        (".version 8.0\\1\\0", True),
        (".version 8.0\\0", False),
        ("\\177ELF", False),
        ("P\\355U\\272", False),
    ],
)
def test_text_without_an_end_is_stored_before_the_driver_reads_it(bench: Bench, image: str, stored: bool) -> None:
    run = bench.run(
        """int main(void) {
            handle m;
            char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            const char image[] = IMAGE;
            const size_t bytes = sizeof image - 1;
            mprotect(page + 4096, 4096, PROT_NONE);
            start();
            cuModuleLoadData(&m, memcpy(page + 4096 - bytes, image, bytes));
            return 0;
        }""".replace("IMAGE", f'"{image}"'),
        NULL_DRIVER_SIGNAL="cuModuleLoadData=11",
    )
    assert run.returncode == -11
    load = run.trace.one("cuModuleLoadData")
    found = run.trace.recording.images.get((load.thread, load.number))
    expected = image.encode().decode("unicode_escape").encode()
    assert found == (Image(len(expected), expected, False) if stored else None)


def test_the_gpus_are_described_once_cuinit_succeeds(bench: Bench) -> None:
    run = bench.run("int main(void) { start(); return 0; }")
    assert (run.trace.recording.gpu_memory, run.trace.recording.capabilities) == (80 << 30, (91,))


def test_wild_pointers_fail_in_the_driver_and_not_in_the_shim(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle m;
            start();
            CHECK(cuModuleLoadData(&m, (void *)0x10) == 200);
            CHECK(cuModuleGetFunction(&m, 0x77, (const char *)0xdead000) == 500);
            return 0;
        }""",
        NULL_DRIVER_FAIL="cuModuleLoadData=200,cuModuleGetFunction=500",
    )
    assert run.returncode == 0, run.stderr
    call = run.trace.one("cuModuleLoadData")
    assert run.trace.recording.images[call.thread, call.number].readable == 0


def test_the_size_limit_drops_and_counts(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            handle s;
            start();
            for (int i = 0; i < 60000; i++) { cuStreamCreate(&s, 1); CHECK(cuStreamDestroy_v2(s) == 0); }
            return 0;
        }""",
        CUVET_LIMIT=str(1 << 20),
    )
    assert run.returncode == 0, run.stderr
    assert run.trace.path.stat().st_size <= 1 << 20
    assert int(run.trace.header["dropped"]) + len(run.trace.calls) == 120002
    assert [note.code for note in run.trace.recording.notes] == [2]
    assert not run.trace.recording.problems


def test_many_objects_are_told_apart(bench: Bench) -> None:
    run = bench.run("""
        enum { N = 100000 };
        static handle events[N];
        int main(void) {
            start();
            for (int i = 0; i < N; i++) cuEventCreate(&events[i], 0);
            for (int i = 0; i < N; i++) cuEventQuery(events[i]);
            cuEventDestroy_v2(events[N / 2]);
            for (int i = 0; i < N; i++) cuEventQuery(events[i]);
            return 0;
        }""")
    call = run.trace.one("cuEventQuery")
    assert call.flags & SUSPECT and not call.objects[0].alive
    assert len(run.trace.named("cuEventCreate")) == 100000


def test_a_context_that_is_dead_and_current_stays_dead(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle c, again, e;
            cuInit(0);
            cuDevicePrimaryCtxRetain(&c, 0);
            cuCtxSetCurrent(c);
            cuEventCreate(&e, 0);
            cuDevicePrimaryCtxReset_v2(0);
            cuCtxGetCurrent(&again);
            CHECK(again == c);
            cuCtxSetCurrent(c);
            return 0;
        }""")
    used = run.trace.named("cuCtxSetCurrent")[-1]
    assert used.flags & SUSPECT and not used.objects[0].alive and used.objects[0].generation == 1


def test_releasing_the_primary_context_ends_it_when_the_driver_says_so(bench: Bench) -> None:
    """The driver of these tests always says that it has become inactive."""
    run = bench.run("""
        int main(void) {
            handle c, e;
            cuInit(0);
            cuDevicePrimaryCtxRetain(&c, 0);
            cuCtxSetCurrent(c);
            cuEventCreate(&e, 0);
            cuEventQuery(e);
            cuDevicePrimaryCtxRelease_v2(0);
            cuEventQuery(e);
            return 0;
        }""")
    call = run.trace.one("cuEventQuery")
    assert call.flags & SUSPECT and not call.objects[0].alive


def test_a_fault_signal_that_somebody_sent_is_recorded_and_obeyed(bench: Bench) -> None:
    run = bench.run("int main(void) { start(); kill(getpid(), SIGBUS); for (;;) pause(); }")
    assert run.returncode == -signal.SIGBUS
    (fault,) = run.trace.recording.faults
    assert fault.signal == signal.SIGBUS and fault.code <= 0


def test_a_fault_on_a_thread_without_calls_is_recorded(bench: Bench) -> None:
    run = bench.run("""
        static void *work(void *argument) { return *(void **)0x18; }
        int main(void) {
            pthread_t thread;
            start();
            pthread_create(&thread, 0, work, 0);
            pthread_join(thread, 0);
            return 0;
        }""")
    assert run.returncode == -signal.SIGSEGV
    (fault,) = run.trace.recording.faults
    assert fault.address == 0x18 and fault.thread != run.trace.one("cuInit").thread


def test_order_is_stored_from_the_first_stored_work_on(bench: Bench) -> None:
    """Else the work would look as if nobody had waited for it."""
    run = bench.run("""
        int main(void) {
            handle s;
            start();
            cuStreamCreate(&s, 1);
            cuStreamSynchronize(s);
            cuLaunchKernel(0x7777, 1, 1, 1, 1, 1, 1, 0, s, 0, 0);
            cuStreamSynchronize(s);
            return 0;
        }""")
    assert run.trace.one("cuLaunchKernel").flags == SUSPECT
    assert run.trace.one("cuStreamSynchronize").number == 6


CAPTURE = """
int main(void) {
    handle stream, plain, node, graph = 0x9990, nodes[3] = {0, 0x7770, 0};
    const handle *array = nodes, *elsewhere = (handle *)0x10;
    uint32_t type, status = 0;
    size_t count = 3, wild = 1ul << 60;
    start();
    cuStreamCreate(&stream, 1);
    cuGraphCreate(&plain, 0);
    cuGraphAddEmptyNode(&node, plain, 0, 0);
    cuGraphDestroy(plain);
    nodes[0] = node;
    cuStreamBeginCapture_v2(stream, 0);
    cuStreamGetCaptureInfo_v3(stream, &status, 0, 0, &array, 0, &count);  // is not capturing: nothing was written
    status = 1;
    cuStreamGetCaptureInfo_v3(stream, &status, 0, 0, &elsewhere, 0, &wild);
    cuStreamGetCaptureInfo_v3(stream, &status, 0, &graph, &array, 0, &count);
    cuStreamGetCaptureInfo_v3(stream, &status, 0, &graph, &array, 0, &count);
    cuStreamEndCapture(stream, &graph);
    cuGraphNodeGetType(node, &type);
    nodes[1] = 0x8880;
    cuGraphGetNodes(graph, nodes, &count);
    cuGraphDestroy(graph);
    cuGraphNodeGetType(node, &type);
    return 0;
}
"""


def test_nodes_that_are_handed_out_are_new_objects_of_their_graph(bench: Bench) -> None:
    trace = bench.run(CAPTURE).trace
    plain = trace.one("cuGraphAddEmptyNode").outputs[0].value
    asked, listed = trace.one("cuStreamGetCaptureInfo"), trace.one("cuGraphGetNodes")
    assert trace.recording.handed_out == {
        (asked.thread, asked.number): [Output(4, Kind.GRAPH_NODE, 2, plain), Output(4, Kind.GRAPH_NODE, 1, 0x7770)],
        (listed.thread, listed.number): [Output(1, Kind.GRAPH_NODE, 1, 0x8880)],
    }
    assert asked.flags & LIFECYCLE and asked.stack
    assert trace.one("cuStreamEndCapture").outputs == (Output(1, Kind.GRAPH, 1, 0x9990),)
    stale = trace.one("cuGraphNodeGetType")
    assert [(seen.generation, seen.alive) for seen in stale.objects] == [(2, False)]
