"""Files for AMD's GPUs: HIP's launches look like CUDA's."""

import re
from pathlib import Path

_CUDA = re.compile(rb"\bcuda[A-Z]\w*(?:_t\b|\s*\()|\bcu[A-Z]\w+\s*\(|\bcuda(?:_runtime\w*)?\.h\b")
_CUDA_RUNTIME = re.compile(rb"\bcuda[A-Z]\w+\s*\(|cuda_runtime")
_HIP = re.compile(rb"\bhip(?:/hip_|[A-Z]\w+)")
_HIP_RUNTIME = re.compile(rb"\bhip(?:[A-Z]|_runtime)")
_FOLDER = re.compile(r"(?i)^(?!.*cuda)(?:.*[-_.])?hip$")


def is_for_amd(path: Path, text: bytes) -> bool:
    """Whether a file has to do with HIP alone: it mentions nothing of CUDA, and names HIP or is in a folder for it."""
    if _CUDA.search(text) is not None:
        return False
    return _HIP.search(text) is not None or any(_FOLDER.search(part) for part in path.parts[:-1])


def launches_with_hip(text: bytes) -> bool:
    """Whether the launches of a file are HIP's: it names HIP, and calls nothing of CUDA's runtime."""
    return b"hip" in text and _HIP_RUNTIME.search(text) is not None and _CUDA_RUNTIME.search(text) is None
