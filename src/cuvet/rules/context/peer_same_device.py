from cuvet.model import Call, ModelView
from cuvet.rules.peers import peers
from cuvet.rules.rule import CallRule, Violations


class ContextPeerSameDevice(CallRule):
    """
    checks: Peer access is enabled to a context of the same device, usually the current one.
    why: Peer access lets a device use the memory of another. Within a device there is nothing to enable: the driver returns
      CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, even for the current context, where the documentation says CUDA_ERROR_INVALID_CONTEXT.
    instead: Enable it between contexts of two devices that `cuDeviceCanAccessPeer` accepts. Skip the pairs of a device with itself.
    limits: Does not know whether two devices can reach each other.
    """

    code = "CV112"
    summary = "peer access is enabled to a context of the same device"
    help = "skip the pairs of a device with itself"
    entry_points = frozenset({"cuCtxEnablePeerAccess"})
    evidence = """
    recorded: cuCtxEnablePeerAccess with the current context: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    documented: CUDA_ERROR_PEER_ACCESS_UNSUPPORTED if cuDeviceCanAccessPeer says that the current context's device
      cannot reach the peer's; CUDA_ERROR_INVALID_CONTEXT if peerContext is the current context (CUDA Driver API, Peer
      Context Memory Access, cuCtxEnablePeerAccess)
    """
    VALID = """
## two devices [devices=2]
other = cu.cuDevicePrimaryCtxRetain(1)
cu.cuCtxEnablePeerAccess(other, 0)
cu.cuCtxDisablePeerAccess(other)

## asked first
note: a device cannot be its own peer
for peer in range(cu.cuDeviceGetCount()):
    if cu.cuDeviceCanAccessPeer(0, peer):
        cu.cuCtxEnablePeerAccess(cu.cuDevicePrimaryCtxRetain(peer), 0)
"""
    INVALID = """
## a loop over all devices
for peer in range(cu.cuDeviceGetCount()):
    if peer == device:
        cu.cuCtxEnablePeerAccess(context, 0)  # error: [context-peer-same-device]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        both = peers(call, model)
        if both is None or both[0].device is None or both[0].device != both[1].device:
            return
        current, peer = both
        other = "itself" if current is peer else f"{peer.name}, of the same device"
        message = f"peer access is enabled from {current.name} to {other}"
        yield cls.refused(message, *dict.fromkeys((current, peer)), argument=call.index("peerContext"), outcomes=(217,))
