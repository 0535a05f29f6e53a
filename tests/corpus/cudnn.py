"""The facts about cuDNN as programs of rules (``cuvet.rules.programs``), which print what each call of cuDNN returned."""

from __future__ import annotations

import json

from cuvet.rules.examples import Example

from .facts import FACTS

TRAP = """
ptx = b".version 7.0 .target sm_75 .address_size 64 .visible .entry dies() { trap; }\\0"
kernel = cu.cuModuleGetFunction(cu.cuModuleLoadData(ptx), "dies")
cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
cu.cuCtxSynchronize()
"""
DEFINE = """
import os

def cudnn(name, *given):
    made = getattr(cu.cudnn, name)(*given)
    print("{id}", cu.status, os.getpid(), flush=True)
    return made

"""

PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cudnn_create_without_cuda_init": (
        """
handle = cudnn("cudnnCreate")
cudnn("cudnnSetStream", handle, 0)
cudnn("cudnnDestroy", handle)
""",
        (),
    ),
    "cudnn_null_handle_use": (
        """
cudnn("cudnnSetStream", 0, 0)
cudnn("cudnnGetStream", 0)
cudnn("cudnnDestroy", 0)
""",
        ("library-handle-null",),
    ),
    "cudnn_garbage_handle": ('cudnn("cudnnSetStream", cu.host(1 << 16), 0)\n', ("library-handle-never-created",)),
    "cudnn_destroy_then_use": (
        """
handle = cudnn("cudnnCreate")
cudnn("cudnnDestroy", handle)
cudnn("cudnnSetStream", handle, 0)
""",
        ("library-handle-use-after-destroy",),
    ),
    "cudnn_destroy_twice": (
        """
handle = cudnn("cudnnCreate")
cudnn("cudnnDestroy", handle)
cudnn("cudnnDestroy", handle)
""",
        ("library-handle-destroy-twice",),
    ),
    "cudnn_no_visible_device": ('cudnn("cudnnCreate")\n', ("library-handle-creation-failed",)),
    "cudnn_sticky_error_then_create": (
        f'{TRAP}cudnn("cudnnCreate")\n',
        ("error-sticky", "library-handle-creation-failed"),
    ),
    "cudnn_other_thread_use": (
        """
handle = cudnn("cudnnCreate")
cu.in_thread(lambda: cudnn("cudnnSetStream", handle, 0))
""",
        (),
    ),
}
"""By the fact's id: the program, and the rules that it breaks."""

WITHOUT_SETUP = {"cudnn_create_without_cuda_init", "cudnn_no_visible_device"}


def example(fact: str) -> Example:
    """The program of that fact."""
    program, _ = PROGRAMS[fact]
    return Example(fact, DEFINE.replace("{id}", fact) + program, setup=fact not in WITHOUT_SETUP)


def measured(fact: str) -> tuple[list[int], int | None]:
    """What the calls of cuDNN returned on the hardware, and the signal that the process died of."""
    rows = (json.loads(line) for line in FACTS.read_text(encoding="utf-8").splitlines())
    row = next(row for row in rows if row["id"] == fact)
    return [call["status"] for call in row["calls"] if call["call"].startswith("cudnn")], row["signal"]
