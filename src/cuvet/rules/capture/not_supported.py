from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.model.capturing import NOT_CAPTURABLE
from cuvet.rules.capturing import CaptureRule, begun, streams_named
from cuvet.rules.rule import Violations


class CaptureNotSupported(CaptureRule):
    """
    checks: A call that cannot be captured is made on a capturing stream, and fails: launching or uploading a graph,
      `cuStreamAddCallback`, attaching or prefetching memory, `cuMemcpyPeerAsync`, or asking for the stream's flags, id or device.
    why: The call returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates the capture, in every mode.
    instead: Make the call before the capture begins or after it has ended. Instead of launching an executable graph, add its graph as a
      child node (`cuGraphAddChildGraphNode`). Host functions can be captured with `cuLaunchHostFunc`. `cuStreamIsCapturing` asks a stream.
    limits: Reported only when the call fails.
    """

    code = "CV815"
    summary = "a call that cannot be captured is made on a capturing stream"
    help = "make the call before the capture begins or after it has ended"
    entry_points = NOT_CAPTURABLE
    evidence = """
    recorded: cuStreamGetFlags, cuStreamGetId, cuGraphLaunch and cuGraphUpload on a capturing stream, also on one of
      which the capture was invalidated before: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; cuStreamGetPriority: no error
    documented: not during a capture; but cuLaunchHostFunc (CUDA Driver API, Stream Management, cuStreamAddCallback)
    documented: work such as cudaStreamAttachMemAsync is not supported in graphs: an error on a capturing stream (CUDA
      Programming Guide, CUDA Graphs, Prohibited and Unhandled Operations)
    """
    VALID = """
## launched after the capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
graph = cu.cuStreamEndCapture(stream)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, stream)
cu.cuStreamSynchronize(stream)
cu.cuGraphExecDestroy(executable)
cu.cuGraphDestroy(graph)

## priority asked for
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamGetPriority(stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## flags of another stream
non_blocking = 1
stream, other = cu.cuStreamCreate(non_blocking), cu.cuStreamCreate(non_blocking)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamGetFlags(other)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
    INVALID = """
## flags of the capturing stream
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamGetFlags(stream)  # error: [capture-not-supported]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]

## graph launched
relaxed = 2
stream, graph = cu.cuStreamCreate(0), cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuStreamBeginCapture(stream, relaxed)
cu.cuGraphLaunch(executable, stream)  # error: [capture-not-supported]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if not model.captures():
            return
        for argument, stream in streams_named(call, model, Verb.ON, Verb.USES):
            if stream.alive and stream.capture is not None:
                message = f"{stream.name} is capturing, and {call.name} cannot be captured"
                yield cls.refused(message, stream, argument=argument, because=(begun(stream.capture),), outcomes=(900,))
