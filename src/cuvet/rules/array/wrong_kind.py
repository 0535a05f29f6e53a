from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.model.naming import member
from cuvet.rules.lifecycle import named, place
from cuvet.rules.rule import CallRule, Violations

_SPARSE, _DEFERRED = 0x40, 0x80
"""CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING"""
_NEEDS = {
    "cuArrayGetSparseProperties": (_SPARSE, "CUDA_ARRAY3D_SPARSE"),
    "cuMipmappedArrayGetSparseProperties": (_SPARSE, "CUDA_ARRAY3D_SPARSE"),
    "cuArrayGetMemoryRequirements": (_DEFERRED, "CUDA_ARRAY3D_DEFERRED_MAPPING"),
    "cuMipmappedArrayGetMemoryRequirements": (_DEFERRED, "CUDA_ARRAY3D_DEFERRED_MAPPING"),
}
_DESCRIPTORS = {"cuArray3DCreate": "pAllocateArray", "cuMipmappedArrayCreate": "pMipmappedArrayDesc"}


class ArrayWrongKind(CallRule):
    """
    checks: The program asks an array for properties that only sparse arrays or arrays with deferred mapping have, and the call fails.
    why: These properties tell how to map memory into an array without memory. For others the driver returns CUDA_ERROR_INVALID_VALUE.
    instead: Make the array with CUDA_ARRAY3D_SPARSE or CUDA_ARRAY3D_DEFERRED_MAPPING, or do not ask.
    limits: Known only if the creation of the array was seen with its descriptor.
    """

    code = "CV468"
    summary = "an ordinary array is asked for properties of sparse or deferred arrays"
    help = "make the array with CUDA_ARRAY3D_SPARSE or CUDA_ARRAY3D_DEFERRED_MAPPING, or do not ask"
    entry_points = frozenset(_NEEDS)
    evidence = """
    recorded: cuArrayGetSparseProperties, cuArrayGetMemoryRequirements and their siblings for mipmapped arrays, of
      arrays without these flags: CUDA_ERROR_INVALID_VALUE
    documented: CUDA_ERROR_INVALID_VALUE without CUDA_ARRAY3D_SPARSE or CUDA_ARRAY3D_DEFERRED_MAPPING (CUDA Driver API,
      Memory Management, cuArrayGetSparseProperties and cuArrayGetMemoryRequirements)
    """
    VALID = """
## what every array has
array = cu.array()
cu.cuArray3DGetDescriptor(cu.host(64), array)
cu.cuArrayDestroy(array)

## levels of an ordinary mipmapped array
mipmapped = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(mipmapped, 0)
cu.cuMipmappedArrayDestroy(mipmapped)
"""
    INVALID = """
## sparse properties of an ordinary array
array = cu.array()
cu.cuArrayGetSparseProperties(cu.host(64), array)  # error: [array-wrong-kind]
cu.cuArrayDestroy(array)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        flag, flag_name = _NEEDS[call.name]
        for use in (use for kind in (Kind.ARRAY, Kind.MIPMAPPED_ARRAY) for use in named(call, model, kind)):
            made = None if use.object is None or not use.object.alive else _whole(use.object).created_by
            flags = None if made is None else _flags(made)
            if use.object is None or made is None or flags is None or flags & flag:
                continue
            message = f"{use.object.name} was made without {flag_name}"
            yield cls.refused(message, use.object, argument=use.argument, because=(f"it was made by {place(made)}",))


def _whole(array: Object) -> Object:
    """The mipmapped array of a level, else the array."""
    return array.parent if array.parent is not None and array.parent.kind is Kind.MIPMAPPED_ARRAY else array


def _flags(made: Call) -> int | None:
    """CUDA_ARRAY3D_… of the call that made the array; arrays of cuArrayCreate have none."""
    if made.name == "cuArrayCreate":
        return 0
    descriptor = _DESCRIPTORS.get(made.name)
    return None if descriptor is None else member(made, descriptor, "Flags")
