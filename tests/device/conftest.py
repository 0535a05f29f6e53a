from __future__ import annotations

from collections.abc import Iterator

import pytest

from .support import Device, running_device


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    """One emulated GPU; every program that runs on it is a process of its own."""
    with running_device(tmp_path_factory.mktemp("device")) as running:
        yield running


@pytest.fixture(scope="session")
def two_devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    with running_device(tmp_path_factory.mktemp("devices"), devices=2) as running:
        yield running


@pytest.fixture(scope="session")
def crashing_device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    """Raises the signals that hardware dies of."""
    with running_device(tmp_path_factory.mktemp("crashing"), devices=2, CUVET_EMULATE_CRASHES="1") as running:
        yield running
