"""Causes and meanings are well formed, and every id that cuvet names has a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from cuvet.findings import Evidence
from cuvet.knowledge import APIS
from cuvet.knowledge.cause import Cause, Meaning, RuleCause, Signs
from cuvet.knowledge.errors import Error, all_errors, named, tables
from cuvet.knowledge.explanation import explain_cause, meaning
from cuvet.knowledge.mentions import calls_in, errors_in
from cuvet.knowledge.reading import meanings_of
from cuvet.knowledge.search import WEIGHTS, Match, all_causes, cause_named, known, likely, match, rank, written
from cuvet.rules import rule_called, rule_names

from ..every import of_every

ROOT = Path(__file__).parents[2]
CATEGORIES = {
    json.loads(line)["cause_category"]
    for line in (ROOT / "tests/knowledge/public_cases.jsonl").read_text(encoding="utf-8").splitlines()
}
HANDLE = named("CUDA_ERROR_INVALID_HANDLE")
assert HANDLE is not None


every_cause = of_every(all_causes(), lambda cause: cause.id)


@every_cause
def test_a_cause_is_well_formed(cause: Cause | RuleCause) -> None:
    assert isinstance(cause, RuleCause) == (cause.id in rule_names())
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cause.id)
    for name, weight in cause.signs.errors.items():
        assert any(name in error.names for error in all_errors()), name
        assert 1 <= weight <= 100
    for call in cause.signs.calls:
        assert re.fullmatch(r"_*[A-Za-z]\w+", call), call
    for word in cause.signs.words:
        assert not re.compile(word, re.IGNORECASE).search(""), word
    assert set(cause.cases) <= CATEGORIES


@every_cause
def test_a_cause_is_written(cause: Cause | RuleCause) -> None:
    text = written(cause)
    assert text.title and text.why and text.fix and text.tell and text.evidence
    assert not text.title.endswith(".") and len(text.title) <= 100
    assert text.why.endswith(".") or isinstance(cause, RuleCause)
    assert all(tell.command and tell.shows for tell in text.tell)
    for belief in text.beliefs:
        assert re.fullmatch(r".+[:.] .+\.", belief), "what is believed: what is so"
    assert_has_sources(text.evidence)
    assert explain_cause(cause.id) is not None


def assert_has_sources(evidence: Iterable[Evidence]) -> None:
    assert all(one.text and one.source for one in evidence)
    assert all(one.source.startswith("https://") for one in evidence if one.kind == "reported")


@of_every([error for error in all_errors() if error.title == "CUDA"], lambda error: error.names[0])
def test_an_error_of_driver_and_runtime_has_a_cause(error: Error) -> None:
    assert any(set(error.names) & set(cause.signs.errors) for cause in all_causes())


@of_every(
    [(api, name, known) for api in ("driver", "runtime") for name, known in meanings_of(api).items()],
    lambda row: f"{row[0]} {row[1]}",
)
def test_a_meaning_of_driver_and_runtime_has_a_text_with_evidence(row: tuple[str, str, Meaning]) -> None:
    _, name, known = row
    error = named(name)
    assert error is not None and error.names[0] == name, "the driver's name for the error has the text"
    assert known.text.endswith(".") and known.evidence
    assert_has_sources(known.evidence)
    assert all(belief.endswith(".") for belief in known.beliefs)


@every_cause
def test_what_cuvet_prints_is_what_its_rules_are_called(cause: Cause | RuleCause) -> None:
    """``error[CV504] host-memory-registered-twice``, and ``error[driver-nouveau]`` of the doctor, are as the commands print them."""
    for tell in written(cause).tell:
        for severity, code, name in re.findall(r"(\w+)\[(CV\d+)\] ([a-z-]+)", tell.shows):
            rule = rule_called(code)
            assert rule is not None and (rule.severity, rule.name) == (severity, name)
        for id in re.findall(r"\[([a-z]+-[a-z-]+)\]", tell.shows):
            assert cause_named(id) is not None


def test_how_to_tell_a_rule_s_cause_begins_with_what_needs_no_run() -> None:
    cause = cause_named("image-wrong-gpu")
    assert cause is not None
    commands = [tell.command for tell in written(cause).tell]
    assert commands[0] == "cuvet inspect FILE --gpu this" and commands[-1] == "cuvet run -- PROGRAM"


def test_what_a_cause_says_of_cuvet_run_is_said_once() -> None:
    cause = cause_named("host-memory-registered-twice")
    assert cause is not None
    (tell,) = written(cause).tell
    assert tell.shows.startswith("error[CV504] host-memory-registered-twice: both ranges")


@pytest.mark.parametrize("text", ["PyTorch 1.8 with CUDA 10.2", "torch==1.8.0+cu102", "nvidia-cudnn-cu13 9.20.0.48"])
def test_a_release_that_is_known_to_be_broken_is_a_sign(text: str) -> None:
    cause = cause_named("framework-known-bad-release")
    assert cause is not None
    assert match(cause, [], [], text).signs


@pytest.mark.parametrize("text", ["torch 1.8.1", "PyTorch 11.8.0", "CUDA 10.2", "tensorflow 2.16.2", "cuDNN 1.8.0"])
def test_other_releases_are_none(text: str) -> None:
    cause = cause_named("framework-known-bad-release")
    assert cause is not None
    assert not match(cause, [], [], text).signs


def test_ids_are_unique() -> None:
    ids = [cause.id for cause in all_causes()]
    assert len(ids) == len(set(ids))


def test_every_cause_that_inspect_and_doctor_name_has_a_text() -> None:
    sources = [*ROOT.glob("src/cuvet/image/**/*.py"), *ROOT.glob("src/cuvet/doctor/**/*.py")]
    written_there = {
        id for path in sources for id in re.findall(r'\bcause="([a-z0-9-]+)"', path.read_text(encoding="utf-8"))
    }
    planted = {id for path in ROOT.glob("tests/doctor/roots/*.json") for id in json.loads(path.read_text())["expect"]}
    assert "image-wrong-gpu" in written_there and "driver-too-old" in planted
    assert (written_there | planted) - {cause.id for cause in all_causes()} - set(rule_names()) == set()


def test_every_category_has_its_place() -> None:
    assert {category for cause in all_causes() for category in cause.cases} == CATEGORIES


@pytest.mark.parametrize("api", APIS)
def test_every_enumerator_has_a_meaning(api: str) -> None:
    assert meanings_of(api).keys() <= {row.name for row in tables()[api].enumerators}
    assert [error.names for error in all_errors() if api in error.apis and meaning(error) is None] == []


def score(signs: Signs, errors: list[Error], calls: list[str], text: str = "") -> int:
    return match(RuleCause(id="x", signs=signs), errors, calls, text).score


def test_the_score_is_the_sum_of_the_signs() -> None:
    signs = Signs(
        errors={"CUDA_ERROR_INVALID_HANDLE": 50}, calls=("cudaEventRecord",), words=("two gpus", r"\bdevice 1\b")
    )
    assert score(signs, [HANDLE], []) == 50
    assert score(signs, [HANDLE], ["cuEventRecord_ptsz"]) == 50 + WEIGHTS.call
    assert score(signs, [HANDLE], ["cudaEventRecord"], "with Two GPUs") == 50 + WEIGHTS.call + WEIGHTS.word
    assert score(signs, [HANDLE], [], "two gpus, device 1") == 50 + 2 * WEIGHTS.word
    assert score(signs, [], [], "on device 1 of the GPU") == WEIGHTS.lonely_word
    assert score(signs, [], [], "on device 12 of the GPU") == 0
    assert score(signs, [], [], "on device 1") == 0, "nothing names CUDA"


def test_what_is_much_less_likely_is_not_told() -> None:
    ranked = [
        Match(RuleCause(id=id, signs=Signs(errors={})), points, ())
        for id, points in [("a", 100), ("b", 20), ("c", 19), ("d", 19)]
    ]
    assert likely(ranked) == ranked[:2]
    assert likely(ranked[2:]) == ranked[2:]
    assert likely([]) == []


def test_words_alone_speak_less_than_with_an_error_or_a_sentence() -> None:
    alone = score(Signs(errors={"SIGSEGV": 10}, words=("two gpus",)), [HANDLE], [], "two gpus")
    assert alone == score(Signs(errors={}, words=("two gpus",)), [], [], "two gpus") == WEIGHTS.lonely_word
    said = Signs(errors={}, words=("two gpus",), says=("peer mapping exhausted",))
    assert score(said, [], [], "two gpus: peer mapping exhausted") == WEIGHTS.says + WEIGHTS.word
    signs = Signs(errors={"SIGSEGV": 10}, calls=("cudaFree",), words=("two gpus",))
    assert score(signs, [HANDLE], ["cudaFree"], "two gpus") == WEIGHTS.lonely_word


def test_another_call_excludes_a_cause_of_one_call() -> None:
    signs = Signs(errors={"CUDA_ERROR_INVALID_HANDLE": 50}, calls=("cudaHostRegister",), only_calls=True)
    assert score(signs, [HANDLE], ["cuIpcOpenMemHandle"]) == 0
    assert score(signs, [HANDLE], ["cuMemHostRegister", "cudaHostRegister"]) == 50 + WEIGHTS.call
    assert score(signs, [HANDLE], ["cudaGetLastError"]) == 50
    assert score(signs, [HANDLE], []) == 50


@pytest.mark.parametrize(
    ("excluding", "text", "excluded"),
    [
        (Signs(errors={}, says=("lost",), against=("found again",)), "lost, then found again", True),
        (Signs(errors={}, says=("lost",), stages=("run",)), "nvcc fatal : lost", True),
        (Signs(errors={}, says=("lost",), stages=("run",)), "lost", False),
        (Signs(errors={}, says=("lost",), stages=("build", "run")), "nvcc fatal : lost", False),
        (Signs(errors={}, says=("lost",), platforms=("windows",)), "/usr/lib/libx.so lost", True),
        (Signs(errors={}, says=("lost",), platforms=("windows",)), "C:\\\\x.dll lost", False),
        (Signs(errors={}, says=("lost",), platforms=("windows",)), "lost", False),
    ],
)
def test_what_speaks_against_a_cause_excludes_it(excluding: Signs, text: str, excluded: bool) -> None:
    assert (score(excluding, [], [], text) == 0) == excluded


@pytest.mark.parametrize(
    "word", ["driver", "triton", "error: expected", "texture", "docker", "cache", "conda", "numba", "mpi"]
)
def test_a_common_word_never_decides(word: str) -> None:
    assert not known(rank([], [], word), [])


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("cudaIpcOpenMemHandle: invalid argument", "host-memory-register-size-zero"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "image-ptx-too-new"),
        ("Expected all tensors to be on the same device", "nvrtc-program-has-errors"),
    ],
)
def test_a_cause_that_the_text_excludes_is_not_told(text: str, never: str) -> None:
    ranked = rank(errors_in(text), calls_in(text), text)
    assert never not in [one.cause.id for one in likely(ranked)]


def test_a_call_alone_counts_only_where_no_error_was_seen() -> None:
    signs = Signs(errors={"SIGSEGV": 10}, calls=("cudaEventRecord",))
    assert score(signs, [HANDLE], ["cudaEventRecord"]) == 0
    assert score(Signs(errors={}, calls=signs.calls), [HANDLE], ["cudaEventRecord"]) == 0
    assert score(signs, [], ["cudaEventRecord"]) == WEIGHTS.call


def test_the_runtime_s_name_is_the_driver_s() -> None:
    assert score(Signs(errors={"cudaErrorInvalidResourceHandle": 20}), [HANDLE], []) == 20
