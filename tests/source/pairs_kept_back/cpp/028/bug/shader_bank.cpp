#include <cuda.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

namespace toy {

bool good(CUresult r, const std::string& what) {
  if (r == CUDA_SUCCESS) return true;
  const char* s = nullptr;
  cuGetErrorString(r, &s);
  std::cerr << what << ": " << (s ? s : "unknown error") << '\n';
  return false;
}

// Image effects as PTX on disk; the editor reloads them when a file has changed.
class ShaderBank {
 public:
  explicit ShaderBank(std::string path) : path_(std::move(path)) {}
  ~ShaderBank() {
    if (module_) cuModuleUnload(module_);
  }
  ShaderBank(const ShaderBank&) = delete;
  ShaderBank& operator=(const ShaderBank&) = delete;

  bool reload() {
    std::ifstream in(path_);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) return false;

    CUmodule fresh = nullptr;
    if (!good(cuModuleLoadData(&fresh, text.str().c_str()), path_)) return false;
    if (!good(cuCtxSynchronize(), "reload")) {
      cuModuleUnload(fresh);
      return false;
    }
    if (module_) cuModuleUnload(module_);
    module_ = fresh;
    return true;
  }

  CUfunction find(const std::string& effect) {
    auto it = cache_.find(effect);
    if (it != cache_.end()) return it->second;
    CUfunction f = nullptr;
    if (!module_ || !good(cuModuleGetFunction(&f, module_, effect.c_str()), effect)) return nullptr;
    cache_.emplace(effect, f);
    return f;
  }

 private:
  std::string path_;
  CUmodule module_ = nullptr;
  std::unordered_map<std::string, CUfunction> cache_;
};

bool apply(ShaderBank& bank, const std::string& effect, CUdeviceptr pixels, int w, int h,
           CUstream s) {
  CUfunction f = bank.find(effect);
  if (!f) return false;
  void* args[] = {&pixels, &w, &h};
  return good(cuLaunchKernel(f, (w + 15) / 16, (h + 15) / 16, 1, 16, 16, 1, 0, s, args, nullptr),
              effect);
}

void edit_loop(ShaderBank& bank, CUdeviceptr pixels, int w, int h, CUstream s) {
  std::string cmd;
  while (std::cin >> cmd) {
    if (cmd == "quit") break;
    if (cmd == "reload") {
      if (!bank.reload()) std::cerr << "kept the old effects\n";
      continue;
    }
    if (apply(bank, cmd, pixels, w, h, s)) good(cuStreamSynchronize(s), cmd);
  }
}

}  // namespace toy
