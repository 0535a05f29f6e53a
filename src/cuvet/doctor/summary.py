"""What to paste into an issue: system, driver, GPUs, packages, which files the loader takes, variables, and what is wrong.

Like the rest of doctor it imports nothing of the program's, so it says as much where ``import torch`` fails. The home directory is written
as ``~``; UUIDs and other variables than those of CUDA are left out.
"""

import os
import re
from collections.abc import Iterator

from cuvet import __version__
from cuvet.doctor import driver, frameworks, loader, python
from cuvet.doctor.diagnosis import Diagnosis
from cuvet.doctor.machine import Machine
from cuvet.printable import readable

_GIB = 1 << 30
_MOST_SHOWN = 300
"""Characters of a variable."""
_PACKAGES = re.compile(
    r"nvidia-.*|cuda-.*|torch.*|triton.*|jax.*|tensorflow.*|tf-nightly.*|onnxruntime.*|cupy.*|numba.*|xformers|flash-attn|vllm|sglang"
    r"|deepspeed|transformers|bitsandbytes|ctranslate2|tensorrt.*|paddlepaddle.*|numpy|cu(df|ml|graph|vs)-cu\d+|rmm-cu\d+"
)
_VARIABLES = re.compile(
    r"(CUDA|NCCL|CUDNN|CUBLAS|PYTORCH|TORCH|XLA|JAX)_\w+|TF_(FORCE|GPU|CUDNN|XLA|ENABLE|CPP)_\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES"
    r"|REQUIRE_\w+|DISABLE_REQUIRE|TF32_OVERRIDE)|LD_(LIBRARY_PATH|PRELOAD)|CONDA_PREFIX|VIRTUAL_ENV"
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_OF_CUDA = re.compile(
    r"lib(cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink|cupti)\.so\b"
)
_OPENED = ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1")


def lines(machine: Machine, diagnosis: Diagnosis) -> Iterator[str]:
    """In Markdown: each subject in one line, or as a list below it."""
    yield f"cuvet doctor {__version__}"
    for name, found in (
        ("system", _system(machine)),
        ("driver", _driver(machine)),
        ("GPUs", _gpus(machine)),
        ("toolkit", _toolkit(machine)),
        ("python", _python(machine)),
        ("libraries", _libraries(machine)),
        ("variables", _variables(machine)),
        ("problems", _problems(diagnosis)),
    ):
        rows = [_without_home(machine, readable(row)) for row in found]
        yield f"{name}: {'; '.join(rows) or 'none'}" if len(rows) < 2 else f"{name}:"
        yield from (f"  - {row}" for row in rows if len(rows) > 1)


def _without_home(machine: Machine, text: str) -> str:
    home = machine.environ.get("HOME", "")
    return text.replace(f"{home}/", "~/") if len(home) > 1 else text


def _system(machine: Machine) -> Iterator[str]:
    release = machine.read_text("/etc/os-release") or ""
    name = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    kernel = (machine.read_text("/proc/sys/kernel/osrelease") or "").strip()
    total = re.search(r"^MemTotal:\s+(\d+) kB", machine.read_text("/proc/meminfo") or "", re.MULTILINE)
    yield ", ".join(
        filter(
            None,
            (
                name[1] if name else "",
                f"Linux {kernel}" if kernel else "",
                "WSL" if driver.is_wsl(machine) else "",
                "in a container" if driver.is_container(machine) else "",
                f"{(int(total[1]) << 10) / _GIB:.0f} GiB of memory" if total else "",
            ),
        )
    )


def _driver(machine: Machine) -> Iterator[str]:
    kernel, supported = driver.kernel_version(machine), driver.supported_cuda(machine)
    kind = "open kernel modules" if "Open Kernel Module" in (machine.read_text(driver.PROC_VERSION) or "") else ""
    cuda, nvml = machine.state.cuda, machine.state.nvml
    told = (
        kernel or "no kernel module is loaded",
        kind,
        f"CUDA {supported[0]}.{supported[1]}" if supported else "",
        f"cuInit returns {cuda.status}" if cuda.status else cuda.error,
        f"NVML: {nvml.error}" if nvml.error else "",
    )
    yield ", ".join(filter(None, told))


def _gpus(machine: Machine) -> Iterator[str]:
    seen = {device.uuid for device in machine.state.cuda.devices}
    for number, gpu in enumerate(machine.state.nvml.gpus):
        capability = f"{gpu.compute_capability[0]}.{gpu.compute_capability[1]}" if gpu.compute_capability else ""
        memory = (
            f"{gpu.memory_free_bytes / _GIB:.1f} of {gpu.memory_bytes / _GIB:.1f} GiB free" if gpu.memory_bytes else ""
        )
        more = ("MIG" if gpu.mig else "", "" if gpu.uuid in seen or not seen else "not visible to the program")
        yield f"{number}: {', '.join(filter(None, (gpu.name, capability, memory, gpu.pci, *more)))}"
    if not machine.state.nvml.gpus:
        yield from (device.name for device in machine.state.cuda.devices)


def _toolkit(machine: Machine) -> Iterator[str]:
    for folder in machine.glob("/usr/local/cuda*"):
        version = _release(machine, folder) if folder == machine.realpath(folder) else ""
        if version:
            yield f"{version} in {folder}"


def _release(machine: Machine, folder: str) -> str:
    """Of the toolkit there, as its version.json or, where that is missing, its cuda.h says; empty if neither does."""
    told = machine.read_text(f"{folder}/version.json") or ""
    if found := re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([^"]+)"', told):
        return found[1]
    found = re.search(r"^#define CUDA_VERSION (\d+)", machine.read_text(f"{folder}/include/cuda.h") or "", re.MULTILINE)
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else ""


def _python(machine: Machine) -> Iterator[str]:
    interpreter = python.interpreter(machine)
    if interpreter is None:
        return
    yield f"{interpreter} ({os.path.basename(machine.realpath(interpreter))})"
    for framework in frameworks.installed(machine):
        cuda = (
            "without CUDA"
            if framework.cpu_only
            else f"for CUDA {frameworks.text(framework.cuda)}"
            if framework.cuda
            else ""
        )
        yield f"{framework.title} {cuda}".rstrip()
    packages = [each for each in python.distributions(machine).values() if _PACKAGES.fullmatch(each.name)]
    if packages:
        yield ", ".join(f"{each.name} {each.version}" for each in sorted(packages, key=lambda each: each.name))


def _libraries(machine: Machine) -> Iterator[str]:
    """What the loader takes, and why; those of the driver that are opened by name too."""
    roots = [path for framework in frameworks.installed(machine) for path in framework.libraries]
    if machine.program and not machine.python:
        roots.append(machine.program)
    told = {soname: loader.first(machine, soname, driver.requesters(machine)) for soname in _OPENED}
    for root in roots:
        closure = loader.closure(machine, root)
        told |= {each.soname: each.copy for each in closure.loaded if _OF_CUDA.match(each.soname)}
        told |= {soname: None for soname, _ in closure.missing if _OF_CUDA.match(soname) and soname not in told}
    for soname, copy in told.items():
        yield f"{soname}: {copy.real} ({copy.why})" if copy else f"{soname}: not found"


def _variables(machine: Machine) -> Iterator[str]:
    for name in sorted(machine.environ):
        if _VARIABLES.fullmatch(name) and not _SECRET.search(name):
            value = machine.environ[name]
            yield f"{name}={value}" if len(value) <= _MOST_SHOWN else f"{name}={value[:_MOST_SHOWN]}…"


def _problems(diagnosis: Diagnosis) -> Iterator[str]:
    for conclusion in diagnosis.of("error", "warning", "note"):
        yield f"{conclusion.severity}[{conclusion.cause}]: {conclusion.verdict}"
