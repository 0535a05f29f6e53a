from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class TextureNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a texture object is given 0, and fails.

    ## Why it is wrong
    No texture object has the number 0. The call returns CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    Look at the status of the call that should have made the texture object.

    ## Limits
    Reported only when the call fails. `cuTexObjectDestroy` takes 0.
    """

    code = "CV483"
    name = "texture-null-handle"
    severity = "error"
    summary = "0 is given where a texture object is wanted"
    help = "look at the status of the call that should have made the texture object"
    kind = Kind.TEXTURE_OBJECT
    outcomes = (1,)
    only_if_failed = True
    evidence = """
    recorded: asking 0 for what it reads: CUDA_ERROR_INVALID_VALUE
    """
    VALID = """
## with a texture object
texture = cu.texture(cu.array())
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)

## destroyed
cu.cuTexObjectDestroy(0)
"""
    INVALID = """
## asked what it reads
cu.cuTexObjectGetResourceDesc(cu.host(144), 0)  # error: [texture-null-handle]
"""
