// Colour grading with a .cube table.
#include <cuda_runtime.h>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

class Lut3D {
 public:
  Lut3D() = default;
  ~Lut3D() { reset(); }
  Lut3D(const Lut3D&) = delete;
  Lut3D& operator=(const Lut3D&) = delete;

  bool load(const std::string& path) {
    std::ifstream f(path);
    std::string line;
    int n = 0;
    std::vector<float4> texels;
    while (std::getline(f, line)) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream is(line);
      if (line.compare(0, 11, "LUT_3D_SIZE") == 0) {
        std::string key;
        is >> key >> n;
        continue;
      }
      float r, g, b;
      if (is >> r >> g >> b) texels.push_back(make_float4(r, g, b, 1.f));
    }
    if (n < 2 || texels.size() != size_t(n) * n * n) return false;
    return upload(texels, n);
  }

  cudaTextureObject_t texture() const { return tex_; }
  int size() const { return n_; }

 private:
  bool upload(const std::vector<float4>& texels, int n) {
    reset();
    const cudaExtent ext = make_cudaExtent(n, n, n);
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
    if (cudaMalloc3DArray(&array_, &desc, ext) != cudaSuccess) {
      array_ = nullptr;
      return false;
    }
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(const_cast<float4*>(texels.data()), n * sizeof(float4), n, n);
    p.dstArray = array_;
    p.extent = ext;
    p.kind = cudaMemcpyHostToDevice;
    if (cudaMemcpy3D(&p) != cudaSuccess) {
      reset();
      return false;
    }
    cudaResourceDesc rd = {};
    rd.resType = cudaResourceTypeArray;
    rd.res.array.array = array_;
    cudaTextureDesc td = {};
    td.addressMode[0] = td.addressMode[1] = td.addressMode[2] = cudaAddressModeClamp;
    td.filterMode = cudaFilterModeLinear;
    td.readMode = cudaReadModeElementType;
    if (cudaCreateTextureObject(&tex_, &rd, &td, nullptr) != cudaSuccess) {
      tex_ = 0;
      reset();
      return false;
    }
    n_ = n;
    return true;
  }

  void reset() {
    if (tex_) cudaDestroyTextureObject(tex_);
    if (array_) cudaFreeArray(array_);
    tex_ = 0;
    array_ = nullptr;
    n_ = 0;
  }

  cudaArray_t array_ = nullptr;
  cudaTextureObject_t tex_ = 0;
  int n_ = 0;
};

__global__ void grade(cudaTextureObject_t lut, float s, float4* px, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 c = px[i];
  px[i] = tex3D<float4>(lut, c.x * (s - 1) + .5f, c.y * (s - 1) + .5f, c.z * (s - 1) + .5f);
}

int main(int argc, char** argv) {
  Lut3D lut;
  if (argc < 2 || !lut.load(argv[1])) {
    std::cerr << "no usable lut\n";
    return 1;
  }
  std::vector<float4> row(4096);
  float4* d = nullptr;
  if (cudaMalloc(&d, row.size() * sizeof(float4)) != cudaSuccess) return 1;
  int rc = 0;
  while (rc == 0 && std::cin.read(reinterpret_cast<char*>(row.data()), row.size() * sizeof(float4))) {
    rc = cudaMemcpy(d, row.data(), row.size() * sizeof(float4), cudaMemcpyHostToDevice) != cudaSuccess;
    if (rc) break;
    grade<<<int(row.size() / 256), 256>>>(lut.texture(), float(lut.size()), d, int(row.size()));
    rc = cudaGetLastError() != cudaSuccess ||
         cudaMemcpy(row.data(), d, row.size() * sizeof(float4), cudaMemcpyDeviceToHost) != cudaSuccess;
    if (rc == 0) std::cout.write(reinterpret_cast<char*>(row.data()), row.size() * sizeof(float4));
  }
  cudaFree(d);
  return rc;
}
