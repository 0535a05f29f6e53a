"""What is said of the bytes that a failing load was given."""

from __future__ import annotations

import pytest

from cuvet.catalog import driver
from cuvet.model import Call, Model
from cuvet.rules.images import PTX_RELEASES, newest_ptx
from cuvet.rules.rule import Violation

PTX = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


def violations(
    image: bytes, status: int, *, readable: int | None = None, driver_version: int = 13000
) -> list[Violation]:
    model = Model()
    model.driver_version = driver_version
    call = Call(
        driver()["cuModuleLoadData"],
        (0x1000, 0x2000),
        image=image[:4096],
        image_readable=len(image) if readable is None else readable,
        image_terminated=b"\0" in image,
    )
    return [
        each
        for each in model.predict(call).violations
        if each.rule.name.startswith("image-") and status in each.outcomes
    ]


@pytest.mark.parametrize(
    ("image", "status", "rule"),
    [
        (b"A" * 4095 + b"\0", 200, "image-not-recognised"),
        (bytes(64), 200, "image-not-recognised"),
        (b"hello\0", 200, "image-not-recognised"),
        (PTX.replace(b"ret", b"bogus") + b"\0", 218, "image-ptx-not-compiled"),
        (PTX.replace(b"8.0", b"99.0") + b"\0", 222, "image-ptx-too-new"),
        (PTX.replace(b"sm_90", b"sm_999") + b"\0", 218, "image-ptx-not-compiled"),
        (PTX.replace(b"8.0", b"8.8").replace(b"sm_90", b"sm_100") + b"\0", 218, "image-ptx-not-compiled"),
        (b"\x7fELF\2\1\1" + bytes(57), 200, "image-truncated"),
        (PTX, 218, "image-ptx-not-terminated"),
        (PTX + b"\x01\x02\x7f\0", 218, "image-ptx-not-terminated"),
    ],
)
def test_one_rule_for_each_image_and_status(image: bytes, status: int, rule: str) -> None:
    assert [each.rule.name for each in violations(image, status)] == [rule]


def test_the_message_names_versions() -> None:
    (found,) = violations(PTX.replace(b"8.0", b"9.1") + b"\0", 222)
    assert found.message == "PTX 9.1 for sm_90 is newer than the driver takes (up to 9.0)"
    assert found.because == ("this version needs a driver of CUDA 13.1 or newer",)


def test_a_version_that_the_driver_takes_is_not_called_too_new() -> None:
    assert violations(PTX + b"\0", 222) == []


def test_nothing_is_said_without_the_bytes() -> None:
    assert violations(b"", 200) == []


@pytest.mark.parametrize(
    ("version", "newest"), [(12050, (8, 5)), (12060, (8, 5)), (13000, (9, 0)), (0, None), (99000, None)]
)
def test_the_newest_ptx_of_a_driver(version: int, newest: tuple[int, int] | None) -> None:
    assert newest_ptx(version) == newest


def test_releases_are_in_order() -> None:
    assert list(PTX_RELEASES) == sorted(PTX_RELEASES)
    assert list(PTX_RELEASES.values()) == sorted(PTX_RELEASES.values())
