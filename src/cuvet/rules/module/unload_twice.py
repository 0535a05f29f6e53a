from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class ModuleUnloadTwice(DestroyTwice):
    """
    ## What it checks
    `cuModuleUnload` is called with a module that was unloaded before.

    ## Why it is wrong
    The first call released the module. The second was measured to be refused with CUDA_ERROR_INVALID_HANDLE; it
    is documented as undefined.

    ## Use instead
    Give the module one owner, which unloads it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second unloading looks
    like the first of the new object.
    """

    code = "CV602"
    name = "module-unload-twice"
    severity = "error"
    summary = "a module is unloaded twice"
    help = "let one owner unload the module, and clear its handle at that moment"
    kind = Kind.MODULE
    outcomes = (400,)
    evidence = """
    measured: CUDA_ERROR_INVALID_HANDLE; the driver logs "module is of wrong type, expected CUmodule" (module_garbage)
    documented: Use of the handle after this call is undefined behavior. (CUDA Driver API, Module Management,
      cuModuleUnload)
    """
    VALID = """
## unloaded once
module = cu.module()
cu.cuModuleUnload(module)

## handle issued again
note: the new one often has the old handle value
module = cu.module()
cu.cuModuleUnload(module)
module = cu.module()
cu.cuModuleUnload(module)

## C++: unloaded on each way out [c++]
CUresult run(const char *path) {
    CUmodule module;
    CUfunction kernel;
    cuModuleLoad(&module, path);
    CUresult result = cuModuleGetFunction(&kernel, module, "kernel");
    if (result != CUDA_SUCCESS) {
        cuModuleUnload(module);
        return result;
    }
    launch(kernel);
    return cuModuleUnload(module);
}
"""
    INVALID = """
## unloaded twice
module = cu.module()
cu.cuModuleUnload(module)
cu.cuModuleUnload(module)  # error: [module-unload-twice]

## unloaded by two threads
module = cu.module()
cu.in_thread(lambda: cu.cuModuleUnload(module))
cu.cuModuleUnload(module)  # error: [module-unload-twice]

## C++: on failure and at the end [c++]
CUresult run(const char *path) {
    CUmodule module;
    CUfunction kernel;
    cuModuleLoad(&module, path);
    CUresult result = cuModuleGetFunction(&kernel, module, "kernel");
    if (result != CUDA_SUCCESS)
        cuModuleUnload(module);
    else
        launch(kernel);
    cuModuleUnload(module);  // error: [module-unload-twice]
    return result;
}

## Python: in the block and in finally [python]
from cuda.bindings import driver

def run(path, work):
    error, module = driver.cuModuleLoad(path)
    try:
        work(module)
        error, = driver.cuModuleUnload(module)
    finally:
        error, = driver.cuModuleUnload(module)  # error: [module-unload-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(string path) {
        CUmodule module = new CUmodule();
        Check(ModuleManagement.cuModuleLoad(ref module, path));
        Work(module);
        Check(ModuleManagement.cuModuleUnload(module));
        Check(ModuleManagement.cuModuleUnload(module));  // error: [module-unload-twice]
    }
}
"""
