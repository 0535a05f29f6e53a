from cuvet.model import Call, ModelView
from cuvet.model.code import text_of
from cuvet.rules.images import BYTES, FILES, image_of, refusal, verdict_on
from cuvet.rules.rule import CallRule, Violations


class ImagePtxNotCompiled(CallRule):
    """
    checks: A load gets PTX that the driver's compiler refuses: an error in the text, or a target above the GPU.
    why: Nothing is loaded, and later calls have no function to launch.
    instead: Load with CU_JIT_ERROR_LOG_BUFFER to read the compiler's messages. Compile for a target that is not newer than the GPU.
    limits: cuvet does not compile the PTX: it says what is wrong only if the first 4096 bytes show it.
    """

    code = "CV656"
    summary = "PTX is loaded that the driver cannot compile"
    help = "read the compiler's log: pass CU_JIT_ERROR_LOG_BUFFER to cuModuleLoadDataEx"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = """
    measured: an unknown instruction, a target that does not exist and a target above the GPU (sm_100 on sm_90):
      CUDA_ERROR_INVALID_PTX (module_garbage)
    measured: CUDA_ERROR_INVALID_PTX too for a target newer than its PTX version, a character that is not ASCII, 32-bit
      addresses (driver of CUDA 13.0), and PTX that is cut off (image_ptx_version_7_0_sm_90, image_ptx_not_ascii,
      image_ptx_address_size_32, image_ptx_cut_50)
    documented: a PTX JIT compilation failed (CUDA Driver API, Data types used by CUDA driver, CUresult)
    """
    VALID = r"""
## PTX with its terminator
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)

## target below the GPU
note: PTX is compiled for the GPU that is there
ptx = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n\0"
cu.cuModuleUnload(cu.cuModuleLoadData(ptx))
"""
    INVALID = r"""
## unknown instruction
ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { bogus; }\n\0"
cu.cuModuleLoadData(ptx)  # error: [image-ptx-not-compiled]

## target above the GPU
ptx = b".version 8.0\n.target sm_999\n.address_size 64\n.visible .entry k() { ret; }\n\0"
cu.cuModuleLoadData(ptx)  # error: [image-ptx-not-compiled]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        image = image_of(call)
        if image is None or image.description.kind != "ptx" or image.unterminated:
            return
        if (text_of(call), model.capability(call)) in model.compiled:
            return
        found = verdict_on(image, call, model)
        known = found.cause == cls.name
        yield cls.refused(
            found.text if known else f"{image.what} does not compile",
            argument=image.argument,
            because=found.because if known else (),
            outcomes=refusal(call, 218, known),
        )
