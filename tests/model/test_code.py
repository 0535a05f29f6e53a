"""PTX that a program loads says which functions and variables it has, and whether a kernel can fail."""

from __future__ import annotations

from cuvet.catalog import driver
from cuvet.model import Call, Model, Outcome

from .driving import drive

TEXT = b""".version 7.0
.target sm_75
.address_size 64
.visible .global .align 8 .b8 variable[64];
.visible .entry returns(.param .u64 memory)
{
    ret;
}
.visible .entry traps() { trap; }
\0"""
MODULE, FUNCTION = 0x5000, 0x6000


def call(name: str, *args: int, image: bytes = b"", text: bytes = b"") -> Call:
    inputs = {index: text for index, parameter in enumerate(driver()[name].parameters) if parameter.name == "name"}
    return Call(
        driver()[name],
        args,
        thread=1,
        inputs=inputs,
        image=image[:4096],
        image_readable=len(image),
        image_terminated=b"\0" in image,
    )


def loaded(image: bytes = TEXT) -> Model:
    model = drive().setup().model
    model.driver_version = 13000
    model.observe(call("cuModuleLoadData", 0x1000, 0x2000, image=image), Outcome(0, {0: MODULE}))
    return model


def statuses(model: Model, made: Call) -> tuple[int, ...]:
    return model.predict(made).statuses


def test_functions_and_variables_are_those_of_the_text() -> None:
    model = loaded()
    for name, text, expected in (
        ("cuModuleGetFunction", b"returns", (0,)),
        ("cuModuleGetFunction", b"variable", (500,)),
        ("cuModuleGetGlobal", b"variable", (0,)),
        ("cuModuleGetGlobal", b"returns", (500,)),
    ):
        args = (0x1000, MODULE, 0) if name == "cuModuleGetFunction" else (0x1000, 0x1008, MODULE, 0)
        assert statuses(model, call(name, *args, text=text + b"\0")) == expected, (name, text)


def test_nothing_is_claimed_of_text_that_was_not_seen_to_its_end() -> None:
    model = loaded(TEXT.rstrip(b"}\n\0"))
    assert statuses(model, call("cuModuleGetFunction", 0x1000, MODULE, 0, text=b"absent\0")) == (0, 500)


def test_what_was_compiled_before_compiles_again() -> None:
    again = call("cuModuleLoadData", 0x1000, 0x2000, image=TEXT)
    assert statuses(loaded(), again) == (0,)
    assert statuses(loaded(b".version 7.0\n.target sm_75\n\0"), again) == (0, 218)


def test_parameters_are_counted() -> None:
    model = loaded()
    model.observe(call("cuModuleGetFunction", 0x1000, MODULE, 0, text=b"returns\0"), Outcome(0, {0: FUNCTION}))
    assert statuses(model, call("cuFuncGetParamInfo", FUNCTION, 0, 0x1000, 0x1008)) == (0,)
    assert statuses(model, call("cuFuncGetParamInfo", FUNCTION, 1, 0x1000, 0x1008)) == (1,)


def test_only_a_kernel_that_may_fail_makes_a_wait_fail() -> None:
    for name, expected in ((b"returns", (0,)), (b"traps", (0, 719, 700))):
        model = loaded()
        model.observe(call("cuModuleGetFunction", 0x1000, MODULE, 0, text=name + b"\0"), Outcome(0, {0: FUNCTION}))
        model.observe(call("cuLaunchKernel", FUNCTION, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), Outcome(0))
        assert statuses(model, call("cuCtxSynchronize", 0)) == expected
