"""Events, and sharing them with other processes and interfaces."""

from cuvet.catalog.authored.words import *

ROLES: Roles = {
    **alike("cuEventCreate cuEventCreateFromEGLSync", creates(EVENT, "phEvent")),
    "cuEventDestroy": (destroys(EVENT, "hEvent"),),
    **alike("cuEventRecord cuEventRecordWithFlags", records("hEvent"), on("hStream")),
    "cuEventQuery": (queries(EVENT, "hEvent"),),
    "cuEventSynchronize": (blocks(EVENT, "hEvent"),),
    "cuEventElapsedTime": (uses(EVENT, "hStart"), uses(EVENT, "hEnd")),
    "cuIpcGetEventHandle": (uses(EVENT, "event"),),
    "cuIpcOpenEventHandle": (creates(EVENT, "phEvent", variant="ipc"),),
}

NO_ROLE: ByReason = {}
