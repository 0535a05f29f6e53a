"""Causes that lie before the call that reports the error: elsewhere in time, in another call or another process."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import run
from cuvet.rules.evidence import documented, measured, reported

CAUSES: tuple[Cause | RuleCause, ...] = (
    RuleCause(
        id="device-use-after-fork",
        signs=Signs(
            errors={"CUDA_ERROR_NOT_INITIALIZED": 75, "CUDA_ERROR_INVALID_DEVICE": 3, "CUDA_ERROR_NO_DEVICE": 3},
            calls=("cuInit", "cudaGetDeviceCount"),
            words=(
                r"\bfork",
                r"multiprocessing|DataLoader.{0,10}worker|(forked|in (a )?)\s*subprocess|gunicorn|celery|\bworker (start|process)",
                r"\b(in|the) (a )?child\b|child process|bad_fork",
            ),
        ),
        beliefs=(
            "A child may use CUDA if it calls cuInit again: it returns 3 there too.",
            "Counting devices in the parent is harmless: it can initialise CUDA.",
        ),
        cases=("fork_after_init",),
    ),
    RuleCause(
        id="error-sticky",
        signs=Signs(
            errors={
                "CUDA_ERROR_ILLEGAL_ADDRESS": 30,
                "CUDA_ERROR_LAUNCH_FAILED": 60,
                "CUDA_ERROR_ASSERT": 40,
                "CUDA_ERROR_MISALIGNED_ADDRESS": 60,
                "CUDA_ERROR_ILLEGAL_INSTRUCTION": 60,
                "CUDA_ERROR_INVALID_ADDRESS_SPACE": 60,
                "CUDA_ERROR_INVALID_PC": 60,
                "CUDA_ERROR_HARDWARE_STACK_ERROR": 50,
                "CUDA_ERROR_LAUNCH_TIMEOUT": 30,
                "CUDA_ERROR_TENSOR_MEMORY_LEAK": 50,
                "CUDA_ERROR_CONTAINED": 30,
                "CUDA_ERROR_EXTERNAL_DEVICE": 20,
                "CUDA_ERROR_DEVICE_UNAVAILABLE": 20,
            },
            words=(r"asynchronously reported", r"every (call|launch)|cascade"),
        ),
        beliefs=(
            "The call that returns the error is at fault: it only happens to be the next one.",
            "cudaDeviceReset brings the device back: after it, calls returned 46. Only a new process helps.",
        ),
    ),
    RuleCause(
        id="error-unchecked",
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_HANDLE": 20,
                "CUDA_ERROR_INVALID_VALUE": 12,
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": 15,
                "CUDA_ERROR_OUT_OF_MEMORY": 10,
                "CUDA_ERROR_ILLEGAL_ADDRESS": 8,
            },
            words=(
                r"ignored?|unchecked|not checked|without checking",
                r"after (a |an )?(\w+ )?(failed|failing|failure)|failed (module )?(load|alloc)",
                r"cascade|every (call|launch)|async(hronous)? error|unrelated",
            ),
        ),
        beliefs=(
            "The first error in the program's output is the first that happened: it is the first that was looked at.",
        ),
        cases=("earlier_error_reported_late", "wrong_pointer_registered"),
    ),
    Cause(
        id="error-left-behind",
        title="An older error is reported: it was still in the runtime's last-error slot",
        why="A failing call of the runtime API leaves its error for cudaGetLastError until somebody asks. Code that tolerates"
        " a failure without asking leaves it to the next check in the thread, which blames its own, succeeding call. Each"
        " copy of libcudart in the process has its own slot.",
        tell=(
            run("which call returned this error first; the call that is blamed succeeded"),
            Tell("a cudaGetLastError() before the blamed call", "it returns the error already"),
        ),
        fix="Look at the return value of the call itself; after a failure that is tolerated, call cudaGetLastError() to clear"
        " it. That does not clear errors of kernels.",
        evidence=(
            measured(
                "cudaMalloc returns 2, a launch succeeds, cudaGetLastError returns 2, and once asked 0",
                "peek_stale_error",
            ),
            measured("a cudaMalloc that succeeds does not clear the error", "malloc_too_large"),
            documented(
                "cudaGetLastError returns the last error of any of the runtime calls in the same host thread and resets it",
                "CUDA Runtime API, Error Handling, cudaGetLastError",
            ),
            reported(
                "a 712 that was tolerated came up at a later, unrelated call",
                "https://github.com/sgl-project/sglang/pull/38832",
            ),
            reported(
                "a wrapper of cudaHostRegister asked for the last error instead of the return value",
                "https://github.com/NVIDIA/cccl/pull/11070",
            ),
            reported("each loaded libcudart has its own last error", "https://github.com/xcena-dev/maru/pull/65"),
            reported("an error that was raised lingered", "https://github.com/pytorch/pytorch/pull/17337"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED": 25,
                "CUDA_ERROR_NOT_SUPPORTED": 15,
                "CUDA_ERROR_OUT_OF_MEMORY": 12,
                "CUDA_ERROR_INVALID_VALUE": 10,
                "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": 30,
                "cudaErrorInvalidConfiguration": 5,
            },
            calls=("cudaGetLastError", "cudaPeekAtLastError"),
            words=(
                r"last error|C10_CUDA_(KERNEL_LAUNCH_)?CHECK",
                r"misattributed|stale error|though .{0,30}succeeded",
                r"unrelated (call|api)|return (code|value) ignored|next (cuda )?(call|launch|op)\b",
            ),
        ),
        beliefs=(
            "cudaGetLastError tells about the call before it: it tells about the last call of the thread that failed.",
            "A call that succeeds clears the error: it does not.",
        ),
        cases=("stale_error_misattributed", "earlier_error_reported_late"),
    ),
)
