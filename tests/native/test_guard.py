"""Guarded memory above a driver that does nothing: what the shim protects, and what it stores of a touch."""

from __future__ import annotations

GUARDED = {"CUVET_GUARD": "1", "CUVET_RECORD": "accesses"}
PREPARE = """
    uint32_t cuMemcpyDtoHAsync_v2(void *to, handle from, size_t bytes, handle stream);
    uint32_t cuMemcpyHtoDAsync_v2(handle to, void *from, size_t bytes, handle stream);
    enum { PAGE = 4096, PAGES = 16 };
    static handle stream, device;
    static volatile char *memory;
    static void prepare(void) {
        start();
        CHECK(cuStreamCreate(&stream, 1) == 0 && cuMemAlloc_v2(&device, PAGE) == 0);
        memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(cuMemHostRegister_v2((void *)memory, PAGES * PAGE, 0) == 0);
    }
    static void fetch(int page) { CHECK(cuMemcpyDtoHAsync_v2((void *)(memory + page * PAGE), device, 64, stream) == 0); }
    // Whether the kernel may read a byte there.
    static int is_open(int page) {
        static int ends[2];
        if (!ends[0]) CHECK(pipe(ends) == 0);
        return write(ends[1], (void *)(memory + page * PAGE), 1) == 1;
    }
"""


def test_only_the_pages_of_a_copy_are_guarded_until_it_is_waited_for(bench) -> None:  # type: ignore[no-untyped-def]
    run = bench.run(
        PREPARE
        + """int main(void) {
        prepare();
        for (int round = 0; round < 3; round++) {
            for (int page = 1; page < PAGES; page += 2) fetch(page);
            for (int page = 0; page < PAGES; page++) CHECK(is_open(page) == !(page % 2));
            CHECK(cuStreamSynchronize(stream) == 0);
            for (int page = 0; page < PAGES; page++) CHECK(is_open(page));
        }
        CHECK(cuMemcpyDtoHAsync_v2((void *)(memory + 100), device, 3 * PAGE, stream) == 0);
        for (int page = 0; page < PAGES; page++) CHECK(is_open(page) == (page > 3));
        memory[2 * PAGE + 7] = 1;
        CHECK(!is_open(1) && is_open(2) && !is_open(3));
        return cuMemHostUnregister((void *)memory);
    }""",
        **GUARDED,
    )
    assert (run.returncode, run.stderr) == (0, "")
    (touch,) = run.trace.recording.host_accesses
    assert (touch.address % 4096, touch.writes) == (7, 1)


def test_a_copy_of_nothing_guards_nothing(bench) -> None:  # type: ignore[no-untyped-def]
    run = bench.run(
        PREPARE
        + """int main(void) {
        prepare();
        CHECK(cuMemcpyDtoHAsync_v2((void *)memory, device, 0, stream) == 0);
        for (int page = 0; page < PAGES; page++) CHECK(is_open(page));
        return 0;
    }""",
        **GUARDED,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_many_small_parts_of_a_large_memory(bench) -> None:  # type: ignore[no-untyped-def]
    """More than the shim can tell apart: what it cannot is guarded together, and opened together."""
    run = bench.run(
        PREPARE
        + """int main(void) {
        enum { MANY = 20000 };
        prepare();
        char *large = mmap(0, (long)MANY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(cuMemHostRegister_v2(large, (long)MANY * PAGE, 0) == 0);
        for (long page = 0; page < MANY; page += 2) {
            CHECK(cuMemcpyDtoHAsync_v2(large + page * PAGE, device, 64, stream) == 0);
            if (page % 1024 == 0) CHECK(cuStreamSynchronize(stream) == 0);
        }
        CHECK(cuStreamSynchronize(stream) == 0);
        for (long page = 0; page < MANY; page++) large[page * PAGE] = 1;
        CHECK(cuMemHostUnregister(large) == 0);
        fetch(1);
        CHECK(!is_open(1) && cuMemHostUnregister((void *)memory) == 0 && is_open(1));
        return 0;
    }""",
        **GUARDED,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.trace.recording.host_accesses == []


def test_memory_that_the_program_has_unmapped_keeps_no_other_closed(bench) -> None:  # type: ignore[no-untyped-def]
    run = bench.run(
        PREPARE
        + """int main(void) {
        prepare();
        CHECK(cuMemHostUnregister((void *)memory) == 0);
        for (int page = 0; page < 3; page++) CHECK(cuMemHostRegister_v2((void *)(memory + page * PAGE), PAGE, 0) == 0);
        for (int page = 0; page < 3; page++) fetch(page);
        CHECK(munmap((void *)(memory + PAGE), PAGE) == 0 && !is_open(0) && !is_open(2));
        CHECK(cuStreamSynchronize(stream) == 0);
        return is_open(0) && is_open(2) ? 7 : 8;
    }""",
        **GUARDED,
    )
    assert (run.returncode, run.stderr) == (7, "")


def test_threads_name_parts_of_one_memory_at_once(bench) -> None:  # type: ignore[no-untyped-def]
    """They split it, guard it, wait, touch it and register more of it; in the end all of it is open."""
    run = bench.run(
        PREPARE
        + """
    enum { THREADS = 4, ROUNDS = 400 };
    static void *work(void *number) {
        handle own;
        long me = (long)number;
        CHECK(cuCtxSetCurrent(context) == 0 && cuStreamCreate(&own, 1) == 0);
        for (int i = 0; i < ROUNDS; i++) {
            volatile char *at = memory + (me * 3 + i) % PAGES * PAGE;
            if (i % 3) CHECK(cuMemcpyDtoHAsync_v2((void *)at, device, 1 + i % 2 * PAGE / 2, own) == 0);
            else CHECK(cuMemcpyHtoDAsync_v2(device, (void *)at, 64, own) == 0);
            __atomic_fetch_add(&at[2], 1, __ATOMIC_RELAXED);
            if (i % 5 == 0) CHECK(cuStreamSynchronize(own) == 0);
            if (i % 50) continue;
            void *more = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(cuMemHostRegister_v2(more, 4 * PAGE, 0) == 0 && cuMemHostUnregister(more) == 0);
        }
        CHECK(cuStreamSynchronize(own) == 0);
        return 0;
    }
    int main(void) {
        pthread_t threads[THREADS];
        prepare();
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
        for (long i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
        uint32_t cuCtxSynchronize(void);
        CHECK(cuCtxSynchronize() == 0);
        for (int page = 0; page < PAGES; page++) CHECK(is_open(page));
        return cuMemHostUnregister((void *)memory);
    }""",
        **GUARDED,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.trace.recording.host_accesses


def test_a_forked_child_has_all_its_memory(bench) -> None:  # type: ignore[no-untyped-def]
    run = bench.run(
        PREPARE
        + """int main(void) {
        int status;
        prepare();
        fetch(0);
        fetch(5);
        if (!fork()) _exit(is_open(0) && is_open(5) ? 7 : 8);
        wait(&status);
        return WEXITSTATUS(status);
    }""",
        **GUARDED,
    )
    assert (run.returncode, run.stderr) == (7, "")
