"""Streams, host functions and stream capture."""

from cuvet.catalog.authored.words import (
    CONTEXT,
    GRAPH,
    GRAPH_NODE,
    GREEN_CONTEXT,
    MEMORY,
    STREAM,
    Reasons,
    Roles,
    begins_capture,
    blocks,
    calls_back,
    creates,
    destroys,
    ends_capture,
    on,
    queries,
    reads,
    returns,
    uses,
    waits,
    writes,
)

_CAPTURE_ACTIVE = 1
"""CU_STREAM_CAPTURE_STATUS_ACTIVE"""

ROLES: Roles = {
    "cuStreamCreate": (creates(STREAM, "phStream"),),
    "cuStreamCreateWithPriority": (creates(STREAM, "phStream"),),
    "cuStreamDestroy": (destroys(STREAM, "hStream"),),
    "cuStreamSynchronize": (blocks(STREAM, "hStream", null=True),),
    "cuStreamQuery": (queries(STREAM, "hStream", null=True),),
    "cuStreamWaitEvent": (on("hStream"), waits("hEvent")),
    "cuStreamAddCallback": (on("hStream"), calls_back("callback")),
    "cuLaunchHostFunc": (on("hStream"), calls_back("fn")),
    "cuStreamAttachMemAsync": (on("hStream"), uses(MEMORY, "dptr", size="length", variant="unified")),
    "cuStreamWaitValue32": (on("stream"), reads("addr", variant="unified")),
    "cuStreamWaitValue64": (on("stream"), reads("addr", variant="unified")),
    "cuStreamWriteValue32": (on("stream"), writes("addr", variant="unified")),
    "cuStreamWriteValue64": (on("stream"), writes("addr", variant="unified")),
    "cuStreamBatchMemOp": (on("stream"),),
    "cuStreamGetAttribute": (uses(STREAM, "hStream", null=True),),
    "cuStreamSetAttribute": (uses(STREAM, "hStream", null=True),),
    "cuStreamCopyAttributes": (uses(STREAM, "dstStream", null=True), uses(STREAM, "srcStream", null=True)),
    "cuStreamGetCtx": (
        uses(STREAM, "hStream", null=True),
        returns(CONTEXT, "pCtx"),
        returns(GREEN_CONTEXT, "pGreenCtx"),
    ),
    "cuStreamGetGreenCtx": (uses(STREAM, "hStream", null=True), returns(GREEN_CONTEXT, "phCtx")),
    "cuStreamGetDevice": (uses(STREAM, "hStream", null=True),),
    "cuStreamGetDevResource": (uses(STREAM, "hStream", null=True),),
    "cuStreamGetFlags": (uses(STREAM, "hStream", null=True),),
    "cuStreamGetId": (uses(STREAM, "hStream", null=True),),
    "cuStreamGetPriority": (uses(STREAM, "hStream", null=True),),
    "cuStreamIsCapturing": (uses(STREAM, "hStream", null=True),),
    "cuStreamBeginCapture": (begins_capture("hStream"),),
    "cuStreamBeginCaptureToGraph": (
        begins_capture("hStream"),
        uses(GRAPH, "hGraph"),
        uses(GRAPH_NODE, "dependencies", count="numDependencies"),
    ),
    "cuStreamBeginRecaptureToGraph": (begins_capture("hStream"), uses(GRAPH, "hGraph"), calls_back("callbackFunc")),
    "cuStreamBeginCaptureToCig": (begins_capture("hStream"),),
    "cuStreamEndCapture": (ends_capture("hStream"), creates(GRAPH, "phGraph")),
    "cuStreamEndCaptureToCig": (ends_capture("hStream"),),
    # The graph of a capture in progress belongs to the capture.
    "cuStreamGetCaptureInfo": (
        uses(STREAM, "hStream", null=True),
        returns(GRAPH, "graph_out", variant="capture"),
        returns(
            GRAPH_NODE,
            "dependencies_out",
            count="numDependencies_out",
            parent="graph_out",
            when="captureStatus_out",
            values=(_CAPTURE_ACTIVE,),
        ),
    ),
    "cuStreamUpdateCaptureDependencies": (
        uses(STREAM, "hStream", null=True),
        uses(GRAPH_NODE, "dependencies", count="numDependencies"),
    ),
}

NO_ROLE: Reasons = {
    "cuThreadExchangeStreamCaptureMode": "changes what the calling thread may do during a capture: names no object",
}
