"""Events, and sharing them with other processes and interfaces."""

from cuvet.catalog.authored.words import (
    EVENT,
    Reasons,
    Roles,
    blocks,
    creates,
    destroys,
    on,
    queries,
    records,
    uses,
)

ROLES: Roles = {
    "cuEventCreate": (creates(EVENT, "phEvent"),),
    "cuEventCreateFromEGLSync": (creates(EVENT, "phEvent"),),
    "cuEventDestroy": (destroys(EVENT, "hEvent"),),
    "cuEventRecord": (records("hEvent"), on("hStream")),
    "cuEventRecordWithFlags": (records("hEvent"), on("hStream")),
    "cuEventQuery": (queries(EVENT, "hEvent"),),
    "cuEventSynchronize": (blocks(EVENT, "hEvent"),),
    "cuEventElapsedTime": (uses(EVENT, "hStart"), uses(EVENT, "hEnd")),
    "cuIpcGetEventHandle": (uses(EVENT, "event"),),
    "cuIpcOpenEventHandle": (creates(EVENT, "phEvent", variant="ipc"),),
}

NO_ROLE: Reasons = {}
