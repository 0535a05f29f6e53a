from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import place
from cuvet.rules.peers import peers
from cuvet.rules.rule import CallRule, Violations


class ContextPeerEnabledTwice(CallRule):
    """
    checks: A call fails to enable peer access because an earlier call enabled it.
    why: One call enables access to all memory of the peer context. A second call returns CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED and changes
      nothing. In the runtime the error stays until `cudaGetLastError`, and the check after the next kernel reports it.
    instead: Enable each pair once, or accept the status and, in the runtime, clear it with `cudaGetLastError`.
    limits: The first call may not be recorded, so the driver's status decides. Silent if a library gets this status: it expects it.
    """

    code = "CV114"
    severity = "note"
    answers = True
    summary = "peer access is enabled that is enabled already"
    help = "enable peer access once for each pair of devices, or accept this status"
    entry_points = frozenset({"cuCtxEnablePeerAccess"})
    evidence = """
    measured: a second cudaDeviceEnablePeerAccess: the status, and access stays enabled (peer_access_enabled_twice)
    documented: all allocations of the peer context become accessible; CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED if access
      from the current context was enabled already (CUDA Driver API, Peer Context Memory Access, cuCtxEnablePeerAccess)
    documented: returns the last error of the runtime's calls on this thread, and resets it (CUDA Runtime API, Error
      Handling, cudaGetLastError)
    """
    VALID = """
## once [devices=2]
cu.cuCtxEnablePeerAccess(cu.cuDevicePrimaryCtxRetain(1), 0)

## again after it was disabled [devices=2]
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxEnablePeerAccess(other, 0)
cu.cuCtxDisablePeerAccess(other)
cu.cuCtxEnablePeerAccess(other, 0)
"""
    INVALID = """
## twice [devices=2]
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxEnablePeerAccess(other, 0)
cu.cuCtxEnablePeerAccess(other, 0)  # note: [context-peer-enabled-twice]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        both = peers(call, model)
        before = None if both is None else both[0].peers.get(both[1])
        if both is None or both[0].device == both[1].device:
            return
        yield cls.refused(
            f"peer access from {both[0].name} to {both[1].name} is enabled already",
            *both,
            argument=call.index("peerContext"),
            because=() if before is None else (f"it was enabled by {place(before)}",),
            outcomes=(0, 704) if before is None else (704,),
        )
