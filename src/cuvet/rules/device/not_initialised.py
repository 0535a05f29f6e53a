from cuvet.catalog import status_name
from cuvet.catalog.results import NOT_INITIALIZED
from cuvet.model import ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import Ended, ExitRule, Violation, Violations


class DeviceNotInitialised(ExitRule):
    """
    checks: Driver calls fail in a process that never called cuInit, or whose cuInit failed.
    why: All other functions of the driver need cuInit and return CUDA_ERROR_NOT_INITIALIZED without it. The CUDA runtime calls it itself.
    instead: Call `cuInit(0)` first, and check its status.
    limits: Reported at the end of the process, at the first call that failed, because cuInit may still be called later. Calls of
      libraries are left out, since they may only test for a driver.
    """

    code = "CV124"
    stage = Stage.PROCESS
    of_process = True
    summary = "the driver is called without cuInit"
    help = "call cuInit(0) first, and check its status"
    evidence = """
    measured: calls before cuInit: CUDA_ERROR_NOT_INITIALIZED (context_not_initialised)
    documented: must be called first; other functions return CUDA_ERROR_NOT_INITIALIZED without it (CUDA Driver API,
      Initialization, cuInit)
    """
    VALID = """
## initialised first [no-setup]
cu.cuInit(0)
cu.cuDeviceGet(0)

## asked before, then initialised [no-setup]
note: the first call fails, which tells that nobody initialised the driver
cu.cuCtxGetCurrent()
cu.cuInit(0)
cu.cuDeviceGet(0)

## what needs no initialisation [no-setup]
cu.cuDriverGetVersion()
"""
    INVALID = """
## never initialised [no-setup]
note: all three calls fail, and are one finding
device = cu.cuDeviceGet(0)  # error: [device-not-initialised]
context = cu.cuDevicePrimaryCtxRetain(device)
cu.cuMemAlloc(64)
"""

    @classmethod
    def at_exit(cls, model: ModelView, ended: Ended) -> Violations:
        """What to say of the calls that failed in a process without a successful cuInit."""
        if ended.refused is None:
            return
        first, count = ended.refused
        message, because = "cuInit was never called", []
        if model.not_initialised_by is not None:
            tried, status = model.not_initialised_by
            message = f"cuInit failed with {status_name('driver', status)} ({status})"
            because.append(f"cuInit was called by {place(tried)}")
        calls = "this call" if count == 1 else f"this call and {count - 1:,} more"
        because.append(f"{calls} returned CUDA_ERROR_NOT_INITIALIZED")
        yield Violation(cls, message, because=tuple(because), outcomes=(NOT_INITIALIZED,), culprit=first)
