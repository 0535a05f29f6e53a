from __future__ import annotations

from typing import ClassVar

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class FunctionNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a function is given NULL.

    ## Why it is wrong
    No function has the handle NULL: usually the load of its module failed, or the module has no function of
    that name, and nobody looked at the status.

    ## Use instead
    Look at the status of the call that should have made the function; initialise handles to NULL and test them
    before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV613"
    name = "function-null-handle"
    severity = "error"
    summary = "NULL is given where a function is wanted"
    help = "look at the status of the call that should have made the function, and skip the call when there is none"
    kind = Kind.FUNCTION
    outcomes = (400,)
    outcomes_of: ClassVar = {"cuFuncGetModule": (1, 400)}
    evidence = """
    measured: launch: CUDA_ERROR_INVALID_HANDLE; cuFuncGetModule(NULL, NULL): CUDA_ERROR_INVALID_VALUE (module_null)
    """
    VALID = """
## with a handle
function = cu.kernel()
cu.launch(function, 0, 0)

## skipped when there is none
function = 0
if function:
    cu.launch(function, 0, 0)
"""
    INVALID = """
## used
cu.launch(0, 0, 0)  # error: [function-null-handle]
"""
