"""Which argument of the function that the user called a finding marks."""

from __future__ import annotations

import pytest

from cuvet.analysis.diagnosis import _users_argument
from cuvet.catalog import driver, runtime


@pytest.mark.parametrize(
    ("name", "parameter", "called", "expected"),
    [
        ("cuStreamSynchronize", "hStream", "cuStreamSynchronize", "hStream"),  # the driver's own
        ("cuStreamSynchronize", "hStream", "cudaStreamSynchronize", "stream"),
        ("cuStreamWaitEvent", "hEvent", "cudaStreamWaitEvent", "event"),
        ("cuLaunchKernel", "hStream", "cudaLaunchKernel", "stream"),
        ("cuMemFree", "dptr", "cudaFree", "devPtr"),
        ("cuStreamSynchronize", "hStream", "cudaFree", None),  # what it called for itself
        ("cuStreamSynchronize", "hStream", "main", None),  # which is no function of the runtime
        ("cuEventElapsedTime", "hEnd", "cudaEventElapsedTime", None),  # two that mean the same
    ],
)
def test_the_argument_of_the_runtimes_function(name: str, parameter: str, called: str, expected: str | None) -> None:
    entry_point = driver()[name]
    found = _users_argument(entry_point, entry_point.index[parameter], called)
    known = driver() if called == name else runtime()
    assert (None if found is None else known[called].parameters[found].name) == expected


def test_what_is_about_no_argument_marks_none() -> None:
    assert _users_argument(driver()["cuStreamSynchronize"], None, "cudaStreamSynchronize") is None
