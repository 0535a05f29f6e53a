"""What is said of the bytes that a failing load was given."""

from __future__ import annotations

import struct

import pytest
from tests.model.driving import Drive

from cuvet.catalog import driver
from cuvet.model import Call, Model
from cuvet.rules.rule import Violation

PTX = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


def violations(
    image: bytes, status: int, *, readable: int | None = None, driver_version: int = 13000, gpu: int = 0
) -> list[Violation]:
    model = Model()
    model.driver_version = driver_version
    if gpu:
        model.capabilities = (gpu,)
        Drive(model).setup()
    call = Call(
        driver()["cuModuleLoadData"],
        (0x1000, 0x2000),
        thread=1,
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


def cubin_header(sm: int, bytes_: int = 2000) -> bytes:
    """The first bytes of a cubin: its header, which says where its sections are."""
    ident = b"\x7fELF\2\1\1\x41\x08".ljust(16, b"\0")
    return struct.pack("<16sHHIQQQIHHHHHH", ident, 2, 190, 130, 0, 0, bytes_ - 64, sm << 8, 64, 56, 0, 64, 1, 0)


def test_a_cubin_for_another_gpu_is_told_with_what_to_add() -> None:
    (found,) = violations(cubin_header(80, 100000).ljust(4096, b"\1"), 209, gpu=90)
    assert found.rule.name == "image-wrong-gpu"
    assert found.message == "a cubin for sm_80 has no code for sm_90 (Hopper)"
    assert found.because == (
        "machine code for sm_80 is for GPUs of compute capability 8.0 to 8.9",
        "to add it: nvcc -gencode arch=compute_90,code=sm_90",
    )


def test_without_the_gpu_it_is_not_named() -> None:
    (found,) = violations(cubin_header(80, 100000).ljust(4096, b"\1"), 209)
    assert (found.message, found.because) == ("a cubin for sm_80 has no code for this GPU", ())


def test_a_verdict_that_the_driver_contradicts_is_not_told() -> None:
    """The driver found no code in a cubin that should run: what is known of it is said, and no reason made up."""
    (found,) = violations(cubin_header(90, 100000).ljust(4096, b"\1"), 209, gpu=90)
    assert found.message == "a cubin for sm_90 has no code for this GPU"
    assert found.because == ("this GPU is of compute capability 9.0",)


def test_ptx_for_a_newer_gpu_is_told() -> None:
    (found,) = violations(PTX.replace(b"8.0", b"8.8").replace(b"sm_90", b"sm_100") + b"\0", 218, gpu=90)
    assert found.message == "PTX 8.8 for sm_100 cannot be compiled for sm_90"
    assert found.because == ("PTX for sm_100 is for GPUs of compute capability 10.0 and newer",)


def test_an_image_of_which_only_the_beginning_is_stored_is_not_called_truncated() -> None:
    assert violations(cubin_header(90, 100000).ljust(4096, b"\1"), 200, readable=4096) == []
    assert violations(cubin_header(90, 100000).ljust(4096, b"\1"), 200, readable=1 << 20) == []
    (found,) = violations(cubin_header(90, 2000).ljust(1000, b"\1"), 200)
    assert found.message == "what is loaded is not whole: a cubin of 2000 bytes that ends after 1000"
