"""In which order the driver looks at a call. It returns what it finds first, whatever else is wrong.

Every rule says by its ``stage`` what it is about. Found on recordings of random programs (NVIDIA H200, driver 580.159.04), of calls
that are wrong in two ways at once: a default stream with a destroyed context current and no event gives
CUDA_ERROR_CONTEXT_IS_DESTROYED, not CUDA_ERROR_INVALID_HANDLE; cuMemFree of anything, in a thread that a capture forbids it,
CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; unknown flags and no event CUDA_ERROR_INVALID_VALUE.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvet.rules.rule import Violation


class Stage(Enum):
    PROCESS = auto()
    """Is the driver initialised, not shut down, not that of a parent process?"""
    CONTEXT = auto()
    """Is there a current context if one is needed, does it live, has it no sticky error?"""
    CAPTURE = auto()
    """Does a stream capture allow the call?"""
    ARGUMENT = auto()
    """Are numbers and flags such as the parameter takes?"""
    HANDLE = auto()
    """Is there an object of that handle?"""
    STATE = auto()
    """Do the objects fit: to each other, to their contexts, to what was done with them before?"""

    __hash__ = object.__hash__


ORDER = tuple(Stage)

_HANDLE_FIRST = (Stage.PROCESS, Stage.HANDLE, Stage.CONTEXT, Stage.CAPTURE, Stage.ARGUMENT, Stage.STATE)
_ARGUMENT_FIRST = (Stage.PROCESS, Stage.ARGUMENT, Stage.CONTEXT, Stage.CAPTURE, Stage.HANDLE, Stage.STATE)
_ARGUMENT_LAST = (Stage.PROCESS, Stage.CONTEXT, Stage.CAPTURE, Stage.HANDLE, Stage.STATE, Stage.ARGUMENT)
_CAPTURE_LAST = (Stage.PROCESS, Stage.CONTEXT, Stage.ARGUMENT, Stage.HANDLE, Stage.STATE, Stage.CAPTURE)
EXCEPTIONS: dict[str, tuple[Stage, ...]] = {
    "cuArrayGetMemoryRequirements": _ARGUMENT_LAST,
    "cuCtxRecordEvent": _CAPTURE_LAST,
    "cuEventQuery": _HANDLE_FIRST,
    "cuEventSynchronize": _HANDLE_FIRST,
    "cuGraphInstantiateWithFlags": _ARGUMENT_FIRST,
    "cuLibraryUnload": _HANDLE_FIRST,
    "cuLaunchHostFunc": _ARGUMENT_FIRST,
    "cuMemAdvise": _ARGUMENT_FIRST,
    "cuMemAllocManaged": _ARGUMENT_FIRST,
    "cuMemAllocPitch": _ARGUMENT_FIRST,
    "cuMipmappedArrayGetMemoryRequirements": _ARGUMENT_LAST,
    "cuModuleUnload": _HANDLE_FIRST,
    "cuStreamAddCallback": _ARGUMENT_FIRST,
    "cuStreamCreate": _ARGUMENT_FIRST,
    "cuStreamCreateWithPriority": _ARGUMENT_FIRST,
    "cuStreamQuery": _HANDLE_FIRST,
    "cuStreamSynchronize": _HANDLE_FIRST,
}
"""Entry points that look in another order."""


def decisive(name: str, violations: Sequence[Violation], given: Stage | None = None) -> tuple[Violation, ...]:
    """Those of the violations of a call of the entry point ``name`` that its outcome follows from: all of the first stage that has
    any. None if ``given``, the stage of something that no rule is about, comes before them."""
    if not violations:
        return ()
    order = EXCEPTIONS.get(name, ORDER)
    ends = [violation for violation in violations if violation.outcomes or violation.undefined]
    first = min((order.index(violation.rule.stage) for violation in ends), default=len(order))
    if given is not None and order.index(given) <= first:
        return ()
    return tuple(violation for violation in ends if order.index(violation.rule.stage) == first)
