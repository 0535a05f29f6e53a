"""What every entry point of CUDA is: generated prototypes, authored roles.

``driver()`` and ``runtime()`` give the two catalogs. Names, types, values and layouts come from NVIDIA's headers
(``tools/generate_catalog.py``); what the parameters mean is authored in ``authored/``.
"""

from __future__ import annotations

from cuvet.catalog.catalog import (
    Catalog,
    EntryPoint,
    Parameter,
    Signature,
    Struct,
    driver,
    runtime,
    status_name,
    status_value,
)
from cuvet.catalog.roles import Kind, Role, Verb

__all__ = [
    "Catalog",
    "EntryPoint",
    "Kind",
    "Parameter",
    "Role",
    "Signature",
    "Struct",
    "Verb",
    "driver",
    "runtime",
    "status_name",
    "status_value",
]
