from collections.abc import Iterator
from typing import NamedTuple

from cuvet.catalog import EntryPoint, status_name
from cuvet.catalog.roles import MAKES, Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.rules.accesses import COPIES, SETS, accesses
from cuvet.rules.lifecycle import NAMES, place
from cuvet.rules.rule import CallRule, Violation

_MAKES = MAKES | {Verb.RETURNS, Verb.LOADS}


class ErrorUnchecked(CallRule):
    """
    checks: A call fails because it is given nothing, or no object of this process, and the call before it that was to make
      the object had failed. The finding is at that first call.
    why: The status of the first call was not acted upon. Its variable keeps what it held before, and a later call is
      blamed for it.
    instead: Check the status of every call that creates, allocates or loads something, where it is made.
    limits: Whether a program looks at a status cannot be seen; it is concluded from what the program does next. Only the
      newest failure of the same thread is considered. Errors that the runtime keeps for ``cudaGetLastError`` are not
      seen, nor are those it finds itself.
    """

    code = "CV902"
    name = "error-unchecked"
    severity = "warning"
    summary = "a call failed, and the program went on as if it had succeeded"
    help = "check the status of this call"
    evidence = """
    measured: the launch after a failed cudaMalloc succeeds, and cudaGetLastError returns the older error
      (peek_stale_error)
    measured: NULL handles of modules and functions: CUDA_ERROR_INVALID_HANDLE (module_null)
    documented: this function may also return error codes from previous, asynchronous launches (CUDA Driver API, Memory
      Management, cuMemFree)
    """
    VALID = """
## failed, and tried again
memory, size = cu.cuModuleGetGlobal(cu.module(), "absent")
if cu.status:
    memory, size = cu.cuMemAlloc(4), 4
    cu.cuMemsetD8(memory, 0, size)

## failed, and given up
memory, size = cu.cuModuleGetGlobal(cu.module(), "absent")
if not cu.status:
    cu.cuCtxSynchronize()
"""
    INVALID = """
## allocation that failed
memory = cu.cuMemAlloc(1 << 50)  # warning: [memory-larger-than-device]  # warning: [error-unchecked]
cu.cuMemsetD8(memory, 0, 4096)  # error: [memory-not-device-memory]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return entry_point.name in COPIES | SETS or any(role.verb in NAMES for role in entry_point.roles)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        lack = lacks(call, model)
        if lack is None or next(_missing(lack.maker, model), None):
            return
        status, kind = status_name("driver", lack.status), lack.kind.noun
        yield Violation(
            rule=cls,
            message=f"{status} was not acted upon: a later call uses the {kind} that was not made",
            argument=None,
            because=(f"argument {lack.argument + 1} of {call.name} is no {kind}, by {place(call)}",),
            only_if_failed=True,
            culprit=lack.maker,
            cause=lack.maker,
        )


class Lack(NamedTuple):
    """What a call lacks because ``maker`` failed with ``status``: an object of the kind, as the argument of this index."""

    maker: Call
    status: int
    argument: int
    kind: Kind


def lacks(call: Call, model: ModelView) -> Lack | None:
    """What the newest failure of the thread should have made, if the call is given nothing in its place. A driver call."""
    failure = model.last_failure(call.thread)
    if failure is None:
        return None
    first, status = failure
    if (lost := model.sticky_error(call)) is not None and lost[1] == status:
        return None
    made = {_alike(role.kind) for role in first.entry_point.roles if role.verb in _MAKES}
    missing = _missing(call, model) if made else ()
    found = ((argument, kind) for argument, kind in missing if kind in made and not _made_since(first, kind, model))
    return next((Lack(first, status, argument, kind) for argument, kind in found), None)


def _missing(call: Call, model: ModelView) -> Iterator[tuple[int, Kind]]:
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
