from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.code import code_of
from cuvet.rules.rule import CallRule, Violations

_OWNERS = {"cuModuleGetFunction": (Kind.MODULE, "hmod"), "cuLibraryGetKernel": (Kind.CULIBRARY, "library")}
"""What has the function, and the parameter that names it."""


class ImageNoSuchFunction(CallRule):
    """
    checks: A program requests a function of a module, or a kernel of a library, by a name that the image does not have.
    why: The image has the mangled name unless the kernel is `extern "C"`. It lacks templates that nothing instantiates.
    instead: Declare the kernel `extern "C"`, or use the mangled name (`cuobjdump -symbols`, `nvrtcGetLoweredName`).
    limits: A note, because a program may ask on purpose. Variables are not checked.
    """

    code = "CV658"
    severity = "note"
    answers = True
    summary = "a program requests a function that the image does not have"
    help = 'check the name: C++ names are mangled unless the kernel is extern "C"'
    entry_points = frozenset(_OWNERS)
    evidence = """
    measured: CUDA_ERROR_NOT_FOUND (module_garbage)
    documented: If no function of that name exists, cuModuleGetFunction() returns CUDA_ERROR_NOT_FOUND. (CUDA Driver
      API, Module Management, cuModuleGetFunction)
    """
    VALID = """
## function of the image
module = cu.module()
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## kernel of a library
library = cu.cuLibraryLoadData(cu.ptx, 0, 0, 0, 0, 0, 0)
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
"""
    INVALID = """
## misspelt
module = cu.module()
cu.cuModuleGetFunction(module, "trival")  # note: [image-no-such-function]
cu.cuModuleUnload(module)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        kind, parameter = _OWNERS[call.name]
        owner = model.object_of(call, call.index(parameter), kind)
        argument = call.index("name")
        name = call.inputs.get(argument, b"").split(b"\0")[0].decode("utf-8", "replace")
        known = code_of(owner)
        if known is not None and name in known.kernels:
            return
        if owner is not None and owner.alive and name:
            message = f"{owner.name} has no function {name}"
            yield cls.refused(message, owner, argument=argument, outcomes=(0, 500) if known is None else (500,))
