from cuvet.model import Call, ModelView
from cuvet.rules.images import BYTES, FILES, image_of, refusal
from cuvet.rules.rule import CallRule, Violations


class ImagePtxTooNew(CallRule):
    """
    checks: The program loads PTX with a `.version` that the driver does not accept.
    why: A driver compiles PTX up to the version of its own CUDA release. A newer toolkit writes newer PTX, even for old GPUs.
    instead: Install a driver of the release that the version needs, or a toolkit no newer than the driver. Or load machine code.
    limits: Drivers before CUDA 11 return CUDA_ERROR_INVALID_PTX instead.
    """

    code = "CV654"
    summary = "PTX is newer than the driver accepts"
    help = "install a newer driver, or compile with an older toolkit or for the GPU itself (-gencode arch=…,code=sm_…)"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = """
    measured: PTX 9.1 and newer: CUDA_ERROR_UNSUPPORTED_PTX_VERSION from a driver of CUDA 13.0, also where a fatbin has
      older PTX besides; PTX 1.4 to 9.0 compiles, and machine code runs beside newer PTX (module_garbage,
      image_ptx_version_9_1_sm_80, image_fatbin_ptx_80_ptx_newer, image_ptx_version_1_4_sm_10,
      image_fatbin_90_ptx_newer)
    documented: CUDA_ERROR_UNSUPPORTED_PTX_VERSION indicates that the provided PTX was compiled with an unsupported
      toolchain (CUDA Driver API, Data types used by CUDA driver, CUresult)
    documented: PTX ISA versions and the drivers that support them (PTX ISA, Release Notes, PTX Release History)
    """
    VALID = r"""
## PTX with its terminator
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)

## version of an older toolkit
note: drivers take older versions
ptx = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n\0"
cu.cuModuleUnload(cu.cuModuleLoadData(ptx))
"""
    INVALID = r"""
## version that no driver takes
ptx = b".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n\0"
cu.cuModuleLoadData(ptx)  # error: [image-ptx-too-new]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        image = image_of(call)
        if image is None or image.description.kind not in ("ptx", "fatbin"):
            return
        from cuvet.image.compatibility import driver_of_number, newest_ptx, version  # start: only for PTX that failed
        from cuvet.image.verdicts import ptx_too_new  # start: only for PTX that failed

        text, because = f"{image.what} is newer than the driver takes", tuple[str, ...]()
        driver = driver_of_number(model.driver_version) if model.driver_version else None
        if image.description.ptx_version is not None and image.description.target is not None:
            ptx = version(image.description.ptx_version)
            newest = newest_ptx(driver) if driver else None
            if newest is not None and ptx <= newest:
                return
            found = ptx_too_new(ptx, image.description.target, driver)
            text, because = found.text, found.because
        yield cls.refused(text, argument=image.argument, because=because, outcomes=refusal(call, 222, bool(because)))
