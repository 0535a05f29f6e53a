"""The errors of the libraries: each has a meaning that can be checked and a cause, and known logs lead to their cause."""

from __future__ import annotations

import re

import pytest

from cuvet.knowledge import APIS
from cuvet.knowledge.cause import Cause, Meaning
from cuvet.knowledge.errors import Error, all_errors, named
from cuvet.knowledge.explanation import meaning
from cuvet.knowledge.mentions import calls_in, errors_in
from cuvet.knowledge.reading import FOLDER, causes_in, meanings_of
from cuvet.knowledge.search import MOST_CAUSES, known, likely, rank

from ..every import of_every

LIBRARIES = APIS[2:]
NO_FAILURE = {"ncclSuccess", "ncclNumResults"}
ERRORS = [error for error in all_errors() if set(error.apis) <= set(LIBRARIES)]
TEXTS: dict[str, Meaning] = {name: text for api in LIBRARIES for name, text in meanings_of(api).items()}


def is_failure(error: Error) -> bool:
    return not (error.names[0].endswith("_SUCCESS") or error.names[0] in NO_FAILURE)


def first_causes(text: str) -> list[str]:
    errors = errors_in(text)
    ranked = rank(errors, calls_in(text), text)
    return [match.cause.id for match in likely(ranked)] if known(ranked, errors) else []


@of_every(ERRORS, lambda error: error.names[0])
def test_every_failure_has_a_meaning_and_a_cause(error: Error) -> None:
    assert meaning(error) is not None
    causes = rank([error], [], "")
    assert bool(causes) == is_failure(error)
    assert not causes or causes[0].score >= 40


def test_a_meaning_is_told_under_the_newest_name() -> None:
    older = {name for error in ERRORS for name in error.names[1:]}
    assert not older & TEXTS.keys()


@of_every(TEXTS)
def test_a_meaning_is_short_and_says_where_it_is_from(name: str) -> None:
    known = TEXTS[name]
    assert known.text.endswith(".") and len(known.text) <= 240
    assert len(re.findall(r"[.:?!] [A-Z]", known.text)) <= 2
    assert known.evidence[0].kind == "documented"
    assert all(one.text and one.source for one in known.evidence)
    assert all(one.source.startswith("https://github.com/") for one in known.evidence if one.kind == "reported")
    for belief in known.beliefs:
        assert re.fullmatch(r"\w[^:]+: .+\.", belief), "what is believed: what is so"


def test_no_meaning_is_another_s() -> None:
    """Within one API two enumerators never say the same."""
    for api in LIBRARIES:
        texts = [known.text for known in meanings_of(api).values()]
        assert len(texts) == len(set(texts)), api


@of_every(causes_in(FOLDER / "causes" / "libraries.txt"), lambda cause: cause.id)
def test_a_cause_can_be_found(cause: Cause) -> None:
    """It is among the first for one of its errors, given all that speaks for it."""
    error = named(max(cause.signs.errors, key=lambda name: cause.signs.errors[name]))
    assert error is not None
    calls = cause.signs.calls[:1]
    matches = rank([error], calls, "")
    assert cause.id in [match.cause.id for match in matches[: MOST_CAUSES + 1]]


LOGS = {
    # as the thread shows it: (what established the cause, the cause)
    "RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR on RTX 4090, pytorch-cuda=11.7": (
        "https://github.com/pytorch/pytorch/issues/88038",
        "library-older-than-gpu",
    ),
    "cuFFT error: CUFFT_EXEC_FAILED, on the 2nd GPU; cuda:1 hits the plan cache": (
        "https://github.com/pytorch/pytorch/issues/19224",
        "library-handle-of-other-device",
    ),
    "libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12": (
        "https://github.com/infiniflow/ragflow/issues/4466",
        "nvjitlink-older-in-front",
    ),
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`": (
        "https://github.com/EleutherAI/lm-evaluation-harness/issues/1689",
        "memory-left-too-little",
    ),
    "CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, opa, opb, m, n, k, alpha_ptr, a, CUDA_R_16F, lda": (
        "https://github.com/vllm-project/vllm/issues/35608",
        "cublaslt-of-other-release",
    ),
    'IndexKernel.cu:92: operator(): Assertion `index >= -sizes[i] && index < sizes[i] && "index out of bounds"` failed.'
    " RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmStridedBatchedExFix`": (
        "https://github.com/EvolvingLMMs-Lab/Otter/issues/218",
        "library-reports-earlier-error",
    ),
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library. Last error:\nDuplicate GPU detected : rank 1 and"
    " rank 0 both on CUDA device 2000": ("https://github.com/Peterande/D-FINE/issues/289", "nccl-ranks-share-gpu"),
    "NCCL error, unhandled system error. ncclSystemError: System call (e.g. socket, malloc) or external library call failed."
    " Last error: Error while creating shared memory segment /dev/shm/nccl-1YsMbG (size 7340384)": (
        "https://github.com/pytorch/torchtitan/issues/853",
        "nccl-shared-memory-too-small",
    ),
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely. Last error:"
    " socketProgressOpt: Call to recv from 172.16.0.2<33759> failed : Connection reset by peer, InfiniBand": (
        "https://github.com/NVIDIA/nccl/issues/2076",
        "nccl-network",
    ),
    "NCCL WARN Cuda failure 'out of memory' NCCL Error 1: unhandled cuda error": (
        "https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/386",
        "nccl-cuda-call-failed",
    ),
    "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`": (
        "https://github.com/JIA-Lab-research/UVTR/issues/13",
        "memory-left-too-little",
    ),
    "cusolver error: CUSOLVER_STATUS_EXECUTION_FAILED, when calling `cusolverDnXgesvd`. This error may appear if the input"
    " matrix contains NaN.": ("https://github.com/pytorch/pytorch/pull/68683", "solver-input-not-finite"),
    "CUDA error: insufficient resources when calling `cusparseSpGEMM_workEstimation(` CUSPARSE_STATUS_INSUFFICIENT_RESOURCES": (
        "https://github.com/cupy/cupy/issues/7699",
        "sparse-product-too-large",
    ),
    "numba.cuda.cudadrv.error.NvrtcError: Failed to call nvrtcCompileProgram: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE": (
        "https://github.com/NVIDIA/numba-cuda/pull/196",
        "nvrtc-builtins-missing",
    ),
    "error: nvJitLinkAddData(handle, NVJITLINK_INPUT_LTOIR) failed NVJITLINK_ERROR_INTERNAL: ERROR 89 in LTOIR arch newer than"
    " target arch": ("https://github.com/m-schuetz/SimLOD/issues/9", "nvjitlink-input-for-other-architecture"),
    "terminate called after throwing an instance of 'c10::CuDNNError' what(): cuDNN error: CUDNN_STATUS_MAPPING_ERROR": (
        "https://github.com/pytorch/pytorch/issues/84309",
        "library-handle-of-other-device",
    ),
    "CuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.": (
        "https://github.com/pytorch/pytorch/issues/31336",
        "library-case-not-supported",
    ),
}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: LOGS[log][0].removeprefix("https://github.com/"))
def test_a_public_log_leads_to_its_cause(log: str) -> None:
    assert LOGS[log][1] in first_causes(log)


@pytest.mark.parametrize("text", ["CUBLAS_STATUS_SUCCESS", "ncclSuccess", "training done, 3 epochs"])
def test_success_has_no_cause(text: str) -> None:
    assert first_causes(text) == []
