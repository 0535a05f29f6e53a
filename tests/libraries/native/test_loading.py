"""Every way in which a program comes by a library's functions ends where it would without the shim."""

from __future__ import annotations

from tests.libraries.native.conftest import Fakes
from tests.native.conftest import SHIM, Bench, Run
from tests.under_test import PRELOAD

PROGRAM = '#include "fake.h"\n'


def run(bench: Bench, fakes: Fakes, source: str, *options: str, **environment: str) -> Run:
    environment.setdefault("LD_LIBRARY_PATH", str(fakes.folder))
    return bench.run(PROGRAM + source, options=(*fakes.options(), *options), **environment)


def counted(done: Run, name: str) -> int:
    assert done.returncode == 0, done.stderr
    return sum(len(trace.named(name)) for trace in done.traces)


def test_dlopen_and_dlsym(bench: Bench, fakes: Fakes) -> None:
    fakes.library()
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h;
            void *blas = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
            function create = dlsym(blas, "cublasCreate_v2");
            CHECK(create && !dlerror());
            CHECK(create(&h) == 0 && h == 12 * 0x100000 + 0x100);
            CHECK(dlsym(blas, "cublasCreate_v2") == create);
            CHECK(((function)dlsym(blas, "copy_12"))() == 12);
            CHECK(!dlsym(blas, "cublasDgemm_v2") && strstr(dlerror(), "cublasDgemm_v2"));
            return 0;
        }""",
    )
    assert counted(done, "cublasCreate") == 1


def test_what_is_not_loaded_is_not_found(bench: Bench, fakes: Fakes) -> None:
    """The shim exports the names, for programs that are linked with a library; whoever asks for them learns the truth."""
    fakes.library()
    done = run(
        bench,
        fakes,
        """int main(void) {
            void *program = dlopen(0, RTLD_NOW);
            void *const scopes[] = {RTLD_DEFAULT, RTLD_NEXT, program};
            for (int i = 0; i < 3; i++) CHECK(!dlsym(scopes[i], "cublasCreate_v2") && dlerror());
            CHECK(dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL));
            for (int i = 0; i < 3; i++) CHECK(!dlsym(scopes[i], "cublasCreate_v2") && dlerror());
            CHECK(dlopen("libcublas.so.12", RTLD_NOW | RTLD_GLOBAL));
            for (int i = 0; i < 3; i++) {
                uint64_t h;
                function create = dlsym(scopes[i], "cublasCreate_v2");
                CHECK(create && create(&h) == 0);
            }
            CHECK(!dlsym(RTLD_DEFAULT, "cufftCreate") && dlerror() && !dlsym(RTLD_DEFAULT, "cuNoSuch") && dlsym(RTLD_DEFAULT, "strlen"));
            return 0;
        }""",
    )
    assert counted(done, "cublasCreate") == 3


def test_a_plugins_own_scope(bench: Bench, fakes: Fakes) -> None:
    """A library that only a plugin sees is found for it, by its links and by RTLD_DEFAULT, and not for the program."""
    blas = fakes.library()
    fakes.made_of(
        """int plugin(uint64_t *handle) {
            function create = dlsym(RTLD_DEFAULT, "cublasCreate_v2");
            return !create || create(handle) || cublasCreate_v2(handle);
        }""",
        "libplugin.so",
        "-D_GNU_SOURCE",
        str(blas),
    )
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h;
            function plugin = dlsym(dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL), "plugin");
            CHECK(plugin(&h) == 0 && !dlsym(RTLD_DEFAULT, "cublasCreate_v2"));
            return 0;
        }""",
    )
    assert counted(done, "cublasCreate") == 2


def test_an_interposer_behind_the_shim(bench: Bench, fakes: Fakes) -> None:
    """LD_PRELOAD of a tool that calls the next one: program, shim, tool, library."""
    blas = fakes.library()
    tool = fakes.made_of(
        """int cublasCreate_v2(uint64_t *handle) {
            function next = dlsym(RTLD_NEXT, "cublasCreate_v2");
            puts("tool");
            return next(handle);
        }""",
        "libtool.so",
        "-D_GNU_SOURCE",
    )
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h;
            CHECK(cublasCreate_v2(&h) == 0 && h == 12 * 0x100000 + 0x100 && cublasSetMathMode(h, 1) == 12001);
            return 0;
        }""",
        str(blas),
        LD_PRELOAD=f"{PRELOAD}:{tool}",
    )
    assert counted(done, "cublasCreate") == 1 and done.stdout == "tool\n"


def test_two_copies_by_links(bench: Bench, fakes: Fakes) -> None:
    """The program has one, a plugin another: each reaches its own, and the first is watched."""
    old, new = fakes.library(), fakes.library("libcublas.so.13", 13)
    fakes.made_of("int plugin(uint64_t handle) { return cublasSetMathMode(handle, 2); }", "libplugin.so", str(new))
    done = run(
        bench,
        fakes,
        """int main(void) {
            function plugin = dlsym(dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL), "plugin");
            for (int i = 0; i < 3; i++) CHECK(cublasSetMathMode(1, 1) == 12001 && plugin((uint64_t)1) == 13002);
            return 0;
        }""",
        str(old),
        CUVET_RECORD="full",
    )
    assert counted(done, "cublasSetMathMode") == 3
    assert [call.args[1] for call in done.trace.calls] == [1] * 3


def test_two_copies_by_address(bench: Bench, fakes: Fakes) -> None:
    fakes.library(), fakes.library("libcublas.so.13", 13)
    done = run(
        bench,
        fakes,
        """int main(void) {
            function old = dlsym(dlopen("libcublas.so.12", RTLD_NOW), "cublasSetMathMode");
            function new = dlsym(dlopen("libcublas.so.13", RTLD_NOW), "cublasSetMathMode");
            CHECK(old((uint64_t)1, 1) == 12001 && new((uint64_t)1, 2) == 13002 && old((uint64_t)1, 3) == 12003);
            return 0;
        }""",
        CUVET_RECORD="full",
    )
    assert [call.args[1] for call in done.trace.calls] == [1, 3]
    assert counted(done, "cublasSetMathMode") == 2


def test_two_copies_without_versions(bench: Bench, fakes: Fakes) -> None:
    """Nothing but the order of loading tells them apart: the program's comes first for all, as without the shim."""
    old = fakes.library(versioned=False)
    new = fakes.library("libcublas.so.13", 13, versioned=False)
    fakes.made_of("int plugin(uint64_t handle) { return cublasSetMathMode(handle, 2); }", "libplugin.so", str(new))
    source = """int main(void) {
            function plugin = dlsym(dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL), "plugin");
            printf("%d %d\\n", cublasSetMathMode(1, 1), plugin((uint64_t)1));
            return 0;
        }"""
    bare = run(bench, fakes, source, str(old), LD_PRELOAD="")
    assert run(bench, fakes, source, str(old)).stdout == bare.stdout == "12001 12002\n"


def test_a_library_that_is_unloaded_and_loaded_elsewhere(bench: Bench, fakes: Fakes) -> None:
    blas = fakes.library()
    fakes.made_of("int plugin(uint64_t *handle) { return cublasCreate_v2(handle); }", "libplugin.so", str(blas))
    done = run(
        bench,
        fakes,
        """
        #include <sys/mman.h>
        int main(void) {
            uint64_t h;
            for (int i = 0; i < 3; i++) {
                void *library = dlopen("libplugin.so", RTLD_NOW);
                void *blas = dlopen("libcublas.so.12", RTLD_NOW | RTLD_NOLOAD), *before = dlsym(blas, "copy_12");
                CHECK(((function)dlsym(library, "plugin"))(&h) == 0);
                function create = dlsym(blas, "cublasCreate_v2");
                CHECK(create(&h) == 0);
                dlclose(blas), dlclose(library);
                CHECK(!dlopen("libcublas.so.12", RTLD_NOW | RTLD_NOLOAD));
                // What is mapped there now is no code.
                mmap((void *)((uintptr_t)before & ~4095ul), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            }
            return 0;
        }""",
    )
    assert counted(done, "cublasCreate") == 6


def test_a_place_whose_function_was_unloaded_finds_the_next(bench: Bench, fakes: Fakes) -> None:
    """Nothing else has changed meanwhile that a call of a library could find."""
    fakes.library()
    done = run(
        bench,
        fakes,
        """
        #include <sys/mman.h>
        int main(void) {
            for (int i = 0; i < 3; i++) {
                void *blas = dlopen("libcublas.so.12", RTLD_NOW), *before = dlsym(blas, "copy_12");
                function set = dlsym(blas, "cublasLtMatmulDescSetAttribute");
                for (int n = 0; n < 3; n++) CHECK(set(0x77, 1, 0, 0) == 0);
                dlclose(blas);
                mmap((void *)((uintptr_t)before & ~4095ul), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            }
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr


def test_a_weak_reference_to_what_is_not_there(bench: Bench, fakes: Fakes) -> None:
    """It is not NULL under the shim; a program that calls it gets an error."""
    done = run(
        bench,
        fakes,
        """
        #pragma weak cublasCreate_v2
        int main(void) { uint64_t h = 5; return cublasCreate_v2(&h) == 1 && h == 5 ? 0 : 1; }""",
    )
    assert done.returncode == 0, done.stderr


def test_first_calls_do_not_wait_for_the_loader(bench: Bench, fakes: Fakes) -> None:
    """A constructor runs with the loader's lock, and waits for a thread that calls a library at a new place."""
    blas = fakes.library()
    fakes.made_of(
        """
        #include <pthread.h>
        static void *work(void *handle) { return (void *)(intptr_t)cublasSetMathMode((uint64_t)handle, 4); }
        __attribute__((constructor)) static void load(void) {
            pthread_t thread;
            void *answer;
            pthread_create(&thread, 0, work, 0);
            pthread_join(thread, &answer);
            printf("%d\\n", (int)(intptr_t)answer);
        }""",
        "libconstructor.so",
        str(blas),
    )
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h;
            alarm(20);
            CHECK(cublasCreate_v2(&h) == 0 && dlopen("libconstructor.so", RTLD_NOW));
            return 0;
        }""",
        str(blas),
    )
    assert (done.returncode, done.stdout) == (0, "12004\n")


def test_the_emulated_libraries_lead_to_the_shim(bench: Bench, fakes: Fakes) -> None:
    """By link and by dlopen; what needs no device they answer themselves. Here no device answers, so that all else fails."""
    native = SHIM.parent
    done = bench.run(
        """
        #include <stdint.h>
        size_t cudnnGetVersion(void);
        const char *cudnnGetErrorString(int);
        int cudnnCreate(uint64_t *), ncclGetVersion(int *), cublasGetProperty(int, int *);
        typedef int (*function)();
        int main(void) {
            uint64_t h = 0;
            int version = 0, major = 0;
            void *solver = dlopen("libcusolver.so.12", RTLD_NOW);
            CHECK(cudnnGetVersion() / 10000 == 9 && !strcmp(cudnnGetErrorString(1001), "CUDNN_STATUS_NOT_INITIALIZED"));
            CHECK(ncclGetVersion(&version) == 0 && version / 10000 == 2);
            CHECK(cublasGetProperty(0, &major) == 0 && major == 13);
            CHECK(solver && ((function)dlsym(solver, "cusolverGetVersion"))(&version) == 0 && version / 1000 == 12);
            CHECK(cudnnCreate(&h) != 0 && ((function)dlsym(solver, "cusolverDnCreate"))(&h) != 0 && h == 0);
            return 0;
        }""",
        options=tuple(str(native / name) for name in ("libcudnn.so.9", "libcublas.so.13", "libnccl.so.2")),
        CUVET_DEVICE_SOCKET=str(bench.folder / "nobody"),
    )
    assert counted(done, "cudnnCreate") == counted(done, "cusolverDnCreate") == 1
    assert "no version information" not in done.stderr


def test_an_emulated_library_that_is_loaded_beside_a_real_driver(bench: Bench) -> None:
    """It leads to the shim, which finds nothing behind itself but that library."""
    done = bench.run(
        """
        int cudnnCreate(handle *);
        int main(void) { handle h = 5; return cudnnCreate(&h) == 1 && h == 5 ? 0 : 1; }""",
        options=(str(SHIM.parent / "libcudnn.so.9"),),
    )
    assert done.returncode == 0, done.stderr
