from cuvet.catalog import EntryPoint
from cuvet.model import Call, ModelView
from cuvet.model.library import makes_handle
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import place
from cuvet.rules.occasions import after_fork
from cuvet.rules.rule import CallRule, Violations


class DeviceUseAfterFork(CallRule):
    """
    checks: A process calls CUDA, and the call fails, after its parent initialised CUDA and then forked it.
    why: The state and the threads of the driver do not survive `fork`. The handles of the child name nothing, and it cannot initialise
      the driver again: calls return CUDA_ERROR_NOT_INITIALIZED.
    instead: Fork before the first CUDA call of the parent, or start workers with `exec` (Python: `multiprocessing` with the start method
      `spawn` or `forkserver`). Asking for the number of devices initialises CUDA too.
    limits: Calls that succeed are not reported; counting devices was measured to succeed.
    """

    code = "CV122"
    stage = Stage.PROCESS
    only_when = after_fork
    of_process = True
    libraries = True
    only_for_failed = True
    summary = "a forked child uses CUDA that its parent initialised"
    help = "fork before CUDA is initialised, or start the worker with exec (multiprocessing: spawn or forkserver)"
    evidence = """
    measured: in the child cudaMalloc, cuInit, cuStreamCreate, cuCtxGetCurrent, cuDeviceGet and cuCtxSynchronize, also
      with inherited streams and events: CUDA_ERROR_NOT_INITIALIZED (fork_child_uses, fork_child_uses_handle,
      fork_after_cuinit_only)
    measured: forked before the parent's first call: the child works (fork_before_init)
    documented: fork does not copy CUDA's data and threads; using CUDA after it and before exec is undefined behavior
      (NVIDIA CUDA C++ Guidelines for Robust and Safety-Critical Programming, CUDA 1.6)
    """
    VALID = """
## forked before initialisation [no-setup]
def child():
    cu.cuInit(0)
    cu.cuDeviceGet(0)

cu.in_child(child)
cu.cuInit(0)

## child without CUDA
cu.in_child(lambda: sum(range(10)))
cu.cuCtxSynchronize()
"""
    INVALID = """
## child initialises again
def child():
    cu.cuInit(0)  # error: [device-use-after-fork]

cu.in_child(child)

## child uses what it inherited
def child():
    cu.cuMemAlloc(4096)  # error: [device-use-after-fork]

cu.in_child(child)
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return bool(entry_point.roles) and (entry_point.api == "driver" or makes_handle(entry_point))

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        initialised = model.initialised_before_fork
        if initialised is None:
            return
        message = "this process was forked after CUDA was initialised"
        because = (f"CUDA was initialised by {place(initialised)} of the parent process",)
        yield cls.refused(message, because=because, outcomes=(3,))
