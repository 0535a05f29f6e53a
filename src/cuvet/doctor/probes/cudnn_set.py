"""Would libcudnn.so find all of its parts, and of one version?"""

import os

from cuvet.doctor import cudnn, frameworks, python
from cuvet.doctor.cudnn import Set
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, Severity, healthy
from cuvet.doctor.python import Distribution

TITLE = "the libcudnn_* set"
GROUP: Group = "libraries"

LOOKED_AT = ("libcudnn*.so that the loader takes for each installed framework or the program",)


def probe(machine: Machine) -> Conclusions:
    whole = [each for each in cudnn.sets(machine) if each.found() or not each.parts]
    if not whole:
        yield healthy("nothing here loads cuDNN")
    for each in whole:
        problems = list(_problems(machine, each))
        yield from problems
        if not problems:
            evidence = tuple(cudnn.describe(machine, copy) for copy in (each.shim, *each.found()))
            yield healthy(f"{each.user.name} gets a complete cuDNN{_version(machine, each.shim)}", evidence=evidence)


def _problems(machine: Machine, loaded: Set) -> Conclusions:
    version = cudnn.version_of(machine, loaded.shim.real)
    required = cudnn.required_parts(machine, version or (loaded.user.major,)) if version else ()
    missing = [part for part in required if loaded.parts.get(part) is None]
    if missing:
        yield _missing(machine, loaded, missing)
    for part, copy in loaded.parts.items():
        if copy and _is_foreign(machine, loaded, copy):
            bundled = os.path.join(os.path.dirname(loaded.shim.path), f"libcudnn_{part}.so.{loaded.user.major}")
            if machine.is_file(bundled):
                yield _mixed(machine, loaded, part, copy)
            else:
                yield _from_elsewhere(machine, loaded, part, copy)
            return


def _is_foreign(machine: Machine, loaded: Set, copy: Copy) -> bool:
    """Of another directory than its neighbours and of another, known version."""
    anchor = _anchor(loaded)
    versions = cudnn.version_of(machine, copy.real), cudnn.version_of(machine, anchor.real)
    apart = os.path.dirname(copy.real) != os.path.dirname(anchor.real)
    return apart and None not in versions and versions[0] != versions[1]


def _anchor(loaded: Set) -> Copy:
    """What the parts are compared with: libcudnn.so, or the first part if libcudnn.so is a bundled one without parts."""
    return loaded.found()[0] if loaded.user.bundles_shim else loaded.shim


def _missing(machine: Machine, loaded: Set, missing: list[str]) -> Conclusion:
    """Only a note if all that is missing came with a minor release, whose set is known of PyPI's wheels alone, and this is not one."""
    names = [f"libcudnn_{part}.so.{loaded.user.major}" for part in missing]
    recorded = [
        f"{each.dist_info}/RECORD lists {os.path.basename(file.path)}"
        for each in _owners(machine, loaded)
        for file in python.recorded(machine, each) or ()
        if os.path.basename(file.path) in names
    ]
    certain = _owners(machine, loaded) or set(missing) & set(cudnn.required_parts(machine, (loaded.user.major,)))
    return Conclusion(
        severity="error" if certain else "note",
        cause="cudnn-sublibrary-missing",
        verdict=f"cuDNN{_version(machine, loaded.shim)} lacks {', '.join(names)}, which {loaded.user.name} will need",
        evidence=(
            cudnn.describe(machine, loaded.shim),
            *(f"{name}: not in {os.path.dirname(loaded.shim.path)} and not on the loader's path" for name in names),
            *recorded,
        ),
        fix=cudnn.how_to_reinstall(machine, loaded.shim.real),
    )


def _owners(machine: Machine, loaded: Set) -> tuple[Distribution, ...]:
    return cudnn.owners(machine, loaded.shim.real)


def _mixed(machine: Machine, loaded: Set, part: str, copy: Copy) -> Conclusion:
    anchor = _anchor(loaded)
    return Conclusion(
        severity=_severity(machine, copy, anchor),
        cause="cudnn-mixed-versions",
        verdict=f"{loaded.user.name} gets libcudnn of{_version(machine, anchor)} and libcudnn_{part} of{_version(machine, copy)}",
        evidence=(
            cudnn.describe(machine, anchor),
            *(cudnn.describe(machine, each) for each in loaded.found() if each is not anchor),
        ),
        fix=cudnn.how_to_remove(
            machine, copy if copy.why == "LD_LIBRARY_PATH" or anchor.why != "LD_LIBRARY_PATH" else anchor
        ),
    )


def _from_elsewhere(machine: Machine, loaded: Set, part: str, copy: Copy) -> Conclusion:
    owning = _owners(machine, loaded)
    complete = f"install --upgrade {owning[0].name}" if owning and part not in _required(machine, loaded) else ""
    fix = cudnn.pip(machine, complete) if complete else cudnn.how_to_reinstall(machine, loaded.shim.real)
    return Conclusion(
        severity=_severity(machine, copy, loaded.shim),
        cause="cudnn-sublibrary-from-elsewhere",
        verdict=f"the cuDNN{_version(machine, loaded.shim)} of {loaded.user.name} has no libcudnn_{part}, "
        f"so the loader takes that of another cuDNN,{_version(machine, copy)}",
        evidence=(
            cudnn.describe(machine, loaded.shim),
            f"libcudnn_{part}: not in {os.path.dirname(loaded.shim.path)}",
            cudnn.describe(machine, copy),
        ),
        fix=f"{fix}, or {cudnn.how_to_remove(machine, copy)}",
    )


def _required(machine: Machine, loaded: Set) -> tuple[str, ...]:
    return cudnn.required_parts(machine, cudnn.version_of(machine, loaded.shim.real) or (loaded.user.major,))


def _severity(machine: Machine, copy: Copy, other: Copy) -> Severity:
    """Patch releases of one minor version: only said."""
    versions = cudnn.version_of(machine, copy.real) or (), cudnn.version_of(machine, other.real) or ()
    return "note" if versions[0][:2] == versions[1][:2] else "error"


def _version(machine: Machine, copy: Copy) -> str:
    version = cudnn.version_of(machine, copy.real)
    return f" {frameworks.text(version)}" if version else ""
