from cuvet.rules.rule import SourceRule


class SourceKeptOfEnded(SourceRule):
    """
    checks: A method ends a module, a library or an array of its object and puts another in its place. A member of the same object keeps the
      functions that were got from the module, or the texture or surface object that was made of the array, and is used again.
    why: The functions went with the module, and the texture names an array that is gone: the next launch fails, or reads memory of
      something else.
    instead: Clear the member where its origin is ended, and get or make it anew.
    limits: Only where one file shows the class and all methods that take part, and where the member is looked up or asked for before it is
      made, or is made by the constructor. Silent if the method, or one that it calls, mentions the member.
    """

    code = "CV885"
    severity = "note"
    summary = "a member keeps what belongs to an object that a method replaces"
    help = "clear the member where the object that it belongs to is ended"
    evidence = """
    measured: launching a function of an unloaded module: CUDA_ERROR_INVALID_HANDLE (use_function_after_unload)
    documented: the array of a resource descriptor must be a valid CUDA array handle (CUDA Runtime API, Texture Object
      Management, cudaCreateTextureObject)
    """
    VALID = """
## the functions are forgotten with their module [cuda]
class Kernels {
  public:
    Kernels(const char *file) { CHECK(cuModuleLoad(&module_, file)); }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    CUfunction find(const std::string &name) {
        auto known = functions_.find(name);
        if (known != functions_.end()) return known->second;
        CUfunction function;
        CHECK(cuModuleGetFunction(&function, module_, name.c_str()));
        functions_[name] = function;
        return function;
    }
    void reload(const char *file) {
        CHECK(cuModuleUnload(module_));
        functions_.clear();
        CHECK(cuModuleLoad(&module_, file));
    }
  private:
    CUmodule module_;
    std::map<std::string, CUfunction> functions_;
};

## another method forgets them [cuda]
class Kernels {
  public:
    Kernels(const char *file) { load(file); }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    void reload(const char *file) {
        CHECK(cuModuleUnload(module_));
        load(file);
    }
    void run() { CHECK(cuLaunchKernel(scale_, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); }
  private:
    void load(const char *file) {
        CHECK(cuModuleLoad(&module_, file));
        CHECK(cuModuleGetFunction(&scale_, module_, "scale"));
    }
    CUmodule module_;
    CUfunction scale_;
};

## it is got anew each time [cuda]
class Kernels {
  public:
    Kernels(const char *file) { CHECK(cuModuleLoad(&module_, file)); }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    void reload(const char *file) {
        CHECK(cuModuleUnload(module_));
        CHECK(cuModuleLoad(&module_, file));
    }
    void run() {
        CHECK(cuModuleGetFunction(&scale_, module_, "scale"));
        CHECK(cuLaunchKernel(scale_, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    }
  private:
    CUmodule module_;
    CUfunction scale_;
};

## the texture is destroyed with its array [cuda]
class Image {
  public:
    Image() = default;
    Image(const Image &) = delete;
    ~Image() { drop(); }
    void resize(int width) {
        drop();
        cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
        CHECK(cudaMallocArray(&pixels_, &of, width));
        bind();
    }
  private:
    void drop() {
        if (view_) cudaDestroyTextureObject(view_);
        if (pixels_) cudaFreeArray(pixels_);
        view_ = 0;
        pixels_ = nullptr;
    }
    void bind() {
        if (view_) return;
        cudaResourceDesc from = {};
        from.resType = cudaResourceTypeArray;
        from.res.array.array = pixels_;
        cudaTextureDesc how = {};
        CHECK(cudaCreateTextureObject(&view_, &from, &how, nullptr));
    }
    cudaArray_t pixels_ = nullptr;
    cudaTextureObject_t view_ = 0;
};

## whoever reloads forgets them [cuda]
class Kernels {
  public:
    Kernels(const char *file) { CHECK(cuModuleLoad(&module_, file)); }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    void changed(const char *file) {
        functions_.clear();
        reload(file);
    }
    CUfunction find(const std::string &name) {
        CUfunction &function = functions_[name];
        if (!function) CHECK(cuModuleGetFunction(&function, module_, name.c_str()));
        return function;
    }
  private:
    void reload(const char *file) {
        CHECK(cuModuleUnload(module_));
        CHECK(cuModuleLoad(&module_, file));
    }
    CUmodule module_;
    std::map<std::string, CUfunction> functions_;
};

## the module is unloaded for good [cuda]
class Kernels {
  public:
    Kernels(const char *file) {
        CHECK(cuModuleLoad(&module_, file));
        CHECK(cuModuleGetFunction(&scale_, module_, "scale"));
    }
    Kernels(const Kernels &) = delete;
    void close() {
        CHECK(cuModuleUnload(module_));
        module_ = nullptr;
    }
    void run() { CHECK(cuLaunchKernel(scale_, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); }
  private:
    CUmodule module_;
    CUfunction scale_;
};
"""
    INVALID = """
## functions of the module before are kept by name [cuda]
class Kernels {
  public:
    Kernels(const char *file) { CHECK(cuModuleLoad(&module_, file)); }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    CUfunction find(const std::string &name) {
        auto known = functions_.find(name);
        if (known != functions_.end()) return known->second;
        CUfunction function;
        CHECK(cuModuleGetFunction(&function, module_, name.c_str()));
        functions_.emplace(name, function);
        return function;
    }
    void reload(const char *file) {
        CHECK(cuModuleUnload(module_));  // note: [source-kept-of-ended]
        CHECK(cuModuleLoad(&module_, file));
    }
  private:
    CUmodule module_;
    std::map<std::string, CUfunction> functions_;
};

## the texture is made only if there is none [cuda]
class Image {
  public:
    Image() = default;
    Image(const Image &) = delete;
    ~Image() {
        if (view_) cudaDestroyTextureObject(view_);
        if (pixels_) cudaFreeArray(pixels_);
    }
    void resize(int width) {
        if (pixels_) CHECK(cudaFreeArray(pixels_));  // note: [source-kept-of-ended]
        cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
        CHECK(cudaMallocArray(&pixels_, &of, width));
        bind();
    }
  private:
    void bind() {
        if (view_ == 0) {
            cudaResourceDesc from = {};
            from.resType = cudaResourceTypeArray;
            from.res.array.array = pixels_;
            cudaTextureDesc how = {};
            CHECK(cudaCreateTextureObject(&view_, &from, &how, nullptr));
        }
    }
    cudaArray_t pixels_ = nullptr;
    cudaTextureObject_t view_ = 0;
};

## got by the constructor alone [cuda]
class Kernels {
  public:
    Kernels(const char *file) {
        CHECK(cuModuleLoad(&module_, file));
        CHECK(cuModuleGetFunction(&scale_, module_, "scale"));
    }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    void replace(CUmodule other) {
        CHECK(cuModuleUnload(module_));  // note: [source-kept-of-ended]
        module_ = other;
    }
    void run() { CHECK(cuLaunchKernel(scale_, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)); }
  private:
    CUmodule module_;
    CUfunction scale_;
};

## an element is got if it is empty [cuda]
class Kernels {
  public:
    Kernels(const char *file) { CHECK(cuModuleLoad(&module_, file)); }
    Kernels(const Kernels &) = delete;
    ~Kernels() { cuModuleUnload(module_); }
    void reload(const char *file) {
        CHECK(cuModuleUnload(module_));  // note: [source-kept-of-ended]
        CHECK(cuModuleLoad(&module_, file));
    }
    CUfunction find(const std::string &name) {
        CUfunction &function = functions_[name];
        if (!function) CHECK(cuModuleGetFunction(&function, module_, name.c_str()));
        return function;
    }
  private:
    CUmodule module_;
    std::map<std::string, CUfunction> functions_;
};
"""
