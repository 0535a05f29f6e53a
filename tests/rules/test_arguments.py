"""What the rules about numbers and flags say of a call."""

from __future__ import annotations

import pytest

from cuvet.catalog import driver
from cuvet.catalog.authored.arguments import ARGUMENTS
from cuvet.model import Call
from cuvet.rules.arguments import refused


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cuStreamCreate", (0, 8), "Flags is 0x8; its only flag is 1 (CU_STREAM_NON_BLOCKING)"),
        ("cuMemHostAlloc", (0, 64, 8), "Flags is 0x8; its flags are 1, 2 and 4"),
        (
            "cuEventCreate",
            (0, 8),
            "Flags is 0x8; its flags are 1 (CU_EVENT_BLOCKING_SYNC), 2 (CU_EVENT_DISABLE_TIMING) and 4 (CU_EVENT_INTERPROCESS)",
        ),
        (
            "cuEventCreate",
            (0, 4),
            "Flags is 0x4; 0x4 (CU_EVENT_INTERPROCESS) must be combined with 0x2 (CU_EVENT_DISABLE_TIMING)",
        ),
        ("cuEventCreate", (0, 6), ""),
        ("cuStreamCreate", (0, 0), ""),
    ],
)
def test_flags_are_said_by_name(name: str, arguments: tuple[int, ...], message: str) -> None:
    call = Call(driver()[name], arguments)
    assert "".join(refused(call, takes) for takes in ARGUMENTS[name]) == message
