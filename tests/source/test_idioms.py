"""What C++ is written with beyond its grammar hides nothing: in each idiom a leak is found, and none where the object ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import check_project, check_source

LEAK = "cudaStream_t s; CHECK(cudaStreamCreate(&s)); work(s);"
FUNCTIONS = {
    "nothing special": "int f(int n) { @ return n; }",
    "a macro before the type": "FOO_API cudaError_t f(int n) { @ return cudaSuccess; }",
    "a macro before a template's type": "template <typename T> FOO_HOST std::vector<T> f(T n) { @ return {}; }",
    'a macro behind extern "C"': 'extern "C" FOO_API int *f(int n) { @ return 0; }',
    "a macro and an attribute": "FOO_FUNCTION __forceinline__ cudaError_t f(int n) { @ return cudaSuccess; }",
    "a macro behind the type": "int FOO_CALL f(int n) { @ return n; }",
    "a macro behind the parameters": "int f(int n) FOO_NOEXCEPT { @ return n; }",
    "macros around a namespace": "FOO_NAMESPACE_BEGIN\nint f(int n) { @ return n; }\nFOO_NAMESPACE_END",
    "macros around a namespace, behind a directive": "#include <x.h>\n__BEGIN_NAMESPACE\n\nint f(int n) { @ return n; }\n__END_NAMESPACE",
    "a test with a title": 'TEST_CASE("does what it should", "[gpu]") { @ }',
    "a section of a test": 'TEST_CASE("x") { SECTION("with a (bracket)") { @ } }',
    "a test with names": "TYPED_TEST(Suite, name)\n{\n@\n}",
    "a macro in an expression behind a line of slashes": "int f(int n) { g(n);\n"
    + "/" * 100
    + "\nh(n +\nFOO_VALUE\n); @ return n; }",
    "a macro that is a statement": "int f(int n) { g();\n  FOO_TRACE\n  @ return n; }",
    "a macro without a semicolon": 'int f(int n) { @\n  FOO_TRACE("x")\n  return n; }',
    "a loop of a macro": "int f(int n) { FOR_EACH(i, n) { work(i); } @ return n; }",
    "a macro that is given statements": "int f(int n) {\n  SWITCH(x, T, constexpr int N = 4; k<T, N><<<1, 1>>>(n););\n  @ return n; }",
    "a macro that is given a block": "int f(int n) {\n  @\n  SWITCH(x, T, {\n    OTHER(y, U, { g<T, U>(n); });\n  });\n  return n; }",
    "a macro that is given a condition": "int f(int n) {\n  @\n  SWITCH(x, T,\n    if (n) { g<T>(n); } else { h<T>(n); });\n  return n; }",
    "a macro that is given a type": "int f(int n) {\n  @\n  MALLOC(p, unsigned int, n);\n  MALLOC(q, T *, n);\n  return n; }",
    "a macro that is given a return": "int f(int n) {\n  @\n  CHECK_OR(g(n), return false);\n  return n; }",
    "a macro with a stream behind it": 'int f(int n) { @ LOG(INFO) << "message " << n; return n; }',
    "#if 0 with a text that is no code": "int f(int n) {\n#if 0\n  it is ( not {\n#endif\n@ return n; }",
    "#ifdef among arguments": "int f(int n) {\n@ g(n,\n#ifdef X\n  1,\n#endif\n  2);\n return n; }",
    "#ifdef around else": "int f(int n) {\n@ if (n) { g(); }\n#ifdef X\n else { h(); }\n#endif\n return n; }",
    "a new pointer in a list": "int f(int n) { auto p = std::shared_ptr<void *>(new void *, [](void **q) { g(*q); }); @ return n; }",
    "an element in offsetof": "int f(int n) { size_t bytes = offsetof(T, list[n]); @ return n; }",
    "an object of a dependent type": "template <typename K> int f(int n) { dim3 c(size<0>(typename K::Shape{}), 1, 1); @ return n; }",
    "a launch with spaces between its brackets": "int f(int n) { k << <n, 1, 0, g >> > (n); @ return n; }",
    "a launch with one space between its brackets": "int f(int n) { k<<< n, 1 >> >(n); @ return n; }",
    "no launch, though it has such brackets": "int f(int n) { std::vector<std::vector<std::vector<int>> > x(n << 2); @ return n; }",
    "a kernel's name from a macro": "int f(int n) { KERNEL(k)<<<n, 1>>>(n); @ return n; }",
    "a macro behind a text": 'int f(int n) { g("a" FOO_PLACE); @ return n; }',
    "a macro behind a block": "int f(int n) { for (int i = 0; i < n; i++) { g(i); } FOO_CHECK\n @ return n; }",
    "a block that runs at the end": "int f(int n) { SCOPE_EXIT { g(n); }; @ return n; }",
    "a lambda": "void f(int n) { auto l = [&]() { @ }; l(); }",
    "a lambda that is an argument": "void f(int n) { run([=](int i) -> int { @ return i; }); }",
    "a lambda for a macro": 'void f(int n) { DISPATCH(x.type(), "f", ([&] { @ })); }',
    "a lambda of a module": 'PYBIND11_MODULE(name, m) { m.def("f", [](int n) { @ return n; }); }',
    "a lambda outside of functions": "static auto f = [](int n) mutable { @ return n; };",
    "a lambda in a lambda": "void f(int n) { run([=] { run([=] { @ }); }); }",
}
MEMBERS = (
    "\npublic:\n  Name() { CHECK(cudaStreamCreate(&stream_)); }\n  ~Name() { @ }\nprivate:\n  cudaStream_t stream_;\n"
)
CLASSES = {
    "nothing special": "class Name {@};",
    "a macro before the name": "class FOO_API Name {@};",
    "a macro before the name, and bases": "struct FOO_EXPORT Name final : Base<T>, private Other {@};",
    "a macro in small letters": "class foo_export Name : public Base {@};",
    "a macro with arguments": "class FOO_API(x) FOO_ALIGN(16) Name {@};",
    "an attribute and a macro": "class [[deprecated]] FOO_API Name {@};",
    "a macro before the class": "FOO_EXPORT struct Name : Base {@};",
    "a template behind a macro": "FOO_EXPORT template <class T>\nclass Name : public Base<T> {@};",
    "a macro in a template": "template <class T> class FOO_API Name : public Base<T> {@};",
    "macros around a namespace": "FOO_BEGIN  // of the library\nclass Name {@};\nFOO_END",
    "Qt": "class Name : public QObject {\n  Q_OBJECT\npublic slots:\n  void x();\nsignals:\n  void y();\n@};",
    "a macro against copies": "class Name {\n  DISALLOW_COPY_AND_ASSIGN(Name)\n@};",
    "properties": "class Name {\n  PROPERTY(int, x)\n  PROPERTY(int, y)\n@};",
    "macros behind functions": "class Name : Base {\n  void x() FOO_OVERRIDE;\n  void y() override FOO_FINAL {}\n@};",
    "locks": "class Name {\n  int x_ GUARDED_BY(mutex_) = 0;\n  void g() REQUIRES(mutex_);\n@};",
    "a macro before a variable's type": "class Name {\n  static FOO_CONSTEXPR int N = 4;\n@};",
}


def found(text: str, whole: bool = True) -> set[str]:
    """Names of rules. ``whole``: all of it is checked."""
    file = check_source(Path("example.cu"), f"#include <cuda_runtime.h>\n{text}\n".encode())
    assert not whole or file.not_checked == ()
    findings = (*file.findings, *check_project([file]))
    return {finding.name for finding in findings if finding.severity != "note"}


@pytest.mark.parametrize("idiom", FUNCTIONS)
def test_a_leak_of_a_function(idiom: str) -> None:
    assert found(FUNCTIONS[idiom].replace("@", LEAK)) == {"source-leak"}
    assert found(FUNCTIONS[idiom].replace("@", f"{LEAK} CHECK(cudaStreamDestroy(s));")) == set()


@pytest.mark.parametrize("idiom", CLASSES)
def test_a_leak_of_a_class(idiom: str) -> None:
    text = CLASSES[idiom].replace("@", MEMBERS)
    assert found(text.replace("@", "")) == {"source-member-leak"}
    assert found(text.replace("@", "CHECK(cudaStreamDestroy(stream_));")) == set()


def test_a_class_that_cannot_be_read_is_no_function_of_the_host() -> None:
    """Its functions may be those of the device."""
    text = """class odd_word Name {
public:
  Name() { CHECK(cudaMalloc(&numbers_, 4)); }
  __device__ int first() const { return numbers_[0]; }
  int *numbers_;
};"""
    file = check_source(Path("example.cu"), text.encode())
    assert [finding for finding in file.findings if finding.severity == "error"] == []


@pytest.mark.parametrize(
    "program",
    [
        "void f() { EXPECT_ANY_THROW({ cudaStream_t s; CHECK(cudaStreamCreate(&s)); fails(s); }); }",
        "void f() { cudaStream_t s; CHECK(cudaStreamCreate(&s)); CHECK_THROWS_AS(close(s), std::exception); CHECK(cudaStreamDestroy(s)); }",
    ],
)
def test_what_must_throw_need_not_have_happened(program: str) -> None:
    assert found(program) == set()


FAILURE = """void f() {
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    if (cudaStreamSynchronize(s) != cudaSuccess) {
        cudaStreamDestroy(s);
        @("it failed");
    }
    CHECK(cudaStreamDestroy(s));
}"""


@pytest.mark.parametrize(
    "name", ["exit", "mexErrMsgTxt", "throw_error", "our::fatal", "Abort", "FATAL_ERROR", "die_with_message"]
)
def test_a_function_that_sounds_as_if_it_never_returned(name: str) -> None:
    assert found(FAILURE.replace("@", name)) == set()


@pytest.mark.parametrize(
    "name", ["log_error", "throw_if_failed", "exit_on_error", "print", "CHECK_AND_EXIT", "TRY_NO_THROW", "NO_THROW"]
)
def test_a_function_that_returns(name: str) -> None:
    assert found(FAILURE.replace("@", name)) == {"stream-destroy-twice"}


def test_a_member_of_what_a_member_points_to_is_another() -> None:
    text = """class Name {
public:
    Name() { CHECK(cudaMallocHost(&described_, 64)); CHECK(cudaMalloc(&numbers_, 4)); }
    ~Name() { CHECK(cudaFree(numbers_)); CHECK(cudaFreeHost(described_)); }
    void describe() { described_->numbers = numbers_; }
private:
    Description *described_;
    float *numbers_;
};"""
    assert found(text) == set()
    assert found(f"struct Description {{ float *numbers; }};\n{text}") == set()
    assert found(text.replace("described_->numbers =", "described_ =")) >= {"source-member-aliased"}


MADE, USED, ENDED = (
    "cudaStream_t s; CHECK(cudaStreamCreate(&s));",
    "CHECK(cudaStreamSynchronize(s));",
    "CHECK(cudaStreamDestroy(s));",
)
CORRECT = {
    "what runs when the scope ends": "void f() { @ DEFER(cudaStreamDestroy(s)); USED }",
    "a block that runs when the scope ends": "void f() { @ ON_SCOPE_EXIT({ ENDED }); USED }",
    "a block of folly's that runs when the scope ends": "void f() { @ SCOPE_EXIT { ENDED }; USED }",
    "a block of folly's that runs if it fails": "void f() { @ SCOPE_FAIL { ENDED }; USED ENDED }",
    "a block that another thread runs": "void f() { @ POST_TASK(queue, { ENDED }); USED }",
    "statements for a guard": "void f() {\n  @\n  SCOPE_GUARD(leave, ENDED count());\n  USED\n}",
    "statements for the case of failure": "void f() {\n  @\n  ENSURE_OR(good, ENDED count());\n  ENDED\n}",
    "a block for the case of failure": "void f() { @ ON_CUDA_ERROR(call(), { ENDED count(); }); ENDED }",
    "a block between macros": "void f() { @\n  BOOST_SCOPE_EXIT(&s) { ENDED }\n  BOOST_SCOPE_EXIT_END\n  USED }",
    "a macro that leaves": "int f(int n) { @ if (n) { ENDED\n  RETURN_FAILURE\n } ENDED return 0; }",
    "a release behind if": "void f(int n) { @ if (s) SAFE_RELEASE(s); }",
    "a release that is the last statement": "void f() {\n  @\n  TYPE_SWITCH(t, T, use<T>(s); CHECK(cudaStreamDestroy(s)));\n}",
    "a status in the head of if": """bool f() {
        cudaStream_t s;
        if (auto e = cudaStreamCreate(&s); e != cudaSuccess) return false;
        ENDED return true; }""",
    "a macro that asks for failure": """bool f() {
        cudaStream_t s;
        IF_CUDA_FAILED(cudaStreamCreate(&s))
            return false;
        ENDED return true; }""",
    "arms of two versions": """void f() { @
#if V >= 12
        CHECK(cudaStreamDestroy(s))
#endif
#if V < 12
        CHECK(cudaStreamDestroy(s))
#endif
}""",
    "a function with the name of a variable around": """void done(cudaStream_t s) { ENDED }
void f() {
    auto done = [](cudaStream_t s) { count(s); };
    run([&] { @ done(s); ENDED });
}""",
}


@pytest.mark.parametrize("program", CORRECT)
def test_correct_programs(program: str) -> None:
    text = CORRECT[program].replace("@", MADE).replace("USED", USED).replace("ENDED", ENDED)
    assert found(text, whole=False) == set()


@pytest.mark.parametrize(
    "program",
    [
        f"void f() {{ run([self = shared_from_this(), &e = events[0]] {{ {LEAK} }}); }}",
        f"cudaStream_t make() {{ {MADE} return s; }} void f() {{ run([] {{ auto s = make(); work(s); }}); }}",
    ],
)
def test_what_a_lambda_loses(program: str) -> None:
    assert found(program) == {"source-leak"}


def test_a_class_that_is_final() -> None:
    assert found(f"class GPU final {{{MEMBERS.replace('Name', 'GPU').replace('@', '')}}};") == {"source-member-leak"}


def test_a_launch_that_is_written_with_spaces() -> None:
    launches = "void f(int n) { one << <n, 1, 0, g >> > (n); two << < n, 1>>> (n); three<<<n, 1>> >(n); }"
    file = check_source(Path("example.cu"), launches.encode())
    assert [finding.message for finding in file.findings] == ["nothing in f asks whether its 3 launches were accepted"]
