from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import named
from cuvet.rules.ownership import belongs, living_context
from cuvet.rules.rule import CRASH, CallRule, Violations


class ArrayOtherContext(CallRule):
    """
    checks: A texture or surface object is made of an array of another context than the current one, and the call fails. Or a texture
      object is made of a mipmapped array of another device.
    why: The driver returns CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, also for two contexts of one device, between which peer access cannot be
      enabled. For a mipmapped array of another device it dies of SIGSEGV.
    instead: Make the context of the array current before `cuTexObjectCreate`, or make the array in the current context.
    limits: Arrays that were made before the first call that was seen are not known. Arrays of a context to which peer access was enabled
      are not judged, nor are mipmapped arrays of another context of the same device.
    """

    code = "CV467"
    about_devices = True
    summary = "a texture or surface object is made of an array of another context"
    help = "make the context of the array current first"
    entry_points = frozenset({"cuTexObjectCreate", "cuSurfObjectCreate"})
    evidence = """
    recorded: cuTexObjectCreate and cuSurfObjectCreate of an array of another context of the same device:
      CUDA_ERROR_PEER_ACCESS_NOT_ENABLED; cuTexObjectCreate of such a mipmapped array: no error
    recorded: cuTexObjectCreate of a mipmapped array of another device: SIGSEGV, 3 of 3
    """
    VALID = """
## array of the current context
array = cu.array()
cu.cuTexObjectDestroy(cu.texture(array))
cu.cuArrayDestroy(array)

## made current again
array = cu.array()
other = cu.cuCtxCreate(0, 0, device)
cu.cuCtxSetCurrent(context)
cu.cuTexObjectDestroy(cu.texture(array))
cu.cuArrayDestroy(array)
cu.cuCtxDestroy(other)
"""
    INVALID = """
## another context of the device
array = cu.array()
other = cu.cuCtxCreate(0, 0, device)
cu.texture(array)  # error: [array-other-context]
cu.surface(array)  # error: [array-other-context]
cu.cuCtxDestroy(other)
cu.cuArrayDestroy(array)

## mipmapped array of another device [devices=2]
mipmapped = cu.cuMipmappedArrayCreate(cu.struct("CUDA_ARRAY3D_DESCRIPTOR", Width=64, Height=64, Format=32, NumChannels=1), 2)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
resource = cu.struct("CUDA_RESOURCE_DESC", resType=1, res__array__hArray=mipmapped)
cu.cuTexObjectCreate(resource, bytes(104), 0)  # error: [array-other-context]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        current = model.current_context(call)
        for use in named(call, model, Kind.ARRAY):
            owner = living_context(use.object)
            if use.object is None or owner is None or current is None or owner is current or owner in current.peers:
                continue
            message = f"{use.object.name} belongs to another context than the current one"
            because = (belongs(use.object, owner), f"{current.name} is current")
            yield cls.refused(
                message, use.object, owner, current, argument=use.argument, because=because, outcomes=(705,)
            )
        for use in named(call, model, Kind.MIPMAPPED_ARRAY) if call.name == "cuTexObjectCreate" else ():
            owner = living_context(use.object)
            if use.object is None or owner is None or current is None or owner in current.peers:
                continue
            if None in (owner.device, current.device) or owner.device == current.device:
                continue
            yield cls.broken(
                f"{use.object.name} belongs to another device than the current one",
                use.object,
                owner,
                current,
                argument=use.argument,
                because=(belongs(use.object, owner), f"{current.name} of device {current.device} is current"),
                outcomes=(CRASH,),
            )
