from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import MemoryPool
from cuvet.rules.rule import CallRule, Violations


class PoolDestroyDefault(CallRule):
    """
    checks: `cuMemPoolDestroy` is called with the default memory pool of a device.
    why: The call was measured to return CUDA_ERROR_INVALID_VALUE.
    instead: Release its unused memory with `cuMemPoolTrimTo`, or use your own pool (`cuMemPoolCreate`).
    limits: Known only if the program got the pool from `cuDeviceGetDefaultMemPool`.
    """

    code = "CV455"
    summary = "the default memory pool of a device is destroyed"
    help = "use cuMemPoolTrimTo to release memory, or create your own pool"
    entry_points = frozenset({"cuMemPoolDestroy"})
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (pool_default_destroy)
    documented: it cannot be destroyed (CUDA Driver API, Stream Ordered Memory Allocator, cuMemPoolDestroy)
    """
    VALID = """
## default pool trimmed
pool = cu.cuDeviceGetDefaultMemPool(device)
cu.cuMemPoolTrimTo(pool, 0)

## own pool destroyed
pool = cu.pool()
cu.cuMemPoolDestroy(pool)
"""
    INVALID = """
## default pool destroyed
pool = cu.cuDeviceGetDefaultMemPool(device)
cu.cuMemPoolDestroy(pool)  # error: [pool-destroy-default]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        pool = model.object_of(call, 0, Kind.MEMORY_POOL)
        if isinstance(pool, MemoryPool) and pool.alive and pool.default:
            yield cls.broken(
                f"{pool.name} is the default memory pool of device {pool.device}", pool, argument=0, outcomes=(1,)
            )
