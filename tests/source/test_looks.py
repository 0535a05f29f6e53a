"""Code that is in order, of the kinds that findings were wrong about at a first look at public code; and the like that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.source import check_project, check_source
from cuvet.source.syntax.macros import implies

HABITS = ("source-launch-unchecked", "source-copied-owner")

PAIRS: dict[str, tuple[str, str, str]] = {
    "each arm of #if has its label": (
        """
        int f(int n) {
        #if CUDA_VERSION >= 12000
            cusparseSpVecDescr_t vector;
            CHECK(cusparseCreateSpVec(&vector, n, n, 0, 0, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
        done:
            cusparseDestroySpVec(vector);
        #else
            cusparseMatDescr_t vector;
            CHECK(cusparseCreateMatDescr(&vector));
        done:
            cusparseDestroyMatDescr(vector);
        #endif
            return 0;
        }""",
        """
        int f(int n) {
            cusparseMatDescr_t matrix;
            if (cusparseCreateMatDescr(&matrix)) goto done;
            cusparseDestroyMatDescr(matrix);
        done:
            cusparseDestroyMatDescr(matrix);
            return 0;
        }""",
        "library-handle-destroy-twice",
    ),
    "one of the cases is always so": (
        """
        void f(int rank, float *data) {
            cufftHandle plan;
            switch (rank) {
            case 1: cufftPlan1d(&plan, 64, CUFFT_R2C, 1); break;
            case 2: cufftPlan2d(&plan, 64, 64, CUFFT_R2C); break;
            }
            run(plan, data);
            cufftDestroy(plan);
            switch (rank) {
            case 1: cufftPlan1d(&plan, 64, CUFFT_C2R, 1); break;
            case 2: cufftPlan2d(&plan, 64, 64, CUFFT_C2R); break;
            }
            cufftExecC2R(plan, data, data);
            cufftDestroy(plan);
        }""",
        """
        void f(int rank, float *data) {
            cufftHandle plan;
            make(&plan, rank, CUFFT_R2C);
            cufftDestroy(plan);
            switch (rank) {
            case 1: say("line"); break;
            case 2: say("plane"); break;
            }
            cufftExecC2R(plan, data, data);
        }""",
        "library-handle-use-after-destroy",
    ),
    "a block that a macro makes an object of": (
        """
        void f(cudaGraphNode_t *node) {
            cudaGraph_t graph;
            CHECK(cudaGraphCreate(&graph, 0));
            ON_FAILURE(scope) {
                CHECK(cudaGraphDestroy(graph));
            };
            CHECK(cudaGraphAddEmptyNode(node, graph, nullptr, 0));
            keep(graph);
        }""",
        """
        void f(cudaGraphNode_t *node) {
            cudaGraph_t graph;
            CHECK(cudaGraphCreate(&graph, 0));
            WITH_LOCK(scope) {
                CHECK(cudaGraphDestroy(graph));
            }
            CHECK(cudaGraphAddEmptyNode(node, graph, nullptr, 0));
            keep(graph);
        }""",
        "graph-use-after-destroy",
    ),
    "functions of a namespace behind a macro": (
        """
        BEGIN_LIBRARY
        namespace memory {
        template <class Pointer> void give_back(Pointer pointer) {
            void *raw = raw_pointer_cast(pointer);
            cudaError_t status = cudaFreeAsync(raw, nullptr);
            if (status != cudaSuccess) status = cudaFree(raw);
            judge(status);
        }
        }
        END_LIBRARY""",
        """
        BEGIN_LIBRARY
        namespace memory {
        void both(float *p) { CHECK(cudaFree(p)); CHECK(cudaFree(p)); }
        }
        END_LIBRARY""",
        "memory-free-twice",
    ),
    "what one #if says of another": (
        """
        int f(int n) {
        #if CUDA_VERSION >= 7000 || defined(WITH_HIP)
            csrilu02Info_t info = NULL;
        #endif
        #if CUDA_VERSION >= 12000
            cusparseCreateCsrilu02Info(&info);
        #endif
            work(n);
        #if CUDA_VERSION >= 7000 || defined(WITH_HIP)
            cusparseDestroyCsrilu02Info(info);
        #endif
            return 0;
        }""",
        """
        int f(int n) {
            csrilu02Info_t info;
        #if WITH_LOGS || WITH_TESTS
            info = NULL;
        #endif
        #if CUDA_VERSION >= 12000
            cusparseCreateCsrilu02Info(&info);
        #endif
            work(n);
        #if WITH_LOGS || WITH_TESTS
            cusparseDestroyCsrilu02Info(info);
        #endif
            return 0;
        }""",
        "source-leak-on-return",
    ),
    "a flag holds whether a call succeeded": (
        """
        bool f(cudaGraph_t graph) {
            cudaGraphExec_t made;
            bool fine = (cudaGraphInstantiate(&made, graph, 0) == cudaSuccess);
            if (fine) cudaGraphExecDestroy(made);
            return fine;
        }""",
        """
        bool f(cudaGraph_t graph) {
            cudaGraphExec_t made;
            bool fine = (cudaGraphInstantiate(&made, graph, 0) == cudaSuccess);
            if (!fine) cudaGraphExecDestroy(made);
            return fine;
        }""",
        "source-leak-on-return",
    ),
    "a switch for the status": (
        """
        void *f(size_t bytes) {
            void *memory;
            switch (auto status = cudaMalloc(&memory, bytes)) {
            case cudaSuccess: break;
            case cudaErrorMemoryAllocation: memory = nullptr; break;
            default: throw failure(status);
            }
            return memory;
        }""",
        """
        void *f(size_t bytes) {
            void *memory;
            switch (auto status = cudaMalloc(&memory, bytes)) {
            case cudaSuccess: return nullptr;
            default: throw failure(status);
            }
        }""",
        "source-leak",
    ),
    "a switch for the status, in words of the program": (
        """
        float *f(size_t n) {
            float *p = nullptr;
            auto status = static_cast<wrapped::status>(cudaMallocManaged(&p, n));
            switch (status) {
            case wrapped::success: break;
            case wrapped::no_memory: throw bad_alloc();
            default: throw failure(status);
            }
            return p;
        }""",
        """
        float *f(size_t n) {
            float *p = nullptr;
            auto status = static_cast<wrapped::status>(cudaMallocManaged(&p, n));
            switch (status) {
            case wrapped::success: return nullptr;
            default: throw failure(status);
            }
        }""",
        "source-leak",
    ),
    "an object made of it is kept": (
        """
        void Decoder::add(size_t bytes, long stamp) {
            CUdeviceptr frame = 0;
            check(cuMemAlloc(&frame, bytes));
            frames.push_back(Frame(frame, stamp));
        }""",
        """
        void Decoder::add(size_t bytes, long stamp) {
            CUdeviceptr frame = 0;
            check(cuMemAlloc(&frame, bytes));
            measure(Frame(frame, stamp));
        }""",
        "source-leak",
    ),
    "a constant decides the return": (
        """
        int f(int n) {
            const cublasOperation_t operation = CUBLAS_OP_N;
            float *data;
            check(cudaMalloc(&data, n));
            if (operation != CUBLAS_OP_N) return -1;
            work(data, operation);
            check(cudaFree(data));
            return 0;
        }""",
        """
        int f(int n) {
            const cublasOperation_t operation = CUBLAS_OP_T;
            float *data;
            check(cudaMalloc(&data, n));
            if (operation != CUBLAS_OP_N) return -1;
            work(data, operation);
            check(cudaFree(data));
            return 0;
        }""",
        "source-leak-on-return",
    ),
    "a member that is freed where a flag says that it was made": (
        """
        struct Matcher {
            float *low; cudaTextureObject_t texture; bool scaled;
            Matcher(const Matcher &) = delete;
            ~Matcher() { release(); }
            void release() { cudaDestroyTextureObject(texture); }
            void make() { cudaCreateTextureObject(&texture, 0, 0, 0); }
            void estimate(int level, size_t bytes) {
                scaled = level > 0;
                if (level > 0) cudaMalloc(&low, bytes);
                run();
                if (scaled) cudaFree(low);
            }
        };""",
        """
        struct Matcher {
            float *low; cudaTextureObject_t texture; bool failed;
            Matcher(const Matcher &) = delete;
            ~Matcher() { release(); }
            void release() { cudaDestroyTextureObject(texture); }
            void make() { cudaCreateTextureObject(&texture, 0, 0, 0); }
            void estimate(int level, size_t bytes) {
                if (level > 0) cudaMalloc(&low, bytes);
                failed = run();
                if (failed) cudaFree(low);
            }
        };""",
        "source-member-leak",
    ),
    "static objects that a shutdown empties": (
        """
        struct Random { curandGenerator_t made; Random(const Random &) = delete; ~Random() { curandDestroyGenerator(made); } };
        cuda::std::optional<Random> one;
        std::vector<std::unique_ptr<Random>> all(0);
        std::unique_ptr<Random> last;
        void end() { one.reset(); all.resize(0); last.reset(nullptr); }""",
        """
        struct Random { curandGenerator_t made; Random(const Random &) = delete; ~Random() { curandDestroyGenerator(made); } };
        std::vector<std::unique_ptr<Random>> all(0);
        void begin(int n) { all.resize(n); }""",
        "source-static-owner",
    ),
    "a status that is declared where it is asked for": (
        """
        int f(size_t bytes) {
            void *memory;
            if (cudaError_t status = cudaMalloc(&memory, bytes)) return status;
            use(memory);
            return cudaFree(memory);
        }""",
        """
        int f(size_t bytes) {
            void *memory;
            if (cudaError_t status = cudaMalloc(&memory, bytes)) return status;
            use(memory);
            return 0;
        }""",
        "source-leak",
    ),
    "what is never compiled drops no status": (
        """
        void f(int device) {
        #if 0
            CUcontext context;
            cuCtxCreate(&context, 0, device);
        #else
            CHECK(cudaSetDevice(device));
        #endif
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaSetDevice(0));
            CHECK(cudaDeviceSynchronize());
        }""",
        """
        void f(int device) {
            CUcontext context;
            cuCtxCreate(&context, 0, device);
            CHECK(cudaSetDevice(device));
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaSetDevice(0));
            CHECK(cudaDeviceSynchronize());
            keep(context);
        }""",
        "source-status-dropped",
    ),
    "what is never compiled has no functions": (
        """
        #if 0
        void old() { cudaStream_t stream; CHECK(cudaStreamCreate(&stream)); }
        #else
        void current() { CHECK(cudaDeviceSynchronize()); }
        #endif""",
        """
        #if 0
        void old() { CHECK(cudaDeviceSynchronize()); }
        #else
        void current() { cudaStream_t stream; CHECK(cudaStreamCreate(&stream)); }
        #endif""",
        "source-leak",
    ),
    "a lambda that ends what it captures, or gives it to somebody": (
        """
        void end(int n) {
            float *table;
            CHECK(cudaMalloc(&table, n * sizeof(float)));
            at_end([=]() { cudaFree(table); });
        }
        void end_later(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            at_end([&]() { table[0] = 1; release(table); });
        }
        void keep(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            for_each(n, [kept = table](int i) { return kept; });
        }
        void keep_address(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            for_each(n, [=](int i) { kept = &table[i]; });
        }
        void end_element() {
            cudaStream_t streams[2];
            CHECK(cudaStreamCreate(&streams[0]));
            at_end([&] { cudaStreamDestroy(streams[0]); });
        }
        void for_both(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            for_each(n, [=] __host__ __device__(int i) { put(table); });
        }""",
        """
        void f(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            for_each(n, [=](int i) { table[i] += 1; });
        }""",
        "source-leak",
    ),
    "a lambda that a macro places": (
        """
        void f(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            for_each(n, [=] MY_HOST_DEVICE (int i) { table[i] = 0; });
            CHECK(cudaFree(table));
        }""",
        """
        void f(int n) {
            float *table;
            CHECK(cudaMallocManaged(&table, n * sizeof(float)));
            for_each(n, [=] MY_HOST_DEVICE (int i) { table[i] = 0; });
        }""",
        "source-leak",
    ),
    "a pointer that only the device has": (
        """
        void f(int n) {
            float *table;
            CHECK(cudaMalloc(&table, n * sizeof(float)));
            for_each(n, [=] __device__(int i) { atomicAdd(table + i, 1); });
            CHECK(cudaFree(table));
        }
        void g(int n) {
            float *table;
            CHECK(cudaMalloc(&table, n * sizeof(float)));
            for_each(n, [&table] __device__(int i) { atomicAdd(table + i, 1); });
        }""",
        """
        void f(int n) {
            float *table;
            CHECK(cudaMalloc(&table, n * sizeof(float)));
            for_each(n, [=] __device__(int i) { atomicAdd(table + i, 1); });
        }""",
        "source-leak",
    ),
    "a lambda for the device": (
        """
        void f(int n) {
            float *table;
            CHECK(cudaMalloc(&table, n * sizeof(float)));
            for_each(n, [=] __device__(int i) { table[i] = 0; });
            fill<<<1, n>>>(n, [=]__host__ __device__(size_t i) {
                using Real = float;
                const Real &old = table[i];
                put(i, old);
            });
            CHECK(cudaFree(table));
        }""",
        """
        void f(int n) {
            float *table;
            CHECK(cudaMalloc(&table, n * sizeof(float)));
            for_each(n, [=] __device__(int i) { table[i] = 0; });
            table[0] = 1;
            CHECK(cudaFree(table));
        }""",
        "source-device-memory-on-host",
    ),
    "who forks asks whether CUDA was used": (
        """
        int count() {
            int n = 0;
            CUresult status = cuDeviceGetCount(&n);
            if (status != CUDA_ERROR_NOT_INITIALIZED) return n;
            int child = fork();
            if (child == 0) {
                CHECK(cuInit(0));
                tell(cuDeviceGetCount(&n), n);
                _exit(0);
            }
            return told_by(child);
        }""",
        """
        int count() {
            int n = 0;
            CUresult status = cuDeviceGetCount(&n);
            if (status == CUDA_ERROR_NOT_INITIALIZED) return n;
            CHECK(cuDeviceGetCount(&n));
            int child = fork();
            if (child == 0) {
                CHECK(cuInit(0));
                tell(cuDeviceGetCount(&n), n);
                _exit(0);
            }
            return told_by(child);
        }""",
        "source-fork-after-use",
    ),
    "memory that may be gone, as is asked": (
        """
        void f() {
            int *number;
            CHECK(cudaMalloc(&number, sizeof(int)));
            simulate();
            cudaPointerAttributes now = {};
            CHECK(cudaPointerGetAttributes(&now, number));
            if (now.type == cudaMemoryTypeDevice) CHECK(cudaFree(number));
            number = nullptr;
        }""",
        """
        void f() {
            int *number;
            CHECK(cudaMalloc(&number, sizeof(int)));
            simulate();
            cudaPointerAttributes now = {};
            CHECK(cudaPointerGetAttributes(&now, other));
            if (now.type == cudaMemoryTypeDevice) CHECK(cudaFree(number));
            number = nullptr;
        }""",
        "source-overwritten",
    ),
    "functions of one name with as many parameters": (
        """
        template <class T> void reserve(T **p, size_t n) { CHECK(cudaMalloc(p, n * sizeof(T))); }
        template <class T> void reserve(T **p, const int *shape) { CHECK(cudaMalloc(p, shape[0] * sizeof(T))); }
        template <class T> void reserve(T **p, T **q, const int *shape) {
            CHECK(cudaMalloc(p, shape[0]));
            CHECK(cudaMalloc(q, shape[0]));
        }
        struct Scratch {
            Memory<double> work;
            int length = 0;
            gesvdjInfo_t parameters = nullptr;
            Scratch(const Scratch &) = delete;
            Scratch(cusolverDnHandle_t solver) {
                CHECK(cusolverDnCreateGesvdjInfo(&parameters));
                double *raw;
                reserve(&raw, length);
                work.reset(raw);
            }
            ~Scratch() { if (parameters) cusolverDnDestroyGesvdjInfo(parameters); }
        };""",
        """
        template <class T> void reserve(T **p, size_t n) { CHECK(cudaMalloc(p, n * sizeof(T))); }
        template <class T> void reserve(T **p, T **q, const int *shape) {
            CHECK(cudaMalloc(p, shape[0]));
            CHECK(cudaMalloc(q, shape[0]));
        }
        struct Scratch {
            double *work = nullptr;
            gesvdjInfo_t parameters = nullptr;
            Scratch(const Scratch &) = delete;
            Scratch(cusolverDnHandle_t solver) {
                CHECK(cusolverDnCreateGesvdjInfo(&parameters));
                reserve(&work, 9);
            }
            ~Scratch() { if (parameters) cusolverDnDestroyGesvdjInfo(parameters); }
        };""",
        "source-member-leak",
    ),
    "each element of a member is ended": (
        """
        class Streams {
            std::vector<cudaStream_t> all;
            std::map<int, curandGenerator_t> made;
        public:
            Streams(const Streams &) = delete;
            Streams(int n) {
                for (int i = 0; i < n; i++) CHECK(cudaStreamCreate(&all[i]));
                for (int i = 0; i < n; i++) CHECK(curandCreateGenerator(&made[i], CURAND_RNG_PSEUDO_DEFAULT));
            }
            ~Streams() {
                for (auto stream : all) CHECK(cudaStreamDestroy(stream));
                for (auto &[device, generator] : made) CHECK(curandDestroyGenerator(generator));
            }
        };""",
        """
        class Streams {
            std::vector<cudaStream_t> all, others;
        public:
            Streams(const Streams &) = delete;
            Streams(int n) {
                for (int i = 0; i < n; i++) CHECK(cudaStreamCreate(&all[i]));
                for (int i = 0; i < n; i++) CHECK(cudaStreamCreate(&others[i]));
            }
            ~Streams() { for (auto stream : all) CHECK(cudaStreamDestroy(stream)); }
        };""",
        "source-member-leak",
    ),
    "a reference to each element, with the name of another variable": (
        """
        void Group::begin(int n) {
            for (int i = 0; i < n; i++) {
                cudaStream_t stream;
                CHECK(cudaStreamCreate(&stream));
                first[i] = stream;
            }
            for (auto &stream : this->second) CHECK(cudaStreamCreate(&stream));
        }""",
        """
        void Group::begin(int n) {
            for (int i = 0; i < n; i++) {
                cudaStream_t stream;
                CHECK(cudaStreamCreate(&stream));
                first[i] = stream;
            }
            for (cudaStream_t stream : this->second) CHECK(cudaStreamCreate(&stream));
        }""",
        "source-leak",
    ),
    "what a base class calls makes a member": (
        """
        class Copier : public Thread<Work> {
            cudaStream_t stream;
            void on_start() override { CHECK(cudaStreamCreate(&stream)); }
        public:
            Copier(const Copier &) = delete;
            Copier(int device) : Thread<Work>(device) { this->start(); }
            ~Copier() { CHECK(cudaStreamDestroy(stream)); }
        };""",
        """
        class Copier {
            cudaStream_t stream;
            void on_start() { CHECK(cudaStreamCreate(&stream)); }
        public:
            Copier(const Copier &) = delete;
            Copier(int device) { note(device); }
            ~Copier() { CHECK(cudaStreamDestroy(stream)); }
        };""",
        "source-member-uninitialized",
    ),
    "each arm of #if has its constructor and its destructor": (
        """
        class Pooling {
            cudnnPoolingDescriptor_t window;
            void describe(int n);
        public:
            Pooling(const Pooling &) = delete;
            Pooling(int n);
            ~Pooling();
        };
        #ifdef WITH_CUDNN
        Pooling::Pooling(int n) { describe(n); }
        void Pooling::describe(int n) { CHECK(cudnnCreatePoolingDescriptor(&window)); }
        Pooling::~Pooling() { CHECK(cudnnDestroyPoolingDescriptor(window)); }
        #else
        Pooling::Pooling(int) { give_up(); }
        Pooling::~Pooling() {}
        #endif""",
        """
        class Pooling {
            cudnnPoolingDescriptor_t window;
            void describe(int n);
        public:
            Pooling(const Pooling &) = delete;
            Pooling(int n);
            Pooling();
            ~Pooling();
        };
        Pooling::Pooling(int n) { describe(n); }
        void Pooling::describe(int n) { CHECK(cudnnCreatePoolingDescriptor(&window)); }
        Pooling::Pooling() { wait(); }
        Pooling::~Pooling() { CHECK(cudnnDestroyPoolingDescriptor(window)); }""",
        "source-member-uninitialized",
    ),
    "a fixture runs its function once": (
        """
        struct Sums : public testing::Test {
            float *data;
            Sums(const Sums &) = delete;
            void SetUp() override { reduce_all(); }
            void reduce_all() { CHECK(cudaMalloc(&data, 64)); sum(data); }
            void TearDown() override { CHECK(cudaFree(data)); }
        };""",
        """
        struct Sums {
            float *data;
            Sums(const Sums &) = delete;
            void reduce_all() { CHECK(cudaMalloc(&data, 64)); sum(data); }
            ~Sums() { CHECK(cudaFree(data)); }
        };""",
        "source-member-overwritten",
    ),
    "a macro that brings its own ; stands before #else": (
        """
        void f(size_t n) {
            void *p;
        #ifdef UNIFIED
            check(cudaMallocManaged(reinterpret_cast<void **>(&p), n))
        #else
            check(cudaMalloc(reinterpret_cast<void **>(&p), n));
        #endif
            memory.insert(Pair(n, p));
        }""",
        """
        void f(size_t n) {
            void *p;
            check(cudaMalloc(reinterpret_cast<void **>(&p)));
            memory.insert(Pair(n, p));
        }""",
        "source-wrong-argument-count",
    ),
    "variables of one name are of several types": (
        """
        void solve() {
            cusolverDnHandle_t handle;
            CHECK(cusolverDnCreate(&handle));
            work(handle);
            CHECK(cusolverDnDestroy(handle));
        }
        othertensorHandle_t contract() {
            othertensorHandle_t *handle;
            CHECK(othertensorCreate(&handle));
            return *handle;
        }""",
        """
        void solve() {
            cusolverDnHandle_t handle;
            CHECK(create_solver(&handle));
            work(handle);
        }""",
        "source-leak",
    ),
}


def found(text: str) -> list[str]:
    result = check_source(Path("example.cu"), text.encode())
    assert not result.not_checked
    return [each.name for each in (*result.findings, *check_project([result])) if each.name not in HABITS]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_it_is_silent_about_what_is_in_order_and_not_about_its_like(pair: tuple[str, str, str]) -> None:
    valid, invalid, rule = pair
    says = [name for name in found(valid) if name != "source-status-dropped" or rule == name]
    assert says == []
    assert rule in found(invalid)


@pytest.mark.parametrize(("call", "leaks"), [("memory::cudaFree(table)", False), ("memory::name(table)", True)])
def test_a_member_is_given_to_a_function_named_like_cudas(call: str, leaks: bool) -> None:
    """The class is defined in another file."""
    header = "class Host { Table *table; cudaStream_t stream; public: Host(const Host &) = delete; Host(); ~Host(); void use(); };"
    made = "Host::Host() { CHECK(cudaMalloc(&table, 64)); }"
    body = f"{made}\nHost::~Host() {{ CHECK({call}); }}\nvoid Host::use() {{ CHECK(cudaMemset(table, 0, 64)); }}"
    results = [check_source(Path(name), text.encode()) for name, text in (("host.cuh", header), ("host.cu", body))]
    assert ("source-member-leak" in {each.name for each in check_project(results)}) is leaks


@pytest.mark.parametrize(
    ("one", "other", "so"),
    [
        ("A", "A || B", True),
        ("A && B", "A", True),
        ("defined(A)", "A || defined B", True),
        ("N >= 12000", "N >= 7000", True),
        ("N >= 12000", "defined(X) || N >= 7000", True),
        ("N >= 7000", "N >= 12000", False),
        ("A || B", "A", False),
        ("A", "A && B", False),
        ("M >= 12000", "N >= 7000", False),
    ],
)
def test_what_a_condition_of_the_preprocessor_says_of_another(one: str, other: str, so: bool) -> None:
    assert implies(one, other) is so
