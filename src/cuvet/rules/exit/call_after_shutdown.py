from cuvet.catalog.results import DEINITIALIZED
from cuvet.catalog.roles import ENDS, MAKES, Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.rule import FailureRule, Violation

_USES = {Verb.REGISTERS, Verb.READS, Verb.WRITES, Verb.ON, Verb.RECORDS, Verb.WAITS, Verb.BLOCKS, Verb.LAUNCHES}
_EFFECTS = MAKES | ENDS | _USES
_RUNTIME_OWN = frozenset({Kind.MODULE, Kind.CULIBRARY})
"""What NVIDIA's runtime itself unloads while the process exits."""


class ExitCallAfterShutdown(FailureRule):
    """
    checks: A call creates, frees or uses something after the driver has shut down: in a destructor of a static object, or in a function
      that was given to ``atexit`` before CUDA was initialised.
    why: When the process exits, the driver frees everything in an exit handler of its own. Code that runs later frees nothing.
    instead: End CUDA objects before ``main`` returns. End static objects that hold them explicitly, or leave them to the driver.
    limits: Unloading of modules and libraries is left out: NVIDIA's runtime does it itself at that time. So is what fails inside a call
      that one library makes of another and that succeeds: cuFFT answered cufftDestroy with success then, though its cuMemFree failed
      (PyTorch 2.11, CUDA 13.0, NVIDIA H200, driver 580.159.04, 2026-11-30).
    """

    code = "CV931"
    severity = "warning"
    stage = Stage.PROCESS
    summary = "CUDA is called after the driver has shut down"
    help = "end CUDA objects before main returns, not in destructors of static objects"
    evidence = """
    measured: calls from a static destructor and from an early atexit function return CUDA_ERROR_DEINITIALIZED
      (exit_static_destructor, exit_atexit_registered_first)
    documented: the driver shuts down (CUDA Driver API, Data types used by CUDA driver, CUresult)
    """
    VALID = """
## nothing left to the end
memory = cu.cuMemAlloc(64)
cu.cuMemFree(memory)

## left to the driver
note: the driver frees everything when the process exits
memory = cu.cuMemAlloc(64)
"""
    INVALID = """
## exit handler from before the initialisation [no-setup]
import ctypes

def late(status, data):
    cu.cuCtxSynchronize()  # warning: [exit-call-after-shutdown]

handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)(late)
library = ctypes.CDLL(None)
library.on_exit(handler, None)
cu.cuInit(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
library.exit(0)
"""

    @classmethod
    def explain(cls, call: Call, status: int, model: ModelView) -> Violation | None:
        """The violation of a driver call that failed because the driver has shut down; None of what is the runtime's own."""
        if status != DEINITIALIZED or call.entry_point.api != "driver":
            return None
        if not any(role.verb in _EFFECTS and role.kind not in _RUNTIME_OWN for role in call.entry_point.roles):
            return None
        return cls.broken("this call is made after the driver has shut down", outcomes=(DEINITIALIZED,))
