from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH, Example


class LibraryUnloadTwice(DestroyTwice):
    """
    ## What it checks
    `cuLibraryUnload` is called with a library that was unloaded before.

    ## Why it is wrong
    The first call released the library in every context. The second was measured to die of SIGSEGV inside the
    driver, with no error code.

    ## Use instead
    Give the library one owner, which unloads it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second unloading looks
    like the first of the new object.
    """

    code = "CV622"
    name = "library-unload-twice"
    severity = "error"
    summary = "a library is unloaded twice"
    help = "let one owner unload the library, and clear its handle at that moment"
    kind = Kind.LIBRARY
    outcomes = (CRASH,)
    evidence = (
        measured(
            "SIGSEGV in the driver, no error code",
            "library_unload_twice",
        ),
    )
    VALID = (
        Example(
            "unloaded once",
            """
library = cu.library()
cu.cuLibraryUnload(library)
""",
        ),
        Example(
            "handle issued again",
            """
library = cu.library()
cu.cuLibraryUnload(library)
library = cu.library()
cu.cuLibraryUnload(library)
""",
            note="the new one often has the old handle value",
        ),
    )
    INVALID = (
        Example(
            "unloaded twice",
            """
library = cu.library()
cu.cuLibraryUnload(library)
cu.cuLibraryUnload(library)  # error: [library-unload-twice]
""",
        ),
        Example(
            "unloaded by two threads",
            """
library = cu.library()
cu.in_thread(lambda: cu.cuLibraryUnload(library))
cu.cuLibraryUnload(library)  # error: [library-unload-twice]
""",
        ),
    )
