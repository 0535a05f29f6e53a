from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Context, ModelView
from cuvet.model.library import owner
from cuvet.model.objects import LibraryObject
from cuvet.rules.library_handles import handles_used, is_of_one_context, works
from cuvet.rules.lifecycle import Named
from cuvet.rules.rule import CallRule, Violation, Violations

_TIED = frozenset(kind for kind in Kind if kind.row.tied)
_KINDS = _TIED | {Kind.CUFFT_PLAN}
_MANY_DEVICES = "cufftXt"


class LibraryHandleOfOtherDevice(CallRule):
    """
    checks: A cuBLAS or cuDNN handle computes while another device or context is current than at its creation. Or a cuFFT plan is executed
      on another device, or a cuDNN handle gets a stream of another context, and the call fails.
    why: The handle belongs to the device and context that were current at its creation. A cache whose key is only the size, or a worker
      thread with another device current, uses it on the wrong one.
    instead: Create one handle or plan per device (and thread) with that device current, and make it current before each call.
    limits: Silent about calls that only query or set (except a stream), handles whose context is not known, plans for several GPUs, and
      other libraries, whose behaviour is not documented. `cuvet check` knows loops of C++ that make one device after
      the other current, and compute with one handle on all of them.
    """

    code = "CV967"
    about_devices = True
    summary = "a library's handle or plan is used on another device or context than its own"
    help = "create one handle or plan per device (and thread) with that device current; key caches by device"
    kinds = _KINDS
    libraries = True
    evidence = """
    documented: a cuBLAS library context is tightly coupled with the CUDA context that is current at
      cublasCreate(); its device must be current when cuBLAS functions are called with it (cuBLAS, Using the cuBLAS API,
      cuBLAS Context, https://docs.nvidia.com/cuda/cublas/#cublas-context)
    documented: the cuDNN handle is tied to the current CUDA device (context); each device needs a handle of its own
      (NVIDIA cuDNN 8.9.7 API Reference, cudnnCreate)
    documented: CUDNN_STATUS_MAPPING_ERROR: mismatch between the user's stream and the context of the handle (NVIDIA
      cuDNN 8.9.7 API Reference, cudnnSetStream)
    documented: CUFFT_INVALID_DEVICE: a plan was executed on another GPU than it was created on (cuFFT API Reference,
      cufftResult, https://docs.nvidia.com/cuda/cufft/#return-value-cufftresult)
    measured, succeeds: cublasSscal() with another device or context current than at cublasCreate():
      CUBLAS_STATUS_SUCCESS (cublas_used_on_other_device, cublas_used_in_other_context)
    measured: a stream of another context: cudnnSetStream returned CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH; computing
      without it, in another context: CUDNN_STATUS_SUCCESS (cudnn_other_context_stream, cudnn_other_context)
    measured: in another context, cublasSgemm(): CUBLAS_STATUS_EXECUTION_FAILED; cufftExecC2C(): CUFFT_EXEC_FAILED
      (cublas_other_context_gemm, cufft_other_context)
    reported: the plan cache did not know of devices: CUFFT_EXEC_FAILED
      (https://github.com/pytorch/pytorch/issues/19224)
    reported: one layer in several contexts: CUDNN_STATUS_MAPPING_ERROR
      (https://github.com/pytorch/pytorch/issues/84309)
    reported: a module used from another thread: CUDNN_STATUS_MAPPING_ERROR
      (https://github.com/flashlight/flashlight/issues/73)
    """
    VALID = """
## its device made current [devices=2]
handle = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
cu.cuCtxSetCurrent(context)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)

## destroyed with another device current [devices=2]
handle = cu.cublas.cublasCreate()
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
cu.cublas.cublasDestroy(handle)

## one handle for each device [devices=2]
first = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)
cu.cublas.cublasSscal(first, 16, cu.host(4), memory, 1)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
second = cu.cublas.cublasCreate()
cu.cublas.cublasSscal(second, 16, cu.host(4), cu.cuMemAlloc(4096), 1)
"""
    INVALID = """
## another device current [devices=2]
handle = cu.cublas.cublasCreate()
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
memory = cu.cuMemAlloc(4096)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)  # error: [library-handle-of-other-device]

## another context current
handle = cu.cublas.cublasCreate()
own = cu.cuCtxCreate(0, 0, device)
memory = cu.cuMemAlloc(4096)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)  # error: [library-handle-of-other-device]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        yield from cls._of_stream(call, model)
        current = model.current_context(call)
        if current is None or not current.alive or not works(call.entry_point):
            return
        for use, handle in handles_used(call, model, _KINDS):
            own = handle.context
            if own is None or not own.alive or own is current or not is_of_one_context(handle):
                continue
            if handle.kind in _TIED or _on_one_other_device(call, handle, current):
                yield cls._violation(use, handle, own, current, only_if_failed=handle.kind not in _TIED)

    @classmethod
    def _of_stream(cls, call: Call, model: ModelView) -> Violations:
        for role in call.entry_point.roles:
            if role.verb is not Verb.SETS_STREAM:
                continue
            handle, stream = owner(model, call, role), model.object_named(call, role)
            if handle is None or stream is None or handle.kind is not Kind.CUDNN_HANDLE:
                continue
            own, other = handle.context, stream.context
            if own is None or other is None or own is other or not (own.alive and other.alive and stream.alive):
                continue
            yield cls.refused(
                f"{stream.name} belongs to {_place(other)}, {handle.name} to {_place(own)}",
                handle,
                stream,
                own,
                other,
                argument=call.index(role.parameter),
                outcomes=(),
                undefined=True,
            )

    @classmethod
    def _violation(
        cls, use: Named, handle: LibraryObject, own: Context, current: Context, *, only_if_failed: bool
    ) -> Violation:
        return cls.broken(
            f"{handle.name} was made in {_place(own)}, and {_place(current)} is current",
            handle,
            own,
            current,
            argument=use.argument,
            undefined=True,
            only_if_failed=only_if_failed,
        )


def _on_one_other_device(call: Call, plan: LibraryObject, current: Context) -> bool:
    """Whether a plan for one GPU is executed on another one."""
    return plan.device != current.device and not call.name.startswith(_MANY_DEVICES)


def _place(context: Context) -> str:
    return context.name if context.device is None else f"{context.name} (device {context.device})"
