from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class ModuleUseAfterUnload(UseAfterDestroy):
    """
    ## What it checks
    A call names a module that `cuModuleUnload` unloaded before.

    ## Why it is wrong
    The code and the variables of the module are gone. The driver was measured to refuse the stale handle with
    CUDA_ERROR_INVALID_HANDLE; it is documented as undefined.

    ## Use instead
    Unload the module after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV601"
    name = "module-use-after-unload"
    severity = "error"
    summary = "a module is used after it was unloaded"
    help = "unload the module after its last use, or clear the variable that still holds it"
    kind = Kind.MODULE
    outcomes = (400,)
    evidence = """
    documented: Use of the handle after this call is undefined behavior. (CUDA Driver API, Module Management,
      cuModuleUnload)
    measured: asking it for a function: CUDA_ERROR_INVALID_HANDLE (module_use_after_unload)
    """
    VALID = """
## unloaded after its last use
module = cu.module()
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## one image loaded twice
note: each load is a module of its own
first = cu.module()
second = cu.module()
cu.cuModuleUnload(first)
cu.launch(cu.cuModuleGetFunction(second, "trivial"), 0, 0)
cu.cuCtxSynchronize()
cu.cuModuleUnload(second)

## handle issued again
note: the new one often has the old handle value
module = cu.module()
cu.cuModuleUnload(module)
module = cu.module()
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## C++: loaded again [c++]
void run(const char *path, const char *other, void **parameters) {
    CUmodule module;
    CUfunction kernel;
    cuModuleLoad(&module, path);
    cuModuleUnload(module);
    cuModuleLoad(&module, other);
    cuModuleGetFunction(&kernel, module, "kernel");
    launch(kernel, parameters);
    cuModuleUnload(module);
}

## Python: unloaded in finally [python]
from cuda.bindings import driver

def run(path, launch):
    error, module = driver.cuModuleLoad(path)
    try:
        error, kernel = driver.cuModuleGetFunction(module, b"kernel")
        launch(kernel)
    finally:
        error, = driver.cuModuleUnload(module)
"""
    INVALID = """
## used after its unloading
module = cu.module()
cu.cuModuleUnload(module)
cu.cuModuleGetFunction(module, "trivial")  # error: [module-use-after-unload]

## unloaded by another thread
module = cu.module()
cu.in_thread(lambda: cu.cuModuleUnload(module))
cu.cuModuleGetFunction(module, "trivial")  # error: [module-use-after-unload]

## C++: asked for a function after it was unloaded [c++]
void run(const char *path, void **parameters) {
    CUmodule module;
    CUfunction kernel;
    cuModuleLoad(&module, path);
    cuModuleUnload(module);
    cuModuleGetFunction(&kernel, module, "kernel");  // error: [module-use-after-unload]
    launch(kernel, parameters);
}

## Python: asked for a function after it was unloaded [python]
from cuda.bindings import driver

def run(path, launch):
    error, module = driver.cuModuleLoad(path)
    error, = driver.cuModuleUnload(module)
    error, kernel = driver.cuModuleGetFunction(module, b"kernel")  # error: [module-use-after-unload]
    launch(kernel)

## C#: asked for a function after it was unloaded [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(string path) {
        CUmodule module = new CUmodule();
        CUfunction kernel = new CUfunction();
        Check(ModuleManagement.cuModuleLoad(ref module, path));
        Check(ModuleManagement.cuModuleUnload(module));
        Check(ModuleManagement.cuModuleGetFunction(ref kernel, module, "kernel"));  // error: [module-use-after-unload]
    }
}
"""
