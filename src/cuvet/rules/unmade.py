"""What a failing call was to make, and which later calls lack it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuvet.catalog import status_name
from cuvet.catalog.kinds import LIBRARY_HANDLES
from cuvet.catalog.roles import MAKES, Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.accesses import COPIES, SETS, accesses
from cuvet.rules.lifecycle import NAMES

_MAKES = MAKES | {Verb.RETURNS, Verb.LOADS}
_PLANS = "cufftMakePlan"
_OF_ARGUMENTS = re.compile(r"BAD_PARAM|INVALID|TYPE_ERROR|OUT_OF_RANGE|Invalid|UNALIGNED")
"""Statuses, by name, that are about what the call was given."""


class Lack(NamedTuple):
    """What a call lacks because ``maker`` failed with ``status``: an object of the kind, as the argument of this index."""

    maker: Call
    status: int
    argument: int
    kind: Kind


def lacks(call: Call, model: ModelView) -> Lack | None:
    """What the newest failed call of the thread should have made, if the driver call ``call`` lacks it."""
    failure = model.last_failure(call.thread)
    if failure is None:
        return None
    first, status = failure
    if (lost := model.sticky_error(call)) is not None and lost[1] == status:
        return None
    made = {_alike(role.kind) for role in first.entry_point.roles if role.verb in _MAKES}
    absent = missing(call, model) if made else ()
    found = ((argument, kind) for argument, kind in absent if kind in made and not _made_since(first, kind, model))
    return next((Lack(first, status, argument, kind) for argument, kind in found), None)


def missing(call: Call, model: ModelView) -> Iterator[tuple[int, Kind]]:
    """Arguments that name no object where one is needed: NULL, or a handle that was never seen."""
    for role in call.entry_point.roles:
        if role.verb not in NAMES or role.null or role.field or role.count or not role.parameter:
            continue
        if role.kind in (Kind.NONE, Kind.MEMORY, Kind.HOST_MEMORY):
            continue
        argument = call.entry_point.index[role.parameter]
        if call.args[argument] == 0 or (
            model.sees_all(role.kind) and model.object_of(call, argument, role.kind) is None
        ):
            yield argument, _alike(role.kind)
    if call.name in COPIES | SETS:
        for access in accesses(call):
            if access.side == "device" and access.address == 0:
                yield access.argument, Kind.MEMORY


def _made_since(first: Call, kind: Kind, model: ModelView) -> bool:
    """Whether an object of the kind was made after the call."""
    kinds = (kind, Kind.KERNEL) if kind is Kind.FUNCTION else (kind,)
    return any(
        found.created_by is not None and found.created_by.time_ns >= first.time_ns and found.created_by is not first
        for each in kinds
        for found in model.objects(each, alive=False)
    )


def _alike(kind: Kind) -> Kind:
    """One kind for those that stand for each other as arguments."""
    return min(kind, kind.stands_for or kind)


def kind_not_made(call: Call, status: int) -> Kind | None:
    """The kind of handle or plan that a failing call was to make. None of other calls, and if its arguments may be why it failed."""
    if _OF_ARGUMENTS.search(status_name(call.entry_point.api, status)):
        return None
    if call.name.startswith(_PLANS):
        return Kind.CUFFT_PLAN
    made = (role.kind for role in call.entry_point.roles if role.verb is Verb.CREATES)
    return next((kind for kind in made if kind in LIBRARY_HANDLES), None)
