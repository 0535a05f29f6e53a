"""Have the installed frameworks, or the program, code for the visible GPUs?"""

from collections.abc import Iterator
from functools import cache

from cuvet.doctor import driver, frameworks
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown
from cuvet.image import compatibility, files
from cuvet.image.entries import Entry
from cuvet.image.verdicts import Verdict, verdict

TITLE = "device code for the visible GPUs"
GROUP: Group = "frameworks"

_COMPILES_ITSELF = "JAX"
"""Its kernels are compiled when it runs; those in its files are not all that it needs."""
LOOKED_AT = ("device code in the frameworks' libraries, or in the program", "compute capability of the visible GPUs")


def probe(machine: Machine) -> Conclusions:
    devices = {each.compute_capability: each.name for each in machine.state.cuda.devices if each.compute_capability}
    owners = with_code(machine)
    if not devices:
        yield unknown("no GPU is visible")
        return
    found = [
        (who, path, name, entries, _verdict(machine, entries, capability))
        for who, path, entries in owners
        for capability, name in sorted(devices.items())
    ]
    for who, path, name, entries, judged in found:
        if judged.outcome == "fails":
            yield _unsupported(machine, who, path, name, entries, judged)
    if all(judged.outcome != "fails" for *_, judged in found):
        evidence = tuple(f"{path}: {judged.text}" for _, path, _, _, judged in found)
        yield healthy(f"{len(owners)} files with device code, none lacks a GPU's", evidence=evidence)


@cache
def with_code(machine: Machine) -> tuple[tuple[str, str, list[Entry]], ...]:
    """(who, path, entries) of the files with device code."""
    return tuple((who, path, entries) for who, path in _files(machine) if (entries := _entries(machine, path)))


def _files(machine: Machine) -> Iterator[tuple[str, str]]:
    """(who, path) of the files that hold a framework's kernels; without Python, the program."""
    if machine.program and not machine.python:
        yield machine.program, machine.program
    for framework in frameworks.installed(machine):
        if not framework.title.startswith(_COMPILES_ITSELF):
            yield from ((framework.title, path) for path in framework.libraries)


def _entries(machine: Machine, path: str) -> list[Entry]:
    return [entry for contents in files.read(machine.host_path(path)) for entry in contents.entries]


def _verdict(machine: Machine, entries: list[Entry], capability: tuple[int, int]) -> Verdict:
    supported = driver.supported_cuda(machine)
    version = compatibility.driver_of_number(1000 * supported[0] + 10 * supported[1]) if supported else None
    return verdict(entries, f"sm_{capability[0]}{capability[1]}", version)


def _unsupported(machine: Machine, who: str, path: str, gpu: str, entries: list[Entry], judged: Verdict) -> Conclusion:
    codes = sorted({(entry.sm, entry.kind, entry.arch) for entry in entries})
    held = ", ".join(f"PTX for {arch}" if kind == "ptx" else arch for _, kind, arch in codes)
    options = "; ".join(judged.help)
    return error(
        cause="gpu-not-supported-by-framework",
        verdict=f"{who} has no code for {gpu}: {judged.text}",
        evidence=(f"{path}: {held}", *judged.because),
        fix=options if who == machine.program else f"install a build of {who.split()[0]} that has code for this GPU",
    )
