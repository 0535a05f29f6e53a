"""``pytest --cuvet`` blames each of many mistakes on the test that makes it, however tests are called, ordered and distributed."""

from __future__ import annotations

import pytest

from .conftest import blamed, planted

FILES = ("test_twins.py", "test_twins_elsewhere.py", "test_twin_of_module.py")
IN_TEAR_DOWN = {"test_module_ends_wrong_CV511", "test_method_torn_down_CV202", "test_of_finalizer_CV201"}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="in order"),
        pytest.param(("-p", "shuffled"), id="shuffled"),
        pytest.param(("-n2", "--dist", "load"), id="distributed"),
        pytest.param(("-n2", "--dist", "load", "-p", "shuffled"), id="shuffled and distributed"),
    ],
)
def test_each_mistake_is_that_of_its_own_test(run_pytest, arguments: tuple[str, ...]) -> None:
    session = run_pytest(*arguments, *FILES, SHUFFLED="20")
    mistakes = planted(session)
    assert session.code == pytest.ExitCode.TESTS_FAILED, session.stdout + session.stderr
    assert blamed(session) == mistakes
    assert {name: case.outcome for name, case in session.cases.items()} == {
        **dict.fromkeys(session.cases, "passed"),
        **dict.fromkeys(mistakes, "failure"),
        **dict.fromkeys(IN_TEAR_DOWN, "error"),
    }
    assert len(set(mistakes.values())) >= 35
    assert len(session.cases) >= 2 * len(mistakes) >= 90
    assert session.summary[0].startswith(f"{len(mistakes)} errors in {len(mistakes)} tests; ")
