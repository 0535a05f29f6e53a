"""The verdict on the bytes of one image is what the driver did with them on hardware, for every image that was tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware import images

import cuvet
from cuvet.image.compatibility import driver_of
from cuvet.image.raw import image_verdict
from cuvet.rules import rule_names

FACTS = sorted((Path(cuvet.__file__).parent / "knowledge" / "facts").glob("images-*.jsonl"))
ROWS = [json.loads(line) for file in FACTS for line in file.read_text(encoding="utf-8").splitlines()]
PTX = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, images.Image]:
    return {image.id: image for image in images.images(tmp_path_factory.mktemp("images"))}


def by_load(calls: list[images.Row]) -> dict[str, list[images.Row]]:
    """The calls of each of the three loads, in the order of the row."""
    found: dict[str, list[images.Row]] = {}
    for call in calls:
        load = next((load for load in images.LOADS if load == call["call"]), "cuLibraryLoadData")
        found.setdefault(load, []).append(call)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_verdict_is_what_the_driver_did(row: dict[str, object], built: dict[str, images.Image]) -> None:
    calls = by_load(row["calls"])  # type: ignore[arg-type]
    assert set(calls) == set(images.LOADS)
    assert list(images.differences(built[str(row["id"])], calls, "sm_90", str(row["driver"]))) == []


@pytest.mark.skipif(
    not ROWS, reason="there are no facts images-*.jsonl: tests/hardware/images.py --facts measures them"
)
def test_every_image_was_tried_on_hardware(built: dict[str, images.Image]) -> None:
    assert set(built) == {row["id"] for row in ROWS}
    assert len(built) >= 60


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x7fELF\x02\x01\x01", b"\x50\xed\x55\xba\x01\0\x10\0", b"\xb1\x43\x62\x46", PTX[:12], PTX[:30], PTX]),
    st.sampled_from([None, "sm_90", "sm_100"]),
    st.sampled_from([None, 0, 5, 1 << 62]),
    st.booleans(),
)  # fmt: skip
def test_any_bytes_get_a_verdict(
    rest: bytes, start: bytes, gpu: str | None, more: int | None, terminated: bool
) -> None:
    data = start + rest
    size = None if more is None else len(data) + more
    found = image_verdict(data, gpu, driver_of("580"), size=size, terminated=terminated)
    assert found.text
    assert (found.status is None) == (found.outcome != "fails")
    assert found.cause is None or found.cause in rule_names()


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (PTX, None),
        (PTX + b"\0", None),
        (PTX.replace(b"8.0", b"9.1"), "image-ptx-too-new"),
        (PTX.replace(b"ret", b"rat"), "image-ptx-not-compiled"),
        (PTX.replace(b"sm_90", b"sm_900"), "image-ptx-not-compiled"),
        (PTX + b"\1", "image-ptx-not-terminated"),
        (b"", "image-not-recognised"),
    ],
)
def test_without_a_gpu_only_what_fails_everywhere_is_told(data: bytes, cause: str | None) -> None:
    found = image_verdict(data, None, driver_of("580"))
    assert (found.outcome, found.cause) == (("fails" if cause else "unknown"), cause)
