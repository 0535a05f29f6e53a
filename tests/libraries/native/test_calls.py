"""What is seen of a library's calls, and that they reach the library as they were made."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.libraries.native.conftest import Fakes
from tests.native.conftest import SHIM, Bench, Run

from cuvet.catalog import Kind
from cuvet.recording.layout import CallFlag
from cuvet.recording.records import CallRecord

PROGRAM = '#include "fake.h"\n'


def run(bench: Bench, fakes: Fakes, source: str, *libraries: Path, **environment: str) -> Run:
    """A program that is linked with the libraries, and with the driver."""
    environment.setdefault("LD_LIBRARY_PATH", str(fakes.folder))
    options = (*fakes.options(*(libraries or (fakes.library(),))), str(SHIM))
    return bench.run(PROGRAM + source, options=options, **environment)


def names(done: Run) -> list[str]:
    entry_points = done.trace.recording.entry_points
    seen = [entry_points[call.entry_point] for call in done.trace.calls]
    return [name for name in seen if name.startswith(("cublas", "curand", "nccl"))]


def is_suspect(call: CallRecord) -> bool:
    return bool(call.flags & CallFlag.SUSPECT)


def test_arguments_arrive_wherever_they_are_passed(bench: Bench, fakes: Fakes) -> None:
    """In registers, on the stack, in floating-point registers, as a struct by value; and the status comes back."""
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, c;
            float alpha = 1.5, beta = -2;
            unique_id id = {"who is who"};
            setbuf(stdout, 0);
            CHECK(cublasCreate_v2(&h) == 0);
            CHECK(cublasSgemm_v2(h, 1, -2, 3, 4, 5, &alpha, (void *)6, 7, (void *)8, 9, &beta, (void *)10, -11) == 0);
            CHECK(cublasSetMathMode(h, 5) == 12005);
            curandGenerateNormalDouble(h, 0, 77, 0.25, -3);
            curandGenerateLogNormal(h, 0, 78, 0.5, -4);
            CHECK(ncclCommInitRank(&c, 4, id, 3) == 0 && c);
            return 0;
        }""",
        CUVET_RECORD="full",
    )
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout == "12: 1 -2 3 4 5 1.5 0x6 7 0x8 9 -2 0xa -11\n12: 77 0.25 -3\n12: 78 0.5 -4\n12: 4 who is who 3\n"
    )
    gemm = done.trace.one("cublasSgemm")
    assert [gemm.args[i] for i in (1, 3, 4, 5, 7, 8, 9, 10, 12)] == [1, 3, 4, 5, 6, 7, 8, 9, 10]
    assert gemm.args[2] == 2**32 - 2  # an enumeration
    assert gemm.args[13] == 2**64 - 11
    assert done.trace.one("cublasSetMathMode").status == 12005
    assert done.trace.one("curandGenerateNormalDouble").args[2:] == (77, 0x3FD0000000000000, 0xC008000000000000)
    assert done.trace.one("curandGenerateLogNormal").args[2:] == (78, 0x3F000000, 0xC0800000)
    joined = done.trace.one("ncclCommInitRank")
    assert joined.args[1:] == (4, 0, 3) and joined.inputs[2].startswith(b"who is who\0")


def test_handles_live_from_creation_to_destruction(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, again;
            float one = 1;
            cublasCreate_v2(&h);
            cublasSscal_v2(h, 1, &one, 0, 1);
            cublasDestroy_v2(h);
            cublasSscal_v2(h, 1, &one, 0, 1);
            cublasCreate_v2(&again);
            CHECK(again == h);
            cublasSscal_v2(h, 1, &one, 0, 1);
            cublasSscal_v2(0, 1, &one, 0, 1);
            cublasSscal_v2(0x5555, 1, &one, 0, 1);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert names(done) == ["cublasCreate", "cublasDestroy", "cublasSscal", "cublasCreate", "cublasSscal"]
    created, destroyed, used, created_again, null = done.trace.calls
    (made,) = created.outputs
    assert (made.kind, made.generation) == (Kind.CUBLAS_HANDLE, 1)
    assert [(seen.alive, seen.generation) for seen in destroyed.objects + used.objects] == [(True, 1), (False, 1)]
    assert is_suspect(used) and not is_suspect(destroyed)
    assert created_again.outputs[0].generation == 2 and null.args[0] == 0
    assert all(len(done.trace.recording.stacks[call.stack].native) > 1 for call in done.trace.calls)


def test_what_fails_is_stored_and_makes_nothing(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h = 0x1234;
            answer_12(1);
            CHECK(cublasCreate_v2(&h) == 1 && h == 0x1234);
            answer_12(13);
            CHECK(cublasSscal_v2(h, 1, 0, 0, 1) == 13);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert [(call.status, bool(call.flags & CallFlag.FAILED)) for call in done.trace.calls] == [(1, True), (13, True)]
    assert not done.trace.calls[1].objects


def test_only_the_programs_own_calls_count(bench: Bench, fakes: Fakes) -> None:
    """Not what a library calls inside a call, nor what NVIDIA's own files call of one another; driver calls always do."""
    blas = fakes.library()
    solver = fakes.made_of(
        "int solver_works(uint64_t *handle) { return cublasCreate_v2(handle) + cublasSscal_v2(*handle, 1, 0, 0, 1); }",
        "libcusolver.so.11",
        str(blas),
    )
    own = fakes.made_of("int own_works(uint64_t *handle) { return cublasCreate_v2(handle); }", "libown.so", str(blas))
    done = run(
        bench,
        fakes,
        """
        int solver_works(uint64_t *handle), own_works(uint64_t *handle);
        static void inside(void) {
            uint64_t other, stream;
            CHECK(cublasCreate_v2(&other) == 0);
            CHECK(cuStreamCreate(&stream, 1) == 0);
        }
        int main(void) {
            uint64_t h;
            start();
            CHECK(solver_works(&h) == 0 && own_works(&h) == 0);
            inside_12 = inside;
            CHECK(cublasDestroy_v2(h) == 0);
            return 0;
        }""",
        blas,
        solver,
        own,
    )
    assert done.returncode == 0, done.stderr
    assert names(done) == ["cublasCreate", "cublasDestroy"]
    assert done.trace.named("cuStreamCreate")


def test_streams_and_workspaces_are_stored_when_they_change(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, one, two, memory;
            start();
            cublasCreate_v2(&h);
            cuStreamCreate(&one, 1), cuStreamCreate(&two, 1);
            cuMemAlloc_v2(&memory, 4096);
            for (int i = 0; i < 3; i++) {
                cublasSetStream_v2(h, one);                   // stored once
                cublasSetWorkspace_v2(h, memory, 4096);       // stored once
                cublasSscal_v2(h, 1, 0, 0, 1);
            }
            cublasSetStream_v2(h, two);                       // stored: another
            cublasSetWorkspace_v2(h, memory, 4096);           // stored: the last call gave it back
            cublasSscal_v2(h, 2, 0, 0, 1);
            cuStreamDestroy_v2(two);
            cublasSscal_v2(h, 3, 0, 0, 1);                    // suspect
            cuStreamCreate(&one, 1);
            CHECK(one == two);
            cublasSscal_v2(h, 4, 0, 0, 1);                    // suspect: another stream with its word
            cublasSetStream_v2(h, one);                       // stored: another life
            cublasSetWorkspace_v2(h, memory, 4096);
            cublasSscal_v2(h, 5, 0, 0, 1);
            cuMemFree_v2(memory);
            cublasSscal_v2(h, 6, 0, 0, 1);                    // suspect
            cublasSetStream_v2(h, 0);                         // gives the workspace back, too
            cublasSscal_v2(h, 7, 0, 0, 1);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert len(done.trace.named("cublasSetStream")) == 4
    assert len(done.trace.named("cublasSetWorkspace")) == 3
    assert [(call.args[1], is_suspect(call)) for call in done.trace.named("cublasSscal")] == [
        (n, True) for n in (3, 4, 6)
    ]


def test_where_everything_is_recorded_only_changes_of_a_workspace_are_marked(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, stream, memory;
            start();
            cublasCreate_v2(&h);
            cuStreamCreate(&stream, 1);
            cuMemAlloc_v2(&memory, 4096);
            for (int i = 0; i < 3; i++) cublasSetStream_v2(h, stream), cublasSetWorkspace_v2(h, memory, 4096);
            cublasSetStream_v2(h, 0);
            cublasSetWorkspace_v2(h, memory, 4096);           // the last call gave it back
            return 0;
        }""",
        CUVET_RECORD="full",
    )
    assert done.returncode == 0, done.stderr
    for name in ("cublasSetStream", "cublasSetWorkspace"):
        calls = done.trace.named(name)
        assert [bool(call.flags & CallFlag.LIFECYCLE) for call in calls] == [True, False, False, True], name


def test_a_stream_that_is_set_again_gives_the_workspace_back(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, stream, memory;
            start();
            cublasCreate_v2(&h);
            cuStreamCreate(&stream, 1);
            for (int n = 0; n < 2; n++) {
                cuMemAlloc_v2(&memory, 4096);
                for (int i = 0; i < 2; i++) {
                    cublasSetStream_v2(h, stream);
                    cublasSetWorkspace_v2(h, memory, 4096);
                }
                if (n == 1) cublasSetStream_v2(h, stream);    // it uses a workspace of its own from now on
                cuMemFree_v2(memory);
                cublasSscal_v2(h, n, 0, 0, 1);                // suspect the first time
            }
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert [(call.args[1], is_suspect(call)) for call in done.trace.named("cublasSscal")] == [(0, True)]


def test_what_was_found_at_a_place_holds_until_something_changes(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static uint64_t h, stream, memory;
        static void set(void) { cublasSetStream_v2(h, stream), cublasSetWorkspace_v2(h, memory, 4096); }
        static void scale(int n) { cublasSscal_v2(h, n, 0, 0, 1); }
        static void set_and_scale(int n) { set(), scale(n); }
        int main(void) {
            uint64_t one, two, one_more;
            start();
            cublasCreate_v2(&h);
            cuStreamCreate(&one, 1), cuStreamCreate(&two, 1), cuStreamCreate(&one_more, 1);
            cuMemAlloc_v2(&memory, 4096);
            stream = one;
            for (int n = 0; n < 3; n++) set_and_scale(n);
            stream = two;
            set_and_scale(3);
            set_and_scale(4);
            cuStreamDestroy_v2(two);
            scale(5);                                         // suspect
            stream = one;
            set_and_scale(6);
            set_and_scale(7);
            cublasSetStream_v2(h, one_more);                  // at another place
            set_and_scale(8);                                 // sets it back
            cuMemFree_v2(memory);
            scale(11);                                        // suspect
            cublasSetStream_v2(h, one);                       // suspect: the workspace is the handle's still
            scale(12);
            scale(13);
            cublasDestroy_v2(h);
            scale(14);                                        // suspect
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    set_to = [(call.args[1], is_suspect(call)) for call in done.trace.named("cublasSetStream")]
    one, two, one_more = (call.outputs[0].value for call in done.trace.named("cuStreamCreate"))
    assert set_to == [(one, False), (two, False), (one, True), (one_more, False), (one, False), (one, True)]
    assert [(call.args[1], is_suspect(call)) for call in done.trace.named("cublasSscal")] == [
        (n, True) for n in (5, 11, 14)
    ]


def test_what_was_found_at_a_place_holds_in_its_context(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static uint64_t h;
        static void scale(int n) { cublasSscal_v2(h, n, 0, 0, 1); }
        int main(void) {
            uint64_t own, other, third, in_other;
            start();
            own = context;
            cublasCreate_v2(&h);
            cuCtxCreate_v2(&third, 0, 0);
            cuCtxCreate_v2(&other, 0, 0);
            cublasCreate_v2(&in_other);
            cuCtxSetCurrent(own);
            for (int n = 0; n < 3; n++) scale(n);
            cuCtxSetCurrent(other);
            cublasSetMathMode(in_other, 1);
            scale(3);                                         // suspect
            scale(4);
            cuCtxSetCurrent(third);
            cublasSetMathMode(h, 2);                          // suspect: another one
            cuCtxSetCurrent(other);
            cublasSetMathMode(in_other, 3);
            scale(5);                                         // suspect again
            scale(6);
            cuCtxSetCurrent(own);
            scale(7);
            scale(8);
            cuCtxSetCurrent(third);
            scale(9);                                         // suspect
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert [call.args[1] for call in done.trace.named("cublasSscal") if is_suspect(call)] == [3, 5, 9]


def test_what_was_found_of_an_untold_descriptor_holds_once(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static uint64_t d;
        static void set(int which) { cublasLtMatmulDescSetAttribute(d, which, 0, 0); }
        int main(void) {
            start();
            for (int i = 0; i < 300; i++) {
                cublasLtMatmulDescCreate(&d, 0, 0);
                if (i < 299) cublasLtMatmulDescDestroy(d);
            }
            uint64_t h;
            cublasCreate_v2(&h);
            for (int i = 0; i < 3; i++) cublasSscal_v2(h, 1, 0, 0, 1), set(i);
            cublasLtMatmulDescDestroy(d);
            set(3);                                           // suspect
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert [call.args[1] for call in done.trace.named("cublasLtMatmulDescSetAttribute") if is_suspect(call)] == [3]


def test_a_descriptor_that_was_stored_is_ended_where_others_were_that_were_not(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static void end(uint64_t d) { cublasLtMatmulDescDestroy(d); }
        int main(void) {
            uint64_t first, stored, d;
            start();
            cublasLtMatmulDescCreate(&first, 0, 0), cublasLtMatmulDescCreate(&stored, 0, 0);
            for (int i = 0; i < 300; i++) cublasLtMatmulDescCreate(&d, 0, 0), end(d);
            end(stored);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    stored = done.trace.named("cublasLtMatmulDescCreate")[1].outputs[0].value
    destroyed = done.trace.named("cublasLtMatmulDescDestroy")
    assert len(destroyed) == 257 and destroyed[-1].args[0] == stored


def test_a_workspace_of_another_size_is_stored(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, memory;
            start();
            cublasCreate_v2(&h);
            cuMemAlloc_v2(&memory, 4096);
            for (int i = 0; i < 9; i++) cublasSetWorkspace_v2(h, memory, 1024 << i / 3);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert [call.args[2] for call in done.trace.named("cublasSetWorkspace")] == [1024, 2048, 4096]


def test_each_of_many_places_reaches_its_function(bench: Bench, fakes: Fakes) -> None:
    """More than a thread remembers."""
    done = run(
        bench,
        fakes,
        """
        static int worked;
        static void count(void) { worked++; }
        int main(void) {
            uint64_t h;
            start();
            cublasCreate_v2(&h);
            inside_12 = count;
            for (int i = 0; i < 4; i++) {"""
        + "cublasSscal_v2(h, i, 0, 0, 1), cublasSetStream_v2(h, 0);\n" * 200
        + """}
            CHECK(worked == 800);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert names(done) == ["cublasCreate", "cublasSetStream"]


def test_arguments_on_the_stack_are_looked_at(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static uint64_t light, desc, a, b, c, d, stream, workspace;
        static void multiply(uint64_t round) {
            CHECK(cublasLtMatmul(light, desc, 0, (void *)round, a, 0, b, 0, 0, c, 0, d, 0, workspace, 4096, stream) == 0);
        }
        int main(void) {
            start();
            cublasLtCreate(&light);
            uint64_t *made[] = {&desc, &a, &b, &c, &d};
            for (int i = 0; i < 5; i++) cublasLtMatmulDescCreate(made[i], 0, 0);
            cuStreamCreate(&stream, 1);
            cuMemAlloc_v2(&workspace, 4096);
            for (int i = 0; i < 3; i++) multiply(i);
            cublasLtMatmulDescDestroy(d);
            multiply(3);                                      // suspect
            d = c;
            multiply(4);
            cuMemFree_v2(workspace);
            multiply(5);                                      // suspect
            workspace = 0;
            cuStreamDestroy_v2(stream);
            multiply(6);                                      // suspect
            stream = 0;
            multiply(7);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert [(call.args[3], is_suspect(call)) for call in done.trace.named("cublasLtMatmul")] == [
        (round, True) for round in (3, 5, 6)
    ]


def test_descriptors_that_change_from_call_to_call_are_looked_at(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        static uint64_t h, plans[4], pack, workspaces[2];
        static void execute(int which) { cudnnBackendExecute(h, plans[which], pack); }
        static void normalize(uint64_t round, uint64_t x, uint64_t z, uint64_t workspace) {
            cudnnBatchNormalizationForwardTrainingEx(h, (int)round, 0, 0, 0, x, 0, z, 0, x, 0, x, 0, 0, .5, 0, 0, .25, 0, 0, 0,
                                                     workspace, 8, 0, 0);
        }
        int main(void) {
            start();
            cudnnCreate(&h);
            for (int i = 0; i < 3; i++) cudnnBackendCreateDescriptor(0, &plans[i]);
            plans[3] = 0x777;                                 // the library made it unseen
            for (int i = 0; i < 300; i++) cudnnBackendCreateDescriptor(1, &pack), i < 299 && cudnnBackendDestroyDescriptor(pack);
            for (int i = 0; i < 12; i++) execute(i % 4);
            cudnnBackendDestroyDescriptor(plans[1]);
            for (int i = 0; i < 4; i++) execute(i);           // suspect: 1
            cudnnBackendDestroyDescriptor(pack);
            execute(2);                                       // suspect
            uint64_t one, two;
            cudnnCreateTensorDescriptor(&one), cudnnCreateTensorDescriptor(&two);
            cuMemAlloc_v2(&workspaces[0], 64), cuMemAlloc_v2(&workspaces[1], 64);
            for (int i = 0; i < 8; i++) normalize(i, i % 2 ? one : two, i % 3 ? one : 0, i % 4 ? workspaces[i % 2] : 0);
            cuMemFree_v2(workspaces[1]);
            for (int i = 8; i < 10; i++) normalize(i, one, 0, workspaces[i % 2]);   // suspect: 9
            normalize(10, one, one, 0x1234);                  // nothing is known of it
            cudnnDestroyTensorDescriptor(two);
            normalize(11, one, two, 0), normalize(12, two, one, 0), normalize(13, one, 0, 0);   // suspect: 11, 12
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    execute = [(call.args[1:3], is_suspect(call)) for call in done.trace.named("cudnnBackendExecute")]
    plans = [call.outputs[0].value for call in done.trace.named("cudnnBackendCreateDescriptor")]
    assert [suspect for _, suspect in execute] == [True, True]
    assert [args[0] for args, _ in execute] == plans[1:3]
    normalize = done.trace.named("cudnnBatchNormalizationForwardTrainingEx")
    assert [(call.args[1], is_suspect(call)) for call in normalize] == [(9, True), (11, True), (12, True)]


def test_a_handle_in_another_context_is_told_once(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t h, other;
            start();
            cublasCreate_v2(&h);
            cublasSscal_v2(h, 1, 0, 0, 1);
            cuCtxCreate_v2(&other, 0, 0);
            for (int i = 2; i < 5; i++) cublasSscal_v2(h, i, 0, 0, 1);
            cuCtxSetCurrent(context);
            cublasSscal_v2(h, 5, 0, 0, 1);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    call = done.trace.one("cublasSscal")
    first, second = (call.outputs[0].value for call in done.trace.named("cuCtxCreate"))
    assert call.args[1] == 2 and is_suspect(call)
    assert (call.context, call.objects[0].context) == (second, first)


def test_of_descriptors_that_are_not_stored_what_fails_is(bench: Bench, fakes: Fakes) -> None:
    """What the library refuses to end lives on."""
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t d;
            for (int i = 0; i < 300; i++) {
                cublasLtMatmulDescCreate(&d, 0, 0);
                if (i < 299) cublasLtMatmulDescDestroy(d);
            }
            answer_12(7);
            cublasLtMatmulDescSetAttribute(d, 1, 0, 0);
            cublasLtMatmulDescDestroy(d);
            answer_12(0);
            cublasLtMatmulDescSetAttribute(d, 2, 0, 0);
            cublasLtMatmulDescDestroy(d);
            cublasLtMatmulDescSetAttribute(d, 3, 0, 0);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    used = done.trace.named("cublasLtMatmulDescSetAttribute")
    assert [(call.args[1], call.status, is_suspect(call)) for call in used] == [(1, 7, False), (3, 0, True)]
    assert [call.status for call in done.trace.named("cublasLtMatmulDescDestroy")[256:]] == [7]


def test_of_descriptors_the_first_of_each_place_are_stored(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t d;
            for (int i = 0; i < 400; i++) {
                cublasLtMatmulDescCreate(&d, 0, 0);
                cublasLtMatmulDescDestroy(d);
            }
            cublasLtMatmulDescSetAttribute(d, 1, 0, 0);
            cublasLtMatmulDescCreate(&d, 7, 0);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert len(done.trace.named("cublasLtMatmulDescDestroy")) == 256
    assert [call.args[1] for call in done.trace.named("cublasLtMatmulDescCreate")] == [0] * 256 + [7]
    used = done.trace.one("cublasLtMatmulDescSetAttribute")
    assert is_suspect(used)
    assert [(seen.known, seen.alive, seen.generation) for seen in used.objects] == [(True, False, 400)]


def test_descriptors_at_ever_other_addresses_take_no_more_memory(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """
        #include <stdio.h>
        static int pages(void) {
            int all, resident;
            FILE *file = fopen("/proc/self/statm", "r");
            fscanf(file, "%d %d", &all, &resident);
            fclose(file);
            return resident;
        }
        static uint64_t make(int count) {
            uint64_t d;
            for (int i = 0; i < count; i++) cudnnBackendCreateDescriptor(0, &d), cudnnBackendDestroyDescriptor(d);
            return d;
        }
        int main(void) {
            uint64_t kept, told, h;
            cudnnCreate(&h);
            cudnnBackendCreateDescriptor(0, &told);
            make(1000);
            cudnnBackendCreateDescriptor(0, &kept);
            make(20000);                                        // more than the first level holds
            int before = pages();
            uint64_t last = make(200000);
            printf("%d\\n", pages() - before);
            cudnnBackendExecute(h, kept, told);
            cudnnBackendDestroyDescriptor(told);
            cudnnBackendExecute(h, kept, told);                 // suspect
            cudnnBackendExecute(h, kept, last);                 // the same
            cudnnBackendDestroyDescriptor(kept);
            return 0;
        }""",
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64
    assert len([call for call in done.trace.named("cudnnBackendExecute") if is_suspect(call)]) == 2


def test_a_descriptor_is_told_from_one_of_the_same_address_that_was_stored(bench: Bench, fakes: Fakes) -> None:
    """However many others came between them, and whoever made room."""
    library = fakes.made_of(
        """
        static uint64_t last = 1 << 20;
        int cudnnCreate(uint64_t *handle) { return *handle = 16, 0; }
        int cudnnBackendCreateDescriptor(int type, uint64_t *handle) { return *handle = type ? type : (last += 16), 0; }
        int cudnnBackendDestroyDescriptor(uint64_t handle) { return 0; }
        int cudnnBackendExecute(uint64_t handle, uint64_t plan, uint64_t pack) { return 0; }
        """,
        "libcudnn.so.9",
    )
    done = run(
        bench,
        fakes,
        """
        static uint64_t made(int at, int count, int ends) {
            uint64_t d;
            for (int i = 0; i < count; i++) {
                cudnnBackendCreateDescriptor(at, &d);
                if (ends) cudnnBackendDestroyDescriptor(d);
            }
            return d;
        }
        int main(void) {
            uint64_t h, gone;
            cudnnCreate(&h);
            gone = made(64, 1, 1);                      // stored
            made(0, 1000, 1);
            made(64, 1, 1);                             // not stored
            made(0, 200000, 1);
            cudnnBackendExecute(h, made(0, 1, 0), made(64, 1, 0));
            cudnnBackendDestroyDescriptor(gone);
            cudnnBackendExecute(h, gone, gone);
            return 0;
        }""",
        library,
    )
    assert done.returncode == 0, done.stderr
    used = [seen for call in done.trace.named("cudnnBackendExecute") for seen in call.objects if seen.handle == 64]
    assert {(seen.alive, seen.generation) for seen in used} == {(False, 3)}


def test_what_a_stored_call_makes_is_followed_to_its_end(bench: Bench, fakes: Fakes) -> None:
    """Also where so many were made that they are not stored any more."""
    library = fakes.made_of(
        """
        static uint64_t last = 1 << 20;
        int cudnnCreateRNNDescriptor(uint64_t *descriptor) { return *descriptor = 64, 0; }
        int cudnnDestroyRNNDescriptor(uint64_t descriptor) { return 0; }
        int cudnnCreatePersistentRNNPlan(uint64_t d, int batch, int type, uint64_t *plan) { return *plan = last += 16, 0; }
        int cudnnDestroyPersistentRNNPlan(uint64_t plan) { return 0; }
        """,
        "libcudnn.so.9",
    )
    done = run(
        bench,
        fakes,
        """
        int main(void) {
            uint64_t descriptor, plan;
            cudnnCreateRNNDescriptor(&descriptor);
            for (int i = 0; i < 400; i++) {
                if (i == 399) cudnnDestroyRNNDescriptor(descriptor);
                cudnnCreatePersistentRNNPlan(descriptor, 1, 0, &plan);
                cudnnDestroyPersistentRNNPlan(plan);
            }
            return 0;
        }""",
        library,
    )
    assert done.returncode == 0, done.stderr
    made, ended = (done.trace.named(f"cudnn{verb}PersistentRNNPlan") for verb in ("Create", "Destroy"))
    assert is_suspect(made[-1]) and len(made) == len(ended) == 257
    assert [seen.handle for seen in ended[-1].objects] == [output.value for output in made[-1].outputs]


def test_all_is_stored_if_asked_for(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """int main(void) {
            uint64_t d;
            for (int i = 0; i < 300; i++) {
                cublasLtMatmulDescCreate(&d, 0, 0);
                cublasLtMatmulDescDestroy(d);
            }
            return 0;
        }""",
        CUVET_RECORD="full",
    )
    assert len(done.trace.calls) == 600 and not done.trace.recording.problems


def test_a_crash_inside_a_library_leaves_the_call(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        """static void inside(void) { *(volatile int *)16 = 0; }
        int main(void) {
            uint64_t h;
            cublasCreate_v2(&h);
            inside_12 = inside;
            cublasDestroy_v2(h);
            return 0;
        }""",
    )
    assert done.returncode == -signal.SIGSEGV
    assert [call.status for call in done.trace.calls] == [0, None]
    (fault,) = done.trace.recording.faults
    assert len(done.trace.recording.stacks[fault.stack].native) > 3


def test_nothing_is_recorded_if_nobody_asks(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        'int main(void) { uint64_t h; CHECK(cublasCreate_v2(&h) == 0 && h); printf("%lx", h); return 0; }',
        CUVET_TRACE="",
    )
    assert (done.returncode, done.stdout) == (0, "c00100")
    assert not done.traces
