from cuvet.catalog import EntryPoint, status_name
from cuvet.model import Call, ModelView
from cuvet.model.accesses import COPIES, SETS
from cuvet.rules.lifecycle import NAMES, place
from cuvet.rules.occasions import after_failure
from cuvet.rules.rule import CallRule, Violations
from cuvet.rules.unmade import lacks, missing


class ErrorUnchecked(CallRule):
    """
    checks: A call fails because it gets NULL or no object of this process, and the call that should have made the object had failed.
    why: The program ignored the status of the earlier call. The variable keeps its old value, and a later call seems to be at fault.
    instead: Check the status of every call that creates, allocates or loads something, directly after it.
    limits: Whether a program checks a status cannot be seen; it is concluded from what the program does next. Only the newest failure of
      the same thread is considered. Errors that the runtime keeps for ``cudaGetLastError``, or finds itself, are not seen.
    """

    code = "CV902"
    severity = "warning"
    only_for_failed = True
    only_when = after_failure
    summary = "a call failed, and the program went on as if it had succeeded"
    help = "check the status of this call"
    evidence = """
    measured: the launch after a failed cudaMalloc succeeds; cudaGetLastError returns its error (peek_stale_error)
    measured: NULL handles of modules and functions: CUDA_ERROR_INVALID_HANDLE (module_null)
    documented: the call may return errors of earlier launches (CUDA Driver API, Memory Management, cuMemFree)
    """
    VALID = """
## failed, and tried again
memory, size = cu.cuModuleGetGlobal(cu.module(), "absent")
if cu.status:
    memory, size = cu.cuMemAlloc(4), 4
    cu.cuMemsetD8(memory, 0, size)

## failed, and given up
memory, size = cu.cuModuleGetGlobal(cu.module(), "absent")
if not cu.status:
    cu.cuCtxSynchronize()
"""
    INVALID = """
## allocation that failed
memory = cu.cuMemAlloc(1 << 50)  # warning: [memory-larger-than-device]  # warning: [error-unchecked]
cu.cuMemsetD8(memory, 0, 4096)  # error: [memory-not-device-memory]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return entry_point.name in COPIES | SETS or any(role.verb in NAMES for role in entry_point.roles)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        lack = lacks(call, model)
        if lack is None or next(missing(lack.maker, model), None):
            return
        status, kind = status_name("driver", lack.status), lack.kind.noun
        message = f"{status} was ignored: a later call uses the {kind} that was not made"
        because = (f"argument {lack.argument + 1} of {call.name} names no {kind}, by {place(call)}",)
        yield cls.broken(message, because=because, only_if_failed=True, culprit=lack.maker, cause=lack.maker)
