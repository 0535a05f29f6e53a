"""What is known of functions that a file calls and does not define: from other files, from their names, from their other callers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import check_project, check_source, link

CREATES = """
    #pragma once
    namespace pool {
    inline cudaStream_t make(int priority) {
        cudaStream_t stream;
        CHECK(cudaStreamCreateWithPriority(&stream, 0, priority));
        return stream;
    }
    inline void make_into(cudaStream_t *stream) { CHECK(cudaStreamCreate(stream)); }
    inline void release(cudaStream_t stream) { CHECK(cudaStreamDestroy(stream)); }
    }"""

FOUND = {
    "a wrapper returns what it made": (
        {"pool.h": CREATES, "use.cu": "void f(float *p) { auto s = pool::make(1); cudaMemsetAsync(p, 0, 4, s); }"},
        ["use.cu source-leak"],
    ),
    "a wrapper makes into its argument": (
        {"pool.h": CREATES, "use.cu": "void f() { cudaStream_t s; pool::make_into(&s); cudaStreamSynchronize(s); }"},
        ["use.cu source-leak"],
    ),
    "a wrapper ends what is used afterwards": (
        {
            "pool.h": CREATES,
            "use.cu": """void f() {
                cudaStream_t s;
                CHECK(cudaStreamCreate(&s));
                pool::release(s);
                CHECK(cudaStreamSynchronize(s));
            }""",
        },
        ["use.cu stream-use-after-destroy"],
    ),
    "a member that a wrapper makes": (
        {
            "pool.h": CREATES,
            "worker.h": "struct Worker { Worker(); ~Worker(); Worker(const Worker &) = delete; cudaStream_t stream; float *buffer; };",
            "worker.cu": """
                Worker::Worker() { pool::make_into(&stream); CHECK(cudaMalloc(&buffer, 4)); }
                Worker::~Worker() { cudaFree(buffer); }""",
        },
        ["worker.cu source-member-leak"],
    ),
    "a wrapper of a wrapper that is named after an entry point": (
        {
            "memory.h": "inline void get(float **p, int n) { my_cudaMalloc((void **)p, n); use_cuda<<<1, 1>>>(); }",
            "use.cu": "void f() { float *p; get(&p, 4); CHECK(cudaMemset(p, 0, 4)); }",
        },
        ["use.cu source-leak"],
    ),
    "a wrapper of a wrapper in one file": (
        {
            "use.cu": """
                static int get(Context *context, float **p, int n) { return check(context, cudaMalloc(p, n)); }
                static bool twice(Context *context, float **p) { return get(context, p, 4) == 0; }
                void f(Context *context) { float *p; if (!twice(context, &p)) return; kernel<<<1, 1>>>(p); }"""
        },
        ["use.cu source-leak"],
    ),
    "a function that is named after an entry point": (
        {
            "use.cu": """void f(Context *state) {
                float *p, *q;
                CHECK(my_cudaMalloc(state, (void **)&p, 4));
                CHECK(my_cudaMalloc(state, (void **)&q, 4));
                kernel<<<1, 1>>>(p, q);
                CHECK(my_cudaFree(state, p));
            }"""
        },
        ["use.cu source-leak"],
    ),
    "a function that is named as a helper for an entry point": (
        {
            "use.cu": """void f(int n) {
                float *p, *q;
                cudaMallocHelper((void **)&p, n), cudaMallocHelper((void **)&q, n);
                kernel<<<1, 1>>>(p, q);
                cudaFreeHelper(p);
            }"""
        },
        ["use.cu source-leak"],
    ),
    "a function that creates a handle": (
        {
            "use.cu": """void f(Image image) {
                cudaTextureObject_t texture;
                createTexture<float>(&texture, image);
                kernel<<<1, 1>>>(texture);
            }"""
        },
        ["use.cu source-leak"],
    ),
    "a function after which another caller frees": (
        {
            "use.cu": """
                void f() { float *p; allocate(p, 4); kernel<<<1, 1>>>(p); CHECK(cudaFree(p)); }
                void g() { float *q; allocate(q, 4); kernel<<<1, 1>>>(q); }"""
        },
        ["use.cu source-leak"],
    ),
    "the definition names its namespace, and frees what its caller frees": (
        {
            "sparse.cu": """
                void lib::impl::gather(float *data, int n) {
                    kernel<<<1, n>>>(data);
                    if (data) CHECK(cudaFree(data));
                }""",
            "use.cu": """
                void f(int n) {
                    float *data = lib::copy_to_device(n);
                    ::lib::impl::gather(data, n);
                    CHECK(cudaFree(data));
                }""",
        },
        ["use.cu memory-free-twice"],
    ),
    "a function that is named as if it created a member": (
        {
            "layer.hpp": "class Layer { ~Layer(); Layer(const Layer &); cudnnHandle_t dnn; cudnnFilterDescriptor_t filter; };",
            "layer.cpp": """
                void Layer::setup() { CHECK(cudnnCreate(&dnn)); dnn::createFilter<float>(&filter, 3); }
                Layer::~Layer() { CHECK(cudnnDestroy(dnn)); }""",
        },
        ["layer.cpp source-member-leak"],
    ),
}

SILENT = {
    "the definition names its namespace, and the caller keeps the memory": {
        "sparse.cu": "void lib::impl::gather(float *data, int n) { kernel<<<1, n>>>(data); if (data) CHECK(cudaFree(data)); }",
        "use.cu": "void f(int n) { float *data = lib::copy_to_device(n); ::lib::impl::gather(data, n); }",
    },
    "the call names another namespace": {
        "sparse.cu": "void lib::impl::gather(float *data, int n) { kernel<<<1, n>>>(data); CHECK(cudaFree(data)); }",
        "use.cu": """
            void f(int n) {
                float *data = lib::copy_to_device(n);
                lib::gather(data, n);
                CHECK(cudaFree(data));
            }""",
    },
    "a function of an object, whose definition names its class": {
        "pool.cu": "void Pool::give(float *data, int n) { kernel<<<1, n>>>(data); CHECK(cudaFree(data)); }",
        "use.cu": """
            void f(int n, Other &other) {
                float *data = lib::copy_to_device(n);
                other.give(data, n);
                give(data, n);
                CHECK(cudaFree(data));
            }""",
    },
    "a function that is named as if it created a member, which is destroyed": {
        "layer.hpp": "class Layer { ~Layer(); Layer(const Layer &); cudnnHandle_t dnn; cudnnFilterDescriptor_t filter; };",
        "layer.cpp": """
            void Layer::setup() { CHECK(cudnnCreate(&dnn)); dnn::createFilter<float>(&filter, 3); }
            Layer::~Layer() { CHECK(cudnnDestroyFilterDescriptor(filter)); CHECK(cudnnDestroy(dnn)); }""",
    },
    "a function that is named as if it created a variable": {
        "layer.hpp": "class Layer { ~Layer(); Layer(const Layer &); cudnnHandle_t dnn; cudnnFilterDescriptor_t filter; };",
        "layer.cpp": """
            void Layer::setup() {
                Filter filter;
                CHECK(cudnnCreate(&dnn));
                dnn::createFilter<float>(&filter, 3);
            }
            Layer::~Layer() { CHECK(cudnnDestroy(dnn)); }""",
    },
    "a wrapper ends it": {
        "pool.h": CREATES,
        "use.cu": "void f() { auto s = pool::make(1); CHECK(cudaStreamSynchronize(s)); pool::release(s); }",
    },
    "an owner is made of it": {
        "use.cu": """
            float *allocate() { float *p; CHECK(cudaMalloc(&p, 4)); return p; }
            struct Owner {
                Owner() : memory(allocate(), cudaFree) {}
                std::unique_ptr<float, cudaError_t (*)(void *)> memory;
            };"""
    },
    "of another namespace": {
        "pool.h": CREATES,
        "use.cu": "void f() { auto s = views::make(1); CHECK(cudaStreamSynchronize(s)); }",
    },
    "a function of an object": {
        "pool.h": CREATES,
        "use.cu": "void f(Pool &pool) { auto s = pool.make(1); CHECK(cudaStreamSynchronize(s)); }",
    },
    "two files define it": {
        "pool.h": CREATES,
        "other/views.h": "inline cudaStream_t make(int which) { return known_streams()[which]; } void g(cudaStream_t s);",
        "app/use.cu": "void f() { auto s = make(1); CHECK(cudaStreamSynchronize(s)); }",
    },
    "for its own file alone": {
        "a.cu": "static cudaStream_t make() { cudaStream_t s; CHECK(cudaStreamCreate(&s)); return s; }",
        "b.cu": "void f() { auto s = make(); CHECK(cudaStreamSynchronize(s)); }",
    },
    "the wrapper keeps it too": {
        "pool.h": """inline cudaStream_t make() {
            cudaStream_t s;
            CHECK(cudaStreamCreate(&s));
            every.push_back(s);
            return s;
        }""",
        "use.cu": "void f() { auto s = make(); CHECK(cudaStreamSynchronize(s)); }",
    },
    "it may come out of a cache": {
        "cache.h": """inline void get(float **p) {
            if (cached) { *p = cached; return; }
            CHECK(cudaMalloc(p, 4));
        }""",
        "use.cu": "void f() { float *p; get(&p); CHECK(cudaMemset(p, 0, 4)); }",
    },
    "named after an entry point, and something else": {
        "memory.h": "inline void my_cudaMalloc(void **p, int n) { *p = arena.take(n); } void g(cudaStream_t s);",
        "use.cu": "void f() { float *p; my_cudaMalloc((void **)&p, 4); CHECK(cudaMemset(p, 0, 4)); }",
    },
    "named after an entry point, and ended": {
        "use.cu": "void f() { float *p; my_cudaMalloc((void **)&p, 4); kernel<<<1, 1>>>(p); my_cudaFree(p); }"
    },
    "created by a function, and destroyed": {
        "use.cu": """void f(Image image) {
            cudaTextureObject_t texture;
            createTexture(&texture, image);
            CHECK(cudaDestroyTextureObject(texture));
        }"""
    },
    "asked of a function": {
        "use.cu": "void f() { cudaStream_t s; currentStream(&s); CHECK(cudaStreamSynchronize(s)); }"
    },
    "a size is asked for before memory is allocated": {
        "use.cu": """
            void f(float *out) {
                void *scratch = nullptr;
                size_t bytes;
                reduce(scratch, bytes, out);
                CHECK(cudaMalloc(&scratch, bytes));
                reduce(scratch, bytes, out);
                CHECK(cudaFree(scratch));
            }
            void g(float *out) { void *none; size_t bytes; reduce(none, bytes, out); kernel<<<1, 1>>>(bytes); }"""
    },
}


def found(program: dict[str, str]) -> list[str]:
    """File and rule of each finding."""
    texts = {name: text.encode() for name, text in program.items()}
    first = [check_source(Path(name), text) for name, text in texts.items()]
    callees = link(first)
    files = [check_source(Path(name), text, callees=callees.get(name)) for name, text in texts.items()]
    findings = [*(each for file in files for each in file.findings), *check_project(files)]
    habits = ("source-status-dropped", "source-launch-unchecked")
    return [f"{each.site.frames[0].file} {each.name}" for each in findings if each.name not in habits]


@pytest.mark.parametrize(("program", "expected"), FOUND.values(), ids=FOUND)
def test_what_functions_of_other_files_do_is_known(program: dict[str, str], expected: list[str]) -> None:
    assert found(program) == expected


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_what_is_not_known_is_not_reported(program: dict[str, str]) -> None:
    assert found(program) == []
