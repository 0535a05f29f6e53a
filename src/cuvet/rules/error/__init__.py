"""Rules about errors that are not the fault of the call that returns them."""

from __future__ import annotations

from cuvet.model import Call, ModelView, Outcome
from cuvet.rules.rule import Violation


def explain_failure(call: Call, outcome: Outcome, model: ModelView) -> Violation | None:
    """Why a call failed that breaks no rule itself; None if that is not known. Asked after the model has observed it."""
    from cuvet.rules.error.sticky import explain_lost_context, explain_sticky
    from cuvet.rules.exit.call_after_shutdown import explain_shutdown
    from cuvet.rules.library_handle.creation_failed import explain_creation
    from cuvet.rules.memory.exhausted import explain_exhausted

    if outcome.status is None:
        return None
    if call.entry_point.api != "driver":
        return explain_creation(call, outcome.status, model) or explain_lost_context(call, model)
    return (
        explain_sticky(call, outcome.status, model)
        or explain_shutdown(call, outcome.status)
        or explain_exhausted(call, outcome.status, model)
    )
