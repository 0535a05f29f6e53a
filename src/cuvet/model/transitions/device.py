"""Devices and the driver as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Role, Verb
from cuvet.model.transitions.object import output
from cuvet.model.transitions.registry import after_roles, for_role

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


@for_role(Verb.INITIALISES)
def initialise(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    if model.initialised_by is None:
        model.initialised_by = call


@after_roles("cuDriverGetVersion")
def tell_version(model: Model, call: Call, outcome: Outcome) -> None:
    model.driver_version = output(call, outcome, "driverVersion") or model.driver_version
