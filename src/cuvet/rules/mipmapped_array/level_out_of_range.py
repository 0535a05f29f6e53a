from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import MipmappedArray
from cuvet.rules.arguments import passed
from cuvet.rules.rule import CallRule, Violations


class MipmappedArrayLevelOutOfRange(CallRule):
    """
    checks: The program asks for a level that the mipmapped array does not have, and the call fails.
    why: Levels are numbered from 0. The driver clamps the number of levels that was asked for, without an error. There is at least one,
      and at most one more than the number of times that the largest extent can be halved.
    instead: Ask for levels below the smaller of these two numbers.
    limits: The number of levels is known only if the creation of the array was seen.
    """

    code = "CV476"
    summary = "a level is asked for that a mipmapped array does not have"
    help = "number levels from 0, and create the array with as many as are used"
    entry_points = frozenset({"cuMipmappedArrayGetLevel"})
    evidence = """
    recorded: level 1 of a mipmapped array created with 0 levels or with 1, and level 9 of one with 3:
      CUDA_ERROR_INVALID_VALUE
    documented: the number of levels is clamped to [1, 1 + floor(log2(max(width, height, depth)))] (CUDA Driver API,
      Memory Management, cuMipmappedArrayCreate)
    documented: CUDA_ERROR_INVALID_VALUE for other levels (CUDA Driver API, Memory Management, cuMipmappedArrayGetLevel)
    """
    VALID = """
## all levels
mipmapped = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(mipmapped, 0)
cu.cuMipmappedArrayGetLevel(mipmapped, 1)
cu.cuMipmappedArrayDestroy(mipmapped)

## no levels asked for
note: it has one all the same
floats = 0x20
layout = cu.struct("CUDA_ARRAY3D_DESCRIPTOR", Width=64, Height=64, Format=floats, NumChannels=1)
cu.cuMipmappedArrayGetLevel(cu.cuMipmappedArrayCreate(layout, 0), 0)
"""
    INVALID = """
## levels counted from 1
mipmapped = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(mipmapped, 2)  # error: [mipmapped-array-level-out-of-range]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index("hMipmappedArray")
        found = model.object_of(call, argument, Kind.MIPMAPPED_ARRAY)
        level = passed(call, "level")
        if not isinstance(found, MipmappedArray) or not found.alive or not found.levels or level < found.levels:
            return
        message = f"{found.name} has no level {level}: its levels are 0 to {found.levels - 1}"
        yield cls.refused(message, found, argument=call.index("level"))
