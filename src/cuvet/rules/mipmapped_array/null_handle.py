from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class MipmappedArrayNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a mipmapped array is given NULL.

    ## Why it is wrong
    No mipmapped array has the handle NULL; CUDA_ERROR_INVALID_HANDLE is documented for handles that are not
    valid.

    ## Use instead
    Look at the status of the call that should have made the mipmapped array; initialise handles to NULL and
    test them before the call.

    ## Limits
    Not every call was measured, so it is reported only when the call fails or crashes.
    """

    code = "CV473"
    name = "mipmapped-array-null-handle"
    severity = "error"
    summary = "NULL is given where a mipmapped array is wanted"
    help = (
        "look at the status of the call that should have made the mipmapped array, and skip the call when there is none"
    )
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (400, 1)
    undefined = True
    only_if_failed = True
    evidence = """
    measured: cuMipmappedArrayGetLevel and cuMipmappedArrayDestroy of NULL: CUDA_ERROR_INVALID_HANDLE (mipmapped_null)
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    """
    VALID = """
## with a handle
array = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)

## skipped when there is none
array = 0
if array:
    cu.cuMipmappedArrayDestroy(array)
"""
    INVALID = """
## used
cu.cuMipmappedArrayGetLevel(0, 0)  # error: [mipmapped-array-null-handle]

## destroyed
cu.cuMipmappedArrayDestroy(0)  # error: [mipmapped-array-null-handle]
"""
