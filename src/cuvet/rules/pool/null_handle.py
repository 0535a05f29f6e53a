from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class PoolNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a memory pool is given NULL.

    ## Why it is wrong
    Only the current pool of a device is chosen for you (`cuMemAllocAsync`); a call that takes a pool needs one.

    ## Use instead
    Look at the status of the call that should have made the memory pool; initialise handles to NULL and test
    them before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV453"
    name = "pool-null-handle"
    severity = "error"
    summary = "NULL is given where a memory pool is wanted"
    help = "look at the status of the call that should have made the memory pool, and skip the call when there is none"
    kind = Kind.MEMORY_POOL
    outcomes = (1,)
    evidence = """
    measured: destroy and trim: CUDA_ERROR_INVALID_VALUE (pool_default_destroy)
    """
    VALID = """
## with a handle
pool = cu.pool()
cu.cuMemPoolTrimTo(pool, 0)
cu.cuMemPoolDestroy(pool)

## skipped when there is none
pool = 0
if pool:
    cu.cuMemPoolDestroy(pool)
"""
    INVALID = """
## used
cu.cuMemPoolTrimTo(0, 0)  # error: [pool-null-handle]

## destroyed
cu.cuMemPoolDestroy(0)  # error: [pool-null-handle]
"""
