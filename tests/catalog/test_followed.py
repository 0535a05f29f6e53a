"""What the model follows of an entry point has to be in a recording, or ``cuvet run`` knows less than the model does."""

from cuvet.catalog import EntryPoint, Verb, driver
from cuvet.catalog.hot import FOLLOWED
from cuvet.model.transitions.registry import plan

NOT_STORED = {
    "cuDriverGetVersion": "the recording's header has it",
    "cuStreamGetCaptureInfo": "asked again and again",
    "cuThreadExchangeStreamCaptureMode": "twice around each allocation of PyTorch; docs/limitations.md tells of it",
    "cuMemcpyAtoA": "a copy: recordings tell of work as far as it is needed",
    "cuLaunchCooperativeKernelMultiDevice": "a launch: likewise",
}

STORED_FOR_A_RULE = {"cuStreamAttachMemAsync": "memory-attached-to-null-stream judges calls that did not return"}

ENQUEUES = {Verb.ON, Verb.READS, Verb.WRITES, Verb.LAUNCHES, Verb.RECORDS, Verb.WAITS, Verb.BLOCKS, Verb.QUERIES}


def has_own_step(entry_point: EntryPoint) -> bool:
    """Whether the model does more at such a call than its roles say."""
    return any(not step.__qualname__.startswith("_bind") for step in plan(entry_point))


def test_what_the_model_follows_is_stored() -> None:
    seldom = [each for each in driver().entry_points if not ENQUEUES & {role.verb for role in each.roles}]
    assert {each.name for each in seldom if each.hot and has_own_step(each)} == NOT_STORED.keys()


def test_what_is_stored_because_it_is_followed_is_followed() -> None:
    assert {name for name in FOLLOWED if not has_own_step(driver()[name])} == STORED_FOR_A_RULE.keys()
