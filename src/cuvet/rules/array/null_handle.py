from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class ArrayNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs an array is given NULL.

    ## Why it is wrong
    No array has the handle NULL. The runtime accepts `cudaFreeArray(NULL)`; `cuArrayDestroy(NULL)` was measured
    to return CUDA_ERROR_INVALID_HANDLE.

    ## Use instead
    Look at the status of the call that should have made the array; initialise handles to NULL and test them
    before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV463"
    name = "array-null-handle"
    severity = "error"
    summary = "NULL is given where an array is wanted"
    help = "look at the status of the call that should have made the array, and skip the call when there is none"
    kind = Kind.ARRAY
    outcomes = (400,)
    evidence = """
    measured: destroy and descriptor: CUDA_ERROR_INVALID_HANDLE (array_null)
    measured: the runtime's cudaFreeArray(NULL) is accepted (event_destroy_null)
    """
    VALID = """
## with a handle
array = cu.array()
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)

## skipped when there is none
array = 0
if array:
    cu.cuArrayDestroy(array)
"""
    INVALID = """
## used
cu.cuArray3DGetDescriptor(cu.host(40), 0)  # error: [array-null-handle]

## destroyed
cu.cuArrayDestroy(0)  # error: [array-null-handle]
"""
