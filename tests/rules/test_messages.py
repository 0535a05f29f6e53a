"""What findings about dead objects say: the message, and the chain of causes behind it."""

from __future__ import annotations

from cuvet.rules.examples import Example
from cuvet.rules.rule import Violation

from .simulated import simulate


def violation(program: str, setup: bool = True) -> Violation:
    """The last one of a program."""
    return simulate(Example("", program, setup=setup), "program.py").violations[-1][1]


def test_a_destroyed_object_is_said_to_be_destroyed_and_by_whom() -> None:
    found = violation("""
stream = cu.cuStreamCreate(0)
cu.in_thread(lambda: cu.cuStreamDestroy(stream))
cu.cuStreamQuery(stream)
""")
    assert found.message == "stream#1 was destroyed before this call"
    assert found.because == ("stream#1 was destroyed by thread 2 at call #6",)


def test_modules_are_unloaded() -> None:
    found = violation("""
module = cu.module()
cu.cuModuleUnload(module)
cu.cuModuleUnload(module)
""")
    assert found.message == "module#1 was already unloaded"


def test_the_chain_leads_to_the_context() -> None:
    found = violation("""
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuCtxDestroy(own)
cu.cuFuncGetAttribute(0, function)
""")
    assert found.message == "function#1 ended when context#2 was destroyed"
    assert found.because == (
        "function#1 died because module#1 was destroyed",
        "module#1 died because context#2 was destroyed",
        "context#2 was destroyed by thread 1 at call #8",
    )
    assert [each.name for each in found.objects] == ["function#1", "context#2"]


def test_who_reset_the_device_is_said() -> None:
    found = violation("""
event = cu.cuEventCreate(0)
cu.in_thread(lambda: cu.cuDevicePrimaryCtxReset(device))
cu.cuEventQuery(event)
""")
    assert found.message == "event#1 is used, but its device was reset before this call"
    assert found.because[-1] == "context#1 was reset by thread 2 at call #6"


def test_the_call_that_broke_a_capture_is_named() -> None:
    found = violation("""
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemAlloc(64)
cu.cuStreamEndCapture(stream)
""")
    assert found.message == "the capture of stream#1 was invalidated before this call"
    assert found.because == (
        "the capture was invalidated by cuMemAlloc, thread 1 at call #7",
        "the global capture of stream#1 was begun by thread 1 at call #6",
    )


def test_a_handle_of_another_kind_is_named() -> None:
    found = violation("""
stream = cu.cuStreamCreate(0)
cu.cuEventQuery(stream)
""")
    assert found.message.endswith("is stream#1, not an event")


def test_where_the_context_is_current_is_said() -> None:
    found = violation("""
memory = cu.cuMemAlloc(64)
cu.in_thread(lambda: cu.cuStreamCreate(0))
""")
    assert found.message == "no context is current on thread 2"
    assert found.because == ("context#1 is current on thread 1",)
    assert found.driver_only
