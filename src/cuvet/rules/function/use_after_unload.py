from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import Example


class FunctionUseAfterUnload(ParentGone):
    """
    ## What it checks
    A call names a function (`CUfunction`) whose module was unloaded.

    ## Why it is wrong
    Unloading a module releases the code of its functions. Launching such a function was measured to return
    CUDA_ERROR_INVALID_HANDLE; unloading is documented to leave all further use undefined.

    ## Use instead
    Unload the module after the last launch has been made. Wrappers of functions should keep their module alive.

    ## Limits
    A function of which it was not seen where it came from is not judged.
    """

    code = "CV611"
    name = "function-use-after-unload"
    severity = "error"
    summary = "a function is used after its module was unloaded"
    help = "keep the module loaded while its functions are used"
    kind = Kind.FUNCTION
    kinds = frozenset({Kind.FUNCTION, Kind.KERNEL})
    roots = frozenset({Kind.MODULE})
    outcomes = (400,)
    evidence = (
        measured(
            "cuFuncGetAttribute: CUDA_ERROR_INVALID_HANDLE",
            "function_asked_after_unload",
        ),
        measured(
            "launching a function of an unloaded module: CUDA_ERROR_INVALID_HANDLE",
            "use_function_after_unload",
        ),
        documented(
            "Use of the handle after this call is undefined behavior.",
            "CUDA Driver API, Module Management, cuModuleUnload",
        ),
    )
    VALID = (
        Example(
            "unloaded after the last launch",
            """
module = cu.module()
function = cu.cuModuleGetFunction(module, "trivial")
cu.launch(function, 0, 0)
cu.cuCtxSynchronize()
cu.cuModuleUnload(module)
""",
        ),
        Example(
            "function of another module",
            """
first = cu.module()
second = cu.module()
function = cu.cuModuleGetFunction(second, "trivial")
cu.cuModuleUnload(first)
cu.launch(function, 0, 0)
cu.cuCtxSynchronize()
cu.cuModuleUnload(second)
""",
        ),
    )
    INVALID = (
        Example(
            "launched after its module was unloaded",
            """
module = cu.module()
function = cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)
cu.launch(function, 0, 0)  # error: [function-use-after-unload]
""",
        ),
        Example(
            "asked for an attribute",
            """
module = cu.module()
function = cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)
cu.cuFuncGetAttribute(0, function)  # error: [function-use-after-unload]
""",
        ),
    )
