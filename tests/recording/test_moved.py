"""Memory that was registered and moved: what is unregistered was never registered, and the registration that is there is named."""

from __future__ import annotations

import sys
from pathlib import Path

from cuvet.catalog import Kind
from cuvet.findings import Finding

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread, report

OLD, OTHER, NEW, SIZE = 0x7F0000100000, 0x7F0000200000, 0x7F0000400000, 0x10000
AROUND_OLD = "7f0000000000-7f0000100000 rw-p 0 00:00 0 \n7f0000180000-7f0000300000 rw-p 0 00:00 0 \n"
NOT_REGISTERED = 713


def unregistered(directory: Path, *registered: int, maps: str = "") -> Finding:
    """``NEW`` is unregistered, while these are registered."""
    t = Thread()
    records = t.setup()
    for address in registered:
        records += t.call("cuMemHostRegister", address, SIZE, 0, outputs=[(0, Kind.HOST_MEMORY, 1, address)])
    records += t.call("cuMemHostUnregister", NEW, status=NOT_REGISTERED, flags=w.SUSPECT | w.FAILED)
    (found,) = report(directory, records + (w.maps(t.calls, t.number, maps) if maps else b"")).findings
    assert found.name == "host-memory-unregister-never-registered"
    return found


def test_the_registration_whose_memory_is_gone_is_named(tmp_path: Path) -> None:
    found = unregistered(tmp_path, OLD, OTHER, maps=AROUND_OLD)
    assert found.message == (
        "0x7f0000400000 was never registered; host-memory#1, 65536 bytes from 0x7f0000100000 on, is registered, and was unmapped since"
    )
    assert [(each.name, each.created is not None) for each in found.objects] == [("host-memory#1", True)]
    assert found.because[-1] == "0x7f0000100000, which belongs to host-memory#1, is not mapped now"


def test_no_registration_is_called_unmapped_that_nobody_looked_at(tmp_path: Path) -> None:
    """The lines tell of other addresses."""
    found = unregistered(tmp_path, 0x100000, OTHER, maps=AROUND_OLD)
    assert found.message == "0x7f0000400000 was never registered"
    assert found.objects == ()


def test_the_only_registration_is_named(tmp_path: Path) -> None:
    found = unregistered(tmp_path, OTHER)
    assert found.message == "0x7f0000400000 was never registered"
    assert found.because == ("the only registration is host-memory#1, 65536 bytes from 0x7f0000200000 on",)
    assert [each.name for each in found.objects] == ["host-memory#1"]
