"""What the model follows of an entry point has to be in a recording, or ``cuvet run`` knows less than the model does."""

import re
import runpy
from pathlib import Path

from cuvet.catalog import EntryPoint, Verb, driver
from cuvet.catalog.hot import FOLLOWED
from cuvet.model.transitions.registry import plan

TOOLS = Path(__file__).parents[2] / "tools"

NOT_STORED = {
    "cuDriverGetVersion": "the recording's header has it",
    "cuStreamGetCaptureInfo": "asked again and again",
    "cuThreadExchangeStreamCaptureMode": "twice around each allocation of PyTorch; docs/limitations.md tells of it",
    "cuMemcpyAtoA": "a copy: recordings tell of work as far as it is needed",
    "cuLaunchCooperativeKernelMultiDevice": "a launch: likewise",
}

STORED_FOR_A_RULE = {"cuStreamAttachMemAsync": "memory-attached-to-null-stream judges calls that did not return"}

FOLLOWED_WITH_RACES = re.compile(r"cuGraph\w*Node(SetParams|SetEnabled)|cuStreamUpdateCaptureDependencies")
"""They change what the work in a graph touches."""

ENQUEUES = {Verb.ON, Verb.READS, Verb.WRITES, Verb.LAUNCHES, Verb.RECORDS, Verb.WAITS, Verb.BLOCKS, Verb.QUERIES}


def has_own_step(entry_point: EntryPoint) -> bool:
    """Whether the model does more at such a call than its roles say."""
    return bool(plan(entry_point).others)


def test_what_the_model_follows_is_stored() -> None:
    asks = runpy.run_path(str(TOOLS / "generate_native.py"))["ASKS_UNSEEN"]  # stored like a query
    seldom = [each for each in driver().entry_points if not ENQUEUES & {role.verb for role in each.roles}]
    found = {each.name for each in seldom if each.hot and has_own_step(each) and each.name not in asks}
    assert {name for name in found if not FOLLOWED_WITH_RACES.fullmatch(name)} == NOT_STORED.keys()


def test_what_is_followed_where_races_are_looked_for_is_stored_then() -> None:
    names = [each.name for each in driver().entry_points if FOLLOWED_WITH_RACES.fullmatch(each.name)]
    assert names
    is_work = runpy.run_path(str(TOOLS / "generate_native.py"))["is_work"]
    assert all(is_work(driver()[name]) for name in names)


def test_what_is_stored_because_it_is_followed_is_followed() -> None:
    assert {name for name in FOLLOWED if not has_own_step(driver()[name])} == STORED_FOR_A_RULE.keys()
