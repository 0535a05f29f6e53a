"""Attributes of a launch that record an event (cuLaunchKernelEx)."""

RECORDING = {
    "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT": "value.programmaticEvent.event",
    "CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT": "value.launchCompletionEvent.event",
}
"""By name: the member of CUlaunchAttribute that names the event. The first comes when all blocks have triggered it, or begun; the other
"nominally" when all have begun (CUDA Driver API, CUlaunchAttributeID)."""
MOST = 16
"""Attributes of a launch that are looked at."""
