"""Answers a request of any API."""

import sys
import traceback

from cuvet.catalog import results as status
from cuvet.device.driver.answer import answer as answer_driver
from cuvet.device.library.answer import answer as answer_library
from cuvet.device.process import Thread
from cuvet.device.protocol import ProtocolError, Request, Steps
from cuvet.device.runtime.answer import answer as answer_runtime

_reported: set[str] = set()


def answer(thread: Thread, request: Request) -> Steps[int]:
    """Status of the call. A defect of the emulated device is told on stderr, once, and answered CUDA_ERROR_UNKNOWN; it goes on."""
    if request.runtime:
        return _guarded(answer_runtime(thread, request))
    if request.library:
        return _guarded(answer_library(thread, request))
    return _guarded(answer_driver(thread, request))


def _guarded(steps: Steps[int]) -> Steps[int]:
    try:
        return (yield from steps)
    except ProtocolError:
        raise
    except Exception as defect:
        if repr(defect) not in _reported:
            _reported.add(repr(defect))
            print("cuvet.device: a defect of the emulated device; please report it:", file=sys.stderr)
            traceback.print_exc()
        return status.UNKNOWN
