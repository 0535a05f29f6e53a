"""What the rules about ending a context with work pending share."""

from cuvet.model import Call, Context, ModelView, Stream
from cuvet.model.objects import Function
from cuvet.model.touching import launched
from cuvet.rules.lifecycle import place, written
from cuvet.rules.rule import CallRule, Violation, Violations


class UnfinishedWork(CallRule):
    """A context ends while nobody has waited for work of its streams. The call itself succeeds."""

    @classmethod
    def about(cls, call: Call, model: ModelView, context: Context | None, ending: str) -> Violations:
        """One violation for the context that ``call`` ends; ``ending`` says how: destroyed, reset."""
        if context is None or not context.alive or context.error is not None:  # lost, which a call has told
            return
        unfinished = [
            (stream, work)
            for stream in model.streams_of(context)
            if (work := model.pending(stream)) is not None and not _only_prints(work, stream, model)
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


def _only_prints(work: Call, stream: Stream, model: ModelView) -> bool:
    """Whether all that the stream has to do is a kernel that accesses no memory, as far as is known: it leaves nothing but text, which is
    printed when the context ends (CUDA C++ Programming Guide, Formatted Output, Limitations). Of code that is not known its arguments
    tell: without PTX are, among others, kernels that launch kernels."""
    function = launched(work, model)
    if model.touches is None or not isinstance(function, Function):
        return False
    use = None if model.kernels is None else model.kernels.use(function)
    if use is None and work.arguments is None:
        return False
    if use is not None and (use.uses or use.elsewhere):
        return False
    return next(model.accesses(stream), None) is None
