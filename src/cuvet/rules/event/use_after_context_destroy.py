from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import CRASH, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, ModelView


class EventUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys an event whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its events. Later calls with one of them were measured to return
    CUDA_ERROR_CONTEXT_IS_DESTROYED, or, where it was a green context's, to kill the process (cuEventSynchronize); they
    are documented as undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV305"
    name = "event-use-after-context-destroy"
    severity = "error"
    summary = "an event is used after its context was destroyed"
    help = "destroy the event before its context, and the context last"
    kind = Kind.EVENT
    roots = frozenset({Kind.CONTEXT, Kind.GREEN_CONTEXT})
    outcomes = (709,)
    evidence = """
    measured: querying and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED (context_destroy_then_event_destroy)
    measured: made in a green context's context, where nothing else retains the primary context: cuEventSynchronize
      after cuGreenCtxDestroy kills the process (green_gone_event)
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuEventQuery(event)
cu.cuEventDestroy(event)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
event = cu.cuEventCreate(0)
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuEventQuery(event)
cu.cuEventDestroy(event)

## of a green context, while the primary context is retained [no-setup]
note: a green context's context is the primary one with fewer multiprocessors (cuCtxFromGreenCtx)
cu.cuInit(0)
green = cu.green_context()
cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
event = cu.cuEventCreate(0)
primary = cu.cuDevicePrimaryCtxRetain(0)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(primary)
cu.cuEventSynchronize(event)
cu.cuEventDestroy(event)

## C++: destroyed before its context [c++]
void compute(CUdevice device) {
    CUcontext context;
    CUevent done;
    cuCtxCreate(&context, nullptr, 0, device);
    cuEventCreate(&done, CU_EVENT_DEFAULT);
    run(done);
    cuEventDestroy(done);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuCtxDestroy(own)
cu.cuEventQuery(event)  # error: [event-use-after-context-destroy]

## destroyed after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuCtxDestroy(own)
cu.cuEventDestroy(event)  # error: [event-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuEventQuery(event)  # error: [event-use-after-context-destroy]

## of a green context that was all that retained the primary context [no-setup]
cu.cuInit(0)
green = cu.green_context()
cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
event = cu.cuEventCreate(0)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
cu.cuEventSynchronize(event)  # error: [event-use-after-context-destroy]

## C++: destroyed after its context [c++]
void compute(CUdevice device) {
    CUcontext context;
    CUevent done;
    cuCtxCreate(&context, nullptr, 0, device);
    cuEventCreate(&done, CU_EVENT_DEFAULT);
    run(done);
    cuCtxDestroy(context);
    cuEventDestroy(done);  // error: [event-use-after-context-destroy]
}

## Python: waited for after the context's end [python]
from cuda.bindings import driver

def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, done = driver.cuEventCreate(0)
    work(done)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuEventSynchronize(done)  # error: [event-use-after-context-destroy]

## C#: destroyed after its context [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Compute(CUdevice device) {
        CUcontext context = new CUcontext();
        CUevent done = new CUevent();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(Events.cuEventCreate(ref done, CUEventFlags.Default));
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check(Events.cuEventDestroy_v2(done));  // error: [event-use-after-context-destroy]
    }
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        for violation in super().check(call, model):
            of_green = violation.objects[-1].kind is Kind.GREEN_CONTEXT
            yield replace(violation, outcomes=(CRASH,), only_if_failed=True) if of_green else violation
