from cuvet.model import Call, ModelView
from cuvet.rules.images import BYTES, FILES, image_of, refusal, verdict_on
from cuvet.rules.rule import CallRule, Violations


class ImageWrongGpu(CallRule):
    """
    checks: A load gets a cubin or fatbin without machine code for the GPU, and without PTX that the driver could compile for it.
    why: Machine code runs on GPUs of the same major architecture and the same or a higher minor one. PTX runs on newer GPUs, too.
    instead: Add the architecture to the code generation options (`-gencode`, `CMAKE_CUDA_ARCHITECTURES`, `TORCH_CUDA_ARCH_LIST`), and PTX.
    limits: A fatbin of more than 4096 bytes is not examined; use `cuvet inspect`. cuLibraryLoadData always succeeds, and the calls that
      request a kernel fail: there the image is not examined.
    """

    code = "CV655"
    summary = "an image has no code for this GPU"
    help = "compile for this GPU too, or add PTX of an architecture that is not newer"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = """
    measured: CUDA_ERROR_NO_BINARY_FOR_GPU on sm_90 for cubins of 21 other targets, and for fatbins of LTO-IR or of PTX
      for newer GPUs; cubins for sm_90 and sm_90a run, and PTX for every older GPU compiles (image_cubin_80,
      image_cubin_100f, image_fatbin_80_ptx_100, image_fatbin_lto, image_cubin_90a, image_fatbin_80_ptx_80)
    documented: a cubin runs on GPUs of the same major compute capability and the same or a higher minor one; PTX can be
      compiled for the compute capability that it was made for and all higher ones (CUDA Programming Guide, The CUDA
      platform, Binary Compatibility and PTX Compatibility)
    documented: CUDA_ERROR_NO_BINARY_FOR_GPU: there is no kernel image available that is suitable for the device; this
      can occur when a user specifies code generation options for a particular CUDA source file that do not include the
      corresponding device configuration (CUDA Driver API, Data types used by CUDA driver, CUresult)
    """
    VALID = """
## PTX with its terminator
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)

## library
library = cu.cuLibraryLoadData(cu.ptx, 0, 0, 0, 0, 0, 0)
cu.cuLibraryUnload(library)
"""
    INVALID = """
## fatbin for another GPU only
note: its only entry is machine code for sm_20
import struct
code = bytes(64)
entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(code), 0, 0, 0, 0, 20, 0, 0, 0, 0, 0)
fatbin = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(code)) + entry + code
cu.cuModuleLoadData(fatbin)  # error: [image-wrong-gpu]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        image = image_of(call)
        if image is None or image.description.kind not in ("cubin", "fatbin"):
            return
        found = verdict_on(image, call, model)
        known = found.cause == cls.name
        message = f"{image.what} {found.text}" if known else f"{image.what} has no code for this GPU"
        because = (*found.because, f"to add it: {found.help[0]}") if known else _gpu(model.capability(call))
        yield cls.refused(message, argument=image.argument, because=because, outcomes=refusal(call, 209, known))


def _gpu(capability: int) -> tuple[str, ...]:
    return (f"this GPU is of compute capability {capability // 10}.{capability % 10}",) if capability else ()
