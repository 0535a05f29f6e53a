"""Public defects of how programs deal with CUDA errors, reduced: each is found at its line, and nothing is said there once it is fixed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.inject.conftest import Injected
from tests.inject.ground_truth import command

PUBLIC = Path(__file__).parent / "public"
LAST_ERROR = "the program learns of the error from cudaGetLastError, after calls that succeed"
NOT_FOUND = {
    "llama_7376": LAST_ERROR,
    "matx_1241": LAST_ERROR,
}
"""Why."""

Inject = Callable[..., Injected]


class Defect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``file``, ``function``: of the project, at ``parent``. ``fix``: a commit or, if only that is known, a pull request. ``line``: of the
    call in the program; ``fixed_line``: of the same call where it is fixed. ``verdict``: written before the tool saw the program."""

    program: str
    url: str
    fix: str
    parent: str
    file: str
    function: str
    line: int
    fixed_line: int
    verdict: str | list[str]
    why: str

    @property
    def verdicts(self) -> list[str]:
        return [self.verdict] if isinstance(self.verdict, str) else self.verdict


def defects() -> dict[str, list[Defect]]:
    """By the program."""
    of: defaultdict[str, list[Defect]] = defaultdict(list)
    for line in (PUBLIC / "public.jsonl").read_bytes().splitlines():
        defect = msgspec.json.decode(line, type=Defect)
        of[defect.program].append(defect)
    return dict(of)


def verdicts_at(done: Injected, line: int) -> list[str]:
    """The worst first."""
    sites = [site for site in done.report["sites"] if site["frames"][0]["line"] == line]
    assert sites, f"no place at line {line}: {done.stderr}"
    return [site["verdict"] for site in sites]


def places(source: Path, lines: list[int]) -> list[str]:
    return [word for line in lines for word in ("--at", f"{source.name}:{line}")]


@pytest.mark.parametrize("name", defects())
def test_a_public_defect_is_found(name: str, inject: Inject, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name in NOT_FOUND:
        request.applymarker(pytest.mark.xfail(strict=True, raises=AssertionError, reason=NOT_FOUND[name]))
    source = PUBLIC / f"{name}.cpp"
    lines = [each.line for each in defects()[name]]
    done = inject(*places(source, lines), "--codes", "refused", "--format", "json", "--", *command(source, tmp_path))
    for defect in defects()[name]:
        assert verdicts_at(done, defect.line)[0] in defect.verdicts


@pytest.mark.parametrize("name", defects())
def test_nothing_is_said_once_it_is_fixed(name: str, inject: Inject, tmp_path: Path) -> None:
    source = PUBLIC / f"{name}_fixed.cpp"
    lines = [each.fixed_line for each in defects()[name]]
    done = inject(*places(source, lines), "--format", "json", "--", *command(source, tmp_path))
    for line in lines:
        assert set(verdicts_at(done, line)) == {"handled"}
    assert done.code == 0


def test_a_recording_that_is_full_proves_nothing(inject: Inject, tmp_path: Path) -> None:
    """No call fails any more then, and the loop ends."""
    source = PUBLIC / "picongpu_1485.cpp"
    lines = [each.line for each in defects()[source.stem]]
    arguments = (*places(source, lines), "--codes", "refused", "--calls", "every", "--format", "json")
    done = inject(*arguments, "--", *command(source, tmp_path), CUVET_LIMIT=str(1 << 19))
    assert verdicts_at(done, lines[0]) == ["unstable"]


def test_callers_are_told_apart(inject: Inject, tmp_path: Path) -> None:
    """The same line of llama.cpp, once reached from a caller that checks and once from one that does not."""
    source = PUBLIC / "llama_27817.cpp"
    done = inject(
        "--at", f"{source.name}:36", "--codes", "resource", "--format", "json", "--", *command(source, tmp_path)
    )
    assert {
        frame["function"].rpartition("::")[2]: site["verdict"]
        for site in done.report["sites"]
        for frame in site["frames"]
        if frame["function"].endswith(("ggml_backend_sched_reserve", "ggml_backend_sched_alloc_splits"))
    } == {"ggml_backend_sched_reserve": "handled", "ggml_backend_sched_alloc_splits": "crash"}


@pytest.mark.parametrize("name", defects())
def test_a_defect_says_where_it_comes_from(name: str) -> None:
    broken, fixed = (PUBLIC / f"{name}{suffix}.cpp" for suffix in ("", "_fixed"))
    head = broken.read_text().split("#include", 1)[0]
    for defect in defects()[name]:
        assert all(part in head for part in (defect.parent[:8], defect.file, defect.function.rpartition("::")[2]))
        assert defect.fix in head or f"Fix: pull request {defect.fix.rpartition('/')[2]}" in head
        assert defect.why.endswith(".")
        for source, line in ((broken, defect.line), (fixed, defect.fixed_line)):
            assert re.search(r"\bcuda[A-Z]\w+\(", source.read_text().splitlines()[line - 1])


def test_every_program_has_a_defect_and_a_fixed_twin() -> None:
    names = {f"{name}{suffix}.cpp" for name in defects() for suffix in ("", "_fixed")}
    assert {path.name for path in PUBLIC.glob("*.cpp")} == names
