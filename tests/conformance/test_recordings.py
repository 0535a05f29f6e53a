"""The model says what the driver did, in programs that were recorded on hardware."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cuvet.conformance.compare import LEAST_AGREEMENT_OF_A_KIND, MOST_UNDEFINED
from cuvet.conformance.uncalled import never_called

from .recordings import FILES, sessions, summary

REACHED, REACHED_OF_A_KIND = 0.9995, LEAST_AGREEMENT_OF_A_KIND
"""What the model must not fall below."""
MOST_SEVERAL = 0.015
"""Of how many calls it may allow more than one status."""

pytestmark = pytest.mark.skipif(not FILES, reason="there are no recordings")


def test_the_model_agrees_with_the_driver() -> None:
    found = Counter((wrong.row.name, wrong.row.status, wrong.predicted) for wrong in summary().disagreements)
    assert summary().all.agreement >= REACHED, found.most_common(20)


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
