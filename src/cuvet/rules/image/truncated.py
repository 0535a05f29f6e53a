from cuvet.model import Call, ModelView
from cuvet.rules.images import BYTES, FILES, image_of, refusal, verdict_on
from cuvet.rules.rule import CallRule, Violations


class ImageTruncated(CallRule):
    """
    checks: A load fails because the cubin or fatbin is shorter than it says, or is an ELF header without contents.
    why: The file was not written or read completely, or was copied as text up to a zero byte. The driver reads past its end, and may crash.
    instead: Read the whole file in binary mode. An image contains zero bytes, at which string functions stop.
    limits: Other bytes follow in memory, so a missing end is visible only where reading stops, within the first 4096 bytes.
    """

    code = "CV652"
    summary = "a module is loaded from a truncated image"
    help = "load the whole image, and check how much of the file was read"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = """
    measured: an ELF header alone: CUDA_ERROR_INVALID_IMAGE (module_garbage)
    measured: cubins and fatbins cut at 30 places: CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_UNKNOWN or
      CUDA_ERROR_NO_BINARY_FOR_GPU; loads of seven fatbins and a cubin did not return, a cubin's crashed, and some that
      lack their last bytes only were loaded (image_cubin_cut_32, image_cubin_cut_860, image_cubin_cut_2580,
      image_cubin_cut_3240, image_fatbin_cut_8, image_fatbin_cut_16, image_packed_cut_576)
    documented: CUDA_ERROR_INVALID_IMAGE indicates that the device kernel image is invalid (CUDA Driver API, Data types
      used by CUDA driver, CUresult)
    """
    VALID = """
## PTX with its terminator
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)

## library
library = cu.cuLibraryLoadData(cu.ptx, 0, 0, 0, 0, 0, 0)
cu.cuLibraryUnload(library)
"""
    INVALID = r"""
## ELF header alone
cu.cuModuleLoadData(b"\x7fELF\2\1\1" + bytes(57))  # error: [image-truncated]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        image = image_of(call)
        if image is None:
            return
        found = verdict_on(image, call, model)
        if found.cause != cls.name:
            return
        yield cls.refused(
            found.text, argument=image.argument, because=found.because, outcomes=(*refusal(call, 200), 209, 999)
        )
