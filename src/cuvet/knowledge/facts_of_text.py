"""What a text tells of the machine: how old the GPU and the driver are that it names, and of which vendor the GPU is.

Signs name a fact as ``<gpu-dropped>``, among their other expressions. A fact only says which of the causes fits that the text speaks of
anyway: a GPU is named in most of them.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from cuvet.image.compatibility import (
    Architecture,
    Target,
    Version,
    architecture,
    driver_of,
    release_of_target,
    version,
)

_RELEASE = re.compile(
    r"\bcuda(?:[ _-]?(?:toolkit|version|runtime|release))*[ :=v/_-]{0,3}(\d{1,2})(?:\.(\d))?(?![\d.]*\d{2})|\bcu(1\d)(\d)\b"
    r"|\bcuda compilation tools, release (\d{1,2})\.(\d)"
)
_OF_THE_DRIVER = re.compile(r"cuda version: *\d+\.\d *\|?")
"""In the head of nvidia-smi: the newest release that the driver supports."""
_DRIVER = re.compile(r"\b(?:nvidia[ -]?)?driver(?: version)?[ :=v-]{1,3}(\d{3})\.\d|\bnvidia-smi (\d{3})\.\d")
_OF_OTHERS = re.compile(
    r"(?:graphics|display|vga|video|gpu)\b[^\n]{0,30}\b(?:intel|amd|radeon|iris|advanced micro devices)\b[^\n]{0,40}"
)
_OF_NVIDIA = re.compile(
    r"geforce|\b(?:rtx|gtx) ?\w|\bquadro|\btesla\b|\btitan\b|nvidia corporation|\bnvidia-smi\b[^\n]{0,20}\d{3}\.|jetson|\btegra"
)
_OF_CUDNN_9 = re.compile(
    r"libcudnn\w*\.so\.9|cudnn\w*64_9\.dll|\bcudnn(?:-cu\d\d)?\D{1,20}9\.\d|\bcudnn failure [1-9]\d{3}\b"
)
"""By a file, a version, or a status of four digits, which cuDNN has since version 9."""
_CUDNN = re.compile(r"cudnn(?:-cu\d\d)?\D{1,20}([1-9])\.(\d+)")
_CUDNN_FROM_TURING = (9, 11)
"""The first that is for Turing and later only."""
_KEPLER = 37
_TURING = 75


class _Model(msgspec.Struct, frozen=True):
    """``name``: an expression for how the model is written, in lower case."""

    name: str
    sm: int


class _Models(msgspec.Struct, frozen=True):
    source: dict[str, str]
    models: tuple[_Model, ...]


@cache
def _models() -> tuple[tuple[re.Pattern[str], int], ...]:
    file = Path(__file__).with_name("gpu_names.json")
    found = msgspec.json.decode(file.read_bytes(), type=_Models)
    return tuple((re.compile(rf"(?<![\w-])(?:{model.name})"), model.sm) for model in found.models)


def gpus_in(lower: str) -> dict[str, int]:
    """The models that a text in lower case names, and their compute capability times ten."""
    return {match[0]: sm for pattern, sm in _models() for match in pattern.finditer(lower)}


def _releases_in(lower: str) -> Iterator[Version]:
    """The CUDA releases that the text names; the last ones of a major version where it names that only."""
    for match in _RELEASE.finditer(lower):
        major, minor = next((match[at], match[at + 1]) for at in (1, 3, 5) if match[at])
        yield int(major), int(minor) if minor else 9


def _is_dropped(gpu: Architecture, releases: tuple[Version, ...]) -> bool:
    """Whether a release that is named has dropped it; if none is named, whether releases of all later majors have."""
    if gpu.last_toolkit is None:
        return False
    last = version(gpu.last_toolkit) if "." in gpu.last_toolkit else (int(gpu.last_toolkit), 9)
    return any(release > last for release in releases) if releases else gpu.sm <= _KEPLER


def _gpu_dropped(lower: str) -> str | None:
    """The GPU, if all that are named are older than what the toolkit still compiles for."""
    gpus, releases = gpus_in(lower), tuple(_releases_in(lower))
    known = [found for found in map(architecture, gpus.values()) if found]
    return next(iter(gpus)) if known and all(_is_dropped(gpu, releases) for gpu in known) else None


def _gpu_newer_than_toolkit(lower: str) -> str | None:
    """A GPU that none of the CUDA releases that are named knows."""
    releases = tuple(_releases_in(lower))
    for name, sm in gpus_in(lower).items() if releases else ():
        first = release_of_target(Target(sm))
        if first is not None and first.cuda is not None and all(release < first.cuda for release in releases):
            return name
    return None


def _driver_new_enough(lower: str) -> str | None:
    """The driver, if it supports every CUDA release that the text names."""
    releases = tuple(_releases_in(_OF_THE_DRIVER.sub(" ", lower)))
    match = _DRIVER.search(lower)
    if match is None or not releases:
        return None
    supports = driver_of(match[1] or match[2]).cuda
    return match[0] if supports is None or supports >= max(releases) else None


def _cudnn_may_be_newer_than_gpu(lower: str) -> str | None:
    """The GPU, if the text shows cuDNN 9 and no version that still supported all GPUs that are named."""
    gpus = gpus_in(lower)
    if not gpus or any(sm >= _TURING for sm in gpus.values()) or not _OF_CUDNN_9.search(lower):
        return None
    return next(iter(gpus)) if all(cudnn >= _CUDNN_FROM_TURING for cudnn in _cudnns_in(lower)) else None


def _cudnn_newer_than_gpu(lower: str) -> str | None:
    """The GPU, if the text names only versions of cuDNN that do not support it any more."""
    return _cudnn_may_be_newer_than_gpu(lower) if _cudnns_in(lower) else None


def _cudnns_in(lower: str) -> list[Version]:
    return [(int(major), int(minor)) for major, minor in _CUDNN.findall(lower)]


def _gpu_of_others(lower: str) -> str | None:
    """Graphics of another vendor, where nothing names a GPU of NVIDIA's."""
    match = _OF_OTHERS.search(lower)
    return match[0] if match and not _OF_NVIDIA.search(lower) else None


FACTS: dict[str, Callable[[str], str | None]] = {
    "driver-new-enough": _driver_new_enough,
    "gpu-dropped": _gpu_dropped,
    "gpu-newer-than-toolkit": _gpu_newer_than_toolkit,
    "cudnn-may-be-newer-than-gpu": _cudnn_may_be_newer_than_gpu,
    "cudnn-newer-than-gpu": _cudnn_newer_than_gpu,
    "gpu-of-others": _gpu_of_others,
}


def fact_named(expression: str) -> str | None:
    """The fact that an expression of signs means: ``gpu-dropped`` of ``<gpu-dropped>``; None if it means none."""
    return expression[1:-1] if expression.startswith("<") and expression.endswith(">") else None


def facts_of(lower: str) -> dict[str, str]:
    """The facts that a text in lower case tells, and what of it tells each."""
    return {name: found for name, tells in FACTS.items() if (found := tells(lower))}
