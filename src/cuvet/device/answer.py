"""Answers a request of any API."""

from cuvet.device.driver.answer import answer as answer_driver
from cuvet.device.library.answer import answer as answer_library
from cuvet.device.process import Thread
from cuvet.device.protocol import Request, Steps
from cuvet.device.runtime.answer import answer as answer_runtime


def answer(thread: Thread, request: Request) -> Steps[int]:
    """Status of the call."""
    if request.runtime:
        return answer_runtime(thread, request)
    if request.library:
        return answer_library(thread, request)
    return answer_driver(thread, request)
