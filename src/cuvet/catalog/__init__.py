"""Says what every entry point of CUDA is, from generated prototypes and authored roles.

``driver()`` and ``runtime()`` give the two catalogs, ``libraries()`` those of cuDNN, cuBLAS and the others. Names, types, values and
layouts come from NVIDIA's headers (``tools/generate_catalog.py``, ``tools/generate_libraries.py``); what the parameters mean is
authored in ``authored/``.
"""

from cuvet.catalog.catalog import Api, Catalog, EntryPoint, Parameter, Signature, Struct, driver, runtime
from cuvet.catalog.kinds import Kind
from cuvet.catalog.libraries import libraries, recorded, recorded_entry_point
from cuvet.catalog.roles import Role, Verb
from cuvet.catalog.statuses import api_of, status_name, status_value

__all__ = [
    "Api",
    "Catalog",
    "EntryPoint",
    "Kind",
    "Parameter",
    "Role",
    "Signature",
    "Struct",
    "Verb",
    "api_of",
    "driver",
    "libraries",
    "recorded",
    "recorded_entry_point",
    "runtime",
    "status_name",
    "status_value",
]
