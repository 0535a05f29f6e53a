from cuvet.catalog.kinds import FUNCTIONS
from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class FunctionUseAfterUnload(ParentGone):
    """
    checks: A call names a function (`CUfunction`) of a module that was unloaded.
    why: Unloading a module releases the code of its functions. Launching such a function was measured to return
      CUDA_ERROR_INVALID_HANDLE. Its use after unloading is documented as undefined.
    instead: Unload the module after the last launch. Wrappers of functions should keep their module loaded.
    limits: A function whose origin was not seen is not judged.
    """

    code = "CV611"
    summary = "a function is used after its module was unloaded"
    help = "keep the module loaded while its functions are used"
    kind = Kind.FUNCTION
    kinds = FUNCTIONS
    roots = frozenset({Kind.MODULE})
    outcomes = (400,)
    evidence = """
    measured: cuFuncGetAttribute: CUDA_ERROR_INVALID_HANDLE (function_asked_after_unload)
    measured: launching a function of an unloaded module: CUDA_ERROR_INVALID_HANDLE (use_function_after_unload)
    documented: using the handle after this call is undefined (CUDA Driver API, Module Management, cuModuleUnload)
    """
    VALID = """
## unloaded after the last launch
module = cu.module()
function = cu.cuModuleGetFunction(module, "trivial")
cu.launch(function, 0, 0)
cu.cuCtxSynchronize()
cu.cuModuleUnload(module)

## function of another module
first = cu.module()
second = cu.module()
function = cu.cuModuleGetFunction(second, "trivial")
cu.cuModuleUnload(first)
cu.launch(function, 0, 0)
cu.cuCtxSynchronize()
cu.cuModuleUnload(second)

## C++: unloaded once the launch is done [c++]
void run(const char *path, CUstream stream, void **parameters) {
    CUmodule module;
    CUfunction kernel;
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);
    cuStreamSynchronize(stream);
    cuModuleUnload(module);
}

## Python: unloaded once the launch is done [python driver]
def run(image, stream, parameters):
    error, module = driver.cuModuleLoadData(image)
    error, kernel = driver.cuModuleGetFunction(module, b"kernel")
    error, = driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, 0)
    error, = driver.cuStreamSynchronize(stream)
    error, = driver.cuModuleUnload(module)
"""
    INVALID = """
## launched after its module was unloaded
module = cu.module()
function = cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)
cu.launch(function, 0, 0)  # error: [function-use-after-unload]

## asked for an attribute
module = cu.module()
function = cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)
cu.cuFuncGetAttribute(0, function)  # error: [function-use-after-unload]

## C++: launched after its module was unloaded [c++]
void run(const char *path, CUstream stream, void **parameters) {
    CUmodule module;
    CUfunction kernel;
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cuModuleUnload(module);
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);  // error: [function-use-after-unload]
}

## Python: launched after its module was unloaded [python driver]
def run(image, stream, parameters):
    error, module = driver.cuModuleLoadData(image)
    error, kernel = driver.cuModuleGetFunction(module, b"kernel")
    error, = driver.cuModuleUnload(module)
    error, = driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, 0)  # error: [function-use-after-unload]

## C#: launched after its module was unloaded [c# method]
void Run(string path, CUstream stream, IntPtr[] parameters) {
    CUmodule module = new CUmodule();
    CUfunction kernel = new CUfunction();
    Check(ModuleManagement.cuModuleLoad(ref module, path));
    Check(ModuleManagement.cuModuleGetFunction(ref kernel, module, "kernel"));
    Check(ModuleManagement.cuModuleUnload(module));
    Check(Launch.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, null));  // error: [function-use-after-unload]
}
"""
