from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.rules.evidence import documented, recorded
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Model


_SINGLE = 4
"""CU_MEM_ATTACH_SINGLE"""


class MemoryAttachedToNullStream(Rule):
    """
    ## What it checks
    Managed memory is attached to one stream (CU_MEM_ATTACH_SINGLE), the stream is NULL, and the call fails.

    ## Why it is wrong
    NULL stands for all blocking streams of the context, not for one. The driver returns CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    A stream of `cuStreamCreate`; or CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST, which take NULL.

    ## Limits
    Reported only when the call fails.
    """

    code = "CV423"
    name = "memory-attached-to-null-stream"
    severity = "error"
    summary = "managed memory is attached to the NULL stream alone"
    help = "attach it to a stream that cuStreamCreate made"
    entry_points = frozenset({"cuStreamAttachMemAsync"})
    evidence = (
        recorded("CU_MEM_ATTACH_SINGLE and stream NULL: CUDA_ERROR_INVALID_VALUE; with another stream it succeeds"),
        documented(
            "CU_MEM_ATTACH_SINGLE with the NULL stream is illegal, since that is no specific stream: an error is returned",
            "CUDA Driver API, Stream Management, cuStreamAttachMemAsync",
        ),
    )
    VALID = (
        Example(
            "to a stream, and to all",
            """
stream, memory = cu.cuStreamCreate(0), cu.cuMemAllocManaged(4096, 1)
everywhere, single = 1, 4
cu.cuStreamAttachMemAsync(stream, memory, 0, single)
cu.cuStreamAttachMemAsync(0, memory, 0, everywhere)
""",
        ),
        Example(
            "to the host",
            """
memory, host = cu.cuMemAllocManaged(4096, 1), 2
cu.cuStreamAttachMemAsync(0, memory, 0, host)
cu.cuMemFree(memory)
""",
        ),
    )
    INVALID = (
        Example(
            "to the NULL stream",
            """
memory, single = cu.cuMemAllocManaged(4096, 1), 4
cu.cuStreamAttachMemAsync(0, memory, 0, single)  # error: [memory-attached-to-null-stream]
""",
        ),
    )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        if call.arg("flags") == _SINGLE and not call.arg("hStream") and not call.per_thread:
            yield Violation(
                rule=cls,
                message="the NULL stream is no single stream",
                argument=call.entry_point.index["hStream"],
                outcomes=(1,),
                only_if_failed=True,
            )
