"""The line that names the cause decides, not what is printed around every failure; and a line of another program says nothing."""

from __future__ import annotations

import pytest

from cuvet.knowledge import logs
from cuvet.knowledge.explanation import Explanation, explain_log
from cuvet.reports.explanation import LIKELY

RUNC = (
    "docker: Error response from daemon: failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
    "container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected "
    "mode as 'legacy'\n"
)
NO_ENGINE_SUPPORT = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
ORT = (
    "[E:onnxruntime:Default, provider_bridge_ort.cc:2195 TryGetProviderInfo_CUDA] Failed to load library "
    "libonnxruntime_providers_cuda.so with error: {}: cannot open shared object file: No such file or directory\n"
    "[W:onnxruntime:Default, onnxruntime_pybind_state.cc:1055] Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*. "
    "Please install all dependencies as mentioned in the GPU requirements page"
)
JAX = (
    "Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()\n"
    "RuntimeError: Unable to load {}. Is it installed?\n"
    "WARNING: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu."
)
BLOCKED = "nvidia-smi\nFailed to initialize NVML: GPU access blocked by the operating system"
CONFLICT = "ERROR: Cannot install x and y.\n\nThe conflict is caused by:\n"


def explained(text: str) -> Explanation | None:
    return explain_log("-", logs.read(f"{text}\n".encode()))


def told(text: str) -> list[str]:
    found = explained(text)
    return [cause.id for cause in found.causes] if found else []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            RUNC
            + "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver",
            "driver-too-old",
        ),
        (RUNC + "nvidia-container-cli: detection error: nvml error: driver rpc error", "container-toolkit-defect"),
        (
            RUNC
            + "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared"
            " object file: no such file or directory",
            "container-toolkit-wrong-driver-root",
        ),
        (ORT.format("libcudnn.so.9"), "cudnn-not-on-loader-path"),
        (
            "RuntimeError: jaxlib/cuda/versions_helpers.cc:81: operation cusparseGetProperty(MAJOR_VERSION, &major) failed: The cuSPARSE"
            " library was not found.\n" + JAX.format("cuSPARSE"),
            "nvjitlink-older-in-front",
        ),
        (JAX.format("cuBLAS"), "cuda-library-not-on-loader-path"),
        (f"Graphics: AMD Radeon RX 6800\n{NO_ENGINE_SUPPORT}", "device-not-present"),
        (f"Graphics: Intel UHD 620, GeForce MX150\n{NO_ENGINE_SUPPORT}", "container-toolkit-missing"),
        ("nvrtc: error: invalid value for --gpu-architecture (-arch)\nQuadro K2000, CUDA 11.4", "toolkit-dropped-gpu"),
        ("nvrtc: error: invalid value for --gpu-architecture (-arch)\nRTX 5090, CUDA 12.1", "toolkit-too-old-for-gpu"),
        ("CUDA driver version is insufficient\nDriver Version: 470.82, torch 2.4.0+cu121", "driver-too-old"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_'", "cmake-cuda-architectures-empty"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'", "nvcc-not-on-path"),
        (
            'cuda_toolkit.h:41:6: error: #error "CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths"',
            "toolkit-mixed-packages",
        ),
        (
            "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_unlock_strict'",
            "driver-module-not-built-for-kernel",
        ),
        (
            CONFLICT
            + "    The user requested nvidia-cudnn-cu12==9.1.0.70\n    The user requested nvidia-cudnn-cu12==8.9.2.26",
            "packages-exclude-each-other",
        ),
        (
            CONFLICT
            + "    torch 2.6.0 depends on nvidia-cudnn-cu12==9.1.0.70\n    torch 2.5.1 depends on nvidia-cudnn-cu12==9.1.0.70\n",
            "package-index-lacks-wheel",
        ),
        (
            "Because there is no version of nvidia-cudnn-cu12==9.1.0.70 and torch==2.4.1 depends on nvidia-cudnn-cu12==9.1.0.70, we can"
            " conclude that your requirements are unsatisfiable.",
            "package-index-lacks-wheel",
        ),
        ("modprobe: ERROR: could not insert 'nvidia': Permission denied", "selinux-denies-driver"),
        (
            'avc:  denied  { module_load } for  pid=1 comm="modprobe" path="/usr/lib/modules/6.12/nvidia.ko.zst" tclass=system',
            "selinux-denies-driver",
        ),
        ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "secure-boot-rejects-module"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\nTesla V100, cuDNN 9.12.0", "cudnn-dropped-gpu"),
        (f"WSL version: 2.2.4.0\n$ docker run --rm --gpus all image {BLOCKED}", "container-config-no-cgroups"),
        (f"WSL version: 2.2.4.0\n$ {BLOCKED}", "driver-wsl-not-found"),
        ("ImportError: /x/_C.so: undefined symbol: _ZNK2at10TensorBase8data_ptrIdEEPT_v", "extension-of-other-torch"),
        ("ImportError: /x/flash_attn_2.so: undefined symbol: _ZTIN3c1017BackendMetaE", "extension-of-other-torch"),
        (
            "NVRM: Xid (PCI:0000:01:00): 13, pid=1, Graphics SM Warp Exception on (GPC 0): Out Of Range Address",
            "kernel-fault",
        ),
    ],
)
def test_the_specific_line_decides(text: str, first: str) -> None:
    assert told(text)[:1] == [first]


@pytest.mark.parametrize(
    ("text", "never"),
    [
        (
            RUNC + "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8",
            "container-toolkit-defect",
        ),
        (
            RUNC + "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8",
            "image-contains-driver-files",
        ),
        (ORT.format("libcudnn.so.9"), "toolkit-package-of-other-release"),
        (JAX.format("cuSPARSE"), "framework-cpu-only"),
        (JAX.format("cuSPARSE"), "jax-plugin-of-other-release"),
        (f"Graphics: AMD Radeon RX 6800\n{NO_ENGINE_SUPPORT}", "container-toolkit-missing"),
        ("nvrtc: error: invalid value for --gpu-architecture (-arch)\nTesla K80", "toolkit-too-old-for-gpu"),
        ("nvrtc: error: invalid value for --gpu-architecture (-arch)\nRTX 5090, CUDA 12.1", "toolkit-dropped-gpu"),
        ("CUDA driver version is insufficient\nDriver Version: 550.54, torch 2.4.0+cu121", "driver-too-old"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_'", "toolkit-too-old-for-gpu"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_'", "wrong-nvcc-on-path"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_native'", "cmake-cuda-architectures-empty"),
        (CONFLICT + "    The user requested nvidia-cuda-nvrtc-cu12==12.4.99", "nvrtc-builtins-missing"),
        (
            CONFLICT
            + "    torch 2.6.0 depends on nvidia-cudnn-cu12==9.1.0.70\n    torch 2.5.1 depends on nvidia-cudnn-cu12==9.1.0.70\n",
            "packages-exclude-each-other",
        ),
        (
            "nvidia-cudnn-cu12==9.1.0.70 and torch depends on nvidia-cudnn-cu12==9.1.0.70: error",
            "toolkit-mixed-packages",
        ),
        ("modprobe: ERROR: could not insert 'nvidia': Permission denied", "secure-boot-rejects-module"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\nTesla V100, cuDNN 9.1.0", "cudnn-dropped-gpu"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\nRTX 3090, cuDNN 9.12.0", "cudnn-dropped-gpu"),
        ("OSError: /x/libmylib_ops.so: undefined symbol: _ZN5mylib3runEN2at6TensorE", "extension-of-other-torch"),
    ],
)
def test_what_is_printed_around_it_does_not(text: str, never: str) -> None:
    assert never not in told(text)


@pytest.mark.parametrize(
    "text",
    [
        CONFLICT + "    The user requested numpy==1.26\n    pandas 2.2.3 depends on numpy>=2.0",
        "Because there is no version of numpy==9.9 and you require numpy==9.9, your requirements are unsatisfiable.",
        "modprobe: ERROR: could not insert 'vboxdrv': Permission denied",
        'avc:  denied  { read } for pid=1 comm="httpd" path="/var/www/x" tclass=file permissive=0',
        "ERROR: modpost: GPL-incompatible module zfs.ko uses GPL-only symbol 'bio_associate_blkg'",
        "AttributeError: module 'torch.cuda' has no attribute 'device_coutn'. Did you mean: 'device_count'?",
        "OSError: [Errno 28] No space left on device: '/root/.cache/huggingface/hub/blobs/1c2b.incomplete'",
        'error: error validating "gpu-pod.yaml": error validating data: ValidationError(Pod.spec.containers[0].resources): unknown field',
        '-- Found CUDAToolkit: /usr/local/cuda/include (found version "12.8.93")\nCMake Error at CMakeLists.txt:21 (find_package):\n'
        '  By not providing "FindOpenCV.cmake" in CMAKE_MODULE_PATH this project has\n  asked CMake to find a package configuration file '
        'provided by "OpenCV", but\n  CMake did not find one.',
        "Successfully installed nvidia-cuda-nvrtc-cu12-12.4.127 torch-2.5.0",
    ],
)
def test_what_is_not_cuda_s_is_not_known(text: str) -> None:
    found = explained(text)
    assert found is None or not found.known


@pytest.mark.parametrize(
    "text",
    [
        "Device: cuda:0 NVIDIA GeForce RTX 4070 : cudaMallocAsync\n!!! Exception during processing !!! CUDA error: invalid argument",
        "RuntimeError: CUDA error: invalid argument",
        "NVRM: Xid (PCI:0000:01:00): 13, Graphics Exception: ESR 0x405840=0xa0040800",
        "[E:onnxruntime] CUDNN failure 5000: CUDNN_STATUS_EXECUTION_FAILED ; GPU=0 ; line=473\nNVIDIA GeForce GTX 1070",
    ],
)
def test_a_text_that_decides_nothing_has_no_likely_cause(text: str) -> None:
    found = explained(text)
    assert found is None or all(cause.score < LIKELY for cause in found.causes)


def test_a_build_that_fails_elsewhere_as_well_is_explained() -> None:
    elsewhere = 'CMake Error: By not providing "FindEigen3.cmake" in CMAKE_MODULE_PATH this project'
    assert told(f"{elsewhere}\nnvcc fatal   : Unsupported gpu architecture 'compute_120'")[:1] == [
        "toolkit-too-old-for-gpu"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "kubectl: error: the pod of the gpu job was not scheduled\nsee docker",
        "TypeError: gpu_map() missing 1 required argument 'docker'",
    ],
)
def test_what_has_a_word_in_common_is_not_what_would_tell(text: str) -> None:
    found = explained(text)
    assert found is not None and not found.known and found.checks == ()
