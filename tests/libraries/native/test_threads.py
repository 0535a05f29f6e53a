"""Handles that several threads use, and processes that fork."""

from __future__ import annotations

from tests.libraries.native.conftest import Fakes
from tests.libraries.native.test_calls import is_suspect, run
from tests.native.conftest import Bench

from cuvet.catalog import Kind
from cuvet.catalog.kinds import NOT_SHARED_BETWEEN_THREADS

TWO_THREADS = """
    static uint64_t shared;
    static pthread_barrier_t both;
    static void wait_for_other(void) { pthread_barrier_wait(&both), pthread_barrier_wait(&both); }
    static void *work(void *unused) {
        cublasSscal_v2(shared, 1, 0, 0, 1);
        return 0;
    }
"""


def test_a_second_thread_inside_is_told(bench: Bench, fakes: Fakes) -> None:
    assert Kind.CUBLAS_HANDLE in NOT_SHARED_BETWEEN_THREADS
    done = run(
        bench,
        fakes,
        TWO_THREADS
        + """
        static void set(int mode) { cublasSetMathMode(shared, mode); }
        int main(void) {
            pthread_t thread;
            pthread_barrier_init(&both, 0, 2);
            cublasCreate_v2(&shared);
            for (int i = 0; i < 3; i++) set(0);
            inside_12 = wait_for_other;
            pthread_create(&thread, 0, work, 0);
            pthread_barrier_wait(&both);                    // the other is inside
            set(1);
            set(2);                                         // the same two calls: told once
            pthread_barrier_wait(&both);
            pthread_join(thread, 0);
            set(3);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    recording = done.trace.recording
    entering = next(call for call in done.trace.named("cublasSetMathMode") if is_suspect(call))
    (overlap,) = recording.overlaps.values()
    assert list(recording.overlaps) == [(entering.thread, entering.number)]
    assert recording.entry_points[overlap.entry_point] == "cublasSscal" and overlap.parameter == 0
    assert overlap.thread in recording.threads and overlap.thread != entering.thread and entering.args[1] == 1
    assert sum(map(is_suspect, done.trace.calls)) == 1


def test_a_thread_inside_a_call_with_another_handle_is_silent(bench: Bench, fakes: Fakes) -> None:
    """It has used the shared one before, in calls that leave no trace."""
    done = run(
        bench,
        fakes,
        TWO_THREADS
        + """
        static void *use_both(void *unused) {
            uint64_t own;
            for (int i = 0; i < 3; i++) cublasSetStream_v2(shared, 0);
            cublasCreate_v2(&own);
            inside_12 = wait_for_other;
            cublasSscal_v2(own, 1, 0, 0, 1);
            return 0;
        }
        int main(void) {
            pthread_t thread;
            pthread_barrier_init(&both, 0, 2);
            cublasCreate_v2(&shared);
            pthread_create(&thread, 0, use_both, 0);
            pthread_barrier_wait(&both);                    // the other is inside
            for (int i = 0; i < 3; i++) cublasSetStream_v2(shared, 0);
            pthread_barrier_wait(&both);
            pthread_join(thread, 0);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert not done.trace.recording.overlaps
    assert not any(map(is_suspect, done.trace.calls))


def test_threads_that_take_turns_are_silent(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static uint64_t shared;
        static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *unused) {
            uint64_t own;
            cublasCreate_v2(&own);
            for (int i = 0; i < 20000; i++) {
                pthread_mutex_lock(&turn);
                cublasSscal_v2(shared, 1, 0, 0, 1);
                pthread_mutex_unlock(&turn);
                cublasSscal_v2(own, 1, 0, 0, 1);
            }
            return 0;
        }
        int main(void) {
            pthread_t threads[4];
            cublasCreate_v2(&shared);
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert len(done.trace.calls) == 5 and not done.trace.recording.overlaps


def test_a_thread_inside_with_another_handle_is_no_overlap(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        TWO_THREADS
        + """
        static void *use_both(void *own) {
            cublasSetMathMode(shared, 1);
            inside_12 = wait_for_other;
            cublasSscal_v2(*(uint64_t *)own, 1, 0, 0, 1);
            return 0;
        }
        int main(void) {
            pthread_t thread;
            uint64_t own;
            pthread_barrier_init(&both, 0, 2);
            cublasCreate_v2(&shared), cublasCreate_v2(&own);
            pthread_create(&thread, 0, use_both, &own);
            pthread_barrier_wait(&both);                    // the other is inside
            cublasSetMathMode(shared, 2);
            pthread_barrier_wait(&both);
            pthread_join(thread, 0);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert not done.trace.recording.overlaps and not any(map(is_suspect, done.trace.calls))


def test_what_a_thread_left_behind_is_no_overlap(bench: Bench, fakes: Fakes) -> None:
    """A thread that ends inside a call, and the parent's threads in a forked child, are not inside any more."""
    done = run(
        bench,
        fakes,
        TWO_THREADS
        + """
        static void leave(void) { pthread_exit(0); }
        int main(void) {
            pthread_t thread;
            int status;
            pthread_barrier_init(&both, 0, 2);
            cublasCreate_v2(&shared);
            inside_12 = leave;
            pthread_create(&thread, 0, work, 0);
            pthread_join(thread, 0);
            cublasSetMathMode(shared, 1);
            inside_12 = wait_for_other;
            pthread_create(&thread, 0, work, 0);
            pthread_barrier_wait(&both);
            pid_t child = fork();
            if (!child) {
                uint64_t own;
                cublasSetMathMode(shared, 2);
                cublasCreate_v2(&own);
                exit(0);
            }
            waitpid(child, &status, 0);
            pthread_barrier_wait(&both);
            pthread_join(thread, 0);
            return status;
        }""",
    )
    assert done.returncode == 0, done.stderr
    parent, child = done.traces
    assert [len(trace.named("cublasSetMathMode")) for trace in (parent, child)] == [1, 1]
    assert not any(trace.recording.overlaps for trace in done.traces)
    assert not any(is_suspect(call) for trace in done.traces for call in trace.calls)
    assert all(len(trace.recording.entry_points) > 2000 for trace in done.traces)


def test_descriptors_that_threads_make_and_end_at_ever_other_addresses(bench: Bench, fakes: Fakes) -> None:
    """The dead of some make room for the living of others."""
    library = fakes.made_of(
        """
        static int threads;
        static __thread uint64_t last;
        int cudnnCreate(uint64_t *handle) { return *handle = last = (uint64_t)__sync_add_and_fetch(&threads, 1) << 40, 0; }
        int cudnnBackendCreateDescriptor(int type, uint64_t *handle) { return *handle = last += 16, 0; }
        int cudnnBackendDestroyDescriptor(uint64_t handle) { return 0; }
        int cudnnBackendExecute(uint64_t handle, uint64_t plan, uint64_t pack) { return 0; }
        """,
        "libcudnn.so.9",
    )
    done = run(
        bench,
        fakes,
        """
        static void *work(void *unused) {
            uint64_t h, plan, pack;
            cudnnCreate(&h);
            cudnnBackendCreateDescriptor(0, &plan);
            for (int i = 0; i < 20000; i++) {
                cudnnBackendCreateDescriptor(1, &pack);
                cudnnBackendExecute(h, plan, pack);
                cudnnBackendDestroyDescriptor(pack);
            }
            cudnnBackendDestroyDescriptor(plan);
            return 0;
        }
        int main(void) {
            pthread_t threads[4];
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
            return 0;
        }""",
        library,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.trace.named("cudnnBackendCreateDescriptor")) >= 256
    assert not any(map(is_suspect, done.trace.calls)) and not done.trace.named("cudnnBackendExecute")
