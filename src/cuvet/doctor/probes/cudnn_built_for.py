"""Is the cuDNN that a framework would load as new as the one it was built for?"""

from cuvet.doctor import cudnn, frameworks
from cuvet.doctor.cudnn import User
from cuvet.doctor.frameworks import Requirement
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy

TITLE = "cuDNN built for and loaded"
GROUP: Group = "frameworks"

LOOKED_AT = ("Requires-Dist of the installed frameworks", "libcudnn.so.* that the loader takes for them")


def probe(machine: Machine) -> Conclusions:
    users = [user for user in cudnn.users(machine) if user.framework]
    for user in users:
        yield _conclusion(machine, user)
    if not users:
        yield healthy("no framework here uses cuDNN")


def _conclusion(machine: Machine, user: User) -> Conclusion:
    required = cudnn.requirement(user.framework) if user.framework else None
    loaded = cudnn.loaded_set(machine, user)
    version = cudnn.version_of(machine, loaded.shim.real) if loaded else None
    if loaded is None or required is None or required.at_least is None or version is None:
        return healthy(f"{user.name}: its package names no cuDNN version to compare with")
    if version[0] == required.at_least[0] and version[:2] < required.at_least[:2]:
        return _older(machine, user, required, version, loaded.shim)
    return healthy(
        f"{user.name} asks for cuDNN {frameworks.text(required.at_least)} and gets {frameworks.text(version)}",
        evidence=(cudnn.describe(machine, loaded.shim),),
    )


def _older(machine: Machine, user: User, required: Requirement, version: tuple[int, ...], shim: Copy) -> Conclusion:
    built_for = frameworks.text((required.at_least or ())[:3])
    own_package = cudnn.owners(machine, shim.real) or not cudnn.packages(machine)
    return error(
        cause="cudnn-older-than-built-for",
        verdict=f"{user.name} was built for cuDNN {built_for} and gets the older {frameworks.text(version)}",
        evidence=(f"{user.name} requires {required.text}", cudnn.describe(machine, shim)),
        fix=cudnn.pip(machine, f"install '{required.text.replace(' ', '')}'")
        if own_package
        else cudnn.how_to_remove(machine, shim),
    )
