#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

struct Vertex { float px, py, pz, u, v; };

#define MESH_TRY(x) do { cudaError_t r_ = (x); if (r_) { \
    fprintf(stderr, "mesh: %s\n", cudaGetErrorString(r_)); exit(3); } } while (0)

class DeviceMesh {
public:
    DeviceMesh(std::string name, const std::vector<Vertex>& v, const std::vector<unsigned>& idx)
        : name_(std::move(name)), nv_(v.size()), ni_(idx.size()) {
        MESH_TRY(cudaMalloc(&vb_, nv_ * sizeof(Vertex)));
        MESH_TRY(cudaMalloc(&ib_, ni_ * sizeof(unsigned)));
        MESH_TRY(cudaMemcpy(vb_, v.data(), nv_ * sizeof(Vertex), cudaMemcpyHostToDevice));
        MESH_TRY(cudaMemcpy(ib_, idx.data(), ni_ * sizeof(unsigned), cudaMemcpyHostToDevice));
    }

    DeviceMesh(const DeviceMesh&) = delete;
    DeviceMesh& operator=(const DeviceMesh&) = delete;
    DeviceMesh(DeviceMesh&& m) noexcept
        : name_(std::move(m.name_)), nv_(m.nv_), ni_(m.ni_), vb_(m.vb_), ib_(m.ib_) {
        m.vb_ = nullptr;
        m.ib_ = nullptr;
    }
    DeviceMesh& operator=(DeviceMesh&& m) noexcept {
        std::swap(name_, m.name_);
        std::swap(nv_, m.nv_);
        std::swap(ni_, m.ni_);
        std::swap(vb_, m.vb_);
        std::swap(ib_, m.ib_);
        return *this;
    }

    ~DeviceMesh() {
        cudaFree(ib_);
        cudaFree(vb_);
    }

    const std::string& name() const { return name_; }
    Vertex* vertices() const { return vb_; }
    size_t vertexCount() const { return nv_; }

private:
    std::string name_;
    size_t nv_, ni_;
    Vertex* vb_ = nullptr;
    unsigned* ib_ = nullptr;
};

__global__ void scaleVerts(Vertex* v, size_t n, float k) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) { v[i].px *= k; v[i].py *= k; v[i].pz *= k; }
}

class Scene {
public:
    void add(const std::string& name, const std::vector<Vertex>& v, const std::vector<unsigned>& i) {
        DeviceMesh m(name, v, i);
        meshes_.push_back(std::move(m));
    }
    void scale(float k) {
        for (auto& m : meshes_) {
            scaleVerts<<<unsigned((m.vertexCount() + 255) / 256), 256>>>(m.vertices(), m.vertexCount(), k);
            MESH_TRY(cudaGetLastError());
        }
        MESH_TRY(cudaDeviceSynchronize());
    }
    size_t size() const { return meshes_.size(); }

private:
    std::vector<DeviceMesh> meshes_;
};

int main() {
    Scene s;
    std::vector<Vertex> quad{{0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}, {1, 1, 0, 1, 1}, {0, 1, 0, 0, 1}};
    std::vector<unsigned> idx{0, 1, 2, 0, 2, 3};
    for (int i = 0; i < 16; ++i)
        s.add("quad" + std::to_string(i), quad, idx);
    s.scale(2.0f);
    std::printf("%zu meshes\n", s.size());
    return 0;
}
