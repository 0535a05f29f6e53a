from typing import ClassVar

from cuvet.model import Call, ModelView
from cuvet.rules.images import BYTES, FILES, image_of
from cuvet.rules.rule import CRASH, CallRule, Violations


class ImagePtxNotTerminated(CallRule):
    """
    checks: A load gets PTX without a NUL after its last character.
    why: The driver reads PTX as a C string: past the end into other data, or until the process dies.
    instead: Append a zero byte. Files embedded by `xxd -i`, `objcopy` or `#embed` have none.
    limits: Seen when the load fails or the driver dies in it, and no NUL follows in readable memory, or other control characters come
      first. PTX followed by other text is not recognised.
    """

    code = "CV653"
    summary = "PTX is loaded without a NUL at its end"
    help = "append a NUL byte to the PTX"
    entry_points = frozenset({*BYTES, *FILES})
    outcomes: ClassVar[tuple[int, ...]] = (218, CRASH)
    evidence = """
    measured: text that ends at an unreadable page: SIGSEGV in the load; other bytes behind it: CUDA_ERROR_INVALID_PTX
      (ptx_unterminated_before_unreadable_page, image_ptx_not_terminated, image_ptx_control_characters_behind)
    documented: a NULL-terminated PTX, of nvcc or hand-written (CUDA Driver API, Module Management, cuModuleLoadData)
    reported: PTX embedded by xxd: a segmentation fault in cuModuleLoadData with newer drivers, and none with a zero
      byte added (https://github.com/Netflix/vmaf/pull/1397)
    """
    VALID = r"""
## PTX with its terminator
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)

## terminated by a zero byte of its own
cu.cuModuleUnload(cu.cuModuleLoadData(cu.ptx.rstrip(b"\0") + b"\0"))
"""
    INVALID = r"""
## other data right behind the PTX
cu.cuModuleLoadData(cu.ptx.rstrip(b"\0") + b"\x01\x02\0")  # error: [image-ptx-not-terminated]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        image = image_of(call)
        if image is None or not image.unterminated:
            return
        yield cls.refused(
            f"{image.what} has no NUL at its end", argument=image.argument, outcomes=cls.outcomes, undefined=True
        )
