"""Programs in pairs along the paths of a function: one that may be in order, and one like it that is not."""

from __future__ import annotations

import pytest

from .test_paths import check, names

PAIRS = {
    "a macro of another file that goes to a label": (
        """
        int f(size_t n) {
            int result = 0;
            float *p = nullptr, *q = nullptr;
            CHECK_GOTO(cudaMalloc(&p, n), result, end);
            CHECK_GOTO(cudaMalloc(&q, n), result, end);
            CHECK(cudaFree(q));
        end:
            CHECK(cudaFree(p));
            return result;
        }""",
        """
        int f(size_t n) {
            int result = 0;
            float *p = nullptr, *q = nullptr;
            CHECK_GOTO(cudaMalloc(&p, n), result, end);
            CHECK_GOTO(cudaMalloc(&q, n), result, end);
            CHECK(cudaFree(q));
            CHECK(cudaFree(p));
        end:
            return result;
        }""",
        "source-leak-on-failure",
    ),
    "a macro of the file that is given the label": (
        """
        #define OR_GO(call, to) if ((call) != cudaSuccess) goto to
        int f(size_t n) {
            float *p = nullptr, *q = nullptr;
            OR_GO(cudaMalloc(&p, n), first);
            OR_GO(cudaMalloc(&q, n), second);
            CHECK(cudaFree(q));
        second:
            CHECK(cudaFree(p));
        first:
            return 0;
        }""",
        """
        #define OR_GO(call, to) if ((call) != cudaSuccess) goto to
        int f(size_t n) {
            float *p = nullptr, *q = nullptr;
            OR_GO(cudaMalloc(&p, n), first);
            OR_GO(cudaMalloc(&q, n), first);
            CHECK(cudaFree(q));
        second:
            CHECK(cudaFree(p));
        first:
            return 0;
        }""",
        "source-leak-on-failure",
    ),
    "a handle without a value, and what may have given it one": (
        """
        int f(int n) {
            cudaEvent_t e;
            auto make = [&] { CHECK(cudaEventCreate(&e)); };
            make();
            if (n < 0) goto end;
            CHECK(cudaEventCreate(&e));
        end:
            CHECK(cudaEventDestroy(e));
            return n;
        }""",
        """
        int f(int n) {
            cudaEvent_t e;
            if (n < 0) goto end;
            CHECK(cudaEventCreate(&e));
        end:
            CHECK(cudaEventDestroy(e));
            return n;
        }""",
        "event-never-created",
    ),
    "without a value unless a loop gives it one": (
        """
        int f(int n) {
            cudaEvent_t e;
            for (int i = 0; i < n; i++) {
                if (i == n) goto end;
                CHECK(cudaEventCreate(&e));
                break;
            }
        end:
            CHECK(cudaEventDestroy(e));
            return n;
        }""",
        """
        int f(int n) {
            cudaEvent_t e;
            for (int i = 0; i < n; i++) work(i);
            if (n < 0) goto end;
            CHECK(cudaEventCreate(&e));
        end:
            CHECK(cudaEventDestroy(e));
            return n;
        }""",
        "event-never-created",
    ),
    "a break out of a switch, and a goto": (
        """
        int f(int n) {
            cudaEvent_t e;
            switch (n) {
            case 1: break;
            default: CHECK(cudaEventCreate(&e));
            }
            CHECK(cudaEventDestroy(e));
            return n;
        }""",
        """
        int f(int n) {
            cudaEvent_t e;
            switch (n) {
            case 1: goto end;
            default: break;
            }
            CHECK(cudaEventCreate(&e));
        end:
            CHECK(cudaEventDestroy(e));
            return n;
        }""",
        "event-never-created",
    ),
    "kept in an array that others see": (
        "void f(cudaStream_t *kept, int i) { cudaStream_t s; CHECK(cudaStreamCreate(&s)); kept[i] = s; }",
        "void f(cudaStream_t *kept, int i) { cudaStream_t s, t; CHECK(cudaStreamCreate(&s)); t = s; }",
        "source-leak",
    ),
    "a pointer into memory is kept": (
        "void f(Pool &pool) { float *p; CHECK(cudaMalloc(&p, 64)); float *q = p + 8; pool.insert(q); }",
        "void f(Pool &pool) { float *p; CHECK(cudaMalloc(&p, 64)); float *q = p + 8; pool.print(q); }",
        "source-leak",
    ),
    "another variable holds it when the first is set": (
        """
        void f() {
            float *p, *q;
            CHECK(cudaMalloc(&p, 64)); q = p; CHECK(cudaMalloc(&p, 64));
            CHECK(cudaFree(p)); CHECK(cudaFree(q));
        }""",
        """
        void f() {
            float *p, *q;
            CHECK(cudaMalloc(&p, 64)); CHECK(cudaMalloc(&p, 64)); q = p;
            CHECK(cudaFree(q));
        }""",
        "source-overwritten",
    ),
    "the process ends": (
        "void f(int n) { float *p; CHECK(cudaMalloc(&p, 64)); if (n > 3) exit(1); CHECK(cudaFree(p)); }",
        "void f(int n) { float *p; CHECK(cudaMalloc(&p, 64)); if (n > 3) return; CHECK(cudaFree(p)); }",
        "source-leak-on-return",
    ),
    "launched on a stream": (
        """
        void f() {
            cudaStream_t s; CHECK(cudaStreamCreate(&s)); k<<<1, 1, 0, s>>>(); CHECK(cudaGetLastError());
            CHECK(cudaStreamDestroy(s));
        }""",
        """
        void f() {
            cudaStream_t s; CHECK(cudaStreamCreate(&s)); CHECK(cudaStreamDestroy(s)); k<<<1, 1, 0, s>>>();
            CHECK(cudaGetLastError());
        }""",
        "stream-use-after-destroy",
    ),
    "launched with memory": (
        """
        void f() {
            float *p; CHECK(cudaMalloc(&p, 64)); k<<<1, 1>>>(p); CHECK(cudaGetLastError());
            CHECK(cudaFree(p));
        }""",
        """
        void f() {
            float *p; CHECK(cudaMalloc(&p, 64)); CHECK(cudaFree(p)); k<<<1, 1>>>(p);
            CHECK(cudaGetLastError());
        }""",
        "memory-freed-in-kernel",
    ),
    "the last error may be that of what should have made it": (
        """
        int f() {
            float *p; cudaMalloc(&p, 64); if (cudaGetLastError() != cudaSuccess) return 1;
            CHECK(cudaFree(p)); return 0;
        }""",
        """
        int f() {
            float *p; CHECK(cudaMalloc(&p, 64)); if (cudaGetLastError() != cudaSuccess) return 1;
            CHECK(cudaFree(p)); return 0;
        }""",
        "source-leak-on-failure",
    ),
    "a release that failed was meant as one": (
        "int f() { float *p; CHECK(cudaMalloc(&p, 64)); if (cudaFree(p) != cudaSuccess) return 1; return 0; }",
        """
        int f() {
            float *p; CHECK(cudaMalloc(&p, 64)); if (cudaMemset(p, 0, 64) != cudaSuccess) return 1;
            CHECK(cudaFree(p)); return 0;
        }""",
        "source-leak-on-failure",
    ),
    "freed by the heap after its registration": (
        """
        void f(size_t n) {
            char *p = (char *)malloc(n); CHECK(cudaHostRegister(p, n, 0)); CHECK(cudaHostUnregister(p));
            free(p);
        }""",
        "void f(size_t n) { char *p = (char *)malloc(n); CHECK(cudaHostRegister(p, n, 0)); free(p); }",
        "source-freed-while-registered",
    ),
    "unmapped after its registration": (
        "void f(char *p, size_t n) { CHECK(cudaHostRegister(p, n, 0)); CHECK(cudaHostUnregister(p)); munmap(p, n); }",
        "void f(char *p, size_t n) { CHECK(cudaHostRegister(p, n, 0)); munmap(p, n); CHECK(cudaHostUnregister(p)); }",
        "source-freed-while-registered",
    ),
    "ended before its context": (
        "void f(CUcontext c, CUdeviceptr p) { CHECK(cuMemFree(p)); CHECK(cuCtxDestroy(c)); }",
        "void f(CUcontext c, CUdeviceptr p) { CHECK(cuCtxDestroy(c)); CHECK(cuMemFree(p)); }",
        "source-destroy-after-context",
    ),
    "another context is current when it ends": (
        """
        void f(CUcontext c, CUcontext d, CUstream s) {
            CHECK(cuCtxDestroy(c)); CHECK(cuCtxSetCurrent(d)); CHECK(cuStreamDestroy(s));
        }""",
        """
        void f(CUcontext c, CUcontext d, CUstream s) {
            CHECK(cuCtxSetCurrent(d)); CHECK(cuCtxDestroy(c)); CHECK(cuStreamDestroy(s));
        }""",
        "source-destroy-after-context",
    ),
    "the runtime has a context of its own": (
        "void f(CUcontext c, cudaEvent_t e) { CHECK(cuCtxDestroy(c)); CHECK(cudaEventDestroy(e)); }",
        "void f(CUcontext c, CUevent e) { CHECK(cuCtxDestroy(c)); CHECK(cuEventDestroy(e)); }",
        "source-destroy-after-context",
    ),
    "a context that ends under a condition of its own": (
        "void f(CUcontext c, CUevent e, bool all) { if (all) CHECK(cuCtxDestroy(c)); CHECK(cuEventDestroy(e)); }",
        "void f(CUcontext c, CUevent e) { if (c) CHECK(cuCtxDestroy(c)); CHECK(cuEventDestroy(e)); }",
        "source-destroy-after-context",
    ),
    "what was made after the context's end": (
        """
        void f(CUcontext c) {
            CUevent e; CHECK(cuCtxDestroy(c)); CHECK(cuEventCreate(&e, 0)); CHECK(cuEventDestroy(e));
        }""",
        "void f(CUcontext c, CUevent e) { CHECK(cuCtxDestroy(c)); if (e) CHECK(cuEventDestroy(e)); }",
        "source-destroy-after-context",
    ),
    "one after the other in a loop": (
        """
        void f(CUcontext *c, CUevent *e, int n) {
            for (int i = 0; i < n; ++i) { CHECK(cuEventDestroy(e[i])); CHECK(cuCtxDestroy(c[i])); }
        }""",
        "void f(CUcontext *c, CUevent *e, int n) { CHECK(cuCtxDestroy(c[0])); CHECK(cuEventDestroy(e[0])); }",
        "source-destroy-after-context",
    ),
    "registered beside one another": (
        "void f(char *p, char *q, int n) { CHECK(cudaHostRegister(p, n, 0)); CHECK(cudaHostRegister(q, n, 0)); }",
        "void f(char *p, char *q, int n) { CHECK(cudaHostRegister(p, n, 0)); CHECK(cudaHostRegister(p, 2 * n, 0)); }",
        "host-memory-registered-twice",
    ),
    "on a device that is not known": (
        """
        void f(int d) {
            cudaStream_t s; cudaEvent_t e;
            CHECK(cudaStreamCreate(&s)); CHECK(cudaSetDevice(d)); CHECK(cudaEventCreate(&e));
            CHECK(cudaEventRecord(e, s));
            CHECK(cudaEventDestroy(e)); CHECK(cudaStreamDestroy(s));
        }""",
        """
        void f() {
            cudaStream_t s; cudaEvent_t e;
            CHECK(cudaSetDevice(0)); CHECK(cudaStreamCreate(&s)); CHECK(cudaSetDevice(1));
            CHECK(cudaEventCreate(&e)); CHECK(cudaEventRecord(e, s));
            CHECK(cudaEventDestroy(e)); CHECK(cudaStreamDestroy(s));
        }""",
        "event-other-context",
    ),
    "memory that a graph may make again": (
        """
        void f(cudaGraphExec_t g, cudaStream_t s, float *p) {
            CHECK(cudaFreeAsync(p, s)); CHECK(cudaGraphLaunch(g, s)); CHECK(cudaMemsetAsync(p, 0, 4, s));
        }""",
        """
        void f(cudaGraphExec_t g, cudaStream_t s, float *p) {
            CHECK(cudaGraphLaunch(g, s)); CHECK(cudaFreeAsync(p, s)); CHECK(cudaMemsetAsync(p, 0, 4, s));
        }""",
        "memory-use-after-free",
    ),
    "a loop that may take no turn": (
        """
        void f(cudaEvent_t e, int n) {
            CHECK(cudaEventDestroy(e));
            for (int i = 0; i < n; ++i) e = next(i);
            CHECK(cudaEventSynchronize(e));
        }""",
        """
        void f(cudaEvent_t e, int n) {
            CHECK(cudaEventDestroy(e));
            for (int i = 0; i < n; ++i) work(i);
            CHECK(cudaEventSynchronize(e));
        }""",
        "event-use-after-destroy",
    ),
    "two decisions within one another": (
        """
        void f(bool a, bool b, cudaEvent_t e) {
            if (a) CHECK(cudaEventDestroy(e)); if (b) CHECK(cudaEventSynchronize(e));
        }""",
        """
        void f(bool a, bool b, cudaEvent_t e) {
            if (a) { CHECK(cudaEventDestroy(e)); if (b) CHECK(cudaEventSynchronize(e)); }
        }""",
        "event-use-after-destroy",
    ),
    "a global that a function may make anew": (
        """
        cudaEvent_t e; void renew(); void f() {
            CHECK(cudaEventDestroy(e)); renew(); CHECK(cudaEventSynchronize(e));
        }""",
        """
        cudaEvent_t e; void renew(); void f() {
            CHECK(cudaEventDestroy(e)); CHECK(cudaEventSynchronize(e)); renew();
        }""",
        "event-use-after-destroy",
    ),
    "a branch of a loop may be taken once": (
        """
        void f(cudaEvent_t e, int n) {
            for (int i = 0; i < n; ++i) { if (last(i)) CHECK(cudaEventDestroy(e));
            else CHECK(cudaEventSynchronize(e)); }
        }""",
        """
        void f(cudaEvent_t e, int n) {
            for (int i = 0; i < n; ++i) { CHECK(cudaEventDestroy(e)); CHECK(cudaEventSynchronize(e)); }
        }""",
        "event-use-after-destroy",
    ),
    "the main function leaves it to the process, if it does not end it on every way": (
        """
        int main(int n, char **) {
            float *p; CHECK(cudaMalloc(&p, 64)); if (n > 3) return 1; CHECK(cudaFree(p)); return 0;
        }""",
        "int main(int n, char **) { float *p; CHECK(cudaMalloc(&p, 64)); if (n > 3) return 1; return 0; }",
        "exit-leak",
    ),
    "a reference is ended by somebody's function": (
        "void f(Pool &pool) { float *p; CHECK(cudaMalloc(&p, 64)); pool.destroy(p); }",
        "void f(Pool &pool) { float *p; CHECK(cudaMalloc(&p, 64)); pool.print(p); }",
        "source-leak",
    ),
    "a function whose status nobody takes made it": (
        """
        static int make(float **p) { return cudaMalloc(p, 64); }
        int f(int n) { float *p; int e = make(&p); if (e) return 1; CHECK(cudaFree(p)); return 0; }""",
        """
        static int make(float **p) { return cudaMalloc(p, 64); }
        int f(int n) { float *p; make(&p); if (n > 3 && other(n)) return 1; CHECK(cudaFree(p)); return 0; }""",
        "source-leak-on-return",
    ),
    "what was ended is passed on to be made anew": (
        "void f(cudaStream_t s) { CHECK(cudaStreamDestroy(s)); renew(s); CHECK(cudaStreamSynchronize(s)); }",
        "void f(cudaStream_t s, int n) { CHECK(cudaStreamDestroy(s)); renew(n); CHECK(cudaStreamSynchronize(s)); }",
        "stream-use-after-destroy",
    ),
}


@pytest.mark.parametrize(("valid", "invalid", "rule"), PAIRS.values(), ids=PAIRS)
def test_it_is_silent_about_the_one_and_not_about_the_other(valid: str, invalid: str, rule: str) -> None:
    assert names(check(valid)) == []
    assert rule in names(check(invalid))
