#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

class LookupTable {
public:
    explicit LookupTable(int entries) : entries_(entries)
    {
        if (cudaMalloc(reinterpret_cast<void**>(&data_), entries * sizeof(float)) != cudaSuccess) {
            std::fprintf(stderr, "no memory for %d entries\n", entries);
            std::abort();
        }
        if (cudaMemset(data_, 0, entries * sizeof(float)) != cudaSuccess)
            std::abort();
    }
    LookupTable(const LookupTable&) = delete;
    LookupTable& operator=(const LookupTable&) = delete;
    ~LookupTable() { cudaFree(data_); }

    const float* data() const { return data_; }
    int entries() const { return entries_; }

private:
    float* data_ = nullptr;
    int entries_;
};

extern int run(const LookupTable& table, int argc, char** argv);

static LookupTable table(4096);

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s scene\n", argv[0]);
        return 2;
    }
    return run(table, argc, argv);
}
