"""Fingerprints, and the file that lists them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from .conftest import MISTAKE, Done, Project

Check = Callable[..., Done]


def fingerprints(check: Check, *paths: str) -> list[str]:
    return [finding["fingerprint"] for finding in json.loads(check("--format", "json", *paths).out)["findings"]]


def test_a_fingerprint_stays_when_lines_move(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    before = fingerprints(check, "a.cu")
    project.write({"a.cu": f"#include <x>\n\nvoid other() {{}}\n{MISTAKE}"})
    assert fingerprints(check, "a.cu") == before
    project.write({"a.cu": MISTAKE.replace("    ", "\t")})
    assert fingerprints(check, "a.cu") == before, "spaces do not matter"


def test_a_fingerprint_does_not_depend_on_where_the_check_is_started(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"src/a.cu": MISTAKE, ".git/HEAD": ""})
    before = fingerprints(check, ".")
    monkeypatch.chdir("src")
    assert fingerprints(check, "a.cu") == before


@pytest.mark.parametrize(
    "other",
    [
        MISTAKE.replace("drain", "flush"),
        MISTAKE.replace("Synchronize", "Query"),
        MISTAKE.replace("stream;", "stream ;"),
    ],
)
def test_findings_differ_by_their_function_call_and_text(project: Project, check: Check, other: str) -> None:
    project.write({"a.cu": MISTAKE})
    (before,) = fingerprints(check, "a.cu")
    project.write({"a.cu": other})
    (after,) = fingerprints(check, "a.cu")
    assert (after == before) == ("stream ;" in other)


def test_findings_that_are_alike_are_told_apart(project: Project, check: Check) -> None:
    twice = MISTAKE.replace(
        "    CHECK(cudaStreamSynchronize(stream));\n", "    CHECK(cudaStreamSynchronize(stream));\n" * 2
    )
    project.write({"a.cu": twice, "b.cu": MISTAKE})
    found = fingerprints(check, ".")
    assert len(found) == len(set(found)) == 3


def test_a_baseline_leaves_only_what_is_new(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    assert check("--baseline", "known.json", "--write-baseline", ".").code == 1
    assert check("--baseline", "known.json", ".").code == 0
    project.write({"a.cu": "// moved\n" + MISTAKE, "b.cu": MISTAKE})
    done = check("--baseline", "known.json", "--format", "concise", ".")
    assert done.code == 1
    assert done.out.startswith("b.cu:5:33: error[CV201]")
    assert done.out.endswith("not shown: 1 in the baseline\n")


def test_the_baseline_of_the_configuration(project: Project, check: Check) -> None:
    project.write({"src/a.cu": MISTAKE, ".cuvet.toml": "[check]\nbaseline = 'known.json'\n"})
    assert check("--write-baseline", "src").code == 1
    assert check("src").code == 0
    assert json.loads(project.read("known.json"))["findings"][0]["file"] == "src/a.cu"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cuvet: cannot read the baseline known.json: No such file or directory; --write-baseline makes it\n"),
        ("{", "cuvet: known.json is not a baseline: "),
        ("[]", "cuvet: known.json is not a baseline: "),
        (b'{"schema": "\xff"}', "cuvet: known.json is not a baseline: "),
        ('{"schema": "cuvet-baseline/2"}', "its schema is cuvet-baseline/2, not cuvet-baseline/1\n"),
    ],
)
def test_what_is_no_baseline(project: Project, check: Check, text: str | bytes | None, message: str) -> None:
    project.write({"a.cu": MISTAKE} | ({"known.json": text} if text is not None else {}))
    done = check("--baseline", "known.json", ".")
    assert (done.code, done.out) == (2, "")
    assert message in done.err and done.err.count("\n") == 1


def test_a_baseline_needs_a_name(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    assert check("--write-baseline", ".").err.startswith("cuvet: --write-baseline needs --baseline FILE")
