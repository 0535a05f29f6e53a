"""``cuvet run --protect``: a program that would die in the driver ends by its own way out, and the report says what led there."""

from __future__ import annotations

import signal

import pytest

from cuvet.commands import run as command

EMULATED = ("--device", "emulated")
DYING = (*EMULATED, "--emulate-crashes")
WAY_OUT, ABORTED = 3, 86
RESETS = ("use", "work", "launch", "capture", "throw")


@pytest.mark.parametrize("how", RESETS)
def test_what_a_reset_left_does_not_kill_the_program(cuvet, runtime_program, how: str) -> None:
    program = [runtime_program("teardown"), how]
    assert cuvet.run(DYING, program).code == 128 + signal.SIGSEGV
    ran = cuvet.run((*DYING, "--protect"), program)
    assert ran.code == WAY_OUT
    refused = [each for each in ran.report.findings if each.refused]
    assert {each.name for each in refused} == {"device-use-after-reset"}
    for each in refused:
        created, reset, used = each.objects[0].created, each.objects[0].destroyed, each.site
        assert created.time_ns < reset.time_ns < used.time_ns
        assert created.frames[0].function == "make" or created.frames[0].function.endswith("::make")
        assert [frame.function.partition("(")[0] for frame in reset.frames][:1] == ["library_shuts_down"]


def test_destructors_after_the_end_of_the_driver_are_answered_as_without(cuvet, runtime_program) -> None:
    program = [runtime_program("teardown"), "static"]
    without, ran = cuvet.run(DYING, program), cuvet.run((*DYING, "--protect"), program)
    assert (ran.code, ran.stdout, ran.rules) == (without.code, without.stdout, without.rules)
    assert (ran.code, ran.stdout) == (WAY_OUT, "0 0 0 4 4 ")


def test_destructors_that_throw_go_through_where_uses_alone_are_refused(cuvet, runtime_program) -> None:
    ran = cuvet.run((*DYING, "--protect=uses"), [runtime_program("teardown"), "throw"])
    assert ran.code == 0
    (finding,) = ran.report.findings
    assert (finding.name, finding.refused, finding.status) == ("device-use-after-reset", True, 0)


@pytest.mark.parametrize("mode", command.PROTECTION)
def test_a_correct_program_has_no_finding(cuvet, runtime_program, mode: str) -> None:
    ran = cuvet.run((*DYING, f"--protect={mode}"), [runtime_program("teardown"), "correct"])
    assert (ran.code, ran.stdout, ran.rules) == (0, "0 " * 9, [])


@pytest.mark.parametrize(("mode", "code"), [("trap", 128 + signal.SIGTRAP), ("abort", ABORTED)])
def test_a_program_can_end_at_the_call(cuvet, runtime_program, mode: str, code: int) -> None:
    ran = cuvet.run((*DYING, f"--protect={mode}"), [runtime_program("teardown"), "use"])
    assert (ran.code, ran.stdout) == (code, "0 0 0 ")
    (finding,) = ran.report.findings
    assert (finding.refused, finding.status) == (True, 400)


def test_the_environment_asks_for_it_too(cuvet, runtime_program) -> None:
    ran = cuvet.run(DYING, [runtime_program("teardown"), "use"], CUVET_PROTECT="abort")
    assert ran.code == ABORTED
    ran = cuvet.run((*DYING, "--protect"), [runtime_program("teardown"), "use"], CUVET_PROTECT="abort")
    assert ran.code == WAY_OUT


def test_an_unknown_mode_is_told_in_one_line(cuvet, runtime_program) -> None:
    done = cuvet("run", *EMULATED, "--", runtime_program("teardown"), "use", CUVET_PROTECT="sometimes")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cuvet: CUVET_PROTECT is 'sometimes': it must be one of refuse, uses, trap, abort\n"


def test_the_report_says_that_the_call_was_not_made(cuvet, runtime_program) -> None:
    done = cuvet("run", *DYING, "--protect", "--", runtime_program("mistakes"), "stale-stream")
    assert (done.returncode, done.stdout) == (0, "400\n")
    said = " ".join(done.stderr.split())
    name = "cudaErrorInvalidResourceHandle"
    assert f"= result: cuvet did not make the call (--protect) and returned {name} (400) in its place" in said


@pytest.mark.parametrize(("mode", "did"), [("abort", "ended the process"), ("trap", "raised SIGTRAP")])
def test_the_report_says_that_cuvet_ended_the_program(mode: str, did: str, cuvet, runtime_program) -> None:
    done = cuvet("run", *DYING, f"--protect={mode}", "--", runtime_program("mistakes"), "stale-stream")
    said = " ".join(done.stderr.split())
    assert f"= result: cuvet did not make the call and {did} (--protect={mode})" in said
    assert "in its place" not in said


@pytest.mark.parametrize(
    ("mode", "code", "did"),
    [
        ("refuse", 86, "did not make the call (--protect) and returned"),
        ("abort", 0, "did not make the call and ended the process (--protect=abort)"),
        ("trap", 86, "did not make the call and raised SIGTRAP (--protect=trap)"),
    ],
)
def test_what_was_done_is_not_concluded_from_the_exit_code(mode, code, did, cuvet, runtime_program) -> None:
    """A program can exit with that of ``abort`` by itself, and a parent can hide what its child ended with."""
    script = f"'{runtime_program('mistakes')}' stale-stream; exit {code}"
    done = cuvet("run", *DYING, f"--protect={mode}", "--", "sh", "-c", script)
    assert done.returncode == code
    assert f"= result: cuvet {did}" in " ".join(done.stderr.split())


def test_a_program_in_the_place_of_the_mode_is_told_what_to_write(cuvet) -> None:
    done = cuvet("run", *EMULATED, "--protect", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "true is no MODE (refuse, uses, trap, abort); to run a program write: --protect -- PROGRAM ARGS…" in done.stderr
    )
