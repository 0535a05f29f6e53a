from cuvet.model import Call, ModelView
from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule, unmapped_since
from cuvet.rules.rule import Violations


class HostMemoryUnmappedWhileRegistered(RegistrationRule):
    """
    checks: Registered memory was freed or unmapped, wholly or in part, before it is unregistered or its addresses are registered again.
    why: A registration outlives the memory. The device continues to read and write the old pages, while the host sees new ones at the
      same addresses. The addresses cannot be registered again.
    instead: Unregister memory before it is freed or unmapped.
    limits: Found at these two calls only, and only if part of the old range is still unmapped. Not found if all of it was mapped again,
      or if ``free`` kept the pages. Copies from unmapped memory, which succeed, are not checked.
    """

    code = "CV515"
    summary = "host memory was unmapped while it was registered"
    help = "unregister memory before it is freed or unmapped"
    case = Case.UNMAPPED_SINCE
    entry_points = frozenset({"cuMemHostRegister", "cuMemHostUnregister"})
    evidence = """
    measured: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED when the addresses are registered again
      (register_freed_then_again)
    measured, cuMemHostUnregister succeeds: unregistering after munmap, and copying from the range, succeed
      (free_then_unregister, register_freed_then_copy)
    """
    VALID = ORDINARY
    VALID += """
## unregistered before it is unmapped
address = cu.map(1 << 20)
cu.cuMemHostRegister(address, 1 << 20, 0)
cu.cuMemHostUnregister(address)
cu.unmap(address, 1 << 20)

## the memory beside it is unmapped
address = cu.map(1 << 20)
cu.cuMemHostRegister(address, 1 << 19, 0)
cu.unmap(address + (1 << 19), 1 << 19)
cu.cuMemHostUnregister(address)
cu.unmap(address, 1 << 19)
"""
    INVALID = """
## unmapped, then unregistered
note: the driver unregisters it with success
address = cu.map(1 << 20)
cu.cuMemHostRegister(address, 1 << 20, 0)
cu.unmap(address, 1 << 20)
cu.cuMemHostUnregister(address)  # error: [host-memory-unmapped-while-registered]

## part mapped and registered again
address = cu.map(1 << 20)
cu.cuMemHostRegister(address, 1 << 20, 0)
cu.unmap(address + (1 << 19), 1 << 19)
cu.cuMemHostRegister(address, 1 << 16, 0)  # error: [host-memory-unmapped-while-registered]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        yield from super().check(call, model)
        held = model.host_memory_at(call.arg("p")) if call.name == "cuMemHostUnregister" else None
        if held is None or not held.alive or not held.registered or held.handle != call.arg("p"):
            return
        because = unmapped_since(call, held)
        if because:
            message = f"{held.name} was unmapped while it was registered"
            yield cls.broken(message, held, argument=call.index("p"), because=because)
