"""What the parameters of the driver's entry points mean, one module per noun of CUDA.

Each module has ``ROLES``, and ``NO_ROLE``, which lists the others by the reason why they have none.
"""

from cuvet.catalog.authored import array, context, copy, device, event, graph, interoperability, memory, module, stream
from cuvet.catalog.authored.words import Reasons, Roles, by_name

TABLES = (array, context, copy, device, event, graph, interoperability, memory, module, stream)

ROLES: Roles = {name: roles for table in TABLES for name, roles in table.ROLES.items()}
NO_ROLE: Reasons = {name: reason for table in TABLES for name, reason in by_name(table.NO_ROLE).items()}

UNLISTED: Reasons = {
    "cuEGLApiInit": "exported by libcuda.so.1, declared in no header",
    "cuMemGetAttribute": "exported by libcuda.so.1, declared in no header",
    "cuMemGetAttribute_v2": "exported by libcuda.so.1, declared in no header",
}
"""Functions of the driver that pass through unseen. Those named ``cudbg…`` are the debugger's interface, and are not listed."""
