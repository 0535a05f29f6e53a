"""A finding names the test of GoogleTest that ran, where the command line chooses one alone."""

from __future__ import annotations

import pytest

EMULATED = ("--device", "emulated")


@pytest.mark.parametrize(
    ("arguments", "during"),
    [
        (["--gtest_filter=Pool.DestroysTwice", "--gtest_also_run_disabled_tests"], "the test Pool.DestroysTwice"),
        (["--gtest_filter=*", "--gtest_filter=Sizes/Pool.Frees/3"], "the test Sizes/Pool.Frees/3"),
        (["--gtest_filter=Pool.*"], ""),
        (["--gtest_filter=Pool.A:Pool.B"], ""),
        (["--gtest_filter=Pool.A-Pool.B"], ""),
        (["--gtest_filter=Pool"], ""),
        (["--gtest_filter=Pool.A", "--gtest_filter=Pool.?"], ""),
        ([], ""),
    ],
)
def test_a_finding_names_the_only_test(cuvet, program, arguments: list[str], during: str) -> None:
    ran = cuvet.run(EMULATED, [program("stale"), *arguments])
    assert ran.report is not None
    (finding,) = ran.report.findings
    assert finding.during == (f"{during} (--gtest_filter)" if during else "")
    told = f"   = during: {finding.during}" in cuvet("analyze", ran.trace).stdout.splitlines()
    assert told == bool(during)


def test_a_process_that_the_tests_started_is_another_one(cuvet, program) -> None:
    command = ["sh", "-c", f"{program('stale')}; true", "--gtest_filter=Pool.DestroysTwice"]
    ran = cuvet.run(EMULATED, command)
    assert ran.report is not None
    assert [each.during for each in ran.report.findings] == [""]
