"""The GPU and the driver do not go together: ``cuvet inspect --driver`` says so from NVIDIA's table of architectures."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, Signs, Tell
from cuvet.rules.evidence import documented, reported

CAUSES = (
    Cause(
        id="gpu-not-supported-by-driver",
        title="The driver does not support this GPU: not any more, or not yet",
        why="Each driver branch supports some architectures. Kepler ends with branch 470, Maxwell, Pascal and Volta with 580. "
        "The kernel module ignores a GPU that it does not support, and programs find no device.",
        tell=(
            Tell(
                "sudo dmesg | grep NVRM",
                "supported through the NVIDIA 580.xx Legacy drivers, or not supported by the driver",
            ),
            Tell("nvidia-smi", "fails, or lists no device, although lspci -d 10de: lists the GPU"),
        ),
        fix="Install the last driver branch that supports the GPU (docs/compatibility.md), or for a new GPU a newer driver.",
        evidence=(
            documented(
                "Kepler: R470 is the last driver; Maxwell, Pascal, Volta: R580",
                "NVIDIA Data Center Drivers, CUDA Toolkit, Driver, and Architecture Matrix",
            ),
            reported(
                "driver 595.58.03 ignores a GTX 1050 and says that 580.xx supports it; with a 580 driver it works",
                "https://github.com/NixOS/nixos-hardware/issues/1828",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 20},
            words=(r"legacy drivers", r"will ignore\s.{0,20}this gpu", r"not supported by the .{0,20}driver release"),
        ),
    ),
)
