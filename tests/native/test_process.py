"""How the driver is found, and the life of a process: loading, threads, fork, exec, exit."""

from __future__ import annotations

import os
import random
import signal
import subprocess

import pytest
from tests.native.conftest import NATIVE, SHIM, Bench

from cuvet.catalog import driver, libraries
from cuvet.image import dynamic
from cuvet.image.source import opened

END_UNSEEN, END_EXIT, END_EXEC = 0, 1, 2
DRIVER_PAST_SHIM, LIMIT_REACHED, INHERITED_CONTEXT = 1, 2, 3


def test_a_program_without_cuda_leaves_no_file_and_opens_no_driver(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            char line[4096];
            FILE *maps = fopen("/proc/self/maps", "r");
            while (fgets(line, sizeof line, maps)) CHECK(!strstr(line, "null_driver") && !strstr(line, "libgcc_s"));
            CHECK(dlopen("libm.so.6", RTLD_NOW));
            return 5;
        }""",
        options=("-Wl,--as-needed",),
    )
    assert (run.returncode, run.stderr, run.traces) == (5, "", [])


@pytest.mark.parametrize(
    "path", ["libcuda.so.1", "libcuda.so", "/somewhere/else/libcuda.so.1", "/usr/lib64/libcuda.so"]
)
def test_every_path_of_the_driver_leads_to_the_shim(bench: Bench, path: str) -> None:
    run = bench.run(
        f"""int main(void) {{
            void *library = dlopen("{path}", RTLD_NOW);
            CHECK(library);
            uint32_t (*init)(uint32_t) = dlsym(library, "cuInit");
            Dl_info info;
            CHECK(init && init(0) == 0 && dladdr(init, &info));
            puts(info.dli_fname);
            return 0;
        }}""",
        options=("-Wl,--as-needed", "-D_GNU_SOURCE"),
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(SHIM)
    assert run.trace.one("cuInit").status == 0


def test_dlopen_keeps_the_caller(bench: Bench) -> None:
    """A library found by the caller's own RUNPATH is found through the hook as well."""
    library = bench.folder / "hidden" / "libonly_by_runpath.so"
    library.parent.mkdir()
    (bench.folder / "empty.c").write_text("int here(void) { return 31; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(bench.folder / "empty.c")], check=True)
    run = bench.run(
        """int main(void) {
            void *library = dlopen("libonly_by_runpath.so", RTLD_NOW);
            if (!library) { fputs(dlerror(), stderr); return 1; }
            return ((int (*)(void))dlsym(library, "here"))();
        }""",
        options=(f"-Wl,-rpath,{library.parent},--enable-new-dtags",),
    )
    assert run.returncode == 31, run.stderr


def test_emulated_runtime_takes_the_place_of_the_real_one_only_without_a_gpu(bench: Bench) -> None:
    program = str(
        bench.compile(
            """int main(void) { return dlopen("/nowhere/libcudart.so.13", RTLD_NOW) ? 1 : 2; }""", "-Wl,--as-needed"
        )
    )
    assert bench.run([program]).returncode == 2
    if (NATIVE / "libcudart.so.13").exists():
        assert bench.run([program], CUVET_DEVICE_SOCKET=str(bench.folder / "nobody")).returncode == 1


def test_get_proc_address_gives_wrappers_and_leaves_the_unknown_alone(bench: Bench) -> None:
    run = bench.run(
        """
        int main(void) {
            void *function = 0;
            start();
            CHECK(cuGetProcAddress_v2("cuStreamCreate", &function, 13000, 0, 0) == 0);
            CHECK(function == dlsym(RTLD_DEFAULT, "cuStreamCreate"));
            CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, 0) == 0);
            CHECK(function == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
            CHECK(cuGetProcAddress_v2("cuGetProcAddress", &function, 13000, 0, 0) == 0);
            CHECK(function == (void *)cuGetProcAddress_v2);
            CHECK(cuGetProcAddress_v2("cuUnknownToTheCatalog", &function, 13000, 0, 0) == 0);
            CHECK(((uint32_t (*)(void))function)() == 4242);
            CHECK(cuGetProcAddress_v2("cuNoSuchThing", &function, 13000, 0, 0) == 500 && !function);
            return 0;
        }""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
    )
    assert run.returncode == 0, run.stderr
    assert [run.trace.recording.entry_points[call.entry_point] for call in run.trace.calls] == ["cuInit", "cuCtxCreate"]


@pytest.mark.parametrize("record", ["lifecycle", "full"])
def test_get_proc_address_gives_the_drivers_own_for_what_leaves_no_trace(bench: Bench, record: str) -> None:
    """The runtime asks for the current device before all that it does."""
    run = bench.run(
        """
        int is_wrapped(const char *name) {
            void *function = 0;
            CHECK(cuGetProcAddress_v2(name, &function, 13000, 0, 0) == 0);
            return function == dlsym(RTLD_DEFAULT, name);
        }
        int main(void) {
            const char *unseen[] = {"cuCtxGetDevice", "cuDeviceGetAttribute", "cuGetErrorString"};
            start();
            for (int i = 0; i < 3; i++) printf("%d", is_wrapped(unseen[i]));
            CHECK(is_wrapped("cuDevicePrimaryCtxGetState"));
            CHECK(is_wrapped("cuStreamQuery"));
            return 0;
        }""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
        CUVET_RECORD=record,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ("000" if record == "lifecycle" else "111")


def test_a_driver_loaded_past_the_shim_is_told(bench: Bench) -> None:
    past = bench.folder / "past" / "libcuda.so.1"
    past.parent.mkdir()
    past.write_bytes(bench.driver.read_bytes())
    run = bench.run(
        f"""int main(void) {{
            void *(*load)(long, const char *, int) = dlsym(RTLD_DEFAULT, "dlmopen");
            CHECK(load(0, "{past}", RTLD_NOW));
            return 0;
        }}""",
        options=("-Wl,--as-needed", "-D_GNU_SOURCE"),
    )
    assert run.returncode == 0, run.stderr
    assert [(note.code, note.text) for note in run.trace.recording.notes] == [(DRIVER_PAST_SHIM, str(past))]


def test_without_a_driver_calls_fail_and_nothing_breaks(bench: Bench) -> None:
    run = bench.run("int main(void) { return cuInit(0); }", CUVET_DRIVER="/nowhere/libcuda.so.1")
    assert run.returncode == 34  # CUDA_ERROR_STUB_LIBRARY
    assert run.trace.one("cuInit").status == 34


def test_threads_are_told_apart_and_counted(bench: Bench) -> None:
    run = bench.run("""
        static void *work(void *argument) {
            handle s;
            cuCtxSetCurrent(context);
            for (int i = 0; i < 500; i++) { cuStreamCreate(&s, 1); CHECK(cuStreamDestroy_v2(s) == 0); }
            return 0;
        }
        int main(void) {
            pthread_t threads[64];
            start();
            for (int i = 0; i < 64; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 64; i++) pthread_join(threads[i], 0);
            return 0;
        }""")
    assert run.returncode == 0, run.stderr
    trace = run.trace
    destroyed = trace.named("cuStreamDestroy")
    assert len(destroyed) == 64 * 500
    assert all(call.objects[0].alive and call.status == 0 for call in destroyed)
    issued = [(call.outputs[0].value, call.outputs[0].generation) for call in trace.named("cuStreamCreate")]
    assert len(set(issued)) == len(issued) == 64 * 500
    assert int(trace.header["calls"]) == 2 + 64 * 1001
    assert len(trace.recording.threads) == 65
    assert not trace.recording.problems


def test_threads_that_come_and_go_reuse_their_chunks(bench: Bench) -> None:
    run = bench.run("""
        static void *work(void *argument) { handle s; cuStreamCreate(&s, 1); cuStreamDestroy_v2(s); return 0; }
        int main(void) {
            start();
            for (int i = 0; i < 1000; i++) {
                pthread_t thread;
                pthread_create(&thread, 0, work, 0);
                pthread_join(thread, 0);
            }
            return 0;
        }""")
    assert run.returncode == 0, run.stderr
    assert len(run.trace.named("cuStreamCreate")) == 1000
    assert run.trace.path.stat().st_size < 2 << 20
    assert int(run.trace.header["calls"]) == 2002


def test_calls_of_thread_destructors_are_recorded(bench: Bench) -> None:
    run = bench.run("""
        static pthread_key_t key;
        static handle stream;
        static void late(void *unused) { CHECK(cuStreamDestroy_v2(stream) == 0); }
        static void *work(void *argument) { pthread_setspecific(key, &key); cuStreamCreate(&stream, 1); return 0; }
        int main(void) {
            pthread_t thread;
            start();
            pthread_key_create(&key, late);
            pthread_create(&thread, 0, work, 0);
            pthread_join(thread, 0);
            return 0;
        }""")
    assert run.trace.one("cuStreamDestroy").number == run.trace.one("cuStreamCreate").number + 1


def test_a_forked_child_writes_its_own_file(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle s;
            start();
            cuStreamCreate(&s, 1);
            pid_t child = fork();
            if (child == 0) { cuStreamSynchronize(s); cuStreamDestroy_v2(s); exit(3); }
            int status;
            waitpid(child, &status, 0);
            cuStreamDestroy_v2(s);
            printf("%d %d\\n", getpid(), child);
            return WEXITSTATUS(status);
        }""")
    assert run.returncode == 3, run.stderr
    parent_pid, child_pid = map(int, run.stdout.split())
    traces = {int(trace.header["pid"]): trace for trace in run.traces}
    assert set(traces) == {parent_pid, child_pid}
    parent, child = traces[parent_pid], traces[child_pid]
    (fork,) = parent.recording.forks
    assert fork.child == child_pid and parent.recording.stacks[fork.stack].native
    assert int(child.header["parent"]) == parent_pid
    assert [note.code for note in child.recording.notes] == [INHERITED_CONTEXT]
    destroyed = child.one("cuStreamDestroy")
    assert destroyed.objects[0].alive and destroyed.objects[0].generation == 1
    assert child.recording.stacks[destroyed.stack].native and child.recording.modules
    assert [int(trace.header["end"]) for trace in (parent, child)] == [END_EXIT, END_EXIT]


def test_a_child_that_calls_nothing_leaves_no_file(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            start();
            if (fork() == 0) exit(0);
            wait(0);
            return 0;
        }""")
    assert len(run.traces) == 1


def test_exec_is_told_from_a_kill(bench: Bench) -> None:
    run = bench.run("""
        int main(int count, char **arguments) {
            start();
            if (count == 1) execl(arguments[0], arguments[0], "again", (char *)0);
            _exit(count);
        }""")
    assert run.returncode == 2
    ends = {int(trace.header["end"]) for trace in run.traces}
    assert len(run.traces) == 2 and ends == {END_EXEC, END_UNSEEN}
    assert len({int(trace.header["pid"]) for trace in run.traces}) == 1


def test_calls_of_exit_handlers_are_recorded(bench: Bench) -> None:
    run = bench.run("""
        static handle stream;
        static void late(void) { cuStreamDestroy_v2(stream); }
        __attribute__((destructor)) static void later(void) { cuStreamSynchronize(stream); }
        int main(void) { start(); cuStreamCreate(&stream, 1); atexit(late); return 4; }""")
    assert run.returncode == 4
    assert run.trace.one("cuStreamDestroy").status == 0
    assert run.trace.one("cuStreamSynchronize").status == 0
    assert int(run.trace.header["end"]) == END_EXIT


def test_descriptors_that_the_program_closes_are_not_missed(bench: Bench) -> None:
    run = bench.run("""
        int main(void) {
            handle s;
            start();
            for (int fd = 3; fd < 1024; fd++) close(fd);
            for (int i = 0; i < 1000; i++) CHECK(dup(0) >= 0);
            for (int i = 0; i < 3000; i++) cuStreamCreate(&s, 1);
            return 0;
        }""")
    assert run.returncode == 0, run.stderr
    assert len(run.trace.named("cuStreamCreate")) == 3000
    assert int(run.trace.header["dropped"]) == 0


def test_a_recording_is_whole_whenever_the_process_is_killed(bench: Bench) -> None:
    """200 times. The program says how far it came; what it said must be in the file, and nothing else but what comes next."""
    program = bench.compile(
        """
        int main(void) {
            start();
            for (uint64_t i = 1;; i++) {
                handle s;
                cuStreamCreate(&s, (uint32_t)i);
                cuStreamDestroy_v2(s);
                if (i % 8 == 0 && write(1, &i, 8) != 8) return 1;
            }
        }""",
        str(SHIM),
    )
    lines = random.Random(2)
    for _ in range(200):
        process = subprocess.Popen([str(program)], env=bench.environment(), stdout=subprocess.PIPE, cwd=bench.folder)
        assert process.stdout
        said = process.stdout.read(8 * lines.randint(1, 40))
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        (trace,) = bench.traces()
        reached = int.from_bytes(said[-8:], "little")
        numbers = [call.args[1] for call in trace.named("cuStreamCreate")]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= reached
        assert all(call.status == 0 for call in trace.calls[:-1])
        assert not trace.recording.problems
        trace.path.unlink()


def test_the_emulated_device_answers_versions_as_the_driver_does(bench: Bench) -> None:
    """cuGetProcAddress never asks the device: a program may look functions up before there is one."""
    run = bench.run(
        """
        static void *ask(const char *name, int version, int flags) {
            void *function = 0;
            uint32_t found = 9, status = cuGetProcAddress_v2(name, &function, version, flags, &found);
            CHECK((status == 0) == (function != 0) && found == (function ? 0 : 1));
            return function;
        }
        #define HAS(name, version, flags, symbol) CHECK(ask(name, version, flags) == dlsym(RTLD_DEFAULT, symbol))
        int main(void) {
            HAS("cuMemAlloc", 13000, 0, "cuMemAlloc_v2");
            HAS("cuMemAlloc", 2000, 0, "cuMemAlloc");
            HAS("cuCtxCreate", 3020, 0, "cuCtxCreate_v2");
            HAS("cuCtxCreate", 12040, 0, "cuCtxCreate_v3");
            HAS("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
            HAS("cuStreamSynchronize", 13000, 0, "cuStreamSynchronize");
            HAS("cuStreamSynchronize", 13000, 1, "cuStreamSynchronize");
            HAS("cuStreamSynchronize", 13000, 2, "cuStreamSynchronize_ptsz");
            HAS("cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds");
            HAS("cuInit", 13000, 2, "cuInit");
            HAS("cuGetProcAddress", 13000, 0, "cuGetProcAddress_v2");
            CHECK(!ask("cuCtxCreate", 1000, 0) && !ask("cuNoSuchThing", 13000, 0));
            return 0;
        }""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
        CUVET_DEVICE_SOCKET=str(bench.folder / "nobody"),
    )
    assert run.returncode == 0, run.stderr


def test_the_shim_exports_driver_libraries_and_hooks_and_nothing_else() -> None:
    with opened(SHIM) as source:
        exported = {symbol.name for symbol in dynamic.symbols(source) if symbol.defined}
    undeclared = {"cuEGLApiInit", "cuMemGetAttribute", "cuMemGetAttribute_v2"}
    own = {name for name in exported if name.startswith("cuvet_")}
    wrapped = (
        entry for library in libraries().values() for entry in library.entry_points if entry.wrapped and entry.status
    )
    of_libraries = {symbol for entry in wrapped for symbol in entry.symbols}
    assert exported - own == set(driver().by_symbol) | undeclared | of_libraries | {
        "dlopen",
        "dlsym",
        "dlclose",
        "prctl",
        "pthread_sigmask",
        "sigaction",
        "signal",
        "sigprocmask",
    }
