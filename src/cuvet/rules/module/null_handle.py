from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class ModuleNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a module is given NULL.

    ## Why it is wrong
    No module has the handle NULL: usually the load before it failed, and nobody looked at its status.

    ## Use instead
    Look at the status of the call that should have made the module; initialise handles to NULL and test them
    before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV603"
    name = "module-null-handle"
    severity = "error"
    summary = "NULL is given where a module is wanted"
    help = "look at the status of the call that should have made the module, and skip the call when there is none"
    kind = Kind.MODULE
    outcomes = (400,)
    evidence = """
    measured: CUDA_ERROR_INVALID_HANDLE (module_null)
    """
    VALID = """
## with a handle
module = cu.module()
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## skipped when there is none
module = 0
if module:
    cu.cuModuleUnload(module)
"""
    INVALID = """
## used
cu.cuModuleGetFunction(0, "trivial")  # error: [module-null-handle]

## unloaded
cu.cuModuleUnload(0)  # error: [module-null-handle]
"""
