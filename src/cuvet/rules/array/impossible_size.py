from cuvet.model import Call, ModelView
from cuvet.model.naming import member
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CallRule, Violations

_DESCRIPTORS = {
    "cuArrayCreate": "pAllocateArray",
    "cuArray3DCreate": "pAllocateArray",
    "cuMipmappedArrayCreate": "pMipmappedArrayDesc",
}
_LARGEST = 1 << 17
"""Elements: the largest extent of any array, of the 2D arrays of today's GPUs."""


class ArrayImpossibleSize(CallRule):
    """
    checks: An array is created with width 0, or with an extent that no GPU has, and the call fails.
    why: The hardware limits extents, which count elements: 131072 in the largest direction. Height and depth may be 0, the width may not.
    instead: Pass the width in elements, not in bytes. Create no array for an empty image. Ask `cuDeviceGetAttribute` for the limits
      (CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH and its siblings).
    limits: The lower limits of 1D, 3D and layered arrays and of older GPUs are not checked.
    """

    code = "CV466"
    summary = "an array is made without a width, or larger than any GPU takes"
    help = "pass a width in elements, of at least 1 and at most what cuDeviceGetAttribute says"
    stage = Stage.ARGUMENT
    entry_points = frozenset(_DESCRIPTORS)
    evidence = """
    recorded: cuArray3DCreate of 0 x 64 and of 1073741824 x 64 elements: CUDA_ERROR_INVALID_VALUE
    documented: 2D texture objects of CUDA arrays are at most 131072 x 65536 elements (CUDA Programming Guide, Compute
      Capabilities, Technical Specifications)
    documented: sizes are in elements; the width is at least 1, height and depth are 0 in the dimensions that the array
      does not have (CUDA Driver API, Memory Management, cuArray3DCreate)
    """
    VALID = """
## two dimensions
cu.cuArrayDestroy(cu.array())

## one dimension
note: height and depth are 0
floats = 0x20
layout = cu.struct("CUDA_ARRAY3D_DESCRIPTOR", Width=4096, Format=floats, NumChannels=1)
cu.cuArrayDestroy(cu.cuArray3DCreate(layout))
"""
    INVALID = """
## an empty image
floats = 0x20
layout = cu.struct("CUDA_ARRAY3D_DESCRIPTOR", Width=0, Height=64, Format=floats, NumChannels=1)
cu.cuArray3DCreate(layout)  # error: [array-impossible-size]

## all elements in one row
floats = 0x20
layout = cu.struct("CUDA_ARRAY3D_DESCRIPTOR", Width=1 << 30, Height=64, Format=floats, NumChannels=1)
cu.cuArray3DCreate(layout)  # error: [array-impossible-size]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        descriptor = _DESCRIPTORS[call.name]
        width, height = (member(call, descriptor, name) for name in ("Width", "Height"))
        if width is None or height is None:
            return
        if width == 0:
            message = "Width is 0, and has to be 1 at least"
        elif max(width, height) > _LARGEST:
            message = f"Width is {width} and Height {height} elements, and no GPU takes more than {_LARGEST}"
        else:
            return
        yield cls.refused(message, argument=call.index(descriptor))
