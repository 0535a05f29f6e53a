"""What a driver does with device code on a GPU: runs it, compiles it, or fails, with which error, why, and what fixes it.

Failing verdicts name their cause by the rule of that name (``cuvet rules``), so that every command says the same. Statuses that the
driver returns are those of the facts ``image_*`` (NVIDIA H200, driver 580.159) and of the rules' evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cuvet.image import compatibility
from cuvet.image.compatibility import Driver, Target, Version
from cuvet.image.entries import Entry

Outcome = Literal["runs", "compiles", "fails", "unknown"]

INVALID_IMAGE, NO_BINARY_FOR_GPU, INVALID_PTX, UNSUPPORTED_PTX_VERSION = 200, 209, 218, 222
ERRORS = {
    INVALID_IMAGE: "CUDA_ERROR_INVALID_IMAGE",
    NO_BINARY_FOR_GPU: "CUDA_ERROR_NO_BINARY_FOR_GPU",
    INVALID_PTX: "CUDA_ERROR_INVALID_PTX",
    UNSUPPORTED_PTX_VERSION: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """``runs``: machine code is loaded as it is. ``compiles``: PTX is compiled when it is loaded. ``unknown``: it depends on
    what is not known.

    ``text`` stands alone. ``entry``: the code that is run or compiled, or at which loading fails. ``status``: what the driver
    returns, of ``ERRORS``; None if it does not fail, or has no such GPU. ``undefined``: it was seen to do something else as well.
    ``cause``: the rule's name, or the id of a cause. ``help``: what to do, one way a line.
    """

    outcome: Outcome
    text: str
    entry: Entry | None = None
    status: int | None = None
    cause: str | None = None
    because: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    undefined: bool = False

    @property
    def error(self) -> str | None:
        """``CUDA_ERROR_NO_BINARY_FOR_GPU``"""
        return None if self.status is None else ERRORS[self.status]


def verdict(entries: Sequence[Entry], gpu: str, driver: Driver | None = None) -> Verdict:
    """What happens when a program with these entries needs one of its kernels on ``gpu``, as ``sm_90``.

    The entries are those that belong together: of one fatbin, or of several that hold the same kernels. Without a driver it is
    assumed to be new enough. CuvetError if ``gpu`` is no architecture.
    """
    sm = compatibility.target(gpu).sm
    unsupported = _not_supported(sm, driver)
    if unsupported is not None:
        return unsupported
    code = _machine_code(entries, sm)
    if code is not None and not compatibility.between_tegra(_target(code), sm):
        return Verdict("runs", f"runs the machine code of {code.arch}", code)
    texts = [entry for entry in entries if entry.kind == "ptx" and compatibility.ptx_compiles(_target(entry), sm)]
    if texts:
        return _compiled(texts, sm, driver)
    return _on_tegra(code, sm) if code is not None else _no_code(entries, sm)


def of_newer_toolkit(judged: Verdict, toolkit: Version | None, driver: Driver | None) -> Verdict:
    """The verdict on machine code that runs, once it is known that this toolkit made it.

    A driver runs what toolkits of its own CUDA major version and older ones made; for a newer major version NVIDIA requires a newer driver
    (CUDA Toolkit Release Notes, minimum required driver for minor version compatibility). Whether it takes the cubin anyhow is not known.
    """
    if judged.outcome != "runs" or not toolkit or not driver or not driver.cuda or toolkit[0] <= driver.cuda[0]:
        return judged
    name = f"CUDA {_dotted(toolkit)}"
    first = next((each for each in compatibility.releases() if each.cuda and each.cuda[0] == toolkit[0]), None)
    code = f"machine code of {judged.entry.arch}" if judged.entry else "machine code"
    return Verdict(
        "unknown",
        f"has {code}, made by {name}, and driver {driver.text} is of CUDA {_dotted(driver.cuda)}",
        judged.entry,
        cause="driver-too-old",
        because=(f"programs of CUDA {toolkit[0]} need a driver of CUDA {toolkit[0]}.0 or newer",),
        help=(
            f"install a driver of CUDA {toolkit[0]}.0"
            + (f" ({first.driver})" if first and first.driver else "")
            + " or newer",
        ),
    )


def build_options(gpu: str) -> tuple[str, ...]:
    """What adds machine code for a GPU to a build: with nvcc, PyTorch's extensions and CMake, and the toolkits that can."""
    sm = compatibility.target(gpu).sm
    first, architecture = compatibility.first_toolkit(sm), compatibility.architecture(sm)
    since = f"CUDA {first} or newer" if first else ""
    until = f"no newer than CUDA {architecture.last_toolkit}" if architecture and architecture.last_toolkit else ""
    toolkit = ", ".join(filter(None, (since, until)))
    return (
        f"nvcc -gencode arch=compute_{sm},code=sm_{sm}",
        f'TORCH_CUDA_ARCH_LIST="{sm // 10}.{sm % 10}"',
        f"CMAKE_CUDA_ARCHITECTURES={sm}",
        *((f"with a toolkit of {toolkit}",) if toolkit else ()),
    )


def _not_supported(sm: int, driver: Driver | None) -> Verdict | None:
    """A driver that does not know the GPU, or no longer: it lists no such device."""
    if driver is None or driver.branch is None:
        return None
    name = _gpu_name(sm)
    first, last = compatibility.branches(sm)
    if last is not None and driver.branch > last:
        help_ = f"install a driver of branch {last}"
        text = f"driver {driver.text} no longer supports {name}: branch {last} is the last that does"
    elif first is not None and driver.branch < first:
        help_ = f"install a driver of branch {first} or newer"
        text = f"driver {driver.text} does not support {name} yet: branch {first} is the first that does"
    else:
        return None
    return Verdict("fails", text, cause="gpu-not-supported-by-driver", help=(help_,))


def _machine_code(entries: Sequence[Entry], sm: int) -> Entry | None:
    """The cubin that runs: the newest that may, rather one that is specific to the GPU."""
    usable = [
        entry for entry in entries if entry.kind == "cubin" and compatibility.machine_code_runs(_target(entry), sm)
    ]
    return max(usable, key=lambda entry: (_target(entry).sm, _target(entry).suffix != ""), default=None)


def _on_tegra(entry: Entry, sm: int) -> Verdict:
    """Machine code between a Tegra and another GPU: CUDA C++ Programming Guide 12.9, Binary Compatibility, Note."""
    return Verdict(
        "unknown",
        f"has machine code of {entry.arch} only, which NVIDIA does not support on {_gpu_name(sm)}",
        entry,
        because=("binary compatibility does not hold between Tegra and other GPUs, nor between Tegras",),
        help=build_options(f"sm_{sm}"),
    )


def _compiled(texts: Sequence[Entry], sm: int, driver: Driver | None) -> Verdict:
    entry = max(texts, key=lambda entry: (_target(entry).sm, _target(entry).suffix != ""))
    what = ptx_name(entry.ptx_version, entry.arch)
    version = compatibility.version(entry.ptx_version) if entry.ptx_version else None
    if version is None or driver is None:
        needs = _needs(version)
        return Verdict("compiles", f"compiles {what}", entry, because=(f"this {needs}",) if needs else ())
    newest = compatibility.newest_ptx(driver)
    if newest is None and compatibility.release_of_ptx(version) is None:
        return Verdict("unknown", f"{what} and driver {driver.text} are newer than the tables", entry)
    if newest is not None and version > newest:
        return replace(ptx_too_new(version, entry.arch, driver), entry=entry, help=_newer_driver(version, sm))
    return Verdict("compiles", f"compiles {what}", entry)


def ptx_too_new(version: Version, arch: str, driver: Driver | None) -> Verdict:
    """The verdict on PTX that the driver does not take; it is known to be so, or the driver said it."""
    newest = compatibility.newest_ptx(driver) if driver else None
    takes = f" (up to {_dotted(newest)})" if newest else ""
    needs = _needs(version)
    return Verdict(
        "fails",
        f"{ptx_name(_dotted(version), arch)} is newer than the driver takes{takes}",
        status=UNSUPPORTED_PTX_VERSION,
        cause="image-ptx-too-new",
        because=(f"this {needs}",) if needs else (),
    )


def _needs(version: Version | None) -> str:
    """``version needs a driver of CUDA 13.1 or newer``; nothing where the tables have no such version."""
    release = compatibility.release_of_ptx(version) if version else None
    return f"version needs a driver of CUDA {_dotted(release.cuda)} or newer" if release and release.cuda else ""


def _newer_driver(version: Version, sm: int) -> tuple[str, ...]:
    release = compatibility.release_of_ptx(version)
    if release is None or release.cuda is None:
        return build_options(f"sm_{sm}")
    least = release.driver or (str(release.branch) if release.branch else "")
    newer = f"install a driver of CUDA {_dotted(release.cuda)}" + (f" ({least})" if least else "") + " or newer"
    return (newer, *build_options(f"sm_{sm}"))


def _no_code(entries: Sequence[Entry], sm: int) -> Verdict:
    """No entry fits: 209 from a binary or a cubin."""
    kinds = {entry.kind for entry in entries}
    if kinds == {"ltoir"}:
        text = f"has no code for {_gpu_name(sm)}, only LTO-IR: it must be linked (nvcc -dlto, nvJitLink) before it can be loaded"
    else:
        text = f"has no code for {_gpu_name(sm)}"
    return Verdict(
        "fails",
        text,
        status=NO_BINARY_FOR_GPU,
        cause="image-wrong-gpu",
        because=_why_not(entries, sm),
        help=build_options(f"sm_{sm}"),
    )


def _why_not(entries: Sequence[Entry], sm: int) -> tuple[str, ...]:
    """One line for each kind of code: which there is, and where it runs."""
    lines = []
    for kind, what in (("cubin", "machine code"), ("ptx", "PTX")):
        targets = sorted({_target(entry) for entry in entries if entry.kind == kind})
        lines += [f"{what} {_where(kind, target)}" for target in targets]
    return tuple(lines)


def _where(kind: str, target: Target) -> str:
    if target.suffix == "a":
        return f"for {target} is for sm_{target.sm} only"
    if target.suffix == "f":
        return (
            f"for {target} is for its family only: {', '.join(f'sm_{each}' for each in compatibility.family(target))}"
        )
    if kind == "ptx":
        return f"for {target} is for GPUs of compute capability {_capability(target.sm)} and newer"
    return f"for {target} is for GPUs of compute capability {_capability(target.sm)} to {target.major}.9"


def ptx_name(version: str | None, arch: str | None) -> str:
    """``PTX 8.0 for sm_90``"""
    return "PTX" + (f" {version}" if version else "") + (f" for {arch}" if arch else "")


def _gpu_name(sm: int) -> str:
    architecture = compatibility.architecture(sm)
    return f"sm_{sm}" + (f" ({architecture.name})" if architecture else "")


def _target(entry: Entry) -> Target:
    return compatibility.target(entry.arch)


def _capability(sm: int) -> str:
    return f"{sm // 10}.{sm % 10}"


def _dotted(version: Version | None) -> str:
    return ".".join(map(str, version)) if version else ""
