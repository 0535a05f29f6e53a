from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.rule import CallRule, Violations


class ModuleUnloadOfLibrary(CallRule):
    """
    checks: `cuModuleUnload` gets a module that `cuLibraryGetModule` returned.
    why: The module belongs to its library. The call returns CUDA_ERROR_NOT_PERMITTED.
    instead: Unload the library (`cuLibraryUnload`).
    limits: Silent about modules whose origin was not seen.
    """

    code = "CV606"
    summary = "a module that belongs to a library is unloaded"
    help = "call cuLibraryUnload for its library instead"
    entry_points = frozenset({"cuModuleUnload"})
    evidence = """
    measured: CUDA_ERROR_NOT_PERMITTED; the library can be unloaded afterwards (module_of_library_unloaded)
    documented: Attempting to unload a module which was obtained from the Library Management API such as
      cuLibraryGetModule will return CUDA_ERROR_NOT_PERMITTED. (CUDA Driver API, Module Management, cuModuleUnload)
    """
    VALID = """
## library unloaded
library = cu.library()
module = cu.cuLibraryGetModule(library)
cu.launch(cu.cuModuleGetFunction(module, "trivial"), 0, 0)
cu.cuCtxSynchronize()
cu.cuLibraryUnload(library)

## module loaded by itself
module = cu.module()
cu.cuModuleUnload(module)
"""
    INVALID = """
## module of a library unloaded
library = cu.library()
module = cu.cuLibraryGetModule(library)
cu.cuModuleUnload(module)  # error: [module-unload-of-library]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        module = model.object_of(call, 0, Kind.MODULE)
        if module is not None and module.alive and module.parent is not None and module.parent.kind is Kind.CULIBRARY:
            message = f"{module.name} belongs to {module.parent.name} and cannot be unloaded by itself"
            yield cls.broken(message, module, module.parent, argument=0, outcomes=(800,))
