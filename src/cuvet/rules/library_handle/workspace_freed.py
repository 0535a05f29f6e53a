import re

from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model import Allocation, Call, ModelView
from cuvet.rules.library_handles import handles_used, works
from cuvet.rules.lifecycle import chain, place
from cuvet.rules.rule import CallRule, Violations

_WORKSPACE = "workspace"
_SIZE = re.compile(r"size|lwork|bytes", re.IGNORECASE)
_PASSES = frozenset({Verb.READS, Verb.WRITES})


class LibraryHandleWorkspaceFreed(CallRule):
    """
    checks: A library computes with a workspace that was freed: one that `cublasSetWorkspace`, `cufftSetWorkArea` or
      `cudnnSetDropoutDescriptor` set, or one that the call passes.
    why: The library uses that memory, which may belong to something else now, or to nothing.
    instead: Free the workspace after the handle, or set another one first. `cublasSetStream` resets a cuBLAS handle to its own workspace.
    limits: CUDA does not see frees inside a program's or framework's allocator. Silent about frees in stream order and reused addresses.
    """

    code = "CV970"
    summary = "a library computes in a workspace that was freed"
    help = "free the workspace after its last use by the library, or give the handle another one before"
    libraries = True
    kinds = LIBRARY_OBJECTS
    evidence = """
    documented: cublasSetWorkspace() sets a buffer of the user's that all subsequent calls use; cublasSetStream() sets
      it back (cuBLAS, cublasSetWorkspace(), https://docs.nvidia.com/cuda/cublas/#cublassetworkspace)
    documented: execution assumes that the work area pointer is valid; if it is not, results are indeterminate
      (cuFFT API Reference, cufftSetWorkArea(), https://docs.nvidia.com/cuda/cufft/#function-cufftsetworkarea)
    measured, succeeds: cufftExecC2C() of a plan that needs its work area, which was freed: CUFFT_SUCCESS; the next
      cudaDeviceSynchronize: cudaErrorIllegalAddress (cufft_workspace_freed_prime)
    measured: cublasSscal(), which needs no workspace: CUBLAS_STATUS_SUCCESS (cublas_workspace_freed)
    measured: cublasSdot(), which needs one: CUBLAS_STATUS_MAPPING_ERROR; the next cudaDeviceSynchronize:
      cudaErrorIllegalAddress; cublasSgemm(): CUBLAS_STATUS_EXECUTION_FAILED (cublas_workspace_freed_dot,
      cublas_workspace_freed_gemm)
    """
    VALID = """
## freed after the handle
handle = cu.cublas.cublasCreate()
workspace = cu.cuMemAlloc(1 << 22)
cu.cublas.cublasSetWorkspace(handle, workspace, 1 << 22)
cu.cublas.cublasSscal(handle, 16, cu.host(4), cu.cuMemAlloc(4096), 1)
cu.cublas.cublasDestroy(handle)
cu.cuMemFree(workspace)

## workspace set back by the stream
handle = cu.cublas.cublasCreate()
memory, workspace = cu.cuMemAlloc(4096), cu.cuMemAlloc(1 << 22)
cu.cublas.cublasSetWorkspace(handle, workspace, 1 << 22)
cu.cublas.cublasSetStream(handle, 0)
cu.cuMemFree(workspace)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)
"""
    INVALID = """
## cuBLAS
handle = cu.cublas.cublasCreate()
memory, workspace = cu.cuMemAlloc(4096), cu.cuMemAlloc(1 << 22)
cu.cublas.cublasSetWorkspace(handle, workspace, 1 << 22)
cu.cuMemFree(workspace)
cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)  # error: [library-handle-workspace-freed]

## cuFFT
plan = cu.cufft.cufftPlan1d(64, 0x29, 1)
memory, workspace = cu.cuMemAlloc(4096), cu.cuMemAlloc(1 << 22)
cu.cufft.cufftSetWorkArea(plan, workspace)
cu.cuMemFree(workspace)
cu.cufft.cufftExecC2C(plan, memory, memory, -1)  # error: [library-handle-workspace-freed]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        yield from cls._passed(call, model)
        if not works(call.entry_point):
            return
        for use, handle in handles_used(call, model, LIBRARY_OBJECTS):
            memory, since = handle.workspace, handle.workspace_set_by
            if memory is not None and since is not None and _was_freed(memory, model):
                message = f"{handle.name} computes in {memory.name}, which was freed"
                because = (f"it is the workspace since {since.name} in {place(since)}", *chain(memory))
                yield cls.broken(message, handle, memory, argument=use.argument, because=because, undefined=True)

    @classmethod
    def _passed(cls, call: Call, model: ModelView) -> Violations:
        for role in call.entry_point.roles:
            if role.variant != _WORKSPACE or role.verb not in _PASSES or role.kind is not Kind.MEMORY:
                continue
            memory = model.allocation_at(call.arg(role.parameter))
            if memory is not None and _was_freed(memory, model) and _has_size(call, role):
                yield cls.broken(
                    f"the workspace is in {memory.name}, which was freed",
                    memory,
                    argument=call.index(role.parameter),
                    because=chain(memory),
                    undefined=True,
                )


def _has_size(call: Call, role: Role) -> bool:
    """Whether the workspace is larger than nothing, as far as the call says: its size is the role's, or the next parameter."""
    after = call.index(role.parameter) + 1
    size = call.entry_point.index.get(role.size, after)
    if size >= len(call.args) or not _SIZE.search(call.entry_point.parameters[size].name):
        return True
    return call.args[size] != 0


def _was_freed(memory: Allocation, model: ModelView) -> bool:
    """Freed by a call on it, not with its context nor in the order of a stream; and nothing else has its address."""
    ended = memory.destroyed_by is not None and memory.killed_by is None and memory.freed_on is None
    return ended and model.allocation_at(memory.handle) is memory
