"""The text of evidence: what is read from it, and what a mistake in it says."""

from __future__ import annotations

import pytest

from cuvet.fields import TextError
from cuvet.findings import Evidence
from cuvet.knowledge.facts import of_recordings
from cuvet.rules.evidence import evidence_in, evidence_of, succeeding
from cuvet.rules.rule import Rule


def rule(text: str) -> type[Rule]:
    return type("Written", (Rule,), {"__module__": "cuvet.rules.noun.wrong", "evidence": text})


def test_each_kind_has_its_source() -> None:
    written = rule("""
    measured: it fails (free_twice,
      freehost_interior)
    recorded: it fails (always)
    documented: it may fail (CUDA Driver API, cuMemFree())
    reported, succeeds: it did not fail (https://github.com/a/b/issues/1)
    """)
    measured, recorded, documented, reported = evidence_of(written)
    assert measured.kind == "measured"
    assert measured.text == "it fails"
    assert ", free_twice, freehost_interior" in measured.source
    assert recorded == Evidence(kind="measured", text="it fails (always)", source=of_recordings())
    assert documented == Evidence(kind="documented", text="it may fail", source="CUDA Driver API, cuMemFree()")
    assert reported.source == "https://github.com/a/b/issues/1"


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ("recorded", set()),
        ("recorded, succeeds", {"*"}),
        ("recorded, cuMemFree succeeds", {"cuMemFree"}),
        ("recorded, cuMemFree and cuMemFreeAsync succeed", {"cuMemFree", "cuMemFreeAsync"}),
    ],
)
def test_the_kind_says_which_calls_succeed(kind: str, calls: set[str]) -> None:
    written = rule(f"{kind}: no error\nrecorded: other calls succeed\n")
    assert succeeding(written) == calls
    assert written.can_succeed("cuMemFree") == bool(calls)
    assert written.can_succeed("cuMemFreeHost") == (calls == {"*"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("guessed: it fails (free_twice)", "`guessed` is none of measured, recorded, documented, reported"),
        ("recorded, always: no error", "`recorded, always` is none of"),
        ("measured: it fails", "`it fails` does not end in its source"),
        ("measured: it fails (no_such_fact)", "there is no fact no_such_fact"),
        ("measured it fails", "`measured it fails` is no field"),
        ("documented, * succeeds: it may (CUDA)", r"`documented, \* succeeds` is none of .*`KIND, NAME succeeds`"),
    ],
)
def test_a_mistake_names_the_rule(text: str, message: str) -> None:
    with pytest.raises(TextError, match=f"^rules/noun/wrong.py, noun-wrong, evidence: {message}"):
        evidence_of(rule(text))


def test_what_succeeds_is_not_passed_over_where_it_cannot_be_read() -> None:
    with pytest.raises(TextError, match=r"^rules/noun/wrong.py, noun-wrong, evidence: `documented, \* succeeds`"):
        succeeding(rule("documented, * succeeds: it may (CUDA)"))


def test_a_finding_cites_no_document_about_another_language() -> None:
    written = rule("""
    documented: it is (CUDA Driver API, cuLaunchKernel)
    documented: a kernel of CuPy is called so (CuPy documentation, cupy.RawKernel)
    documented: Run calls it (ManagedCuda's source, CudaKernel.cs)
    """)
    cited = {
        language: [each.source.split()[0] for each in evidence_in(written, language)]
        for language in ("cuda", "python", "c#")
    }
    assert cited == {"cuda": ["CUDA"], "python": ["CUDA", "CuPy"], "c#": ["CUDA", "ManagedCuda's"]}


def test_what_is_known_of_one_language_alone_is_cited_in_all() -> None:
    written = rule("documented: a stream is recorded (PyTorch documentation, torch.Tensor.record_stream)\n")
    assert evidence_in(written, "cuda") == evidence_of(written)
