from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH, Example


class MipmappedArrayDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuMipmappedArrayDestroy` is called with a mipmapped array that was destroyed before.

    ## Why it is wrong
    After the first destruction the handle points at memory that the driver has given back: the second was
    measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Give the mipmapped array one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV472"
    name = "mipmapped-array-destroy-twice"
    severity = "error"
    summary = "a mipmapped array is destroyed twice"
    help = "let one owner destroy the mipmapped array, and clear its handle at that moment"
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (CRASH,)
    evidence = (
        measured(
            "SIGSEGV in the driver, no error code",
            "mipmapped_destroy_twice",
        ),
    )
    VALID = (
        Example(
            "destroyed once",
            """
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
""",
        ),
        Example(
            "handle issued again",
            """
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
""",
            note="the new one often has the old handle value",
        ),
    )
    INVALID = (
        Example(
            "destroyed twice",
            """
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
cu.cuMipmappedArrayDestroy(array)  # error: [mipmapped-array-destroy-twice]
""",
        ),
        Example(
            "destroyed by two threads",
            """
array = cu.mipmapped_array()
cu.in_thread(lambda: cu.cuMipmappedArrayDestroy(array))
cu.cuMipmappedArrayDestroy(array)  # error: [mipmapped-array-destroy-twice]
""",
        ),
    )
