"""Does everything that needs cuDNN find one of its major version?"""

import os

from cuvet.doctor import cudnn, frameworks
from cuvet.doctor.cudnn import User
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, Severity, healthy, unknown
from cuvet.doctor.python import Distribution

TITLE = "cuDNN for each framework"
GROUP: Group = "libraries"

LOOKED_AT = (
    "libcudnn.so.* that the installed frameworks or the program need",
    "loader's path, Python packages, toolkits",
)
_FALL_BACK_TO_CPU = ("tensorflow", "tf-nightly", "jax-", "onnxruntime-gpu")
"""Distributions that work without cuDNN, on the CPU."""


def probe(machine: Machine) -> Conclusions:
    users = cudnn.users(machine)
    for user in users:
        loaded = cudnn.loaded_set(machine, user)
        if loaded and (loaded.found() or not loaded.parts):
            found = loaded.found()[0] if user.bundles_shim else loaded.shim
            yield healthy(f"{user.name} finds cuDNN {user.major}", evidence=(cudnn.describe(machine, found),))
        elif any(
            frameworks.numbers(each.version)[:1] == (user.major,) and _is_damaged(machine, each)
            for each in cudnn.packages(machine)
        ):
            yield unknown(f"the package with the cuDNN of {user.name} has lost its libcudnn.so")
        else:
            yield _not_found(machine, user)
    if not users:
        yield healthy("nothing here needs cuDNN")


def _is_damaged(machine: Machine, package: Distribution) -> bool:
    directory = os.path.join(package.site, "nvidia/cudnn/lib")
    return not any(name.startswith("libcudnn.so") for name in machine.names(directory))


def _not_found(machine: Machine, user: User) -> Conclusion:
    places = cudnn.places(machine)
    if user.major in places:
        return _not_on_path(machine, user, places[user.major])
    others = {major: directories for major, directories in places.items() if major != user.major}
    return _other_major(machine, user, others) if others else _not_installed(machine, user)


def _severity(machine: Machine, user: User) -> Severity:
    """PyTorch and programs do not start without it; the others only do not use the GPU, which says little where there is none."""
    name = user.framework.distribution.name if user.framework else ""
    if name not in ("", "torch") and not machine.state.nvml.gpus:
        return "note"
    return "warning" if name.startswith(_FALL_BACK_TO_CPU) else "error"


def _weaker(severity: Severity) -> Severity:
    return "warning" if severity == "error" else "note"


def _needs(machine: Machine, user: User) -> str:
    return f"{user.requesters[0]} needs {'the parts of ' * user.bundles_shim}libcudnn.so.{user.major}: not on the loader's path"


def _not_on_path(machine: Machine, user: User, directories: tuple[str, ...]) -> Conclusion:
    helpers = [
        each.name
        for each in cudnn.users(machine)
        if each is not user
        and each.major == user.major
        and (loaded := cudnn.loaded_set(machine, each))
        and loaded.found()
    ]
    unless = f", unless {helpers[0]} has loaded it before" if helpers else ""
    fix = f"export LD_LIBRARY_PATH={directories[0]}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
    if user.framework and user.framework.distribution.name == "onnxruntime-gpu":
        fix += ", or call onnxruntime.preload_dlls() before the first session"
    return Conclusion(
        severity=_weaker(_severity(machine, user)) if helpers else _severity(machine, user),
        cause="cudnn-not-on-loader-path",
        verdict=f"{user.name} does not find cuDNN {user.major}, which is in {directories[0]}{unless}",
        evidence=(_needs(machine, user), *(f"{directory}: has cuDNN {user.major}" for directory in directories)),
        fix=fix,
    )


def _other_major(machine: Machine, user: User, others: dict[int, tuple[str, ...]]) -> Conclusion:
    for_others = [f"{each.name} needs cuDNN {each.major}" for each in cudnn.users(machine) if each.major in others]
    present = max(others)
    return Conclusion(
        severity=_severity(machine, user),
        cause="cudnn-two-majors",
        verdict=f"{user.name} needs cuDNN {user.major}, and only cuDNN {present} is installed",
        evidence=(
            _needs(machine, user),
            *(f"{path}: has cuDNN {major}" for major, directories in others.items() for path in directories),
            *for_others,
        ),
        fix=_how_to_agree(machine, user, present, bool(for_others)),
    )


def _how_to_agree(machine: Machine, user: User, present: int, used: bool) -> str:
    name = user.framework.distribution.name if user.framework else ""
    if name == "ctranslate2" and (user.major, present) == (8, 9):
        return cudnn.pip(machine, "install --upgrade 'ctranslate2>=4.5'")
    if name == "ctranslate2" and (user.major, present) == (9, 8):
        return cudnn.pip(machine, "install ctranslate2==4.4.0") + f", or {_how_to_install(machine, user)}"
    if used:
        return (
            f"install releases of both that are built for the same cuDNN: {user.name} is built for cuDNN {user.major}"
        )
    return _how_to_install(machine, user)


def _not_installed(machine: Machine, user: User) -> Conclusion:
    return Conclusion(
        severity=_severity(machine, user),
        cause="cudnn-not-installed",
        verdict=f"{user.name} needs cuDNN {user.major}, and there is none",
        evidence=(_needs(machine, user), "no libcudnn.so.* in Python packages, toolkits and default directories"),
        fix=_how_to_install(machine, user),
    )


def _how_to_install(machine: Machine, user: User) -> str:
    if user.framework is None:
        return f"install cuDNN {user.major} (Debian, Ubuntu: apt-cache search libcudnn{user.major} lists one for each CUDA version)"
    named = cudnn.requirement(user.framework)
    cuda = (user.framework.cuda or (12,))[0]
    text = named.text.replace(" ", "") if named else f"nvidia-cudnn-cu{cuda}=={user.major}.*"
    command = cudnn.pip(machine, f"install '{text}'")
    if user.framework.distribution.name not in ("ctranslate2", "onnxruntime-gpu"):
        return command
    directory = os.path.join(user.framework.distribution.site, "nvidia/cudnn/lib")
    return f"{command}, then: export LD_LIBRARY_PATH={directory}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
