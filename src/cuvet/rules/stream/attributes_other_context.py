from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView, Object, Stream
from cuvet.rules.capturing import streams_named
from cuvet.rules.ownership import belongs
from cuvet.rules.rule import CallRule, Violations


class StreamAttributesOtherContext(CallRule):
    """
    checks: `cuStreamCopyAttributes` is called with streams of two contexts.
    why: Both streams must have the same context; the call returns CUDA_ERROR_INVALID_VALUE and copies nothing.
    instead: Set the attributes of the second stream with `cuStreamSetAttribute`.
    limits: Silent about streams whose origin was not seen.
    """

    code = "CV207"
    about_devices = True
    summary = "attributes are copied between streams of two contexts"
    help = "set the attributes of each context's streams with cuStreamSetAttribute"
    entry_points = frozenset({"cuStreamCopyAttributes"})
    evidence = """
    recorded: streams of the primary and of another context of one device, and of a green context and its device's
      primary context: CUDA_ERROR_INVALID_VALUE; of one green context: no error
    documented: both streams must have the same context (CUDA Driver API, Stream Management, cuStreamCopyAttributes)
    """
    VALID = """
## two streams of one context
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
cu.cuStreamCopyAttributes(second, first)

## streams of another context than the current one
note: which context is current does not matter
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
own = cu.cuCtxCreate(0, 0, device)
cu.cuStreamCopyAttributes(second, first)
cu.cuCtxDestroy(own)
"""
    INVALID = """
## streams of two contexts
first = cu.cuStreamCreate(0)
own = cu.cuCtxCreate(0, 0, device)
second = cu.cuStreamCreate(0)
cu.cuStreamCopyAttributes(second, first)  # error: [stream-attributes-other-context]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        streams = [stream for _, stream in streams_named(call, model, Verb.USES) if stream.alive]
        contexts = [stream.context for stream in streams if stream.context is not None]
        if len(contexts) == 2 and (contexts[0] is not contexts[1] or _green(streams[0]) is not _green(streams[1])):
            message = f"{streams[0].name} and {streams[1].name} belong to different contexts"
            yield cls.refused(message, *streams, *contexts, because=tuple(map(belongs, streams, contexts)))


def _green(stream: Stream) -> Object | None:
    """The green context that the stream is of."""
    return stream.parent if stream.parent is not None and stream.parent.kind is Kind.GREEN_CONTEXT else None
