// Tests of the pool: `pool_test NAME` runs one. The last one has a mistake that nobody notices without cuvet.

#include "pool.h"

#include <cstdio>
#include <cstring>

static bool a_stream_is_used_again() {
    Pool pool;
    cudaStream_t first = pool.take();
    pool.give_back(first);
    cudaStream_t second = pool.take();
    pool.give_back(second);
    return first == second;
}

static bool two_streams_at_once() {
    Pool pool;
    cudaStream_t first = pool.take();
    cudaStream_t second = pool.take();
    pool.give_back(first);
    pool.give_back(second);
    return first != second;
}

static bool a_stream_is_given_back_twice() {
    Pool pool;
    cudaStream_t stream = pool.take();
    pool.give_back(stream);
    pool.give_back(stream);
    return true;
}

int main(int argc, char** argv) {
    struct Test {
        const char* name;
        bool (*function)();
    };
    const Test tests[] = {
        {"a_stream_is_used_again", a_stream_is_used_again},
        {"two_streams_at_once", two_streams_at_once},
        {"a_stream_is_given_back_twice", a_stream_is_given_back_twice},
    };
    for (const Test& test : tests)
        if (argc == 2 && std::strcmp(argv[1], test.name) == 0) return test.function() ? 0 : 1;
    std::fprintf(stderr, "usage: pool_test NAME\n");
    return 2;
}
