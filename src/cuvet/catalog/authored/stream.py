"""Streams, host functions and stream capture."""

from cuvet.catalog.authored.words import *

_CAPTURE_ACTIVE = 1
"""CU_STREAM_CAPTURE_STATUS_ACTIVE"""

ROLES: Roles = {
    **alike("cuStreamCreate cuStreamCreateWithPriority", creates(STREAM, "phStream")),
    "cuStreamDestroy": (destroys(STREAM, "hStream"),),
    "cuStreamSynchronize": (blocks(STREAM, "hStream", null=True),),
    "cuStreamQuery": (queries(STREAM, "hStream", null=True),),
    "cuStreamWaitEvent": (on("hStream"), waits("hEvent")),
    "cuStreamAddCallback": (on("hStream"), calls_back("callback")),
    "cuLaunchHostFunc": (on("hStream"), calls_back("fn")),
    "cuStreamAttachMemAsync": (on("hStream"), uses(MEMORY, "dptr", size="length", variant="unified")),
    **alike("cuStreamWaitValue32 cuStreamWaitValue64", on("stream"), reads("addr", variant="unified")),
    **alike("cuStreamWriteValue32 cuStreamWriteValue64", on("stream"), writes("addr", variant="unified")),
    "cuStreamBatchMemOp": (on("stream"),),
    **alike(
        """
        cuStreamGetAttribute cuStreamSetAttribute cuStreamGetDevice cuStreamGetDevResource cuStreamGetFlags
        cuStreamGetId cuStreamGetPriority cuStreamIsCapturing
        """,
        uses(STREAM, "hStream", null=True),
    ),
    "cuStreamCopyAttributes": (uses(STREAM, "dstStream", null=True), uses(STREAM, "srcStream", null=True)),
    "cuStreamGetCtx": (
        uses(STREAM, "hStream", null=True),
        returns(CONTEXT, "pCtx"),
        returns(GREEN_CONTEXT, "pGreenCtx"),
    ),
    "cuStreamGetGreenCtx": (uses(STREAM, "hStream", null=True), returns(GREEN_CONTEXT, "phCtx")),
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

NO_ROLE: ByReason = {
    "changes what the calling thread may do during a capture: names no object": "cuThreadExchangeStreamCaptureMode"
}
