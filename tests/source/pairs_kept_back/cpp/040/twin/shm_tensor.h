#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace mpserve {

// What the model process writes into the socket for each shared tensor.
struct TensorTicket {
  cudaIpcMemHandle_t mem;
  std::int32_t device;
  std::uint64_t bytes;
};

// Owner side: exports a tensor that lives in this process. dev comes from cudaMalloc.
bool ExportTensor(void* dev, std::uint64_t bytes, int device, TensorTicket* out);

// Reader side: maps the tensor of another process for the lifetime of the object.
class ImportedTensor {
 public:
  ImportedTensor() = default;
  ~ImportedTensor() { Unmap(); }

  ImportedTensor(ImportedTensor&& o) noexcept;
  ImportedTensor& operator=(ImportedTensor&& o) noexcept;
  ImportedTensor(const ImportedTensor&) = delete;
  ImportedTensor& operator=(const ImportedTensor&) = delete;

  bool Map(const TensorTicket& t, std::string* error);
  void Unmap();

  // Copies the first n bytes to the host.
  bool Read(void* dst, std::uint64_t n) const;

 private:
  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  int device_ = -1;
};

}  // namespace mpserve
