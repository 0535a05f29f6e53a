from cuvet.rules.rule import SourceRule


class SourceEndedInUse(SourceRule):
    """
    checks: A host function is enqueued on a stream with the address of a variable of the function, and the variable ends before
      anything that may wait for the stream. Or a graph that lives on gets a node that copies from or to such a variable.
    why: The host function runs when the stream comes to it, and a graph uses the address at each launch. The variable has ended by
      then, and its memory belongs to somebody else.
    instead: Keep the data in a member or on the heap, until the host function has run or the graph is destroyed.
    limits: In C++, in one function. A note if the class of the variable is not known, since its end may wait. Silent if a loop or a
      function that is not known stands behind the call, or if the graph's nodes are given other parameters somewhere in the file.
      Parameters in structs are not read, nor what a lambda captures that another function calls.
    """

    code = "CV892"
    severity = "note"
    summary = "memory of a function ends while a host function or a graph is still to use it"
    help = "keep the data until the host function has run, or as long as the graph"
    evidence = """
    documented: the host function is called when the work before it on the stream is done, and is passed userData (CUDA Runtime API,
      Execution Control, cudaLaunchHostFunc)
    documented: when the graph is launched, a memcpy node copies count bytes from the memory area pointed to by src to the one
      pointed to by dst (CUDA Runtime API, Graph Management, cudaGraphAddMemcpyNode1D)
    documented: a captured graph acts on the same virtual addresses at each replay (PyTorch, CUDA semantics, Graph memory management)
    """
    VALID = """
## the stream is waited for [cuda]
struct Task { int at; float *to; };
void publish(void *data);
void show(float *values, cudaStream_t stream) {
    Task task{1, values};
    CHECK(cudaLaunchHostFunc(stream, publish, &task));
    CHECK(cudaStreamSynchronize(stream));
}

## on the heap, and the host function deletes it [cuda]
struct Task { int at; float *to; };
void publish(void *data);
void show(float *values, cudaStream_t stream) {
    Task *task = new Task{1, values};
    CHECK(cudaLaunchHostFunc(stream, publish, task));
}

## given over [cuda]
struct Task { int at; float *to; };
void publish(void *data);
void show(float *values, cudaStream_t stream) {
    auto task = std::make_unique<Task>(Task{1, values});
    CHECK(cudaLaunchHostFunc(stream, publish, task.get()));
    task.release();
}

## the variable is of the block around the loop, behind which the stream is waited for [cuda]
struct Task { int at; float *to; };
void publish(void *data);
void show(float **values, int n, cudaStream_t stream) {
    Task tasks[8];
    for (int i = 0; i < n; i++) {
        tasks[i] = Task{i, values[i]};
        CHECK(cudaLaunchHostFunc(stream, publish, &tasks[i]));
        CHECK(cudaLaunchHostFunc(stream, publish, &tasks[0]));
    }
    CHECK(cudaStreamSynchronize(stream));
}

## its destructor waits [cuda]
struct Signal {
    ~Signal() { ready.wait(); }
    Latch ready;
};
void count_down(void *data);
void wait_for(cudaStream_t stream) {
    Signal signal;
    CHECK(cudaLaunchHostFunc(stream, count_down, &signal));
}

## waited for by a loop, by another function, and by an object that is made later [cuda]
struct Flag { volatile bool set; };
void set(void *data);
void first(cudaStream_t stream) {
    Flag flag{false};
    CHECK(cudaLaunchHostFunc(stream, set, &flag));
    while (!flag.set) std::this_thread::yield();
}
void second(Queue &queue) {
    Flag flag{false};
    CHECK(cudaLaunchHostFunc(queue.stream(), set, &flag));
    queue.finish();
}
void third(cudaStream_t stream) {
    Flag flag{false};
    StreamGuard guard(stream);
    CHECK(cudaLaunchHostFunc(stream, set, &flag));
}

## static, a reference to an element, and a parameter [cuda]
struct Task { int at; float *to; };
void publish(void *data);
void show(std::vector<Task> &tasks, Task *last, int n, cudaStream_t stream) {
    static Task first{1, nullptr};
    Task &task = tasks[n];
    CHECK(cudaLaunchHostFunc(stream, publish, &first));
    CHECK(cudaLaunchHostFunc(stream, publish, &task));
    CHECK(cudaLaunchHostFunc(stream, publish, last));
}

## a graph that copies from a member, and one from memory that a member takes over [cuda]
class Filter {
    void build(float *to, int n) {
        weights_ = made(n);
        cudaGraphNode_t node;
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph_, nullptr, 0, to, weights_.data(), n, cudaMemcpyHostToDevice));
        std::vector<float> others = made(n);
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph_, &node, 1, to, others.data(), n, cudaMemcpyHostToDevice));
        others_ = std::move(others);
        CHECK(cudaGraphInstantiateWithFlags(&exec_, graph_, 0));
    }
    cudaGraph_t graph_;
    cudaGraphExec_t exec_;
    std::vector<float> weights_, others_;
};

## a graph that ends with the function [cuda]
void once(float *to, int n, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    std::vector<float> from(n);
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, to, from.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

## copied before the capture [cuda]
class Filter {
    void build(float *to, int n) {
        std::vector<float> weights = made(n);
        CHECK(cudaMemcpyAsync(to, weights.data(), n, cudaMemcpyHostToDevice, stream_));
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        apply<<<n, 1, 0, stream_>>>(to);
        CHECK(cudaStreamEndCapture(stream_, &graph));
        CHECK(cudaGraphInstantiateWithFlags(&exec_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaStreamSynchronize(stream_));
    }
    cudaStream_t stream_;
    cudaGraphExec_t exec_;
};

## the node is given another source before each launch [cuda]
class Filter {
    void build(float *to, int n) {
        std::vector<float> weights = made(n);
        CHECK(cudaGraphAddMemcpyNode1D(&node_, graph_, nullptr, 0, to, weights.data(), n, cudaMemcpyHostToDevice));
        CHECK(cudaGraphInstantiateWithFlags(&exec_, graph_, 0));
    }
    void launch(float *to, const float *from, int n) {
        CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec_, node_, to, from, n, cudaMemcpyHostToDevice));
        CHECK(cudaGraphLaunch(exec_, stream_));
    }
    cudaStream_t stream_;
    cudaGraph_t graph_;
    cudaGraphNode_t node_;
    cudaGraphExec_t exec_;
};
"""
    INVALID = """
## a variable of the loop's block [cuda]
struct Task { int at; float *to; };
void publish(void *data);
void show(float **values, int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++) {
        Task task{i, values[i]};
        CHECK(cudaLaunchHostFunc(stream, publish, &task));  // note: [source-ended-in-use]
    }
    CHECK(cudaStreamSynchronize(stream));
}

## a variable of the function, cast [cuda]
void count(cudaStream_t stream, cudaError_t status, void *data);
int start(float *values, int n, cudaStream_t stream) {
    int left = n;
    scale<<<n, 1, 0, stream>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamAddCallback(stream, count, static_cast<void *>(&left), 0));  // note: [source-ended-in-use]
    return n;
}

## the contents of a vector [cuda]
void sum(void *data);
void start(const float *values, int n, cudaStream_t stream) {
    std::vector<float> copy(n);
    CHECK(cudaLaunchHostFunc(stream, sum, copy.data()));  // note: [source-ended-in-use]
}

## of a class that is not known [cuda]
void publish(void *data);
void show(float *values, cudaStream_t stream) {
    Task task{values};
    CHECK(cudaLaunchHostFunc(stream, publish, &task));  // note: [source-ended-in-use]
}

## the node of a graph of the object copies from a vector of the function [cuda]
class Filter {
    void build(float *to, int n) {
        std::vector<float> list = made(n);
        cudaGraphNode_t up;
        CHECK(cudaGraphAddMemcpyNode1D(&up, graph_, 0, 0, to, list.data(), n, cudaMemcpyHostToDevice));  // note: [source-ended-in-use]
        CHECK(cudaGraphInstantiateWithFlags(&exec_, graph_, 0));
    }
    cudaGraph_t graph_;
    cudaGraphExec_t exec_;
};

## made with brackets [cuda]
struct Task {
    Task(int at, float *to) : at(at), to(to) {}
    int at;
    float *to;
};
void publish(void *data);
void show(float *values, int at, cudaStream_t stream) {
    Task task(at, values);
    CHECK(cudaLaunchHostFunc(stream, publish, &task));  // note: [source-ended-in-use]
}

## captured for the caller [cuda]
void build(cudaGraphExec_t *exec, float *to, const float *from, int n, cudaStream_t stream) {
    cudaGraph_t graph;
    float factor = 2;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(to, &factor, sizeof(float), cudaMemcpyHostToDevice, stream));  // note: [source-ended-in-use]
    scale<<<n, 1, 0, stream>>>(to, from);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
}
"""
