"""Devices and the driver as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog import driver
from cuvet.catalog.results import INVALID_DEVICE, INVALID_VALUE, SUCCESS
from cuvet.catalog.roles import Role, Verb
from cuvet.model.transitions.object import output
from cuvet.model.transitions.registry import after_roles, for_role, returned_by, written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView


@for_role(Verb.INITIALISES)
def initialise(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    if model.initialised_by is None:
        model.initialised_by = call


@after_roles("cuDriverGetVersion")
def tell_version(model: Model, call: Call, outcome: Outcome) -> None:
    model.driver_version = output(call, outcome, "driverVersion") or model.driver_version


@returned_by("cuDeviceGetP2PAttribute")
def of_two_devices(model: ModelView, call: Call) -> tuple[int, ...]:
    if call.arg("srcDevice") == call.arg("dstDevice"):
        return (INVALID_DEVICE,)
    known = driver().enumerations["CUdevice_P2PAttribute"].values()
    return (SUCCESS,) if call.arg("attrib") in known else (INVALID_VALUE,)


@written_by("cuDeviceGetCount")
def device_count(model: ModelView, call: Call) -> dict[int, int]:
    return {0: model.devices}


@written_by("cuDeviceGet")
def device(model: ModelView, call: Call) -> dict[int, int]:
    return {0: call.arg("ordinal")}
