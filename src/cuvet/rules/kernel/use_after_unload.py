from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import CRASH, Example


class KernelUseAfterUnload(ParentGone):
    """
    ## What it checks
    A call names a kernel (`CUkernel`) whose library was unloaded.

    ## Why it is wrong
    Unloading a library releases the code of its kernels in every context. Launching such a kernel was measured
    to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Unload the library after the last launch has been made. Wrappers of kernels should keep their library alive.

    ## Limits
    A kernel of which it was not seen where it came from is not judged.
    """

    code = "CV631"
    name = "kernel-use-after-unload"
    severity = "error"
    summary = "a kernel is used after its library was unloaded"
    help = "keep the library loaded while its kernels are used"
    kind = Kind.KERNEL
    kinds = frozenset({Kind.FUNCTION, Kind.KERNEL})
    roots = frozenset({Kind.LIBRARY})
    outcomes = (CRASH,)
    evidence = (
        measured(
            "cuKernelGetFunction: SIGSEGV in the driver",
            "kernel_asked_after_unload",
        ),
        measured(
            "launching it: SIGSEGV in the driver, no error code",
            "library_kernel_after_unload",
        ),
    )
    VALID = (
        Example(
            "unloaded after the last launch",
            """
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.launch(kernel, 0, 0)
cu.cuCtxSynchronize()
cu.cuLibraryUnload(library)
""",
        ),
        Example(
            "kernel of another library",
            """
first = cu.library()
second = cu.library()
kernel = cu.cuLibraryGetKernel(second, "trivial")
cu.cuLibraryUnload(first)
cu.launch(kernel, 0, 0)
cu.cuCtxSynchronize()
cu.cuLibraryUnload(second)
""",
        ),
    )
    INVALID = (
        Example(
            "launched after its library was unloaded",
            """
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
cu.launch(kernel, 0, 0)  # error: [kernel-use-after-unload]
""",
        ),
        Example(
            "asked for its function after the library was unloaded",
            """
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
cu.cuKernelGetFunction(kernel)  # error: [kernel-use-after-unload]
""",
        ),
        Example(
            "asked for an attribute",
            """
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
cu.cuKernelGetAttribute(0, kernel, device)  # error: [kernel-use-after-unload]
""",
        ),
    )
