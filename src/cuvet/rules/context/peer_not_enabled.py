from cuvet.model import Call, ModelView
from cuvet.rules.peers import peers
from cuvet.rules.rule import CallRule, Violations


class ContextPeerNotEnabled(CallRule):
    """
    checks: Peer access is disabled that was not enabled, and the call fails.
    why: Peer access goes one way, from the current context to its peer. Disabling any other returns CUDA_ERROR_PEER_ACCESS_NOT_ENABLED.
    instead: Disable it once, with the context current that it was enabled from.
    limits: Reported only when the call fails, because successful calls may not be recorded.
    """

    code = "CV113"
    summary = "peer access is disabled that was not enabled"
    help = "disable peer access from the context that it was enabled from, and only once"
    entry_points = frozenset({"cuCtxDisablePeerAccess"})
    evidence = """
    recorded: cuCtxDisablePeerAccess without an enabling call before: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
    documented: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED if access between the current context and peerContext was not enabled
      before (CUDA Driver API, Peer Context Memory Access, cuCtxDisablePeerAccess)
    documented: access is enabled in one direction; the other needs a call of its own (CUDA Driver API, Peer Context
      Memory Access, cuCtxEnablePeerAccess)
    """
    VALID = """
## enabled and disabled [devices=2]
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxEnablePeerAccess(other, 0)
cu.cuCtxDisablePeerAccess(other)

## both ways [devices=2]
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxEnablePeerAccess(other, 0)
cu.cuCtxSetCurrent(other)
cu.cuCtxEnablePeerAccess(context, 0)
cu.cuCtxDisablePeerAccess(context)
"""
    INVALID = """
## never enabled
cu.cuCtxDisablePeerAccess(context)  # error: [context-peer-not-enabled]

## enabled the other way round [devices=2]
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxEnablePeerAccess(other, 0)
cu.cuCtxSetCurrent(other)
cu.cuCtxDisablePeerAccess(context)  # error: [context-peer-not-enabled]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        both = peers(call, model)
        if both is None:
            return
        current, peer = both
        yield cls.refused(
            f"peer access from {current.name} to {peer.name} is disabled, and was not enabled",
            *dict.fromkeys((current, peer)),
            argument=call.index("peerContext"),
            outcomes=(0, 705) if peer in current.peers else (705,),
        )
