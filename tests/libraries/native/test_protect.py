"""CUVET_PROTECT: the second destruction of a library's handle is not made."""

from __future__ import annotations

from tests.libraries.native.conftest import Fakes
from tests.libraries.native.test_calls import run
from tests.native.conftest import Bench

NOT_INITIALIZED = 1
"""CUBLAS_STATUS_NOT_INITIALIZED"""
COUNTS = """
extern void (*inside_12)(void);
static int reached;
static void count(void) { reached++; }
"""


def test_what_is_destroyed_twice_reaches_the_library_once(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        f"""{COUNTS} int main(void) {{
            uint64_t h;
            inside_12 = count;
            CHECK(cublasCreate_v2(&h) == 0 && cublasDestroy_v2(h) == 0 && reached == 1);
            for (int i = 0; i < 3; i++) CHECK(cublasDestroy_v2(h) == {NOT_INITIALIZED} && reached == 1);
            return 0;
        }}""",
        CUVET_PROTECT="refuse",
    )
    assert done.returncode == 0, done.stderr
    refused = [call for call in done.trace.calls if call.refused]
    assert [call.status for call in refused] == [NOT_INITIALIZED] * 3
    assert {done.trace.name(call) for call in refused} == {"cublasDestroy"}


def test_a_value_that_is_issued_again_is_destroyed_again(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        f"""{COUNTS} int main(void) {{
            uint64_t h, again;
            inside_12 = count;
            for (int i = 0; i < 20; i++) {{
                CHECK(cublasCreate_v2(&h) == 0 && cublasDestroy_v2(h) == 0);
                CHECK(cublasCreate_v2(&again) == 0 && again == h && cublasDestroy_v2(again) == 0);
            }}
            CHECK(reached == 40);
            return 0;
        }}""",
        CUVET_PROTECT="refuse",
    )
    assert done.returncode == 0, done.stderr
    assert not any(call.refused for call in done.trace.calls)


def test_uses_lets_it_pass(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        f"""{COUNTS} int main(void) {{
            uint64_t h;
            inside_12 = count;
            CHECK(cublasCreate_v2(&h) == 0 && cublasDestroy_v2(h) == 0 && cublasDestroy_v2(h) == 0 && reached == 1);
            return 0;
        }}""",
        CUVET_PROTECT="uses",
    )
    assert done.returncode == 0, done.stderr
    assert [call.status for call in done.trace.calls if call.refused] == [0]


def test_what_the_library_calls_of_the_driver_is_protected_too(bench: Bench, fakes: Fakes) -> None:
    done = run(
        bench,
        fakes,
        f"""{COUNTS} static uint64_t stream;
        static uint32_t answered;
        static void works(void) {{ answered = cuStreamSynchronize(stream); }}
        int main(void) {{
            uint64_t h;
            float alpha = 1;
            start();
            inside_12 = works;
            CHECK(cuStreamCreate(&stream, 1) == 0 && cublasCreate_v2(&h) == 0);
            for (int i = 0; i < 3; i++) CHECK(cublasSscal_v2(h, 1, &alpha, 0, 1) == 0 && answered == 0);
            CHECK(cuStreamDestroy_v2(stream) == 0);
            for (int i = 0; i < 3; i++) CHECK(cublasSscal_v2(h, 1, &alpha, 0, 1) == 0 && answered == 400);
            return 0;
        }}""",
        CUVET_PROTECT="refuse",
    )
    assert done.returncode == 0, done.stderr
    assert sum(call.refused is not None for call in done.trace.calls) == 3
