from cuvet.model import Call, ModelView
from cuvet.rules.images import BYTES, FILES, image_of, refusal, verdict_on
from cuvet.rules.rule import CallRule, Violations


class ImageNotRecognised(CallRule):
    """
    checks: A load fails because the bytes are neither cubin, fatbin nor PTX: other text, zeros, an ELF file for the CPU.
    why: The driver recognises an image by its first bytes. Often a file was not read, or is another one: a shared object, a source file.
    instead: Load the output of nvcc, NVRTC or ptxas. PTX begins with `.version` after its comments.
    limits: At most the first 4096 bytes are examined. A load from a file is recognised only if the file could be read during the call.
    """

    code = "CV651"
    summary = "a module is loaded from bytes that are no device code"
    help = "check where the bytes come from: the call needs a cubin, a fatbin or PTX"
    entry_points = frozenset({*BYTES, *FILES})
    evidence = """
    measured: CUDA_ERROR_INVALID_IMAGE for letters, for zeros, for other text, and for text and empty files
      (module_garbage, module_load_missing_file)
    measured: CUDA_ERROR_INVALID_IMAGE for a host ELF file, a big-endian cubin, a fatbin of another version, source
      code, LLVM bitcode, gzip, and PTX behind a byte order mark (image_host_elf, image_cubin_big_endian,
      image_fatbin_version_2, image_source, image_ptx_byte_order_mark)
    documented: the image may be a cubin or fatbin as output by nvcc, or a NULL-terminated PTX (CUDA Driver API, Module
      Management, cuModuleLoadData)
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
## text that is no PTX
cu.cuModuleLoadData(b"hello\0")  # error: [image-not-recognised]

## zeros
cu.cuModuleLoadData(bytes(64))  # error: [image-not-recognised]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        image = image_of(call)
        if image is None:
            return
        found = verdict_on(image, call, model)
        if found.cause != cls.name:
            return
        start = image.data[:16].split(b"\0")[0].decode("ascii", "replace")
        because = (f"it begins with {start!r}",) if start.isprintable() and start else ()
        yield cls.refused(found.text, argument=image.argument, because=because, outcomes=refusal(call, 200))
