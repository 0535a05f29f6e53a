from __future__ import annotations

from pathlib import Path

import pytest

from .samples import Samples


@pytest.fixture
def samples(tmp_path: Path) -> Samples:
    return Samples(tmp_path)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Bytes of a file of each form, to be changed by tests: name → bytes."""
    samples = Samples(tmp_path_factory.mktemp("samples"))
    images = ("sm_75 cubin", "sm_90a cubin", "sm_90a ptx", "sm_80 ptx")
    packed = samples.fatbin(*images)
    fast = samples.fatbin(*images, mode="speed", name="fast")
    plain = samples.fatbin(*images, mode="none", name="plain")
    relocatable = samples.object(packed, section="__nv_relfatbin", name="relocatable.o")
    host = samples.object(packed, fast, plain)
    files = {
        "cubin": samples.cubin("sm_100a"),
        "ptx": samples.ptx("sm_90a"),
        "fatbin": packed,
        "lz4": fast,
        "plain": plain,
        "object": host,
        "library": samples.linked(host, relocatable, name="library.so"),
        "archive": samples.archive(host, relocatable),
    }
    return {name: file.read_bytes() for name, file in files.items()}
