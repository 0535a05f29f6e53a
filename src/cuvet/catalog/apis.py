"""Lists the libraries above the driver: one row each, with the facts about the library as a whole.

``cuvet.catalog.kinds`` says what its objects are; what its functions do with them is in ``authored/libraries/<api>.py``.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on PyPI with the library's headers and shared objects. ``cuda``: the release that it was built with, as
    cudaRuntimeGetVersion counts (12090); ``factor``: what the library's version number counts a major release as."""

    requirement: str
    cuda: int = 0
    factor: int = 1000

    @property
    def version(self) -> tuple[int, int, int]:
        major, minor, patch = self.requirement.partition("==")[2].split(".")[:3]
        return int(major), int(minor), int(patch)

    @property
    def release(self) -> str:
        """``9.28`` of version 9.28.0.42."""
        return f"{self.version[0]}.{self.version[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """``title`` is what NVIDIA calls it, ``prefix`` what the names of its functions begin with, ``statuses`` that of its errors.

    ``wheels``: of each major release the newest that was read, oldest first; ``headers`` of it are read, and ``shared_objects`` is a
    pattern of their names up to ``.so``. ``needs`` are the libraries whose headers it includes. ``status_of`` is the library that
    declares its status type, if that is another. ``emulated``: the emulated device answers for it; the others work without a GPU.

    ``cuda_missing``: what a call that is to make a handle returns when CUDA does not start, ``context_lost`` in a context with a sticky
    error, None if that is not known. By the documentation, but for cuDNN, where it was measured (cudnn_no_visible_device,
    cudnn_sticky_error_then_create).
    """

    title: str
    prefix: str
    status_type: str
    statuses: str
    wheels: tuple[Wheel, ...]
    headers: tuple[str, ...]
    shared_objects: str
    needs: tuple[str, ...] = ()
    status_of: str = ""
    emulated: bool = True
    cuda_missing: int | None = None
    context_lost: int | None = None


LIBRARIES: dict[str, Library] = {
    "cudnn": Library(
        title="cuDNN",
        prefix="cudnn",
        status_type="cudnnStatus_t",
        statuses="CUDNN_",
        wheels=(Wheel("nvidia-cudnn-cu12==8.9.7.29", 12000), Wheel("nvidia-cudnn-cu13==9.28.0.42", 13000, 10000)),
        headers=("cudnn.h",),
        shared_objects="libcudnn",
        cuda_missing=1001,
        context_lost=4000,
    ),
    "cublas": Library(
        title="cuBLAS",
        prefix="cublas",
        status_type="cublasStatus_t",
        statuses="CUBLAS_",
        wheels=(Wheel("nvidia-cublas-cu12==12.9.3.13", 12090, 10000), Wheel("nvidia-cublas==13.10.0.20", 13000, 10000)),
        headers=("cublas_v2.h", "cublasXt.h"),
        shared_objects="libcublas",
        cuda_missing=1,
        context_lost=1,
    ),
    "cublaslt": Library(
        title="cuBLASLt",
        prefix="cublasLt",
        status_type="cublasStatus_t",
        statuses="CUBLAS_",
        wheels=(Wheel("nvidia-cublas-cu12==12.9.3.13", 12090, 10000), Wheel("nvidia-cublas==13.10.0.20", 13000, 10000)),
        headers=("cublasLt.h",),
        shared_objects="libcublasLt",
        status_of="cublas",
        cuda_missing=1,
        context_lost=1,
    ),
    "cufft": Library(
        title="cuFFT",
        prefix="cufft",
        status_type="cufftResult",
        statuses="CUFFT_",
        wheels=(Wheel("nvidia-cufft-cu12==11.4.1.4", 12090), Wheel("nvidia-cufft==12.5.0.14", 13000)),
        headers=("cufft.h", "cufftXt.h"),
        shared_objects="libcufft",
        cuda_missing=7,  # CUFFT_SETUP_FAILED
        context_lost=7,
    ),
    "cusparse": Library(
        title="cuSPARSE",
        prefix="cusparse",
        status_type="cusparseStatus_t",
        statuses="CUSPARSE_",
        wheels=(Wheel("nvidia-cusparse-cu12==12.5.10.65", 12090), Wheel("nvidia-cusparse==12.9.4.2", 13000)),
        headers=("cusparse.h",),
        shared_objects="libcusparse",
        cuda_missing=1,
        context_lost=1,
    ),
    "cusolver": Library(
        title="cuSOLVER",
        prefix="cusolver",
        status_type="cusolverStatus_t",
        statuses="CUSOLVER_",
        wheels=(Wheel("nvidia-cusolver-cu12==11.7.5.82", 12090), Wheel("nvidia-cusolver==12.4.1.2", 13000)),
        headers=("cusolverDn.h", "cusolverSp.h", "cusolverSp_LOWLEVEL_PREVIEW.h", "cusolverRf.h", "cusolverMg.h"),
        shared_objects="libcusolver(Mg)?",
        needs=("cublas", "cusparse"),
        cuda_missing=1,
        context_lost=1,
    ),
    "curand": Library(
        title="cuRAND",
        prefix="curand",
        status_type="curandStatus_t",
        statuses="CURAND_",
        wheels=(Wheel("nvidia-curand-cu12==10.3.10.19", 12090), Wheel("nvidia-curand==10.4.5.25", 13000)),
        headers=("curand.h",),
        shared_objects="libcurand",
        cuda_missing=203,  # CURAND_STATUS_INITIALIZATION_FAILED
        context_lost=203,
    ),
    "nvrtc": Library(
        title="NVRTC",
        prefix="nvrtc",
        status_type="nvrtcResult",
        statuses="NVRTC_",
        wheels=(Wheel("nvidia-cuda-nvrtc-cu12==12.9.86"), Wheel("nvidia-cuda-nvrtc==13.5.37")),
        headers=("nvrtc.h",),
        shared_objects="libnvrtc",
        emulated=False,
    ),
    "nvjitlink": Library(
        title="nvJitLink",
        prefix="nvJitLink",
        status_type="nvJitLinkResult",
        statuses="NVJITLINK_",
        wheels=(Wheel("nvidia-nvjitlink-cu12==12.9.86"), Wheel("nvidia-nvjitlink==13.5.37")),
        headers=("nvJitLink.h",),
        shared_objects="libnvJitLink",
        emulated=False,
    ),
    "nccl": Library(
        title="NCCL",
        prefix="nccl",
        status_type="ncclResult_t",
        statuses="nccl",
        wheels=(Wheel("nvidia-nccl-cu13==2.32.3", 13000, 10000),),
        headers=("nccl.h",),
        shared_objects="libnccl",
        cuda_missing=1,  # ncclUnhandledCudaError
        context_lost=1,
    ),
    "cutensor": Library(
        title="cuTENSOR",
        prefix="cutensor",
        status_type="cutensorStatus_t",
        statuses="CUTENSOR_",
        wheels=(Wheel("cutensor-cu13==2.8.1", 13000, 10000),),
        headers=("cutensor.h",),
        shared_objects="libcutensor",
    ),
}
"""In the order in which recordings number their entry points: append only."""

PREFIXES = tuple(dict.fromkeys(library.prefix for library in LIBRARIES.values()))
"""What names of functions begin with: ``cublasLt``."""

STATUSES = tuple(dict.fromkeys(library.statuses for library in LIBRARIES.values()))
"""What names of their errors begin with: ``CUBLAS_``."""

TITLES = tuple(library.title for library in LIBRARIES.values())

SHARED_OBJECTS = tuple(dict.fromkeys(re.sub(r"\(.*", "", each.shared_objects) for each in LIBRARIES.values()))
"""What names of the shared objects begin with: ``libcublas``."""
