"""Evidence says on which GPUs and drivers it was measured, as the rows of the facts do."""

from __future__ import annotations

from typing import Any

from cuvet.knowledge.facts import Called, Fact, facts, machines, of_facts, of_recordings, told


def fact(name: str, gpu: str = "NVIDIA H200", statuses: tuple[int, ...] = (0, 1), **more: Any) -> Fact:
    row = {"id": name, "gpu": gpu, "driver": "580.159.04", "toolkit": "13.0", "date": "2026-11-21", **more}
    return Fact(calls=tuple(Called(status) for status in statuses), **row)


def test_one_machine() -> None:
    assert told([(fact("a"),), (fact("b"),)]) == "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21, a, b"


def test_another_gpu_that_answered_alike_stands_beside() -> None:
    second = fact("a", "NVIDIA H100 80GB HBM3", date="2026-11-22")
    expected = "NVIDIA H200 and NVIDIA H100 80GB HBM3, driver 580.159.04, CUDA 13.0, 2026-11-21, 2026-11-22, a"
    assert told([(fact("a"), second)]) == expected


def test_a_date_is_not_given_to_the_gpu_that_has_none() -> None:
    assert told([(fact("a", date=""), fact("a", "NVIDIA L4"))]).split("; ") == [
        "NVIDIA H200, driver 580.159.04, CUDA 13.0, a",
        "also on NVIDIA L4, driver 580.159.04, CUDA 13.0, 2026-11-21, a",
    ]


def test_one_that_answered_otherwise_is_told_apart() -> None:
    second = fact("a", "NVIDIA L4", (0, 201))
    assert told([(fact("a"), second)]).split("; ") == [
        "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21, a",
        "with another outcome on NVIDIA L4, driver 580.159.04, CUDA 13.0, 2026-11-21, a",
    ]


def test_one_that_answered_some_of_them() -> None:
    rows = [(fact("a"), fact("a", "NVIDIA L4")), (fact("b"), fact("b", "NVIDIA L4", (0, 0))), (fact("c"),)]
    assert told(rows).split("; ") == [
        "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21, a, b, c",
        "also on NVIDIA L4, driver 580.159.04, CUDA 13.0, 2026-11-21, a",
        "with another outcome on NVIDIA L4, driver 580.159.04, CUDA 13.0, 2026-11-21, b",
    ]


def test_an_outcome_that_the_first_gpu_had_in_some_runs_is_alike() -> None:
    assert "and NVIDIA L4" in told([(fact("a", varied=((((0, 0), None), 2),)), fact("a", "NVIDIA L4", (0, 0)))])
    assert "with another outcome" in told([(fact("a"), fact("a", "NVIDIA L4", signal=11))])


def test_a_release_that_was_noted_in_short() -> None:
    rows = [(fact("a", driver="580.159", date=""),), (fact("b"),)]
    assert told(rows) == "NVIDIA H200, driver 580.159, CUDA 13.0, 2026-11-21, a, b"


def test_every_row_says_where_it_was_measured() -> None:
    assert all(row.gpu and row.driver and row.toolkit for rows in facts().values() for row in rows)


def test_those_that_are_there() -> None:
    assert of_facts("green_gone_stream_sync").startswith("NVIDIA H200")
    known = of_recordings()
    assert known.startswith("NVIDIA H200, driver 580.159.04, ") and known.endswith("conformance recordings")
    (rules,) = (each.rules for each in machines() if each.rules)
    entry_points = rules["argument-bad-flags"]
    elsewhere = f"{known}; also on NVIDIA H100 80GB HBM3, driver 580.159.04, 2026-11-22, conformance recordings"
    assert of_recordings("argument-bad-flags", entry_points) == elsewhere
    assert of_recordings("argument-bad-flags", entry_points[:1]) == elsewhere
    assert of_recordings("argument-bad-flags", [*entry_points, "cuInit"]) == known
    assert of_recordings("no-such-rule", entry_points) == known
