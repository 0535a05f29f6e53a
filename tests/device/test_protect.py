"""``cuvet run --emulate-crashes --protect``: the programs in which an H200's driver died go on, and no other program notices."""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from pathlib import Path

import pytest

from cuvet.catalog.results import SUCCESS
from cuvet.model.statuses import STICKY

from ..corpus.facts import Fact, all_facts, calls_printed, compile_programs, source
from .fact_runs import Run, run_facts
from .support import NVCC, SHARED_RUNTIME
from .test_all_facts import MAY_END, by_id

FACTS = all_facts()
DIES = {
    "host_deref_freed": "the program's own code touches device memory: there is no call",
    "host_deref_live": "the program's own code touches device memory: there is no call",
}
PAGE = Path(__file__).parents[2] / "docs" / "protect.md"
NO_CRASH = {
    "context_destroy_then_push": "on the emulated device: the heap was corrupt at the end",
    "context_destroy_then_setcurrent_use": "on the emulated device: the heap was corrupt at the end",
    **dict.fromkeys(
        ("green_gone_push_with_primary", "green_gone_set_current_alone"),
        "on the emulated device: the heap was corrupt at the end",
    ),
    "sticky_then_calls": "where the variable that was never written is NULL",
}
REFUSED_ANOTHER_STATUS = {
    "ctx_destroy_twice": (0, 0, 0, 0, 709, 201),
    "green_gone_context_push": (0, 0, 0, 0, 201),
    "green_gone_context_set_current": (0, 0, 0, 0, 201, 201),
    "green_gone_push_alone_with_primary": (0, 0, 0, 0, 0, 0, 201),
    "green_gone_push_pop": (0, 0, 0, 0, 201, 201),
    "green_gone_set_current_with_primary": (0, 0, 0, 0, 0, 0, 201, 0),
}
"""What the driver accepts, though it can die of it later: the statuses with ``--protect``."""
REFUSED_EARLIER = {"stream_handle_of_event": 3}
"""Programs whose driver died later than in the call that is refused: how many calls come before that."""
CRASHED = [fact for fact in FACTS if fact.signal is not None and fact.id not in NO_CRASH]
SAVED = [fact for fact in CRASHED if fact.id not in DIES]
OTHERS = [fact for fact in FACTS if fact.signal is None]
ORDERED_BY_CHANCE = "cudaLaunchHostFunc"


def runs(tmp_path_factory: pytest.TempPathFactory, options: list[str], facts: list[Fact]) -> Run:
    programs = compile_programs(NVCC, source(FACTS), (*SHARED_RUNTIME, "-w"))
    done = Run({}, defaultdict(list))
    run_facts(done, tmp_path_factory.mktemp("facts"), options, programs, [fact.id for fact in facts])
    return done


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return runs(tmp_path_factory, ["--emulate-crashes", "--protect"], CRASHED)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return runs(tmp_path_factory, ["--protect"], OTHERS)


@pytest.mark.parametrize("fact", SAVED, ids=by_id)
def test_a_program_that_would_die_goes_on(fact: Fact, protected: Run) -> None:
    end = protected.ended[fact.id]
    printed = calls_printed(end.output)
    assert end.exit_code == 0
    before = REFUSED_EARLIER.get(fact.id, len(fact.calls))
    assert printed[:before] == fact.calls[:before]
    answer = printed[before][1]
    assert answer not in {SUCCESS, *STICKY}


@pytest.mark.parametrize("fact", SAVED, ids=by_id)
def test_the_call_is_reported_once_with_where_its_object_began_and_ended(fact: Fact, protected: Run) -> None:
    refused = [finding for finding in protected.findings[fact.id] if finding.refused]
    assert refused
    assert len({(finding.name, finding.site.call) for finding in refused}) == len(refused)
    assert {finding.repeats for finding in refused} == {1}
    for finding in refused:
        assert finding.site.frames
        if not finding.name.endswith(("never-created", "not-terminated")):
            assert finding.objects[0].created and finding.objects[0].created.frames
            assert finding.objects[0].destroyed and finding.objects[0].destroyed.frames


@pytest.mark.parametrize("name", sorted(DIES))
def test_what_is_not_certain_or_no_call_dies_as_before(name: str, protected: Run) -> None:
    assert protected.ended[name].exit_code == -signal.SIGSEGV
    assert not any(finding.refused for finding in protected.findings[name])


def test_the_page_names_those_that_are_not_saved() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### Programs that are not saved")[2].partition("\n#")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(DIES)
    assert set(DIES) <= {fact.id for fact in FACTS}


@pytest.mark.parametrize("fact", OTHERS, ids=by_id)
def test_no_other_program_notices(fact: Fact, others: Run) -> None:
    end = others.ended[fact.id]
    calls = calls_printed(end.output)
    statuses = tuple(status for _, status in calls)
    assert end.exit_code == 0
    if ORDERED_BY_CHANCE in fact.program:
        assert sorted(calls) == sorted(fact.calls)
    else:
        known = ((statuses, None) in (*fact.varied, MAY_END.get(fact.id))) or statuses == REFUSED_ANOTHER_STATUS.get(
            fact.id
        )
        assert calls == fact.calls or known


def test_only_what_can_kill_is_not_made(others: Run) -> None:
    """Each has died of it in some run, on the H200, another like it or an H100 (events from before a reset), or would have if the value had
    not been issued again, which the emulated device does last (stream_reissued_handle)."""
    refused = {name for name, findings in others.findings.items() if any(finding.refused for finding in findings)}
    assert refused == {
        "context_destroy_then_event_destroy", "context_primary_released_stream_use", "ctx_destroy_then_use",
        "ctx_destroy_twice", "event_record_after_reset", "freeasync_stream_reset_destroy", "green_gone_context_push",
        "green_gone_context_set_current", "green_gone_push_alone_with_primary", "green_gone_push_pop",
        "green_gone_set_current_with_primary", "reset_then_array", "reset_then_event_elapsed", "reset_then_event_query",
        "reset_then_event_query_after_memory", "reset_then_event_query_after_stream", "reset_then_event_record_in_use",
        "reset_then_event_recorded_query", "reset_then_event_synchronize", "reset_then_event_wait",
        "seed_example2_destroy_after_reset", "stream_destroy_after_reset", "stream_reissued_handle",
        "stream_sync_after_reset", "stream_use_after_reset",
    }  # fmt: skip
