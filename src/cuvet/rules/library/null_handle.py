from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class LibraryNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a library is given NULL.

    ## Why it is wrong
    No library has the handle NULL: usually the load before it failed, and nobody looked at its status.

    ## Use instead
    Look at the status of the call that should have made the library; initialise handles to NULL and test them
    before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV623"
    name = "library-null-handle"
    severity = "error"
    summary = "NULL is given where a library is wanted"
    help = "look at the status of the call that should have made the library, and skip the call when there is none"
    kind = Kind.LIBRARY
    outcomes = (400,)
    evidence = """
    measured: CUDA_ERROR_INVALID_HANDLE (module_null)
    """
    VALID = """
## with a handle
library = cu.library()
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)

## skipped when there is none
library = 0
if library:
    cu.cuLibraryUnload(library)
"""
    INVALID = """
## used
cu.cuLibraryGetKernel(0, "trivial")  # error: [library-null-handle]

## unloaded
cu.cuLibraryUnload(0)  # error: [library-null-handle]
"""
