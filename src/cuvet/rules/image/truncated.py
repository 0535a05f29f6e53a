from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.rules.evidence import documented, measured
from cuvet.rules.images import BYTES, FILES, image_of
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Model


class ImageTruncated(Rule):
    """
    ## What it checks
    The image given to a load that fails is a cubin or fatbin that says it is longer than it is, or an ELF header
    without contents.

    ## Why it is wrong
    The rest is missing: the file was not written or read to its end, or copied as text up to the first zero byte.

    ## Use instead
    Read the whole file in binary mode. An image has zero bytes inside: string functions cut it off.

    ## Limits
    Bytes in memory are followed by others, so that a missing end shows only where no more can be read.
    """

    code = "CV652"
    name = "image-truncated"
    severity = "error"
    summary = "a module is loaded from an image that is not whole"
    help = "load the whole image, and check how much of the file was read"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = (
        measured(
            "an ELF header alone: CUDA_ERROR_INVALID_IMAGE",
            "module_garbage",
        ),
        documented(
            "CUDA_ERROR_INVALID_IMAGE indicates that the device kernel image is invalid",
            "CUDA Driver API, Data types used by CUDA driver, CUresult",
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
            "library",
            """
library = cu.cuLibraryLoadData(cu.ptx, 0, 0, 0, 0, 0, 0)
cu.cuLibraryUnload(library)
""",
        ),
    )
    INVALID = (
        Example(
            "ELF header alone",
            """
cu.cuModuleLoadData(b"\\x7fELF\\2\\1\\1" + bytes(57))  # error: [image-truncated]
""",
        ),
    )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        image = image_of(call)
        if image is None or image.description.kind not in ("cubin", "fatbin"):
            return
        if not image.broken_off and (image.description.arch is not None or not image.description.reason):
            return
        yield Violation(
            rule=cls,
            message=f"what is loaded is not whole: {image.description.reason}",
            argument=image.argument,
            because=(),
            outcomes=(200,),
            only_if_failed=True,
        )
