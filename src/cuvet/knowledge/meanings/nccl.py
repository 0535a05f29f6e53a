"""NCCL: ``ncclResult_t``."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.meanings._reference import meaning
from cuvet.rules.evidence import documented, reported

said = partial(meaning, source="NCCL User Guide, Types, ncclResult_t")
DEBUG = documented(
    "NCCL_DEBUG=WARN prints an explicit message before an error is returned", "NCCL User Guide, Troubleshooting, Errors"
)

MEANINGS = {
    "ncclSuccess": said("The call succeeded.", "function succeeded"),
    "ncclUnhandledCudaError": said(
        "A call of CUDA inside NCCL failed. Which one, and with what, stands in NCCL's log ('Cuda failure …').",
        "a call to a CUDA function failed",
        DEBUG,
        beliefs=("CUDA itself does not know what it is: NCCL's log has CUDA's own error, mostly out of memory.",),
    ),
    "ncclSystemError": said(
        "A call of the operating system inside NCCL failed: shared memory, a socket, memory locked for RDMA. NCCL's log names it.",
        "a call to the system failed",
        DEBUG,
        reported("/dev/shm of 64 MB in a container", "https://github.com/NVIDIA/nccl/issues/342"),
        beliefs=(
            "NCCL or the driver is installed wrongly: run with NCCL_DEBUG=INFO first, it names the call that failed.",
        ),
    ),
    "ncclInternalError": said(
        "A check inside NCCL failed. In logs it is often the consequence of another rank's end.",
        "a bug in NCCL or memory corruption",
        DEBUG,
        reported(
            "ncclRemoteError, handed up as ncclInternalError, after a peer closed its connection",
            "https://github.com/NVIDIA/nccl/issues/795",
        ),
        beliefs=("It must be a bug in NCCL: read the first error of every rank before.",),
    ),
    "ncclInvalidArgument": said(
        "An argument is wrong: a NULL pointer, a root outside the ranks, a communicator that was destroyed.",
        "an argument has an invalid value",
        DEBUG,
        reported(
            "'comm … has already been destroyed' and a root outside the ranks",
            "https://github.com/horovod/horovod/issues/3625",
        ),
    ),
    "ncclInvalidUsage": said(
        "The calls do not go together, within a rank or among the ranks: two ranks on one GPU is the usual one.",
        "the call is incorrect; usually a programming error",
        DEBUG,
        reported("'Duplicate GPU detected': two ranks on one GPU", "https://github.com/Peterande/D-FINE/issues/289"),
        beliefs=("NCCL is broken: the ranks did not choose their devices.",),
    ),
    "ncclRemoteError": said(
        "A peer cannot be reached any more: its process has ended, or the network failed.",
        "possibly a network error, or a remote process that exited prematurely",
        DEBUG,
        beliefs=("The rank that reports it is at fault: it is the one that survived. Look at the others' logs.",),
    ),
    "ncclInProgress": said(
        "No failure: the communicator does not block, and the operation is still being set up.",
        "an operation on the communicator is being enqueued and progresses in the background",
    ),
    "ncclTimeout": meaning(
        "A wait of NCCL's device API, in a kernel, took longer than the cycles it was given.",
        "barriers and waits that take timeoutCycles return it",
        source="NCCL 2.32, nccl_device",
        beliefs=("It is the timeout that PyTorch's watchdog reports: that is PyTorch's own, and no ncclResult_t.",),
    ),
    "ncclNumResults": meaning(
        "No result: the number of results that there are.",
        "the last enumerator",
        source="NCCL 2.32, nccl.h, ncclResult_t",
    ),
}
