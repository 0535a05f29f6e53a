"""Write docs/compatibility.md from the tables of CUDA releases and GPU architectures."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from cuvet.image import compatibility
from cuvet.image.compatibility import Architecture, Release, Version

ROOT = Path(__file__).parents[1]
KNOWLEDGE = ROOT / "src" / "cuvet" / "knowledge"

RULES = """# Which code runs where

Generated from `knowledge/cuda_releases.json` and `knowledge/architectures.json`. `cuvet inspect --gpu sm_90 --driver 580.65.06` applies
these rules to a file, and `cuvet run` to an image whose load fails.

| code | runs on |
|---|---|
| machine code, `sm_86` | GPUs of the same major compute capability and the same or a higher minor one: 8.6 to 8.9 |
| architecture-specific machine code, `sm_90a` | exactly that compute capability |
| family-specific machine code, `sm_100f` | the members of its family (see below) that are not older |
| PTX for `sm_80` | compiled when it is loaded, for that GPU and all newer ones, if the driver knows its PTX version |
| architecture-specific PTX, `sm_90a` | compiled for exactly that compute capability |
| family-specific PTX, `sm_100f` | compiled for the members of its family |
| LTO-IR | never loaded: linked first, by `nvcc -dlto` or nvJitLink |

The driver prefers machine code that runs to PTX. Machine code of a newer toolkit of the same major version runs on an older driver, but
PTX does not (minor version compatibility): PTX of version 9.1 needs the driver of CUDA 13.1 for every GPU. No document says that machine
code for a Tegra runs on another GPU, or the reverse.

| the driver returns | when |
|---|---|
| 209 `CUDA_ERROR_NO_BINARY_FOR_GPU` | there is no machine code that runs, and no PTX that may be compiled for the GPU |
| 222 `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` | the PTX is newer than the driver |
| 218 `CUDA_ERROR_INVALID_PTX` | PTX that is loaded alone is for another GPU, or does not compile |
| 200 `CUDA_ERROR_INVALID_IMAGE` | the bytes are not device code, or not complete |

The runtime API reports the same numbers. In public cases a program without code for the GPU also showed 98
`cudaErrorInvalidDeviceFunction` and 500 `cudaErrorSymbolNotFound` (`tests/knowledge/public_cases.jsonl`, `binary_lacks_gpu_arch`).
"""


def page() -> str:
    sources = [*(line for name in ("cuda_releases", "architectures") for line in _sources(name)), *_OTHER]
    wrapped = [
        textwrap.fill(line, 138, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in sources
    ]
    return "\n".join([RULES, *_architectures(), "", *_families(), "", *_releases(), "", "## Sources", "", *wrapped, ""])


_OTHER = (
    "- the rules: CUDA Programming Guide 13.4, 1.3 The CUDA platform, Binary Compatibility and PTX Compatibility; 5.1.2 Feature "
    "Set Compiler Targets; `ptxas --help`, --gpu-name",
    "- minor version compatibility: CUDA Compatibility, Minor Version Compatibility, and its limits for PTX "
    "(https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html)",
    "- LTO-IR: nvJitLink documentation, Introduction",
    "- the statuses: facts `image_*` in `knowledge/facts`",
)


def _architectures() -> list[str]:
    head = ["## GPUs", "", "| GPU | architecture | toolkits | driver branches |", "|---|---|---|---|"]
    return [*head, *map(_architecture, compatibility.architectures())]


def _architecture(each: Architecture) -> str:
    first, last = compatibility.branches(each.sm)
    drivers = "of JetPack and DRIVE" if each.tegra else _range(first, last)
    tegra = ", Tegra" if each.tegra else ""
    return f"| sm_{each.sm} | {each.name}{tegra} | {_range(compatibility.first_toolkit(each.sm), each.last_toolkit)} | {drivers} |"


def _range(first: object, last: object) -> str:
    """``580 to 590``, ``from 580``, ``up to 590``"""
    if not first:
        return f"up to {last}" if last else ""
    return f"{first} to {last}" if last else f"from {first}"


def _families() -> list[str]:
    targets = [each for release in compatibility.releases() for each in release.adds if each.suffix == "f"]
    rows = [
        f"| `{each}` | {', '.join(f'sm_{gpu}' for gpu in compatibility.family(each))} |"
        for each in targets
        if each.sm != 101
    ]
    return ["## Families", "", "| target | runs on |", "|---|---|", *rows]


def _releases() -> list[str]:
    head = [
        "## CUDA releases",
        "",
        "| CUDA | driver branch | oldest Linux driver | newest PTX | new targets |",
        "|---|---|---|---|---|",
    ]
    return [*head, *map(_release, reversed(compatibility.releases()))]


def _release(each: Release) -> str:
    cells = (
        _dotted(each.cuda),
        str(each.branch or ""),
        each.driver or "",
        _dotted(each.ptx),
        " ".join(map(str, each.adds)),
    )
    return f"| {' | '.join(cells)} |"


def _dotted(version: Version | None) -> str:
    return ".".join(map(str, version)) if version else ""


def _sources(name: str) -> list[str]:
    table = json.loads((KNOWLEDGE / f"{name}.json").read_text(encoding="utf-8"))
    return [f"- {what}: {source}" for what, source in table["source"].items()]


def main() -> None:
    (ROOT / "docs" / "compatibility.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
