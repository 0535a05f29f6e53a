from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.images import image_of, verdict_on
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations

_REFUSALS = (0, 200, 209, 218, 222)
"""What the call may return where the image is not known: success, or a status that is about images."""


class LibraryImageRefused(CallRule):
    """
    checks: A request for a kernel or variable of a library fails, because the driver cannot use the library's image.
    why: With lazy loading, the default, `cuLibraryLoadData` does not load the image, so it returns no error. The first request loads it.
    instead: Use an image that the driver accepts: the message, and `cuvet inspect` of its file, say what is wrong. With
      CUDA_MODULE_LOADING=EAGER, `cuLibraryLoadData` loads the image.
    limits: The finding says what is wrong with the image only if its bytes were recorded. A refused query about a kernel
      (`cudaFuncGetAttributes`, occupancy) is a note, and nothing if a library asked. In a library that hides the names of its runtime, a
      query and a launch look alike: such calls are listed as failed, not accused.
    """

    code = "CV625"
    answers = True
    summary = "a kernel or variable is requested from a library whose image the driver cannot use"
    help = "look at the image that the library was loaded from, with cuvet inspect"
    entry_points = frozenset({"cuLibraryGetKernel", "cuLibraryGetGlobal", "cuLibraryGetManaged", "cuLibraryGetModule"})
    evidence = """
    recorded: cuLibraryLoadData of text, of an ELF header alone and of PTX for sm_999: success; cuLibraryGetKernel then
      returns CUDA_ERROR_INVALID_IMAGE, and for the PTX CUDA_ERROR_INVALID_PTX
    measured: attributes, occupancy, the runtime's other questions and the launch of a kernel without code for the GPU:
      CUDA_ERROR_NO_BINARY_FOR_GPU, each time (kernel_without_code_asked)
    documented: with EAGER module loading the library is loaded in this call; with LAZY when a function of it is needed
      (CUDA Driver API, Library Management, cuLibraryLoadData)
    documented: lazy loading is the default: on Linux since CUDA 12.2 (CUDA Programming Guide, Lazy Loading)
    """
    VALID = """
## an image for this GPU
library = cu.library()
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)

## loaded and unloaded
cu.cuLibraryUnload(cu.library())
"""
    INVALID = """
## text
library = cu.cuLibraryLoadData(b"text", 0, 0, 0, 0, 0, 0)
cu.cuLibraryGetKernel(library, "trivial")  # error: [library-image-refused]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index("library")
        library = model.object_of(call, argument, Kind.CULIBRARY)
        loaded = None if library is None or not library.alive else library.created_by
        if library is None or loaded is None:
            return
        image = image_of(loaded)
        found = None if image is None else verdict_on(image, call, model)
        if found is not None and found.status is None:
            return
        yield cls.refused(
            f"the image of {library.name} cannot be used" + (f": {found.text}" if found else ""),
            library,
            argument=argument,
            because=(*(found.because if found else ()), f"{library.name} was loaded by {place(loaded)}"),
            outcomes=_REFUSALS if found is None or found.status is None else (found.status,),
        )
