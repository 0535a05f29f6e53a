"""What the rules about ending a context with work pending share."""

from cuvet.model import Call, Context, ModelView
from cuvet.rules.lifecycle import place, written
from cuvet.rules.rule import CallRule, Violation, Violations


class UnfinishedWork(CallRule):
    """A context ends while nobody has waited for work of its streams. The call itself succeeds."""

    @classmethod
    def about(cls, call: Call, model: ModelView, context: Context | None, ending: str) -> Violations:
        """One violation for the context that ``call`` ends; ``ending`` says how: destroyed, reset."""
        if context is None or not context.alive:
            return
        unfinished = [
            (stream, work) for stream in model.streams_of(context) if (work := model.pending(stream)) is not None
        ]
        if not unfinished:
            return
        names = ", ".join(stream.name for stream, _ in unfinished[:3])
        yield Violation(
            rule=cls,
            message=f"{context.name} is {ending} while nobody has waited for the work of {names}",
            objects=(context, *(stream for stream, _ in unfinished[:3])),
            because=tuple(
                f"{written(work)} was enqueued on {stream.name} by {place(work)} and not waited for"
                for stream, work in unfinished[:3]
            ),
        )
