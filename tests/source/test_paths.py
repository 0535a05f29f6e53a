"""Which findings a path is believed for, and what is silent because it may be in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.findings import Finding
from cuvet.source import check_project, check_source
from cuvet.source.result import FileResult

SILENT = {
    "methods of other classes that have the name": """
        struct Pool {
            void *get() { void *p; CHECK(cudaMalloc(&p, 64)); return p; }
            void put(cudaStream_t s) { CHECK(cudaStreamDestroy(s)); }
        };
        void f(StreamPtr s) { CHECK(cudaStreamSynchronize(s.get())); }
        void g() { auto s = make_stream(); CHECK(cudaStreamSynchronize(s.get())); }
        void h(cudaStream_t s, Queue &queue) { queue.put(s); CHECK(cudaStreamSynchronize(s)); }
        void put(cudaStream_t);
        void k(cudaStream_t s) { put(s); CHECK(cudaStreamSynchronize(s)); }""",
    "names that a loop binds": """
        void f(std::map<int, cudaStream_t> streams) {
            for (int i = 0; i < 3; i++) { cudaStream_t s; CHECK(cudaStreamCreate(&s)); streams[i] = s; }
            for (auto &[i, s] : streams) CHECK(cudaStreamDestroy(s));
        }""",
    "a lambda ends it, or an object that is returned has it": """
        void f() {
            auto finish = [](cudaStream_t s) { CHECK(cudaStreamDestroy(s)); };
            cudaStream_t s;
            CHECK(cudaStreamCreate(&s));
            finish(s);
        }
        std::optional<cudaStream_t> make() { cudaStream_t s; CHECK(cudaStreamCreate(&s)); return s; }
        void g() { auto s = make(); CHECK(cudaStreamDestroy(*s)); }""",
    "one of two frees": """
        void f(bool async, cudaStream_t s) {
            void *p = nullptr;
            cudaError_t e = async ? cudaMallocAsync(&p, 16, s) : cudaMalloc(&p, 16);
            if (e != cudaSuccess) return;
            e = async ? cudaFreeAsync(p, s) : cudaFree(p);
            if (e != cudaSuccess) return;
        }
        cudaError_t g(bool async, cudaStream_t s, void *p) { return async ? cudaFreeAsync(p, s) : cudaFree(p); }""",
    "two conditions that may exclude each other": """
        void f(bool a, bool b, cudaStream_t s) {
            if (a) cudaStreamDestroy(s);
            if (b) cudaStreamSynchronize(s);
        }""",
    "ended by reference, and made anew or cleared": """
        static void renew(cudaStream_t &s) { cudaStreamDestroy(s); CHECK(cudaStreamCreate(&s)); }
        static void drop(cudaStream_t &s) { cudaStreamDestroy(s); s = nullptr; }
        void f() {
            cudaStream_t s;
            CHECK(cudaStreamCreate(&s));
            renew(s);
            CHECK(cudaStreamSynchronize(s));
            drop(s);
            CHECK(cudaStreamSynchronize(s));
        }""",
    "used by a function perhaps, or not at all": """
        static void perhaps(cudaStream_t s, bool there) { if (there) CHECK(cudaStreamSynchronize(s)); }
        static void other(cudaStream_t s) { s = mine(); CHECK(cudaStreamSynchronize(s)); }
        static void asks(void *p) { cudaPointerAttributes a; cudaPointerGetAttributes(&a, p); }
        void f(int n) {
            cudaStream_t s;
            void *p;
            CHECK(cudaStreamCreate(&s));
            CHECK(cudaStreamDestroy(s));
            perhaps(s, false);
            other(s);
            CHECK(cudaMalloc(&p, n));
            CHECK(cudaFree(p));
            asks(p);
        }""",
    "the same condition twice": """
        void f(bool keep, cudaStream_t s) {
            if (!keep) cudaStreamDestroy(s);
            if (keep) cudaStreamSynchronize(s);
        }""",
    "a parameter of unknown origin": """
        void f(cudaStream_t s, float *p) {
            cudaMemsetAsync(p, 0, 4, s);
            cudaFree(p);
            cudaStreamDestroy(s);
        }""",
    "set again in between": """
        void f(Pool &pool, cudaStream_t s) {
            cudaStreamDestroy(s);
            s = pool.next();
            cudaStreamSynchronize(s);
        }""",
    "changed by reference": """
        void f(float *p) {
            cudaFree(p);
            reallocate(p, 8);
            cudaMemset(p, 0, 4);
        }""",
    "a member that another function makes anew": """
        struct A {
            cudaStream_t s;
            void renew();
            void f() {
                cudaStreamDestroy(s);
                renew();
                cudaStreamSynchronize(s);
            }
        };""",
    "freed and retried until it fits": """
        void f(int n) {
            char *p;
            bool more = true;
            while (more) {
                CHECK(cudaMalloc(&p, n));
                if (fill(p)) { cudaFree(p); n *= 2; } else { more = false; }
            }
            cudaFree(p);
        }""",
    "elements of an array": """
        void f(int n) {
            cudaStream_t s[4];
            for (int i = 0; i < n; ++i) CHECK(cudaStreamCreate(&s[i]));
            for (int i = 0; i < n; ++i) cudaStreamDestroy(s[i]);
        }""",
    "made and destroyed in arms of one #if": """
        void f() {
        #ifdef TIMED
            cudaEvent_t e;
            CHECK(cudaEventCreate(&e));
        #endif
            work();
        #ifdef TIMED
            cudaEventDestroy(e);
        #endif
        }""",
    "a throw that the function catches": """
        void f(int n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            try {
                if (n > 3) throw std::runtime_error("n");
                use(p);
            } catch (const std::exception &) {
            }
            cudaFree(p);
        }""",
    "the status judged by a function": """
        int f(int n) {
            float *p;
            cudaError_t status = cudaMalloc(&p, n);
            if (!succeeded(status)) return 1;
            cudaFree(p);
            return 0;
        }""",
    "released by a macro": """
        #define CLEAN_UP() do { cudaFree(p); } while (0)
        void f(int n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            use(p);
            CLEAN_UP();
        }""",
    "a member that the caller can still reach": """
        void f(Images *images, int n) {
            CHECK(cudaMalloc(&images->first, n));
            if (n > 3) return;
            CHECK(cudaFree(images->first));
        }""",
    "a member that is made again": """
        struct A {
            cudaStream_t s;
            void make() { CHECK(cudaStreamCreate(&s)); }
            void drop() { CHECK(cudaStreamDestroy(s)); }
            void wait() { CHECK(cudaStreamSynchronize(s)); }
        };
        void f() {
            A a;
            a.make();
            a.drop();
            a.make();
            a.wait();
            a.drop();
        }""",
    "freed in one case alone, and reachable by its name": """
        float *p;
        void f(int n) {
            CHECK(cudaMalloc(&p, n));
            if (n > 3) {
                CHECK(cudaFree(p));
                return;
            }
        }""",
    "the whole that holds it is set, or given away": """
        void f(A a, A b) {
            CHECK(cudaStreamDestroy(a.s));
            a = other();
            CHECK(cudaStreamSynchronize(a.s));
            CHECK(cudaStreamDestroy(b.s));
            renew(b);
            CHECK(cudaStreamSynchronize(b.s));
        }""",
    "a function whose name does not say that it uses the stream": """
        void f(Log &log, cudaStream_t s) {
            CHECK(cudaStreamDestroy(s));
            log.note("gone", s);
        }""",
}
FOUND = {
    "stream-use-after-destroy": """
        void f(int n, cudaStream_t s) {
            if (n == 0) cudaStreamDestroy(s);
            cudaStreamSynchronize(s);
        }""",
    "stream-destroy-twice": """
        void f(cudaStream_t s, bool quick) {
            if (quick) { cudaStreamDestroy(s); goto done; }
            cudaStreamSynchronize(s);
        done:
            cudaStreamDestroy(s);
        }""",
    "memory-free-twice": """
        void release(float *p) { cudaFree(p); }
        void f(int n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            release(p);
            cudaFree(p);
        }""",
    "event-destroy-twice": """
        void f(cudaEvent_t e, int n) {
            for (int i = 0; i < n; ++i) {
                cudaEventSynchronize(e);
                cudaEventDestroy(e);
            }
        }""",
    "memory-free-wrong-function": """
        void f(int n) {
            float *p;
            CHECK(cudaMallocHost(&p, n));
            cudaFree(p);
        }""",
    "event-other-context": """
        void f(cudaEvent_t e) {
            cudaStream_t s;
            cudaSetDevice(0);
            CHECK(cudaStreamCreate(&s));
            cudaSetDevice(1);
            CHECK(cudaEventCreate(&e));
            cudaEventRecord(e, s);
            cudaEventDestroy(e);
            cudaStreamDestroy(s);
        }""",
    "device-use-after-reset": """
        void f(int n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            cudaDeviceReset();
            cudaFree(p);
        }""",
    "host-memory-registered-twice": """
        void f(char *p, int n) {
            cudaHostRegister(p, n, 0);
            cudaHostRegister(p, n, 0);
            cudaHostUnregister(p);
        }""",
}
HABITS = ("source-status-dropped", "source-launch-unchecked", "source-status-unread")


def check(text: str, name: str = "example.cu") -> FileResult:
    return check_source(Path(name), text.encode())


def names(*results: FileResult) -> list[str]:
    found = [*(finding for result in results for finding in result.findings), *check_project(results)]
    return [finding.name for finding in found if finding.name not in HABITS]


def findings(text: str) -> list[Finding]:
    return [finding for finding in check(text).findings if finding.name not in HABITS]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_what_may_be_in_order_is_silent(text: str) -> None:
    assert names(check(text)) == []


def test_a_function_uses_what_another_ended() -> None:
    (found,) = findings("""
        static void drop(cudaStream_t &s) { CHECK(cudaStreamDestroy(s)); }
        static void wait(int n, cudaStream_t s) { CHECK(cudaStreamSynchronize(s)); }
        void f() {
            cudaStream_t s;
            CHECK(cudaStreamCreate(&s));
            drop(s);
            wait(1, s);
        }""")
    assert (found.name, found.api) == ("stream-use-after-destroy", "wait")
    frame = found.site.frames[0]
    assert (frame.line, frame.column, frame.end_column) == (8, 21, 22)


@pytest.mark.parametrize("pool", ["Pool *pool", "Pool &pool", "std::shared_ptr<Pool> pool"])
def test_a_method_of_an_object_of_a_class_of_the_file_is_known(pool: str) -> None:
    call = "pool.put(s)" if "&" in pool else "pool->put(s)"
    text = f"""
        struct Pool {{ void put(cudaStream_t s) {{ CHECK(cudaStreamDestroy(s)); }} }};
        void f({pool}, cudaStream_t s) {{ {call}; CHECK(cudaStreamSynchronize(s)); }}"""
    assert names(check(text)) == ["stream-use-after-destroy"]


def test_what_python_calls_later_may_end_what_it_is_given() -> None:
    text = """
from contextlib import ExitStack
from cuda.bindings import driver as cu
def f():
    with ExitStack() as stack:
        error, event = cu.cuEventCreate(0)
        assert not error
        {} (cu.cuEventDestroy, event)
"""
    assert names(check(text.format("stack.callback"), "example.py")) == []
    assert names(check(text.format("print"), "example.py")) == []
    assert names(check(text.replace("cu.cuEventDestroy, ", "").format("print"), "example.py")) == ["source-leak"]


@pytest.mark.parametrize(("rule", "text"), FOUND.items(), ids=FOUND)
def test_what_one_decision_is_enough_for_is_found(rule: str, text: str) -> None:
    assert rule in names(check(text))


SAID = [
    (
        "a copy has the name of the first",
        """
        void f(int n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            float *q = p;
            CHECK(cudaFree(q));
            CHECK(cudaMemset(p, 0, 4));
        }""",
        "set in device memory `p`, which was freed before this call",
        ["`p` is made here", "`p` is freed here", "cudaMemset is called with it here"],
    ),
    (
        "what is lost by another value",
        """
        void f(int n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            p = nullptr;
        }""",
        "device memory `p` allocated here is lost when `p` gets another value in line 5",
        ["`p` is made here", "`p` is lost here"],
    ),
    (
        "a variable that is declared anew is another",
        """
        void f(int n) {
            for (int i = 0; i < n; ++i) {
                float *p = nullptr;
                CHECK(cudaMalloc(&p, n));
                use(p);
            }
        }""",
        "device memory `p` allocated here is lost when the function ends in line 8",
        ["`p` is made here", "`i < n` is false", "`p` is lost here"],
    ),
    (
        "a name of the file, freed on every other way out",
        """
        float *p;
        void f(int n) {
            CHECK(cudaMalloc(&p, n));
            if (n > 3) return;
            CHECK(cudaFree(p));
        }""",
        "device memory `p` allocated here is lost when the function returns in line 5",
        ["`p` is made here", "`n > 3` is true", "`p` is lost here"],
    ),
    (
        "several on one way out: memory",
        """
        void f(int n) {
            float *p, *q;
            CHECK(cudaMalloc(&p, n));
            CHECK(cudaMalloc(&q, n));
            if (n > 3) return;
            CHECK(cudaFree(p));
            CHECK(cudaFree(q));
        }""",
        "device memory `p` (and `q`) allocated here is lost when the function returns in line 6",
        ["`p` is made here", "`n > 3` is true", "`p` is lost here"],
    ),
    (
        "several on one way out: streams",
        """
        void f(int n) {
            cudaStream_t s, t;
            CHECK(cudaStreamCreate(&s));
            CHECK(cudaStreamCreate(&t));
            if (n > 3) return;
            CHECK(cudaStreamDestroy(s));
            CHECK(cudaStreamDestroy(t));
        }""",
        "stream `s` (and `t`) made here is lost when the function returns in line 6",
        ["`s` is made here", "`n > 3` is true", "`s` is lost here"],
    ),
    (
        "a function of somebody that uses the stream by its name",
        """
        void f(float *p, cudaStream_t s) {
            CHECK(cudaStreamDestroy(s));
            launchKernel(p, s);
        }""",
        "stream `s` was destroyed before this call",
        ["`s` is destroyed here", "launchKernel is called with it here"],
    ),
    (
        "pinned memory given to the host's heap",
        """
        void f(size_t n) {
            float *p;
            CHECK(cudaMallocHost(&p, n));
            free(p);
        }""",
        "host memory `p` is pinned: it is for cudaFreeHost",
        ["`p` is made here", "free is called with it here"],
    ),
    (
        "device memory given to the host's heap",
        """
        void f(size_t n) {
            float *p;
            CHECK(cudaMalloc(&p, n));
            delete[] p;
        }""",
        "device memory `p` is for cudaFree, and not of the host's heap",
        ["`p` is made here", "delete is called with it here"],
    ),
    (
        "the reset of a device",
        """
        void f() {
            cudaStream_t s;
            CHECK(cudaSetDevice(1));
            CHECK(cudaStreamCreate(&s));
            CHECK(cudaDeviceReset());
            CHECK(cudaStreamSynchronize(s));
        }""",
        "stream `s` is used, but its device was reset before this call",
        ["`s` is made here", "the context of device 1 is reset here", "cudaStreamSynchronize is called with it here"],
    ),
    (
        "the reset of a device that is not known",
        """
        void f(int device) {
            cudaStream_t s;
            CHECK(cudaSetDevice(device));
            CHECK(cudaStreamCreate(&s));
            CHECK(cudaDeviceReset());
            CHECK(cudaStreamSynchronize(s));
        }""",
        "stream `s` is used, but its device was reset before this call",
        ["`s` is made here", "the device's context is reset here", "cudaStreamSynchronize is called with it here"],
    ),
]


@pytest.mark.parametrize(("text", "message", "steps"), [each[1:] for each in SAID], ids=[each[0] for each in SAID])
def test_what_is_said_of_a_path(text: str, message: str, steps: list[str]) -> None:
    (finding,) = findings(text)
    assert finding.message == message
    assert [step.text for step in finding.path] == steps


def test_a_long_condition_is_cut() -> None:
    """At 60 characters."""
    for length, shown in ((57, f"`{'x' * 57}()` is true"), (58, f"`{'x' * 57}...` is true")):
        (finding,) = findings(f"""
            void f(float *p) {{
                if ({"x" * length}()) {{
                    cudaFree(p);
                    cudaMemset(p, 0, 4);
                }}
            }}""")
        assert finding.path[0].text == shown


@pytest.mark.parametrize(
    "name", ["cudaMalloc", "cudaStreamCreate", "cudaFree", "cudaSetDevice", "free", "munmap", "launch"]
)
def test_calls_without_their_arguments_are_read(name: str) -> None:
    result = check(f"void f(cudaStream_t s) {{ {name}(); cudaStreamDestroy(s); cudaStreamSynchronize(s); }}")
    assert result.not_checked == ()
    assert "stream-use-after-destroy" in names(result)


def test_what_follows_a_loop_is_looked_at_though_no_path_takes_all_the_turns_that_end_it() -> None:
    buffers = ("one", "two", "three", "four", "five", "six")
    (finding,) = findings(f"""
        void f(size_t n) {{
            float *{" = nullptr, *".join(buffers)} = nullptr;
            cudaStream_t s;
            CHECK(cudaStreamCreate(&s));
            while (six == nullptr) {{
                if (busy(n)) CHECK(cudaStreamSynchronize(s));
                {" ".join(f"else if ({each} == nullptr) CHECK(cudaMalloc(&{each}, n));" for each in buffers)}
            }}
            CHECK(cudaStreamDestroy(s));
            CHECK(cudaStreamSynchronize(s));
        }}""")
    assert finding.name == "stream-use-after-destroy"


def test_a_conditional_without_its_first_arm_is_read() -> None:
    text = """
        void f(cudaStream_t given) {
            cudaStream_t made;
            CHECK(cudaStreamCreate(&made));
            cudaStream_t used = given ?: made;
            CHECK(cudaStreamSynchronize(used));
            CHECK(cudaStreamDestroy(made));
            CHECK(cudaStreamDestroy(made));
        }"""
    assert names(check(text)) == ["stream-destroy-twice"]
    assert check(text).not_checked == ()


def test_a_finding_tells_how_it_is_reached() -> None:
    (finding,) = findings(FOUND["stream-use-after-destroy"])
    frame = finding.site.frames[0]
    assert (frame.line, frame.column, frame.end_column, frame.function) == (4, 35, 36, "f")
    assert [(step.frame.line, step.text) for step in finding.path] == [
        (3, "`n == 0` is true"),
        (3, "`s` is destroyed here"),
        (4, "cudaStreamSynchronize is called with it here"),
    ]
    assert finding.message == "stream `s` was destroyed before this call"


def test_a_finding_tells_what_would_have_changed_the_variable() -> None:
    (finding,) = findings("""
        void f(float *p, bool keep, size_t n) {
            cudaFree(p);
            if (keep) n = 0; else cudaMalloc(&p, n);
            cudaFree(p);
        }""")
    assert [(step.frame.line, step.text) for step in finding.path] == [
        (3, "`p` is freed here"),
        (4, "`keep` is true"),
        (5, "cudaFree is called with it here"),
    ]


def test_a_decision_that_is_known_from_before_is_no_second_one() -> None:
    (finding,) = findings("""
        void f(bool stop, cudaStream_t s) {
            if (stop) cudaStreamDestroy(s);
            if (stop) cudaStreamSynchronize(s);
        }""")
    assert finding.name == "stream-use-after-destroy"


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("#if A && B", "#if A", True),
        ("#if A", "#if A || B", True),
        ("#if A && B", "#if !A", False),
        ("#ifdef A", "#ifndef A", False),
        ("#if A || B\n#else", "#if A", False),
    ],
)
def test_what_one_part_of_the_build_says_of_another(first: str, second: str, together: bool) -> None:
    text = f"""
        void f(cudaStream_t s) {{
{first}
            cudaStreamDestroy(s);
#endif
{second}
            cudaStreamSynchronize(s);
#endif
        }}"""
    assert [finding.name for finding in findings(text)] == ["stream-use-after-destroy"] * together


def test_what_ended_with_another_object_tells_how_that_ended() -> None:
    (finding,) = findings("""
        void f(const char *path, CUstream s) {
            CUmodule module;
            CUfunction kernel;
            cuModuleLoad(&module, path);
            cuModuleGetFunction(&kernel, module, "kernel");
            cuModuleUnload(module);
            cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, s, 0, 0);
        }""")
    assert finding.name == "function-use-after-unload"
    assert [step.text for step in finding.path] == [
        "`kernel` is made here",
        "module `module` is unloaded here",
        "cuLaunchKernel is called with it here",
    ]


def test_an_object_of_another_kind_has_its_name() -> None:
    (finding,) = findings("""
        void f(void) {
            cudaStream_t s;
            cudaStreamCreate(&s);
            cudaEventDestroy((cudaEvent_t)s);
        }""")
    assert (finding.name, finding.message) == ("event-never-created", "this is stream `s`, not an event")


def test_what_cuda_refuses_changes_nothing_on_any_path() -> None:
    (finding,) = findings("""
        void f(size_t n, bool quick) {
            float *p;
            cudaMallocHost(&p, n);
            cudaHostRegister(p, n, 0);
            if (quick) {
                cudaFreeHost(p);
                return;
            }
            cudaFreeHost(p);
        }""")
    assert finding.name == "host-memory-register-pinned"


def test_a_class_is_put_together_from_header_and_source() -> None:
    header = check("struct A { A(); A(const A &) = delete; ~A(); float *p; cudaStream_t s; };", "a.h")
    source = check(
        "A::A() { CHECK(cudaMalloc(&p, 1)); CHECK(cudaStreamCreate(&s)); }\nA::~A() { cudaStreamDestroy(s); }", "a.cu"
    )
    assert names(header, source) == ["source-member-leak"]
    assert names(source) == []


def test_what_could_not_be_read_is_named() -> None:
    result = check("void f(float *p) {\n  cudaFree(p;\n  if (p) {{ cudaFree(p) }\n}\n")
    assert result.not_checked
    assert result.findings == () or all(finding.name in HABITS for finding in result.findings)


@pytest.mark.parametrize(
    "text",
    [
        b"void f() { cudaFree(p); " + b"(" * 100_000,
        b"void f() { " + b"{" * 50_000 + b"cudaFree(p);" + b"}" * 50_000 + b"}",
        b"void f() { cudaFree(" + b"-" * 100_000 + b"p); }",
        b"void f() { cudaFree(p); } //" + b"x" * 10_000_000,
        b"void f(float *p) { cudaFree(p); \xff\xfe\x00 cudaFree(p); }",
        b"cudaMalloc(" * 5_000,
        b"void f() { again: goto again; cudaFree(p); }",
    ],
    ids=["brackets", "blocks", "signs", "a long line", "no UTF-8", "nothing but calls", "a goto to itself"],
)
def test_hostile_text_neither_crashes_nor_hangs(text: bytes) -> None:
    check_source(Path("hostile.cu"), text)


def test_a_file_without_cuda_is_not_read() -> None:
    assert check("int main() { return strlen(name); }").stats.get("functions", 0) == 0


@pytest.mark.parametrize(
    ("path", "found"),
    [("src/scale-cuda/main.cu", 1), ("src/scale-hip/main.cu", 0), ("hip/scale.cu", 0), ("common/cuda_hip/scale.cu", 1)],
)
def test_launches_in_a_folder_of_hip_are_not_cudas(path: str, found: int) -> None:
    text = b"void scale(float *values, int n) { multiply<<<n, 256>>>(values); }"
    assert [each.name for each in check_source(Path(path), text).findings] == ["source-launch-unchecked"] * found
