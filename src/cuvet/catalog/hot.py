"""Which entry points are hot: they change no lifetime, so that a call of them with live handles need not be stored."""

from __future__ import annotations

from cuvet.catalog.roles import Role, Verb

LIFETIME = frozenset(
    {
        Verb.CREATES,
        Verb.RETURNS,
        Verb.DESTROYS,
        Verb.ALLOCATES,
        Verb.FREES,
        Verb.REGISTERS,
        Verb.UNREGISTERS,
        Verb.LOADS,
        Verb.RETAINS,
        Verb.RELEASES,
        Verb.RESETS,
        Verb.INITIALISES,
        Verb.BEGINS_CAPTURE,
        Verb.ENDS_CAPTURE,
    }
)

_ASKING = frozenset(
    {
        "cuCtxGetCurrent",
        "cuStreamGetCtx",
        "cuStreamGetGreenCtx",
        "cuStreamGetCaptureInfo",
        "cudaStreamGetCaptureInfo",
        "__cudaGetKernel",
    }
)
"""They hand out objects, but only such as the program has already."""

_SELDOM = ("cuCheckpoint", "cuProfiler", "cuCoredump", "cudaProfiler", "__cudaRegister", "__cudaUnregister")


def is_hot(name: str, roles: tuple[Role, ...]) -> bool:
    """Called often and changes no lifetime."""
    if name in _ASKING:
        return True
    return not name.startswith(_SELDOM) and not any(
        role.verb in LIFETIME or role.variant == "counted" for role in roles
    )
