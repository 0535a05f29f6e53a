"""Where a text comes from, as far as it shows: the stage at which something failed, and the platform.

Both only exclude: a compiler's message has no cause that ends a running kernel, and what a shared object of Linux lacks is not on the
``PATH`` of Windows. A text that shows nothing excludes nothing.
"""

import re
from dataclasses import dataclass

STAGES = ("build", "machine", "container", "run")
"""``build``: compilers, linkers, CMake, packages that are built. ``machine``: drivers, kernel modules and their tools. ``container``: an
engine that starts a container. ``run``: a program that runs, or loads what it needs."""
PLATFORMS = ("linux", "windows", "wsl", "jetson")

_STAGES = {
    "build": r"\bnvcc( fatal|\s*:|.{0,40}\b(error|failed with))|\bcmake (error|warning)|cmakelists|\bcollect2\b|\bld: |/ld: "
    r"|ptxas (fatal|error)|nvlink (fatal|error)|undefined reference|\.(cuh?|hpp|cpp|h)\(\d+\): (fatal |catastrophic )?error"
    r"|\.(cuh?|hpp|cc|cpp|h):\d+:\d+: (fatal )?error|#error|make(\[\d+\])?: \*\*\*|failed building wheel"
    r"|ninja: build stopped|nvcc: not found|\bbuilding nvcc|error msb\d+"
    r"|identifier .?\w+.? is undefined|was not declared in this scope|undeclared identifier"
    r"|has no member|\bis not a member of\b|\berror c\d{4}\b|__host__ function"
    r"|unsupported gnu version|\blnk\d{4}\b|relocation truncated",
    "machine": r"nvidia-smi has failed|\bnvrm:|\bdkms\b|\bmodprobe|\binsmod|kernel module|nvidia\.ko|secure boot|\bnvml\b"
    r"|no devices were found",
    "container": r"\bdocker: |error response from daemon|\boci runtime|nvidia-container-(cli|runtime)|\bpodman\b|\bcdi\b|containerd",
}
_PLATFORMS = {
    "windows": r"\b[a-z]:\\|\.(dll|exe|pyd)\b|\bwinerror\b|\bwindows\b|\bmsvc\b|visual studio|\bwddm\b|\bmsb\d{4}\b",
    "wsl": r"\bwsl2?\b|/usr/lib/wsl|microsoft-standard",
    "jetson": r"\bjetson\b|\btegra\b|\bjetpack\b|\bl4t\b|\bxavier\b|\borin\b|libnv(dla_|buf_|bufsurf)",
    "linux": r"(?<![\w.])/(usr|home|opt|root|dev|var|lib|proc)/|\.so(\.\d+)*\b|\blinux\b|\bubuntu\b|\bdebian\b",
}
_OF_CUDA = re.compile(
    r"cuda|nvidia|gpu|nvcc|nvml|nvenc|nvdec|nvrtc|nvrm|nvlink|nvjpeg|cudnn|cu(?:blas|fft|rand|sparse|solver|tensor|py|vid|pti)|nccl"
    r"|tensorrt|\btrt\b|\bptx|\bsm_?\d\d|torch|tensorflow|\bjax|\bxla\b|triton|mxnet|caffe|onnxruntime|ctranslate2|\bnumba\b|\bdali\b"
    r"|lib(?:cu|nv)|\b(?:cu|nv)\w*\.(?:dll|h|lib)|-lcu|\bvram\b|kernel image|kernel launch|launch kernels?|device-side|\bthrust\b|pinned"
    r"|\brdma\b|ibv_|\bucx\b|nouveau|geforce|\brtx|\btesla\b|quadro|\bwsl|jetson|\btegra|\bnova_|\bdirect3d|zluda",
    re.I,
)
_OF_OTHERS = re.compile(
    r"\bhip(?:error|blas|fft|rand|sparse|module|launch|malloc|memcpy|cc\b)|\brocm|\brocclr|\bamdgpu|libhsa|\bopencl|\bvulkan|\bvk_?[a-z]"
    r"|\bdirectml|\bsycl\b|\blevel.zero|\bwebgl|\bwebgpu|\bswiftshader|\bd3d1?\d",
    re.I,
)
_OF_NVIDIA = re.compile(r"cuda|nvidia|nvcc|nvml|nvenc|nvrtc|cudnn|cublas|nccl|tensorrt|\bptx|zluda|\bcu[A-Z]")


_ELSEWHERE = re.compile(
    r"by not providing .find(?!cuda|cudnn|nccl|nv|tensorrt|cutensor|optix)\w+\.cmake"
    r"|validationerror\(pod|error validating data"
    r"|attributeerror: module .torch\.cuda\S* has no attribute",
    re.I,
)
"""What tells that something else failed: CMake does not find a package of others, Kubernetes refuses a file, torch.cuda lacks a name."""


@dataclass(frozen=True, slots=True)
class Situation:
    """``of_cuda``: the text names CUDA, a GPU, or what usually uses one. ``of_others``: it names others' software for GPUs and none of
    NVIDIA's. ``elsewhere``: it tells that something else failed."""

    stages: frozenset[str] = frozenset()
    platforms: frozenset[str] = frozenset()
    of_cuda: bool = True
    of_others: bool = False
    elsewhere: bool = False

    def excludes(self, stages: tuple[str, ...], platforms: tuple[str, ...]) -> bool:
        """Whether the text shows a stage or a platform, and none of these; no names stand for all."""
        return bool(
            (stages and self.stages and self.stages.isdisjoint(stages))
            or (platforms and self.platforms and self.platforms.isdisjoint(platforms))
        )


def situation(text: str, *, called: bool) -> Situation:
    """What the text shows. ``called``: a function of CUDA failed, so that a program ran."""
    stages = {name for name, pattern in _STAGES.items() if re.search(pattern, text, re.I)}
    if called:
        stages.add("run")
    platforms = {name for name, pattern in _PLATFORMS.items() if re.search(pattern, text, re.I)}
    of_nvidia = called or _OF_NVIDIA.search(text) or _OF_NVIDIA.search(text.lower())
    return Situation(
        stages=frozenset(stages),
        platforms=frozenset(platforms | ({"linux"} if "jetson" in platforms else set())),
        of_cuda=called or _OF_CUDA.search(text) is not None,
        of_others=not of_nvidia and _OF_OTHERS.search(text) is not None,
        elsewhere=_ELSEWHERE.search(text) is not None,
    )
