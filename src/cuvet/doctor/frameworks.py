"""The installed frameworks that use CUDA: what each was built for, and which of its files ask the loader for CUDA's libraries.

Nothing is imported. Sources: the wheels themselves (``torch/version.py``, ``tensorflow/python/platform/build_info.py``,
``onnxruntime/capi/build_and_package_info.py``, Requires-Dist of METADATA).
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cuvet.doctor import python
from cuvet.doctor.machine import Machine
from cuvet.doctor.python import Distribution


@dataclass(frozen=True)
class _Kind:
    """A framework as its wheels bring it. ``names``: regular expression of the distribution; paths are relative to its site directory.

    ``libraries``: files that need or dlopen CUDA libraries. ``build``: the file that says what it was built for.
    """

    title: str
    names: str
    libraries: tuple[str, ...] = ()
    build: str = ""


_KINDS = (
    _Kind(
        "PyTorch",
        "torch",
        ("torch/lib/libtorch_cuda.so", "torch/lib/libtorch_cuda_cpp.so", "torch/lib/libtorch_cuda_cu.so"),
        "torch/version.py",
    ),
    _Kind(
        "TensorFlow",
        "tensorflow|tensorflow-gpu|tensorflow-cpu|tf-nightly",
        ("tensorflow/libtensorflow_cc.so.2", "tensorflow/libtensorflow_framework.so.2"),
        "tensorflow/python/platform/build_info.py",
    ),
    _Kind("JAX", r"jax-cuda\d+-plugin", ("jax_plugins/xla_cuda*/xla_cuda_plugin.so",)),
    _Kind(
        "ONNX Runtime",
        "onnxruntime-gpu",
        ("onnxruntime/capi/libonnxruntime_providers_cuda.so",),
        "onnxruntime/capi/build_and_package_info.py",
    ),
    _Kind("CTranslate2", "ctranslate2", ("ctranslate2.libs/libctranslate2*.so*",)),
    _Kind("CuPy", r"cupy-cuda\w+"),
    _Kind("PaddlePaddle", "paddlepaddle-gpu"),
)


@dataclass(frozen=True)
class Framework:
    """``title``: ``PyTorch 2.11.0``. ``cuda``: (13, 0), the CUDA it was built for; None if its files do not say.

    ``libraries``: those of its files that are there and ask for CUDA's libraries. ``cpu_only``: built without CUDA.
    """

    title: str
    distribution: Distribution
    cuda: tuple[int, ...] | None
    libraries: tuple[str, ...]
    cpu_only: bool = False


@dataclass(frozen=True)
class Requirement:
    """``nvidia-cudnn-cu12==9.10.2.21``. ``extra``: only with ``pip install framework[extra]``; else empty.

    ``at_least``: the version of ``==``, ``>=`` or ``~=``; None if there is none.
    """

    name: str
    text: str
    at_least: tuple[int, ...] | None
    extra: str


@cache
def installed(machine: Machine) -> tuple[Framework, ...]:
    """Those that the interpreter would import; none if the program is not one of Python."""
    found = python.distributions(machine)
    return tuple(
        _framework(machine, kind, found[name])
        for kind in _KINDS
        for name in sorted(found)
        if re.fullmatch(kind.names, name)
    )


def _framework(machine: Machine, kind: _Kind, distribution: Distribution) -> Framework:
    libraries = [path for name in kind.libraries for path in machine.glob(os.path.join(distribution.site, name))]
    text = machine.read_text(os.path.join(distribution.site, kind.build)) or "" if kind.build else ""
    return Framework(
        f"{kind.title} {distribution.version}",
        distribution,
        _cuda(text) or _cuda_of_name(distribution.name),
        tuple(libraries),
        _is_cpu_only(distribution, text),
    )


def _cuda(build: str) -> tuple[int, ...] | None:
    """Of ``cuda: Optional[str] = '12.8'``, ``('cuda_version', '12.5.1')`` or ``cuda_version = '12.2'``."""
    found = re.search(
        r"""^cuda(?:_version)?\b[^=\n]*=\s*['"](\d[\d.]*)['"]|'cuda_version', '(\d[\d.]*)'""", build, re.MULTILINE
    )
    return numbers(found[1] or found[2])[:2] if found else None


def _cuda_of_name(name: str) -> tuple[int, ...] | None:
    found = re.search(r"-cuda(\d\d)", name)
    return (int(found[1]),) if found else None


def _is_cpu_only(distribution: Distribution, build: str) -> bool:
    if distribution.name == "torch":
        return bool(re.search(r"^cuda\b[^=\n]*= None", build, re.MULTILINE)) and not re.search(
            r"""^(?:hip|xpu)\b[^=\n]*= ['"]""", build, re.MULTILINE
        )
    return distribution.name == "tensorflow-cpu" or (
        "'is_cuda_build', False" in build and "'is_rocm_build', True" not in build
    )


def requirements(framework: Framework) -> Iterator[Requirement]:
    """What it requires of NVIDIA's packages."""
    for line in framework.distribution.requires:
        text, _, marker = line.partition(";")
        found = re.match(r"\s*(nvidia[\w.-]+?)\s*(?:\[[^\]]*\]\s*)?(?:\(?([=<>~!].*?)\)?)?\s*$", text)
        if found:
            versions = re.findall(r"(?:==|>=|~=)\s*([\d.]+)", found[2] or "")
            extra = re.search(r"""extra\s*==\s*['"]([^'"]+)""", marker)
            yield Requirement(
                re.sub(r"[-_.]+", "-", found[1]).lower(),
                text.strip(),
                numbers(versions[0]) if versions else None,
                extra[1] if extra else "",
            )


def numbers(version: str) -> tuple[int, ...]:
    """``9.10.2.21`` as (9, 10, 2, 21); what follows the numbers is left off."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
