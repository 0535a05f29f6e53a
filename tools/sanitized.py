"""Build the native libraries with sanitizers and run the native tests over them.

``python tools/sanitized.py [--sanitizer address|undefined|thread] [TESTS AND OPTIONS OF PYTEST]``, with GCC. What a sanitizer reports
stands in ``build/sanitized/reports``; it fails the run, as a failing test does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitized"
REPORTS = BUILD / "reports"
RUNTIMES = {"address": "libasan.so", "undefined": "libubsan.so", "thread": "libtsan.so"}
VARIABLES = {"address": "ASAN_OPTIONS", "undefined": "UBSAN_OPTIONS", "thread": "TSAN_OPTIONS"}
OPTIONS = {
    "address": "detect_leaks=0",  # interpreters and programs that are killed leak
    "undefined": "print_stacktrace=1",
    "thread": "report_thread_leaks=0:report_signal_unsafe=0",  # the tests' programs fork, and do not join
}
SUPPRESSED = {"thread": "called_from_lib:ld-linux"}
"""What a sanitizer is not to look at: the loader's own lock is not seen, under which it makes the names that the shim reads."""
FAULTS = "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0"
"""The tests' programs fault on purpose, and are judged by the signal that ends them."""
TESTS = ("tests/native", "tests/libraries/native", "tests/device/test_programs.py", "tests/device/test_descriptors.py")

_PROCESS, _LIMITS, _HARD, _UNWINDING, _KINDS = (
    "tests/native/test_process.py",
    "tests/native/test_limits.py",
    "tests/native/test_hard_cases.py",
    "tests/native/test_unwinding.py",
    "tests/native/test_unwinding_kinds.py",
)
_LOADS_MORE = {
    f"{_PROCESS}::test_a_program_without_cuda_leaves_no_file_and_opens_no_driver": "the runtime needs libgcc_s",
    f"{_UNWINDING}::test_a_known_way_is_walked_without_the_unwinder": "every stack is unwound twice",
}
_INTERCEPTS = {
    **_LOADS_MORE,
    f"{_PROCESS}::test_dlopen_keeps_the_caller": "the runtime's dlopen is the caller",
    f"{_LIMITS}::test_a_disk_that_is_full_from_the_start_leaves_an_empty_file": "the runtime refuses what dd allocates",
    f"{_UNWINDING}::test_libraries_that_follow_one_another_in_one_place": "the runtime moves them apart",
    f"{_KINDS}::test_a_library_that_is_unmapped_unseen": "the runtime moves the next one elsewhere",
}
CANNOT_RUN: dict[str, dict[str, str]] = {
    "undefined": {
        **_LOADS_MORE,
        f"{_HARD}::test_a_small_stack_is_enough": "checks that are compiled in, and unwinding known stacks, need more",
    },
    "address": {
        **_INTERCEPTS,
        f"{_UNWINDING}::test_coroutines": "the runtime warns that it does not support makecontext",
        f"{_HARD}::test_a_small_stack_is_enough": "frames with red zones are larger",
    },
    "thread": {
        **_INTERCEPTS,
        f"{_HARD}::test_a_small_stack_is_enough": "the runtime needs a larger stack",
        f"{_LIMITS}::test_a_limit_that_comes_between_the_look_and_the_write_does_no_harm": "the runtime changes limits",
    },
}
"""Tests, and why they cannot run."""


def environment(sanitizer: str) -> dict[str, str]:
    command = [os.environ.get("CXX", "c++"), f"-print-file-name={RUNTIMES[sanitizer]}"]
    runtime = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    if not runtime.is_absolute():
        raise SystemExit(f"{command[0]} has no {RUNTIMES[sanitizer]}: install GCC's sanitizers")
    suppressions = BUILD / f"{sanitizer}.suppressions"
    suppressions.write_text(SUPPRESSED.get(sanitizer, ""), encoding="utf-8")
    options = ":".join((OPTIONS[sanitizer], FAULTS, f"suppressions={suppressions}", f"log_path={REPORTS / sanitizer}"))
    return {
        "CUVET_TEST_NATIVE": str(BUILD / sanitizer / "_native"),
        "CUVET_TEST_RUNTIME": str(runtime.resolve()),
        VARIABLES[sanitizer]: options,
    }


def build(sanitizer: str) -> None:
    folder = BUILD / sanitizer
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCUVET_SANITIZER={sanitizer}"], check=True)
    subprocess.run(["cmake", "--build", folder], check=True)


def passes(sanitizer: str, options: list[str]) -> bool:
    """Builds and runs; prints each report."""
    build(sanitizer)
    REPORTS.mkdir(exist_ok=True)
    for old in REPORTS.glob(f"{sanitizer}.*"):
        old.unlink()
    left_out = [f"--deselect={test}" for test in CANNOT_RUN[sanitizer]]
    for test, why in CANNOT_RUN[sanitizer].items():
        print(f"{sanitizer}: left out: {test}: {why}")
    command = [sys.executable, "-m", "pytest", "-q", *(options or TESTS), *left_out]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment(sanitizer)}, check=False)
    reports = sorted(REPORTS.glob(f"{sanitizer}.*"))
    for report in reports:
        print(report.read_text(encoding="utf-8", errors="replace"))
    print(f"{sanitizer}: {len(reports)} reports, pytest returned {done.returncode}", flush=True)
    return done.returncode == 0 and not reports


def main() -> int:
    parser = argparse.ArgumentParser(description="Other options and tests are pytest's.")
    parser.add_argument("--sanitizer", action="append", choices=list(RUNTIMES), help="one; all by default")
    chosen, options = parser.parse_known_args()
    results = [passes(sanitizer, options) for sanitizer in chosen.sanitizer or RUNTIMES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
