from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class SurfaceNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a surface object is given 0, and fails.

    ## Why it is wrong
    No surface object has the number 0. The call returns CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    Look at the status of the call that should have made the surface object.

    ## Limits
    Reported only when the call fails. `cuSurfObjectDestroy` takes 0.
    """

    code = "CV493"
    name = "surface-null-handle"
    severity = "error"
    summary = "0 is given where a surface object is wanted"
    help = "look at the status of the call that should have made the surface object"
    kind = Kind.SURFACE_OBJECT
    outcomes = (1,)
    only_if_failed = True
    evidence = """
    recorded: asking 0 for what it reads: CUDA_ERROR_INVALID_VALUE
    """
    VALID = """
## with a surface object
surface = cu.surface(cu.array())
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)

## destroyed
cu.cuSurfObjectDestroy(0)
"""
    INVALID = """
## asked what it reads
cu.cuSurfObjectGetResourceDesc(cu.host(144), 0)  # error: [surface-null-handle]
"""
