#include "shm_tensor.h"

#include <utility>

namespace mpserve {

namespace {
class DeviceGuard {
 public:
  explicit DeviceGuard(int d) {
    ok_ = cudaGetDevice(&old_) == cudaSuccess && cudaSetDevice(d) == cudaSuccess;
  }
  ~DeviceGuard() {
    if (old_ >= 0) cudaSetDevice(old_);
  }
  bool ok() const { return ok_; }

 private:
  int old_ = -1;
  bool ok_ = false;
};
}  // namespace

bool ExportTensor(void* dev, std::uint64_t bytes, int device, TensorTicket* out) {
  DeviceGuard g(device);
  if (!g.ok() || cudaIpcGetMemHandle(&out->mem, dev) != cudaSuccess) return false;
  out->device = device;
  out->bytes = bytes;
  return cudaDeviceSynchronize() == cudaSuccess;
}

ImportedTensor::ImportedTensor(ImportedTensor&& o) noexcept
    : base_(std::exchange(o.base_, nullptr)),
      bytes_(std::exchange(o.bytes_, 0)),
      device_(std::exchange(o.device_, -1)) {}

ImportedTensor& ImportedTensor::operator=(ImportedTensor&& o) noexcept {
  if (this != &o) {
    Unmap();
    base_ = std::exchange(o.base_, nullptr);
    bytes_ = std::exchange(o.bytes_, 0);
    device_ = std::exchange(o.device_, -1);
  }
  return *this;
}

bool ImportedTensor::Map(const TensorTicket& t, std::string* error) {
  Unmap();
  DeviceGuard g(t.device);
  if (!g.ok()) {
    *error = "no such device";
    return false;
  }
  cudaError_t e = cudaIpcOpenMemHandle(&base_, t.mem, cudaIpcMemLazyEnablePeerAccess);
  if (e != cudaSuccess) {
    base_ = nullptr;
    *error = cudaGetErrorString(e);
    return false;
  }
  bytes_ = t.bytes;
  device_ = t.device;
  return true;
}

void ImportedTensor::Unmap() {
  if (base_ == nullptr) return;
  DeviceGuard g(device_);
  cudaIpcCloseMemHandle(base_);
  base_ = nullptr;
  bytes_ = 0;
  device_ = -1;
}

bool ImportedTensor::Read(void* dst, std::uint64_t n) const {
  if (base_ == nullptr || n > bytes_) return false;
  DeviceGuard g(device_);
  return g.ok() && cudaMemcpy(dst, base_, n, cudaMemcpyDeviceToHost) == cudaSuccess;
}

}  // namespace mpserve
