from cuvet.catalog import status_name
from cuvet.catalog.roles import Kind
from cuvet.model import Call, Context, ModelView
from cuvet.model.library import needs_cuda
from cuvet.rules.launches import told
from cuvet.rules.rule import FailureRule, Violation

_CAUSES = {
    226: "an error that the GPU contained",
    700: "a kernel used an address that is not valid",
    702: "a kernel took too long",
    710: "an assertion in a kernel failed",
    714: "a kernel overran its call stack",
    715: "a kernel ran an illegal instruction",
    716: "a kernel used an address that is not aligned",
    717: "a kernel used an address of the wrong address space",
    718: "a kernel jumped to an invalid address",
    719: "a kernel stopped with an exception",
    721: "a kernel did not free its tensor memory",
    911: "a device outside of CUDA reported an error",
}
"""Statuses after which a context is lost."""

_DEVICE_UNAVAILABLE = 46
_AWAITED = "cuvet waited for the work of this launch (--narrow), and the driver told the error then"


class ErrorSticky(FailureRule):
    """
    checks: A call returns an error of work that ran before on the device, such as an illegal address, a failed assertion or an exception in
      a kernel. From then on every call in the same context returns it. All of them are one finding.
    why: Kernels and copies report their errors to whichever call comes next. That call and all later ones are not at fault. The context
      is lost, and these calls have no effect.
    instead: The finding names the launch at fault (verdict), if one stands out. Else it names the launches that no synchronisation
      followed. First come those whose arguments are null, point into memory that is freed, of another device or of the host, or beyond
      the end of memory. If none explains the error, run with --narrow, which waits for each launch and names the one at fault, or
      under compute-sanitizer, which names the access. End the process afterwards.
    limits: The host's calls do not show which kernel failed. A verdict needs the kernel's PTX, which is known of what nvcc put into the
      file that launches. A launch is named if it is among the last 256 calls of its thread, with the first thirteen words of its
      arguments. The kernels of graphs are named as they were captured, while the capture is among these calls, or where they were
      added. A wait counts for the thread that launched, and for a context or a stream, in a process with one context. A pointer
      inside memory, or into the middle of memory that was handed out again, shows nothing.
    """

    code = "CV901"
    summary = "the context was lost to an error on the device; later failures follow from it"
    help = (
        "look first at the launches that are named with an argument; cuvet run --narrow names the one "
        "at fault, and compute-sanitizer names the access; the calls that follow are not at fault"
    )
    evidence = """
    measured: after an illegal address every call in the context returns 700; after a trap every call returns 719
      (sticky_error, sticky_then_calls, sticky_with_objects, oob_write, trap_kernel)
    measured: after a device reset: CUDA_ERROR_DEVICE_UNAVAILABLE (sticky_error, sticky_with_objects)
    documented: after CUDA_ERROR_ILLEGAL_ADDRESS all CUDA work returns the same error; the process must be started again
      (CUDA Driver API, Data types used by CUDA driver, CUresult)
    """
    VALID = r"""
## an error that is over after the call
note: most errors concern only the call that returns them
cu.cuModuleGetGlobal(cu.module(), "absent")
memory = cu.cuMemAlloc(64)
cu.cuMemFree(memory)

## kernel that is given its memory
ptx = b'''.version 7.0 .target sm_75 .address_size 64
.visible .entry clear(.param .u64 memory)
{ .reg .u64 %a; ld.param.u64 %a, [memory]; st.global.u32 [%a], 0; ret; }\0'''
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(ptx), "clear")
memory = cu.cuMemAlloc(4096)
cu.launch(kernel, 0, memory)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## work that is not done yet
stream = cu.cuStreamCreate(0)
cu.cuStreamQuery(stream)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
"""
    INVALID = r"""
## exception in a kernel
note: the allocation fails too, and is counted under the synchronisation
ptx = b".version 7.0 .target sm_75 .address_size 64 .visible .entry dies() { trap; }\0"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(ptx), "dies")
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
cu.cuCtxSynchronize()  # error: [error-sticky]
cu.cuMemAlloc(64)

## kernel that is given freed memory
ptx = b'''.version 7.0 .target sm_75 .address_size 64
.visible .entry clear(.param .u64 memory)
{ .reg .u64 %a; ld.param.u64 %a, [memory]; st.global.u32 [%a], 0; ret; }\0'''
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(ptx), "clear")
memory = cu.cuMemAlloc(4096)
cu.launch(kernel, 0, memory)
cu.cuMemFree(memory)
cu.launch(kernel, 0, memory)
cu.cuCtxSynchronize()  # error: [error-sticky]
"""

    @classmethod
    def explain(cls, call: Call, status: int, model: ModelView) -> Violation | None:
        """The violation to count a failure under, if it is the echo of an error on the device."""
        if call.entry_point.api == "driver":
            context = _lost_context(call, status, model)
        else:  # the library works in the current context, and that is lost
            context = model.current_context(call) if needs_cuda(call.entry_point) else None
        return None if context is None else _echo(context, model)


def _echo(context: Context, model: ModelView) -> Violation | None:
    if context.error is None:
        return None
    cause = _CAUSES.get(context.error_status, "an error on the device")
    lines, memory = told(context, model)
    awaited = context.error.awaited
    when = "by the end of" if awaited else "before"
    return ErrorSticky.broken(
        f"{cause} {when} this call ({status_name('driver', context.error_status)}); {context.name} is lost",
        context,
        *memory,
        because=(_AWAITED if awaited else "work that was enqueued earlier failed; this call only reports it", *lines),
        outcomes=(context.error_status,),
        culprit=context.error,
    )


def _lost_context(call: Call, status: int, model: ModelView) -> Context | None:
    """The context whose error the status repeats."""
    if status not in _CAUSES and status != _DEVICE_UNAVAILABLE:
        return None
    current = model.current_context(call)
    candidates = [current] if current is not None else []
    candidates += [found for found in model.objects(Kind.CONTEXT, alive=False) if isinstance(found, Context)]
    for context in candidates:
        if context.error is not None and status in (context.error_status, _DEVICE_UNAVAILABLE):
            return context
    return None
