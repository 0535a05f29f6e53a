from cuvet.model import Call, ModelView
from cuvet.model.accesses import accesses
from cuvet.rules.lifecycle import place
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class HostMemoryCopyPastRegistration(CallRule):
    """
    checks: A copy to or from the host starts in registered memory, goes past the end of the registration, and fails.
    why: The driver assigns a registered host address to its registration. It refuses a copy that goes past it with
      CUDA_ERROR_INVALID_VALUE, even if the memory behind it is registered, too. A copy that starts before the registration succeeds.
    instead: Register the whole buffer at once, or copy in pieces that end where the registration ends.
    limits: Only `cuMemcpyHtoD`, `cuMemcpyDtoH` and their stream variants are checked.
    """

    code = "CV517"
    summary = "a copy starts in registered host memory and goes past its end"
    help = "register the whole buffer at once, or end the copy where the registration ends"
    entry_points = frozenset({"cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"})
    only_when = beyond_ordinary_memory
    evidence = """
    recorded: cuMemcpyHtoD and cuMemcpyDtoH that start in a registration and reach past it: CUDA_ERROR_INVALID_VALUE,
      also where the next pages are registered too; that start before it: success
    """
    VALID = """
## inside of the registration
memory, buffer = cu.cuMemAlloc(8192), cu.host(16384)
cu.cuMemHostRegister(buffer, 8192, 0)
cu.cuMemcpyHtoD(memory, buffer + 4096, 4096)
cu.cuMemHostUnregister(buffer)
cu.cuMemFree(memory)

## from before the registration
note: starts in ordinary memory
memory, buffer = cu.cuMemAlloc(16384), cu.host(16384)
cu.cuMemHostRegister(buffer + 8192, 4096, 0)
cu.cuMemcpyHtoD(memory, buffer, 16384)
cu.cuMemHostUnregister(buffer + 8192)
cu.cuMemFree(memory)
"""
    INVALID = """
## only the first page is registered
memory, buffer = cu.cuMemAlloc(16384), cu.host(16384)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemcpyHtoD(memory, buffer, 16384)  # error: [host-memory-copy-past-registration]
cu.cuMemHostUnregister(buffer)
cu.cuMemFree(memory)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for access in accesses(call):
            held = model.host_memory_at(access.address) if access.side == "host" else None
            if held is None or not held.alive or not held.registered or access.address + access.size <= held.end:
                continue
            past = access.address + access.size - held.end
            message = f"the copy starts in {held.name}, which is registered, and reaches {past} bytes past it"
            because = () if held.created_by is None else (f"it was registered by {place(held.created_by)}",)
            yield cls.refused(message, held, argument=access.argument, because=because)
