"""How large the emulated device's memory is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.device.facts import TOTAL_MEMORY
from cuvet.doctor.machine import Machine
from cuvet.launch import host_memory
from cuvet.sizes import bytes_of

GIB, MIB = 1 << 30, 1 << 20


def host(root: Path, available: int | None, *, cgroup: int | None = None, used: int = 0) -> Machine:
    """A host with that many bytes available, in a cgroup with that limit."""
    files = {"proc/self/cgroup": "0::/box\n", "sys/fs/cgroup/box/memory.current": str(used)}
    files["sys/fs/cgroup/box/memory.max"] = "max\n" if cgroup is None else f"{cgroup}\n"
    files["proc/meminfo"] = "" if available is None else f"MemTotal: 1 kB\nMemAvailable: {available >> 10} kB\n"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Machine(root=root)


@pytest.mark.parametrize(
    ("available", "cgroup", "used", "size"),
    [
        pytest.param(25 * GIB, None, 0, 12 * GIB, id="half of the host's, in whole GiB"),
        pytest.param(25 * GIB, 9 * GIB, GIB, 4 * GIB, id="half of what the cgroup leaves"),
        pytest.param(25 * GIB, 90 * GIB, 0, 12 * GIB, id="a cgroup larger than the host"),
        pytest.param(900 * MIB, None, 0, 450 * MIB, id="less than a GiB"),
        pytest.param(9 * MIB, None, 0, 64 * MIB, id="next to nothing"),
        pytest.param(4096 * GIB, None, 0, TOTAL_MEMORY, id="more than any GPU has"),
        pytest.param(None, None, 0, TOTAL_MEMORY // GIB // 2 * GIB, id="unknown"),
    ],
)
def test_device_memory_is_what_the_host_can_back(
    tmp_path: Path, available: int | None, cgroup: int | None, used: int, size: int
) -> None:
    assert host_memory.for_device(host(tmp_path, available, cgroup=cgroup, used=used)) == size


def test_the_option_sets_it(cuvet, runtime_program) -> None:
    ran = cuvet.run(("--device", "emulated", "--device-memory", "9GiB"), [runtime_program("memory"), "exhaust"])
    assert ran.rules == ["memory-exhausted"] * 2
    assert ran.report.findings[0].because[0] == "this process held 8.001 GiB of the 9 GiB of GPU 0, in 3 allocations"
    assert (
        ran.stderr.count("the emulated device has 9 GiB of memory, too little for this program; cuvet run --device ")
        == 1
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("1048576", MIB), ("8GiB", 8 * GIB), ("8g", 8 * GIB), ("512 MiB", 512 * MIB), ("1T", 1 << 40), ("4KiB", 4096)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1.5GiB", "8GB", "GiB", "0x10", "1 2", "9" * 40, "８"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        bytes_of(text)
