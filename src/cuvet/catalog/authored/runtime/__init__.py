"""What the parameters of the runtime's entry points mean.

``cudaStreamWaitEvent`` means what ``cuStreamWaitEvent`` means, parameter for parameter; so do all that have an entry point of
the driver with as many parameters to correspond to. The others have tables here.
"""

from collections.abc import Mapping
from dataclasses import replace

from cuvet.catalog.authored.runtime import device, function, graph, memory
from cuvet.catalog.authored.words import Reasons, Roles, by_name
from cuvet.catalog.roles import Role

TABLES = (device, function, graph, memory)


def complete(
    runtime: Mapping[str, tuple[str, ...]], driver: Mapping[str, tuple[str, ...]], roles: Roles, reasons: Reasons
) -> tuple[Roles, Reasons]:
    """Roles and reasons of all entry points of the runtime. ``runtime`` and ``driver`` map entry points to their parameters'
    names; ``roles`` and ``reasons`` are the driver's."""
    own_roles = {name: found for table in TABLES for name, found in table.ROLES.items()}
    own_reasons = {name: reason for table in TABLES for name, reason in by_name(table.NO_ROLE).items()}
    for name, parameters in runtime.items():
        same = name.replace("cuda", "cu", 1)
        if name in own_roles or name in own_reasons or len(driver.get(same, ())) != len(parameters):
            continue
        if same in reasons:
            own_reasons[name] = reasons[same]
        elif same in roles:
            names = {"": "", **dict(zip(driver[same], parameters, strict=True))}
            own_roles[name] = tuple(_renamed(role, names) for role in roles[same])
    return own_roles, own_reasons


def _renamed(role: Role, names: Mapping[str, str]) -> Role:
    return replace(
        role,
        parameter=names[role.parameter],
        size=names[role.size],
        count=names[role.count],
        parent=names[role.parent],
        when=names.get(role.when, role.when),
    )
