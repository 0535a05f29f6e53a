from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


class LinkerDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuLinkDestroy` is called with a linker that was destroyed before.

    ## Why it is wrong
    The first call destroys the state of the linker. The second was recorded to die of SIGSEGV inside the driver.

    ## Use instead
    Give the linker one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV662"
    name = "linker-destroy-twice"
    severity = "error"
    summary = "a linker is destroyed twice"
    help = "let one owner destroy the linker, and clear its handle at that moment"
    kind = Kind.LINKER
    outcomes = (CRASH,)
    evidence = """
    recorded: a second cuLinkDestroy of a linker, the one time: SIGSEGV
    documented: cuLinkDestroy destroys the state of the linker (CUDA Driver API, Module Management, cuLinkDestroy)
    """
    VALID = """
## destroyed once
cu.cuLinkDestroy(cu.cuLinkCreate(0, 0, 0))

## handle issued again
note: the new one may have the old handle value
linker = cu.cuLinkCreate(0, 0, 0)
cu.cuLinkDestroy(linker)
linker = cu.cuLinkCreate(0, 0, 0)
cu.cuLinkDestroy(linker)

## C++: destroyed once the module is loaded [c++]
bool link(const char *ptx, size_t size, CUmodule *module) {
    CUlinkState linker;
    void *image = nullptr;
    cuLinkCreate(0, nullptr, nullptr, &linker);
    cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)ptx, size, "kernel.ptx", 0, nullptr, nullptr);
    CUresult linked = cuLinkComplete(linker, &image, nullptr);
    if (linked == CUDA_SUCCESS)
        cuModuleLoadData(module, image);
    cuLinkDestroy(linker);
    return linked == CUDA_SUCCESS;
}
"""
    INVALID = """
## destroyed twice
linker = cu.cuLinkCreate(0, 0, 0)
cu.cuLinkDestroy(linker)
cu.cuLinkDestroy(linker)  # error: [linker-destroy-twice]

## C++: in a branch and at the end [c++]
bool link(const char *ptx, size_t size, CUmodule *module) {
    CUlinkState linker;
    void *image = nullptr;
    cuLinkCreate(0, nullptr, nullptr, &linker);
    cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)ptx, size, "kernel.ptx", 0, nullptr, nullptr);
    CUresult linked = cuLinkComplete(linker, &image, nullptr);
    if (linked == CUDA_SUCCESS)
        cuModuleLoadData(module, image);
    else
        cuLinkDestroy(linker);
    cuLinkDestroy(linker);  // error: [linker-destroy-twice]
    return linked == CUDA_SUCCESS;
}

## Python: in the block and in finally [python]
from cuda.bindings import driver

def link(add):
    error, linker = driver.cuLinkCreate(0, [], [])
    try:
        add(linker)
        error, image, size = driver.cuLinkComplete(linker)
        error, module = driver.cuModuleLoadData(image)
        error, = driver.cuLinkDestroy(linker)
    finally:
        error, = driver.cuLinkDestroy(linker)  # error: [linker-destroy-twice]
    return module
"""
