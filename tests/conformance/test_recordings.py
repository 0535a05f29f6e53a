"""The model says what the driver did, in programs that were recorded on hardware."""

from __future__ import annotations

import runpy
from collections import Counter
from difflib import unified_diff
from pathlib import Path

import pytest

from cuvet.conformance.compare import LEAST_AGREEMENT, MOST_UNDEFINED
from cuvet.conformance.uncalled import never_called

from .recordings import FILES, FOLDER, UNSEEN, sessions, summary, summary_of

REACHED, REACHED_OF_A_KIND = 0.9997, 0.998
"""What the model must not fall below."""
MOST_SEVERAL = 0.032
"""Of how many calls it may allow more than one status. Of those in the recordings one half come after a cuMemFree that took memory from
work that was not waited for, or freed it twice: a rule calls it wrong, and later calls may fail for it. Of the others most ask whether
work is done, whose time is not known, or are wrong in a way that the driver does not always refuse; 0.14% of all calls are neither."""

pytestmark = pytest.mark.skipif(not FILES, reason="there are no recordings")


def snapshot(*files: Path) -> list[str]:
    render = runpy.run_path(str(FOLDER.parents[1] / "tools/conformance_page.py"))["snapshot"]
    return str(render({file.name: summary_of(file) for file in files})).splitlines()


KEPT = (FOLDER / "snapshot.txt").read_text(encoding="utf-8").splitlines()
"""If what the model says was meant to change: ``make generate``, and read what changed in the file."""


@pytest.mark.parametrize("file", FILES + UNSEEN, ids=lambda file: file.name)
def test_what_the_model_says_of_a_recording_has_not_changed(file: Path) -> None:
    assert [line for line in snapshot(file) if file.name in line] == [line for line in KEPT if file.name in line]


def test_nothing_that_the_model_says_of_any_call_has_changed() -> None:
    now = snapshot(*FILES, *UNSEEN)
    assert list(unified_diff(KEPT, now, "snapshot.txt", "what the model says now", lineterm="", n=0)) == []


def test_the_model_agrees_with_the_driver() -> None:
    found = Counter((wrong.row.name, wrong.row.status, wrong.predicted) for wrong in summary().disagreements)
    assert summary().all.agreement >= REACHED, found.most_common(20)


@pytest.mark.parametrize("file", UNSEEN, ids=lambda file: file.name)
def test_it_agrees_about_seeds_that_nobody_looked_at(file: Path) -> None:
    assert summary_of(file).all.agreement >= LEAST_AGREEMENT


def test_of_every_kind_of_object() -> None:
    low = {kind: count for kind, count in summary().kinds.items() if count.agreement < REACHED_OF_A_KIND}
    assert low == {}


def test_few_calls_are_undefined() -> None:
    assert summary().all.share_undefined <= MOST_UNDEFINED


def test_mostly_one_status_is_allowed() -> None:
    assert summary().all.several <= MOST_SEVERAL * summary().all.calls


def test_what_is_never_called_has_a_reason() -> None:
    newest = max(sessions(file)[0].driver for file in FILES)
    assert never_called(set(summary().entry_points), newest).get("", []) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_recording_says_where_it_comes_from(file: Path) -> None:
    header, found = sessions(file)
    assert header.gpus and header.driver_release and header.date
    assert all(session.starts[0] == 0 and session.rows for session in found)
