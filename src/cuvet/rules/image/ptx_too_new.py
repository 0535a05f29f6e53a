from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.rules.evidence import documented, measured
from cuvet.rules.images import BYTES, FILES, PTX_RELEASES, image_of, newest_ptx, ptx_version
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Model


class ImagePtxTooNew(Rule):
    """
    ## What it checks
    PTX is loaded whose `.version` the driver does not take.

    ## Why it is wrong
    A driver compiles PTX up to the version of its own CUDA release. A newer toolkit writes newer PTX, also for old
    GPUs.

    ## Use instead
    Install a driver of the release that the version needs, or a toolkit no newer than the driver. Machine code for
    the GPU needs no compilation by the driver.

    ## Limits
    Drivers before CUDA 11 return CUDA_ERROR_INVALID_PTX instead.
    """

    code = "CV654"
    name = "image-ptx-too-new"
    severity = "error"
    summary = "PTX is newer than the driver takes"
    help = "install a newer driver, or compile with an older toolkit or for the GPU itself (-gencode arch=…,code=sm_…)"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = (
        measured(
            "PTX 99.0: CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
            "module_garbage",
        ),
        documented(
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION indicates that the provided PTX was compiled with an unsupported "
            "toolchain",
            "CUDA Driver API, Data types used by CUDA driver, CUresult",
        ),
        documented(
            "PTX ISA versions and the CUDA releases and drivers that support them",
            "PTX ISA, Release Notes, PTX Release History",
        ),
    )
    VALID = (
        Example(
            "PTX with its terminator",
            """
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)
""",
        ),
        Example(
            "version of an older toolkit",
            """
ptx = b".version 7.0\\n.target sm_75\\n.address_size 64\\n.visible .entry k() { ret; }\\n\\0"
cu.cuModuleUnload(cu.cuModuleLoadData(ptx))
""",
            note="drivers take older versions",
        ),
    )
    INVALID = (
        Example(
            "version that no driver takes",
            """
ptx = b".version 99.0\\n.target sm_90\\n.address_size 64\\n.visible .entry k() { ret; }\\n\\0"
cu.cuModuleLoadData(ptx)  # error: [image-ptx-too-new]
""",
        ),
    )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        image = image_of(call)
        if image is None or image.description.kind not in ("ptx", "fatbin"):
            return
        needs = None
        if image.description.ptx_version is not None:
            version = ptx_version(image.description.ptx_version)
            newest = newest_ptx(model.driver_version)
            if newest is not None and version <= newest:
                return
            needs = PTX_RELEASES.get(version)
        yield Violation(
            rule=cls,
            message=f"{image.what} is newer than the driver takes" + _takes(model.driver_version),
            argument=image.argument,
            because=() if needs is None else (f"this version needs a driver of CUDA {needs[0]}.{needs[1]} or newer",),
            outcomes=(222,),
            only_if_failed=True,
        )


def _takes(driver_version: int) -> str:
    newest = newest_ptx(driver_version)
    return "" if newest is None else f" (up to {newest[0]}.{newest[1]})"
