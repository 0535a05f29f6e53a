"""What only the functions of a class together show, and what is silent because it may be in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import check_project, check_source, link
from cuvet.source.result import FileResult

HABITS = ("source-status-dropped", "source-launch-unchecked", "source-copied-owner")

LAYERS = {
    "layer.h": """
        struct layer; typedef struct layer layer; typedef struct layer local_layer; typedef layer dense_layer;
        struct layer { int n; float *weights; cudnnTensorDescriptor_t shape; };""",
    "layer.c": """
        #include "layer.h"
        layer make_layer(int n) {
            dense_layer l = {0};
            CHECK(cudnnCreateTensorDescriptor(&l.shape));
            CHECK(cudaMalloc((void **)&l.weights, n));
            return l;
        }
        void free_layer(layer l) { cudaFree(l.weights); }""",
}
"""A structure of C with several names, one of whose members is never ended."""

FOUND = {
    "declared under #if, made through a reference": (
        "source-member-leak",
        {
            "field.h": """
                class Field {
                  public:
                    Field();
                    Field(const Field &) = delete;
                    ~Field();
                #ifdef TEXTURES
                    void createTexture(cudaTextureObject_t &texture, void *field, bool full = true);
                    void destroyTextures();
                    cudaTextureObject_t all, even;
                #endif
                };""",
            "field.cu": """
                Field::Field() { createTexture(all, data); createTexture(even, data); }
                void Field::createTexture(cudaTextureObject_t &texture, void *field, bool full) {
                    cudaResourceDesc resource = describe(field, full);
                    CHECK(cudaCreateTextureObject(&texture, &resource, 0, 0));
                }
                void Field::destroyTextures() { cudaDestroyTextureObject(even); }
                Field::~Field() { destroyTextures(); }""",
        },
    ),
    "a structure of C with several names": ("source-member-leak", LAYERS),
    "a class by another name": (
        "source-member-leak",
        {
            "layer.h": "struct Layer { int n; float *weights; cudnnTensorDescriptor_t shape; };",
            "layer.cpp": """
                using Dense = Layer;
                void make_layer(Dense &l, int n) {
                    CHECK(cudnnCreateTensorDescriptor(&l.shape));
                    CHECK(cudaMalloc((void **)&l.weights, n));
                }
                void free_layer(Layer &l) { cudaFree(l.weights); }""",
        },
    ),
    "a parameter's default that the grammar cannot read": (
        "source-member-leak",
        {
            "resource.hpp": """
                class resource final : public base {
                  public:
                    resource(std::optional<int> size = {}) { CHECK(cudaMemPoolCreate(&pool_, &properties)); }
                    cudaMemPool_t pool_handle() const noexcept { return pool_; }
                    ~resource() = default;
                  private:
                    cudaMemPool_t pool_{};
                };"""
        },
    ),
    "a static member freed as what it is not": (
        "memory-free-wrong-function",
        {
            "field.h": "class Field { static void *buffer; static cudaStream_t stream; void create(); void freeBuffer(); int n; };",
            "field.cpp": """
                void Field::create() { CHECK(cudaMallocHost(&buffer, 16)); }
                void Field::freeBuffer() { CHECK(cudaFree(buffer)); }""",
        },
    ),
    "a header that holds nothing but a library's handle": (
        "source-member-leak",
        {
            "layer.hpp": "class Layer { public: Layer(); Layer(const Layer &) = delete; ~Layer(); cudnnHandle_t one, two; };",
            "layer.cpp": """
                Layer::Layer() { CHECK(cudnnCreate(&one)); CHECK(cudnnCreate(&two)); }
                Layer::~Layer() { CHECK(cudnnDestroy(one)); }""",
        },
    ),
    "made by a function that returns it": (
        "source-member-leak",
        {
            "worker.cpp": """
                static cudaStream_t make() {
                    cudaStream_t stream;
                    CHECK(cudaStreamCreate(&stream));
                    return stream;
                }
                class Worker {
                  public:
                    Worker() { stream_ = make(); CHECK(cudaEventCreate(&event_)); }
                    Worker(const Worker &) = delete;
                    ~Worker() { CHECK(cudaEventDestroy(event_)); }
                    cudaStream_t stream_;
                    cudaEvent_t event_;
                };"""
        },
    ),
    "copies that the class asks the compiler for": (
        "source-copied-owner",
        {
            "resource.hpp": """
                class resource : public base {
                  public:
                    resource() { CHECK(cudaMemPoolCreate(&pool_, &properties)); }
                    resource(resource const &) = default;
                    resource &operator=(resource const &) = default;
                    ~resource() { CHECK(cudaMemPoolDestroy(handle())); }
                    cudaMemPool_t handle() const { return pool_; }
                  private:
                    cudaMemPool_t pool_{};
                };"""
        },
    ),
    "an object for each thread, by a class of a library": (
        "source-static-owner",
        {
            "entry.h": "struct Entry { Entry(); ~Entry(); cudnnHandle_t handle; };",
            "entry.cc": """
                Entry::Entry() { CHECK(cudnnCreate(&handle)); }
                Entry::~Entry() { CHECK(cudnnDestroy(handle)); }
                typedef lib::ThreadLocalStore<Entry> Entries;""",
        },
    ),
    "an owner that the destructor of another file's class makes dangerous": (
        "source-static-owner",
        {
            "arena.h": "struct Arena { Arena(); ~Arena(); cudaStream_t stream; }; struct Arenas { std::map<int, Arena> all; };",
            "arena.cpp": "Arena::Arena() { CHECK(cudaStreamCreate(&stream)); } Arena::~Arena() { cudaStreamDestroy(stream); }",
            "arenas.cpp": "cudaStream_t f(int n) { static Arenas arenas; return arenas.all[n].stream; }",
        },
    ),
    "made by the classes that are derived from it": (
        "source-member-leak",
        {
            "transform.hpp": """
                class Transform { protected: cufftHandle plan; int size; Transform() : plan(0), size(0) {} };
                class Forward : public Transform {
                  public:
                    Forward(int n) : Transform() { size = n; CHECK(cufftPlan1d(&plan, n, CUFFT_R2C, 1)); }
                    void run(float *in, cufftComplex *out) { CHECK(cufftExecR2C(plan, in, out)); }
                };"""
        },
    ),
    "another function that is not seen sounds like an end, but the destructor is seen": (
        "source-member-leak",
        {
            "simulator.h": "class Simulator { public: Simulator(); ~Simulator(); void free_all(); cudaEvent_t start; Memory memory; };",
            "simulator.cu": """
                Simulator::Simulator() { CHECK(cudaEventCreate(&start)); }
                Simulator::~Simulator() { memory.release(); }""",
        },
    ),
    "exchanged with another member of the object": (
        "source-member-leak",
        {
            "register.cu": """
                struct Register { float *amplitudes; float *first, *second; };
                void create(Register *it, int n) {
                    CHECK(cudaMalloc(&it->amplitudes, n));
                    CHECK(cudaMalloc(&it->first, n));
                }
                void sum(Register it) {
                    CHECK(cudaMemset(it.second, 0, 4));
                    swapPointers(&it.first, &it.second);
                }
                void destroy(Register it) { CHECK(cudaFree(it.amplitudes)); }"""
        },
    ),
    "made by a function that is named so, of a type that another file says": (
        "source-member-leak",
        {
            "layer.hpp": """
                class Layer {
                  public:
                    Layer();
                    ~Layer();
                  private:
                    cudnnHandle_t handle_;
                    cudnnActivationDescriptor_t activation_;
                };""",
            "layer.cpp": """
                Layer::Layer() {
                    CHECK(cudnnCreate(&handle_));
                    dnn::createActivation(&activation_, CUDNN_ACTIVATION_RELU);
                    CHECK(cudnnSetActivationDescriptor(activation_, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
                }
                Layer::~Layer() { CHECK(cudnnDestroy(handle_)); }""",
        },
    ),
    "made anew where it has to be larger": (
        "source-member-overwritten",
        {
            "particles.cu": """
                struct Particles {
                    float *x = nullptr;
                    size_t capacity = 0;
                    void resize(size_t size) {
                        if (size > capacity) {
                            CHECK(cudaMalloc(&x, size));
                            capacity = size;
                        }
                    }
                    ~Particles() { CHECK(cudaFree(x)); }
                    Particles(const Particles &) = delete;
                };"""
        },
    ),
    "made anew with others that are freed before": (
        "source-member-overwritten",
        {
            "globals.cu": """
                static float *forces, *positions, *torques;
                void change(int n) {
                    CHECK(cudaFree(forces));
                    CHECK(cudaFree(positions));
                    CHECK(cudaMalloc(&forces, n));
                    CHECK(cudaMalloc(&positions, n));
                    CHECK(cudaMalloc(&torques, n));
                }"""
        },
    ),
    "a structure of C with a name of its own, in another file": (
        "source-member-leak",
        {
            "pool.h": "typedef struct pool_s { float *first; float *second; int n; cudaStream_t stream; } pool_t;",
            "pool.c": """
                void make(pool_t *pool) {
                    CHECK(cudaMalloc(&pool->first, pool->n));
                    CHECK(cudaMalloc(&pool->second, pool->n));
                }
                void destroy(struct pool_s *pool) { CHECK(cudaFree(pool->first)); }""",
        },
    ),
    "a header that holds nothing but a module": (
        "source-member-leak",
        {
            "layer.hpp": "class Layer { public: Layer(); Layer(const Layer &) = delete; ~Layer(); CUmodule one, two; };",
            "layer.cpp": """
                Layer::Layer() { CHECK(cuModuleLoad(&one, "one")); CHECK(cuModuleLoad(&two, "two")); }
                Layer::~Layer() { CHECK(cuModuleUnload(one)); }""",
        },
    ),
    "a variable of the file, in macros that check": (
        "source-member-leak",
        {
            "fluid.cu": """
                static float *values = NULL;
                static int *flag = NULL;
                __global__ void mark(int *flag) { flag[0] = 1; }
                void fluid_init(int n) {
                    CUDA_SAFE_CALL(cudaMalloc((void **)&values, n));
                    CUDA_SAFE_CALL(cudaMalloc((void **)&flag, sizeof(int)));
                }
                void fluid_free() { CUDA_SAFE_CALL(cudaFree(values)); }"""
        },
    ),
    "a context in a variable of the file, made beside one in a structure": (
        "source-member-leak",
        {
            "devices.c": """
                typedef struct { CUcontext context; } device_t;
                static CUcontext shared;
                void devices_init(device_t *device, CUdevice which) {
                    CHECK(cuCtxCreate(&shared, 0, which));
                    CHECK(cuCtxCreate(&device->context, 0, which));
                }
                void devices_fini(device_t *device) { CHECK(cuCtxDestroy(device->context)); }"""
        },
    ),
    "given to the same function as one that is ended": (
        "source-member-leak",
        {
            "module.h": "class Module : public Base { public: void create(int n); void cleanup(); void *one, *two; CUstream s; };",
            "module.cc": """
                void Module::create(int n) {
                    CHECK(cuMemHostAlloc(&one, n, 0));
                    first = new PinnedMemory(one, n);
                    CHECK(cuMemHostAlloc(&two, n, 0));
                    second = new PinnedMemory(two, n);
                }
                void Module::cleanup() { if (one) CHECK(cuMemFreeHost(one)); }""",
        },
    ),
    "a member of a member": (
        "source-member-leak",
        {
            "solver.h": """
                struct Buffers { float *first; float *second; cudaStream_t stream; };
                class Solver { public: Solver(int n); Solver(const Solver &) = delete; ~Solver(); Buffers device; int n; };""",
            "solver.cu": """
                Solver::Solver(int n) {
                    CHECK(cudaMalloc(&device.first, n));
                    CHECK(cudaMalloc(&device.second, n));
                }
                Solver::~Solver() { CHECK(cudaFree(device.first)); }""",
        },
    ),
}

SILENT = {
    "a structure of C with several names, ended by another": {
        **LAYERS,
        "dense.c": """
            #include "layer.h"
            void free_dense(dense_layer l) { free_layer(l); cudnnDestroyTensorDescriptor(l.shape); }""",
    },
    "a name that stands for two classes": {
        "layer.h": """
            struct Layer { int n; float *weights; cudnnTensorDescriptor_t shape; };
            struct Other { cudnnTensorDescriptor_t shape; };""",
        "layer.cpp": """
            using Dense = Layer;
            void make_layer(Dense &l) { CHECK(cudnnCreateTensorDescriptor(&l.shape)); CHECK(cudaMalloc((void **)&l.weights, 4)); }
            void free_layer(Layer &l) { cudaFree(l.weights); }""",
        "other.cpp": "using Dense = Other;\nvoid free_other(Dense &o) { cudnnDestroyTensorDescriptor(o.shape); }",
    },
    "a member of a member, which another object's owner ends": {
        "solver.h": """
            struct Buffers { float *first; float *second; cudaStream_t stream; };
            class Solver { public: Solver(int n); Solver(const Solver &) = delete; ~Solver(); Buffers device; int n; };
            struct Program { Solver *solver; };""",
        "solver.cu": """
            Solver::Solver(int n) { CHECK(cudaMalloc(&device.first, n)); CHECK(cudaMalloc(&device.second, n)); }
            Solver::~Solver() { CHECK(cudaFree(device.first)); }
            void leave(Program *program) { CHECK(cudaFree(program->solver->device.second)); }""",
    },
    "a member of an element of something whose type is not known": {
        "solver.h": """
            struct Buffers { float *first; float *second; cudaStream_t stream; };
            struct Solver { std::vector<Buffers> all; int n; };""",
        "solver.cu": """
            void make(Buffers *it, int n) { CHECK(cudaMalloc(&it->first, n)); CHECK(cudaMalloc(&it->second, n)); }
            void destroy(Buffers *it) { CHECK(cudaFree(it->first)); }
            void leave(Solver *solver) { for (int i = 0; i < solver->n; i++) CHECK(cudaFree(solver->all[i].second)); }""",
    },
    "a structure of C that is ended by its other name": {
        "pool.h": "typedef struct pool_s { float *first; float *second; int n; } pool_t;",
        "pool.c": """
            void make(pool_t *pool) {
                CHECK(cudaMalloc(&pool->first, pool->n));
                CHECK(cudaMalloc(&pool->second, pool->n));
            }
            void destroy(struct pool_s *pool) { CHECK(cudaFree(pool->first)); CHECK(cudaFree(pool->second)); }""",
    },
    "a variable of the file that another file ends": {
        "fluid.cu": """
            float *values, *flag;
            void fluid_init(int n) { CHECK(cudaMalloc(&values, n)); CHECK(cudaMalloc(&flag, n)); }
            void fluid_free() { CHECK(cudaFree(values)); }""",
        "exit.cu": """
            extern float *flag;
            void leave() { CHECK(cudaFree(flag)); }""",
    },
    "a variable of the file that a macro frees": {
        "fluid.cu": """
            static float *values, *flag;
            void fluid_init(int n) { CHECK(cudaMalloc(&values, n)); CHECK(cudaMalloc(&flag, n)); }
            void fluid_free() { CHECK(cudaFree(values)); SAFE_FREE(flag); }"""
    },
    "a variable of the file that is ended as an element of a list": {
        "fluid.cu": """
            static float *values, *flag;
            void fluid_init(int n) { CHECK(cudaMalloc(&values, n)); CHECK(cudaMalloc(&flag, n)); }
            void fluid_free() {
                float *others[] = {flag};
                for (int i = 0; i < 1; i++)
                    CHECK(cudaFree(others[i]));
                CHECK(cudaFree(values));
            }"""
    },
    "a variable of the file, and none that was made beside it is ended": {
        "fluid.cu": """
            static float *values, *flag;
            void values_init(int n) { CHECK(cudaMalloc(&values, n)); }
            void flag_init(int n) { CHECK(cudaMalloc(&flag, n)); }
            void fluid_free() { CHECK(cudaFree(values)); }"""
    },
    "a context, and no other is ended": {
        "device.cpp": """
            class Device {
              public:
                Device(CUdevice which) { CHECK(cuCtxCreate(&context, 0, which)); CHECK(cuStreamCreate(&stream, 0)); }
                Device(const Device &) = delete;
                ~Device() { CHECK(cuStreamDestroy(stream)); }
                CUcontext context;
                CUstream stream;
            };"""
    },
    "given to another function than the one that is ended": {
        "module.h": "class Module : public Base { public: void create(int n); void cleanup(); void *one, *two; CUstream s; };",
        "module.cc": """
            void Module::create(int n) {
                CHECK(cuMemHostAlloc(&one, n, 0));
                CHECK(cuMemHostAlloc(&two, n, 0));
                second = new OwnedMemory(two, n);
            }
            void Module::cleanup() { if (one) CHECK(cuMemFreeHost(one)); }""",
    },
    "ended through what shows the member": {
        "resource.hpp": """
            class resource {
              public:
                resource() { CHECK(cudaMemPoolCreate(&pool_, &properties)); }
                resource(resource const &) = delete;
                ~resource() { CHECK(cudaMemPoolDestroy(handle())); }
                cudaMemPool_t handle() const { return pool_; }
              private:
                cudaMemPool_t pool_{};
            };"""
    },
    "ended from outside through what shows the member": {
        "worker.cpp": """
            class Worker {
              public:
                Worker() { CHECK(cudaStreamCreate(&stream_)); CHECK(cudaEventCreate(&event_)); }
                Worker(const Worker &) = delete;
                ~Worker() { CHECK(cudaEventDestroy(event_)); }
                cudaStream_t stream() const { return stream_; }
              private:
                cudaStream_t stream_;
                cudaEvent_t event_;
            };
            void stop(Worker *worker) { CHECK(cudaStreamDestroy(worker->stream())); }"""
    },
    "ended in text that cannot be parsed": {
        "memory.cu": """
            class Memory {
              public:
                Memory(int n) { CHECK(cudaMalloc(&p_, n)); CHECK(cudaMalloc(&q_, n)); }
                Memory(const Memory &) = delete;
                ~Memory() { CHECK( cudaFree(p_) ) CHECK( cudaFree(q_) ) }
              private:
                float *p_, *q_;
            };"""
    },
    "ended where it is made, by its class and by a helper": {
        "graphs.cu": """
            template <typename F>
            bool build(cudaStream_t stream, cudaGraph_t &graph, cudaGraphExec_t &exec, F work) {
                CHECK(cudaGraphCreate(&graph, 0));
                work(stream, graph);
                CHECK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
                CHECK(cudaGraphDestroy(graph));
                return true;
            }
            class Graphs {
              public:
                explicit Graphs(cudaStream_t stream) : stream_(stream) {}
                Graphs(const Graphs &) = delete;
                ~Graphs() {
                    if (even_made) CHECK(cudaGraphExecDestroy(even_exec));
                    if (odd_made) CHECK(cudaGraphExecDestroy(odd_exec));
                }
                void end(int step) {
                    if (step % 2 == 0 && !even_made) {
                        CHECK(cudaStreamEndCapture(stream_, &even));
                        CHECK(cudaGraphInstantiate(&even_exec, even, nullptr, nullptr, 0));
                        even_made = true;
                        CHECK(cudaGraphDestroy(even));
                    }
                    if (!odd_made)
                        odd_made = build(stream_, odd, odd_exec, work);
                }
              private:
                cudaGraph_t even, odd;
                cudaGraphExec_t even_exec, odd_exec;
                cudaStream_t stream_;
                bool even_made{false}, odd_made{false};
            };"""
    },
    "the members of an object that lasts as long as the program": {
        "entry.h": "struct Entry { Entry(); ~Entry(); cudnnHandle_t handle; };",
        "entry.cc": """
            Entry::Entry() { CHECK(cudnnCreate(&handle)); }
            Entry::~Entry() {}
            Entry &entry() {
                static thread_local Entry instance;
                return instance;
            }""",
    },
    "descriptors that are freed after main": {
        "descriptors.cc": """
            struct Descriptors {
                Descriptors() { CHECK(cudnnCreateTensorDescriptor(&io)); }
                Descriptors(const Descriptors &) = delete;
                ~Descriptors() { CHECK(cudnnDestroyTensorDescriptor(io)); }
                cudnnTensorDescriptor_t io;
            };
            void use(int device) { CHECK(cudaSetDevice(device)); }
            Descriptors &descriptors() {
                thread_local Descriptors all;
                return all;
            }"""
    },
    "a macro says that there are no copies": {
        "random.cpp": """
            class Random {
              public:
                Random() { CHECK(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT)); }
                ~Random() { CHECK(curandDestroyGenerator(generator)); }
                curandGenerator_t generator;
              private:
                DISABLE_COPY_AND_ASSIGN(Random);
            };"""
    },
    "the member of another object": {
        "tensor.h": """
            class Tensor {
              public:
                Tensor(int n) { CHECK(cudaMalloc(&data_, n)); }
                Tensor(Tensor &&other) { data_ = other.data_; other.data_ = nullptr; }
                ~Tensor() { CHECK(cudaFree(data_)); }
              private:
                float *data_;
            };"""
    },
    "a static object that only points": {
        "arena.cpp": """
            struct Arena {
                Arena() { CHECK(cudaStreamCreate(&stream)); }
                Arena(const Arena &) = delete;
                ~Arena() { cudaStreamDestroy(stream); }
                cudaStream_t stream;
            };
            cudaStream_t f(int n) {
                static std::map<int, Arena *> *arenas = new std::map<int, Arena *>;
                static auto &other = *new Arena;
                return (*arenas)[n] ? (*arenas)[n]->stream : other.stream;
            }"""
    },
    "a static object of another class of that name": {
        "a/timer.cpp": """
            struct Timer {
                Timer() { CHECK(cudaEventCreate(&event)); }
                Timer(const Timer &) = delete;
                ~Timer() { cudaEventDestroy(event); }
                cudaEvent_t event;
            };""",
        "b/timer.cpp": """
            struct Timer { double start; };
            static Timer timer;
            void f(cudaStream_t s) { CHECK(cudaStreamSynchronize(s)); }""",
    },
    "made by a derived class, ended by its destructor": {
        "transform.hpp": """
            class Transform { protected: cufftHandle plan; int size; Transform() : plan(0), size(0) {} };
            class Forward : public Transform {
              public:
                Forward(int n) : Transform() { size = n; CHECK(cufftPlan1d(&plan, n, CUFFT_R2C, 1)); }
                Forward(const Forward &) = delete;
                ~Forward() { CHECK(cufftDestroy(plan)); }
            };"""
    },
    "made by a derived class, ended by the destructor of the base class, which is not seen": {
        "transform.hpp": """
            class Transform { public: ~Transform(); protected: cufftHandle plan; int size; };
            class Forward : public Transform {
              public:
                Forward(int n) : Transform() { size = n; CHECK(cufftPlan1d(&plan, n, CUFFT_R2C, 1)); }
            };"""
    },
    "not made by the constructor, and perhaps ended by a function that is not seen": {
        "simulator.h": "class Simulator { public: ~Simulator(); void start(); void free_all(); cudaEvent_t event; Memory memory; };",
        "simulator.cu": """
            void Simulator::start() { CHECK(cudaEventCreate(&event)); }
            Simulator::~Simulator() { memory.release(); }""",
    },
    "exchanged with a variable": {
        "register.cu": """
            struct Register { float *amplitudes; float *first; };
            void create(Register *it, int n) {
                CHECK(cudaMalloc(&it->amplitudes, n));
                CHECK(cudaMalloc(&it->first, n));
            }
            void take(Register it, float **mine) {
                CHECK(cudaMemset(it.first, 0, 4));
                swapPointers(&it.first, mine);
            }
            void destroy(Register it) { CHECK(cudaFree(it.amplitudes)); }"""
    },
    "made larger after the smaller one was freed": {
        "particles.cu": """
            struct Particles {
                float *x = nullptr;
                size_t capacity = 0;
                void resize(size_t size) {
                    if (size > capacity) {
                        CHECK(cudaFree(x));
                        CHECK(cudaMalloc(&x, size));
                        capacity = size;
                    }
                }
                ~Particles() { CHECK(cudaFree(x)); }
                Particles(const Particles &) = delete;
            };"""
    },
    "made larger after a function that frees it": {
        "particles.cu": """
            struct Particles {
                float *x = nullptr;
                size_t capacity = 0;
                void release() { CHECK(cudaFree(x)); x = nullptr; }
                void resize(size_t size) {
                    if (size > capacity) {
                        release();
                        CHECK(cudaMalloc(&x, size));
                        capacity = size;
                    }
                }
                ~Particles() { release(); }
                Particles(const Particles &) = delete;
            };"""
    },
    "made where there are few, once": {
        "particles.cu": """
            struct Particles {
                float *x = nullptr;
                void setup(size_t size, size_t limit) {
                    if (size > limit)
                        CHECK(cudaMalloc(&x, size));
                }
                ~Particles() { CHECK(cudaFree(x)); }
                Particles(const Particles &) = delete;
            };"""
    },
    "one other is made anew": {
        "globals.cu": """
            static float *forces, *torques;
            void change(int n) {
                CHECK(cudaFree(forces));
                CHECK(cudaMalloc(&forces, n));
                CHECK(cudaMalloc(&torques, n));
            }"""
    },
}


def names(files: dict[str, str]) -> list[str]:
    """Rules that find something, in the order of their findings."""
    first = [check_source(Path(name), text.encode()) for name, text in files.items()]
    links = link(first)
    results: list[FileResult] = [
        check_source(Path(name), text.encode(), callees=links.get(name)) for name, text in files.items()
    ]
    found = [*(finding for result in results for finding in result.findings), *check_project(results)]
    return [finding.name for finding in found]


@pytest.mark.parametrize(("rule", "files"), FOUND.values(), ids=FOUND)
def test_what_the_functions_of_a_class_show_is_found(rule: str, files: dict[str, str]) -> None:
    assert [name for name in names(files) if name == rule or name not in HABITS] == [rule]


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_what_may_be_in_order_is_silent(files: dict[str, str]) -> None:
    assert [name for name in names(files) if name not in HABITS[:2]] == []
