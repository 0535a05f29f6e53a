"""Devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog import driver
from cuvet.catalog.results import INVALID_DEVICE, INVALID_VALUE, SUCCESS
from cuvet.model.answers.registry import returned_by, written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView


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
