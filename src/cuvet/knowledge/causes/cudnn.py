"""Why cuDNN and cuBLAS do not start: their files, the copies in front of them, and what the framework has left them of the GPU."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cuvet.knowledge.cause import Cause, Signs, Tell
from cuvet.knowledge.causes._tells import doctor, run
from cuvet.rules.evidence import documented, reported

COMPATIBILITY = "NVIDIA cuDNN, Compatibility, https://docs.nvidia.com/deeplearning/cudnn/latest/developer/forward-compatibility.html"
OVERVIEW = (
    "NVIDIA cuDNN, Backend API Overview, https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/overview.html"
)
RUNNING = (
    "NVIDIA cuDNN, Running a cuDNN Dependent Program, "
    "https://docs.nvidia.com/deeplearning/cudnn/backend/latest/installation/build-run-cudnn.html"
)
ONNX_RUNTIME = (
    "ONNX Runtime, CUDA Execution Provider, https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"
)
JAX_MEMORY = "JAX, GPU memory allocation, https://docs.jax.dev/en/latest/201/gpu-memory.html"
LOADER = "ld.so(8), Linux man-pages"
WHEELS = "file lists of the nvidia-cudnn wheels on PyPI, in knowledge/cudnn.json"

WHICH_LOADED = "LD_DEBUG=libs PROGRAM 2>&1 | grep 'calling init.*libcudnn'"


NOT_FOUND = (
    Cause(
        id="cudnn-not-installed",
        title="No cuDNN of the needed major version is installed",
        why="Frameworks open libcudnn.so.8 or libcudnn.so.9, and these open their parts (libcudnn_ops.so.9, "
        "libcudnn_ops_infer.so.8, ...) by name. The CUDA toolkit does not contain them.",
        tell=(
            doctor("error[cudnn-not-installed], with the file that needs it"),
            Tell("ldconfig -p | grep libcudnn; pip list | grep cudnn", "nothing, or another major version"),
        ),
        fix="pip install the version that the framework names (pip show -v torch, or pip install 'tensorflow[and-cuda]'); "
        "for a C++ program the system package for its CUDA version, such as libcudnn9-cuda-12.",
        evidence=(
            reported("Installing libcudnn8 solved it", "https://github.com/SYSTRAN/faster-whisper/issues/516"),
            documented("cuDNN 9 consists of libcudnn and sub-libraries that it loads", OVERVIEW),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": 40,
                "CUDNN_STATUS_NOT_INITIALIZED": 8,
                "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE": 40,
            },
            calls=("cudnnCreate",),
            words=(
                r"could not load library libcudnn",
                r"libcudnn\w*\.so\.\d+: cannot open shared object",
                r"libcudnn\w*\.so\.8",
                r"dnn library is not found",
            ),
        ),
        beliefs=("The CUDA toolkit brings cuDNN: it is a package of its own.",),
        cases=("cudnn_not_installed",),
    ),
    Cause(
        id="cudnn-not-on-loader-path",
        title="cuDNN is installed where the loader does not look for it",
        why="pip puts cuDNN into site-packages/nvidia/cudnn/lib. PyTorch's libraries have a path to it, others have "
        "none: CTranslate2's and ONNX Runtime's wheels, and C++ programs, ask the loader by name only.",
        tell=(
            doctor("error[cudnn-not-on-loader-path], with the directory that has it"),
            Tell(
                "find / -name 'libcudnn_ops*.so.*' -not -path '/proc/*' 2>/dev/null; ldconfig -p | grep libcudnn_ops",
                "the first prints a path, the second nothing",
            ),
        ),
        fix="export LD_LIBRARY_PATH=.../site-packages/nvidia/cudnn/lib before the program starts; ONNX Runtime: "
        "onnxruntime.preload_dlls() before the first session.",
        evidence=(
            reported(
                "LD_LIBRARY_PATH to nvidia/cudnn/lib fixes it", "https://github.com/SYSTRAN/faster-whisper/issues/1182"
            ),
            reported(
                "libcudnn9 and LD_LIBRARY_PATH fix it",
                "https://github.com/MahmoudAshraf97/whisper-diarization/issues/259",
            ),
            documented("Where the loader looks, and in which order", LOADER),
            documented("preload_dlls loads CUDA and cuDNN from Python packages", ONNX_RUNTIME),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": 50,
                "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE": 30,
            },
            words=(
                r"unable to load (any of )?\{?libcudnn",
                r"cannot load symbol cudnn",
                r"ctranslate2|whisper|onnxruntime",
                r"libcudnn\w*\.so\.\d+: cannot open shared object",
            ),
        ),
        beliefs=(
            "'Invalid handle. Cannot load symbol cudnnCreate...' is about a cuDNN handle: it is the handle of dlopen.",
            "pip install nvidia-cudnn-cu12 is enough: programs that ask the loader by name do not find it there.",
        ),
        cases=("pip_cudnn_not_on_loader_path",),
    ),
    Cause(
        id="cudnn-two-majors",
        title="A library needs another major version of cuDNN than the one that is installed",
        why="libcudnn.so.8 and libcudnn.so.9 are different libraries with different parts; neither serves a program "
        "built for the other. pip keeps one version of nvidia-cudnn-cu12 for all.",
        tell=(
            doctor("error[cudnn-two-majors], with who needs which"),
            Tell("pip list | grep -i -E 'cudnn|torch|ctranslate2|onnxruntime'", "releases built for different majors"),
        ),
        fix="Use releases built for one major: CTranslate2 4.4.0 and before, and PyTorch before 2.4, use cuDNN 8; "
        "CTranslate2 from 4.5 and PyTorch from 2.4 use cuDNN 9.",
        evidence=(
            reported(
                "4.5 needs cuDNN 9, 4.4 cuDNN 8, and PyTorch loads its own",
                "https://github.com/OpenNMT/CTranslate2/issues/1826",
            ),
            reported(
                "Downgrading to 4.4.0 or installing cuDNN 9 fixes it",
                "https://github.com/Softcatala/whisper-ctranslate2/issues/115",
            ),
            documented(
                "CTranslate2 4.5.0 supports cuDNN 9 and no longer cuDNN 8",
                "https://github.com/OpenNMT/CTranslate2/releases/tag/v4.5.0",
            ),
            documented(
                "Built with cuDNN 8.x is not compatible with 9.x, and vice versa; PyTorch's majors", ONNX_RUNTIME
            ),
            documented("No compatibility across major versions", COMPATIBILITY),
        ),
        signs=Signs(
            errors={"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": 35, "CUDNN_STATUS_VERSION_MISMATCH": 40},
            words=(
                r"libcudnn\w*\.so\.9.*libcudnn\w*\.so\.8|libcudnn\w*\.so\.8.*libcudnn\w*\.so\.9",
                r"unable to load any of \{?libcudnn|unable to load libcudnn",
                r"ctranslate2",
            ),
        ),
        cases=("two_libs_need_different_cudnn_major",),
    ),
)

SETS = (
    Cause(
        id="cudnn-mixed-versions",
        title="Parts of cuDNN are loaded from two installations of different versions",
        why="libcudnn.so opens each of its parts by name, and each name goes through the loader's search. With a "
        "second cuDNN on LD_LIBRARY_PATH, which comes before the RUNPATH $ORIGIN in cuDNN's libraries, or with a "
        "partial copy in front, some parts come from one installation and some from the other.",
        tell=(
            doctor("error[cudnn-mixed-versions], with each part's path and version"),
            Tell(WHICH_LOADED, "libcudnn files of two directories"),
        ),
        fix="Take the other cuDNN's directory out of LD_LIBRARY_PATH, or remove it (apt-get remove 'libcudnn*'); "
        "keep the one that the framework brings.",
        evidence=(
            reported("Uninstalling the system's cuDNN fixes it", "https://github.com/koharu-rs/koharu/issues/694"),
            documented("LD_LIBRARY_PATH is searched before DT_RUNPATH", LOADER),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH": 90,
                "CUDNN_STATUS_VERSION_MISMATCH": 50,
                "CUDNN_STATUS_NOT_INITIALIZED": 10,
                "CUDNN_STATUS_INTERNAL_ERROR": 8,
            },
            calls=("cudnnCreate", "cudnnBackendFinalize"),
            words=(r"sublibrary.version.mismatch", r"mixed (pip|conda|system)", r"ld_library_path"),
        ),
        beliefs=(
            "The version that torch.backends.cudnn.version() prints is that of every part: it is that of one library.",
        ),
        cases=("mixed_cudnn_installs",),
    ),
    Cause(
        id="cudnn-sublibrary-from-elsewhere",
        title="The bundled cuDNN lacks a part, and the loader takes that part from another cuDNN",
        why="A part that is not in the bundle is still opened by name. Where another cuDNN is on the loader's path, "
        "its part is found, and its version does not match.",
        tell=(
            doctor("error[cudnn-sublibrary-from-elsewhere], with the part and where it comes from"),
            Tell(WHICH_LOADED, "one libcudnn_* of another directory than the rest"),
        ),
        fix="Install a complete set (nvidia-cudnn-cu13 9.20.0.48 is not one: pip install -U 'nvidia-cudnn-cu13>=9.21'), "
        "or remove the other cuDNN.",
        evidence=(
            reported(
                "The 9.20.0.48 wheel lacks engines_tensor_ir, and the system's is taken",
                "https://github.com/pytorch/pytorch/issues/188892",
            ),
            reported(
                "A partial set of DLLs, completed from PATH", "https://github.com/arrayfire/arrayfire/issues/3700"
            ),
            documented("The wheels of 9.20 lack libcudnn_engines_tensor_ir, those from 9.21 have it", WHEELS),
        ),
        signs=Signs(
            errors={"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH": 85},
            calls=("cudnnBackendFinalize",),
            words=(r"sublibrary.version.mismatch", r"engines_tensor_ir", r"\.dll\b"),
        ),
        cases=("sublibrary_missing_in_bundle_picked_from_system",),
    ),
    Cause(
        id="cudnn-sublibrary-missing",
        title="A part of cuDNN is missing",
        why="A complete cuDNN 9 has libcudnn.so.9 and seven to nine parts, a cuDNN 8 six. A part that is not there is "
        "noticed only when an operation needs it.",
        tell=(
            doctor("error[cudnn-sublibrary-missing], with the names"),
            Tell("ls .../nvidia/cudnn/lib", "fewer files than knowledge/cudnn.json lists for the version"),
        ),
        fix="pip install --force-reinstall --no-deps nvidia-cudnn-cu12==VERSION; a bundle of your own: copy all of "
        "libcudnn*.so.9.",
        evidence=(
            documented("Which libraries there are", OVERVIEW),
            documented("Which files make a set, by version", WHEELS),
            reported(
                "The parts new in cuDNN 9.24 were not shipped: SUBLIBRARY_LOADING_FAILED",
                "https://github.com/JuliaPackaging/Yggdrasil/pull/14741",
            ),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": 60,
                "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE": 60,
            },
            words=(r"could not load library libcudnn_\w+", r"unable to load any of \{?libcudnn_\w+"),
        ),
    ),
    Cause(
        id="cudnn-files-damaged",
        title="Files of the cuDNN package are not those that pip installed",
        why="An installation that was cut off, or another package that wrote to the same paths, leaves pip's records "
        "saying that all is there; pip install then does nothing.",
        tell=(
            doctor("error[cudnn-files-damaged], with each file and its size"),
            Tell(
                "pip show -f nvidia-cudnn-cu12 | grep so; ls -l .../nvidia/cudnn/lib", "files missing or of other sizes"
            ),
        ),
        fix="pip install --force-reinstall --no-deps nvidia-cudnn-cu12==VERSION",
        evidence=(
            reported(
                "dist-info of a killed installation without the libraries",
                "https://github.com/sgl-project/sglang/pull/22719",
            ),
            documented(
                "RECORD lists each file with its hash and size",
                "PyPA, Recording installed projects, https://packaging.python.org/en/latest/specifications/recording-installed-packages/",
            ),
        ),
        signs=Signs(
            errors={"CUDNN_STATUS_NOT_INITIALIZED": 4, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": 15},
            words=(r"libcudnn\w*\.so\.\d+: (file too short|invalid elf header|cannot open)", r"already satisfied"),
        ),
    ),
    Cause(
        id="cudnn-older-than-built-for",
        title="The cuDNN that is loaded is older than the one the framework was built for",
        why="A program built for cuDNN x.z is not guaranteed to work with x.y where y < z. TensorFlow, JAX and PyTorch "
        "compare the two and refuse. The older copy comes first on LD_LIBRARY_PATH or PATH, or the package's "
        "constraint was too wide.",
        tell=(
            doctor("error[cudnn-older-than-built-for], with both versions and the path of the older"),
            Tell("grep 'Loaded runtime CuDNN library' LOG", "runtime version below 'source was compiled with'"),
            Tell("where cudnn64_*.dll (Windows)", "an older one first"),
        ),
        fix="pip install the version that the framework requires (conda: conda install 'cudnn>=VERSION'), and take "
        "older copies out of LD_LIBRARY_PATH or PATH.",
        evidence=(
            documented("Minor releases are backward-compatible only; patch releases both ways", COMPATIBILITY),
            reported(
                "An older cudnn64_5.dll was first on PATH", "https://github.com/tensorflow/tensorflow/issues/11401"
            ),
            reported("Installing cuDNN 7.0.5 solved it", "https://github.com/balancap/SSD-Tensorflow/issues/340"),
            reported("conda install cudnn=7.6.4 solved it", "https://github.com/google/automl/issues/33"),
            reported(
                "A conda package allowed an older cuDNN than it was built for",
                "https://github.com/conda-forge/jaxlib-feedstock/issues/329",
            ),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_NOT_INITIALIZED": 8,
                "CUDNN_STATUS_VERSION_MISMATCH": 60,
                "CUDNN_STATUS_INTERNAL_ERROR": 8,
            },
            calls=("cudnnCreate",),
            words=(
                r"loaded runtime cudnn",
                r"cudnn (library )?needs to have matching major",
                r"compiled against .* but found runtime version",
                r"cudnn failed to initialize|dnn init",
                r"(older|old) .*cudnn|cudnn\d+_\d+\.dll",
            ),
        ),
        beliefs=("Any cuDNN of the same major version will do: a newer minor will, an older will not.",),
        cases=("cudnn_version_mismatch_with_build", "old_cudnn_first_on_path"),
    ),
    Cause(
        id="cudnn-dependency-missing",
        title="A library that cuDNN itself needs is missing: zlib, NVRTC or cuBLAS",
        why="cuDNN 8 and 9 need zlib when they are loaded (libz.so.1; zlibwapi.dll on Windows since 8.3), and open "
        "libcublasLt and libnvrtc when certain operations run. The error names cuDNN's file, not the one missing.",
        tell=(
            doctor("error[cudnn-dependency-missing], with the name of the library"),
            Tell("ldd libcudnn_cnn*.so.* | grep 'not found'", "libz.so.1"),
            Tell("where zlibwapi.dll (Windows)", "not found"),
        ),
        fix="apt-get install zlib1g; pip install nvidia-cublas-cu12 nvidia-cuda-nvrtc-cu12 for CUDA 12; with cuDNN 8 "
        "make libnvrtc.so findable without a version; Windows, cuDNN 8: put zlibwapi.dll on PATH, and with Python 3.8 "
        "or newer call os.add_dll_directory.",
        evidence=(
            documented("libz at load time; libcublasLt and libnvrtc by dlopen", RUNNING),
            reported("NVRTC was not found from wheels", "https://github.com/v-iashin/Synchformer/issues/9"),
            reported("zlibwapi.dll", "https://github.com/Softcatala/whisper-ctranslate2/issues/41"),
            reported("zlibwapi.dll and add_dll_directory", "https://github.com/cupy/cupy/issues/6226"),
            reported("zlibwapi.dll, copied", "https://github.com/NickSwardh/YoloDotNet/issues/18"),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING": 90,
                "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING": 90,
                "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": 20,
                "CUDNN_STATUS_NOT_INITIALIZED": 4,
                "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS": 20,
            },
            words=(
                r"zlibwapi",
                r"libz\.so",
                r"libnvrtc\.so( missing|: cannot open)",
                r"error (code )?126",
                r"libcublasLt\.so\.\d+: cannot open|cublasLtGetVersion",
                r"could not load library (lib)?cudnn_cnn_infer",
            ),
        ),
        beliefs=(
            "'Could not load libcudnn_cnn_infer.so.8' means that this file is missing: a library that it needs is.",
        ),
        cases=("library_path_missing_nvrtc", "zlibwapi_missing"),
    ),
)

LIBRARIES = (
    Cause(
        id="nvjitlink-older-in-front",
        title="An older libnvJitLink comes before the one that cuSPARSE needs",
        why="All of CUDA 12's libnvJitLink have one soname, and each minor release adds functions with its version in "
        "their names. With an older toolkit on LD_LIBRARY_PATH, libcusparse finds a libnvJitLink without them.",
        tell=(
            doctor("error[nvjitlink-older-in-front], with the function and both copies"),
            Tell(
                "ldd .../nvidia/cusparse/lib/libcusparse.so.12 | grep nvJitLink",
                "a toolkit's directory, not site-packages",
            ),
        ),
        fix="Take the toolkit's lib64 out of LD_LIBRARY_PATH, or put site-packages/nvidia/nvjitlink/lib before it.",
        evidence=(
            reported(
                "libcusparse from pip with another libnvJitLink", "https://github.com/pytorch/pytorch/issues/134929"
            ),
            reported(
                "LD_LIBRARY_PATH=/usr/local/cuda-12.1/lib64 and ldd's output",
                "https://github.com/infiniflow/ragflow/issues/4466",
            ),
            reported(
                "LD_LIBRARY_PATH to nvidia/nvjitlink/lib solves it", "https://github.com/pytorch/pytorch/issues/111469"
            ),
        ),
        signs=Signs(
            errors={"NVJITLINK_ERROR_OUTDATED_LIBRARY": 30},
            words=(r"undefined symbol: __nvJitLink", r"nvJitLink\w+_1\d_\d", r"libcusparse\.so"),
        ),
    ),
    Cause(
        id="toolkit-mixed-packages",
        title="CUDA libraries of two toolkits are mixed",
        why="A framework works with the libraries of the toolkit that it was built for. LD_LIBRARY_PATH may put those "
        "of an installed toolkit in front of them; and packages such as nvidia-cudnn-cu12 and nvidia-cudnn-cu13 have "
        "files at the same paths, so that the one installed last overwrites the other.",
        tell=(
            doctor("error or warning[toolkit-mixed-packages], with the files and who owns them"),
            Tell(
                'python -c "import torch; print(torch.version.cuda)"; echo $LD_LIBRARY_PATH',
                "another toolkit's directory",
            ),
        ),
        fix="Unset LD_LIBRARY_PATH for the framework; uninstall the packages of the other CUDA version and reinstall the "
        "framework's with --force-reinstall.",
        evidence=(
            reported(
                "Aligning the toolkit with torch.version.cuda resolved it",
                "https://github.com/haotian-liu/LLaVA/issues/458",
            ),
            documented("Both wheels have nvidia/cudnn/lib/libcudnn.so.9 and its parts", WHEELS),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_NOT_INITIALIZED": 14,
                "CUBLAS_STATUS_NOT_INITIALIZED": 12,
                "CUDNN_STATUS_INTERNAL_ERROR": 6,
                "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART": 40,
                "CURAND_STATUS_VERSION_MISMATCH": 80,
            },
            calls=("cudnnCreate", "cublasCreate"),
            words=(r"nvcc -V|nvcc --version", r"torch\.version\.cuda", r"-cu1[123]\b.*-cu1[123]\b"),
        ),
        beliefs=(
            "PyTorch uses the toolkit in /usr/local/cuda: its wheels bring their own libraries.",
            "nvcc's version must be the one that nvidia-smi shows: that is the newest that the driver supports.",
        ),
        cases=("torch_cuda_vs_toolkit_mismatch",),
    ),
)


def _bad_releases() -> tuple[str, ...]:
    """The releases that are known to be broken, as people write them: ``PyTorch 1.8``, ``torch==1.8.0+cu102``."""
    known = json.loads((Path(__file__).parents[1] / "known_releases.json").read_bytes())["releases"]
    return tuple(
        rf"{re.escape(release['distribution'])}[\s=:_v-]{{0,4}}{_version(version)}(?![\d.])"
        for release in known
        for version in release["versions"]
    )


def _version(version: str) -> str:
    """The version; a zero at its end may be left out."""
    return rf"{re.escape(version[:-2])}(\.0)?" if version.endswith(".0") else re.escape(version)


FRAMEWORKS = (
    Cause(
        id="framework-memory-preallocated",
        title="The framework took nearly all of the GPU's memory before cuDNN or cuBLAS could",
        why="TensorFlow takes nearly all free memory for its pool and JAX 75 % of the total. cudnnCreate and "
        "cublasCreate allocate outside that pool, find nothing, and report that they are not initialized.",
        tell=(
            Tell("nvidia-smi, while the program runs", "its own process holds nearly all memory"),
            run("an allocation that fails before the handle's creation fails"),
        ),
        fix="TensorFlow: TF_FORCE_GPU_ALLOW_GROWTH=true. JAX: XLA_PYTHON_CLIENT_PREALLOCATE=false or "
        "XLA_CLIENT_MEM_FRACTION=.50 (before: XLA_PYTHON_CLIENT_MEM_FRACTION).",
        evidence=(
            documented("JAX preallocates 75 % of the GPU's memory; the variables that change it", JAX_MEMORY),
            documented(
                "With memory growth the runtime does not allocate all memory of the device",
                "TensorFlow, tf.config.experimental.set_memory_growth",
            ),
            reported("allow_growth cures it", "https://github.com/tensorflow/tensorflow/issues/27144"),
            reported("Memory growth, on a T4", "https://github.com/tony-framework/TonY/pull/486"),
            reported("A lower fraction, on 2 GB", "https://github.com/jax-ml/jax/issues/6039"),
            reported(
                "Memory behind 'Failed to determine best cudnn convolution algorithm'",
                "https://github.com/elixir-nx/nx/issues/1000",
            ),
            reported("TF_FORCE_GPU_ALLOW_GROWTH", "https://github.com/pythonlessons/TensorFlow-2.x-YOLOv3/issues/107"),
            reported("cuBLAS handle after JAX's preallocation", "https://github.com/jax-ml/jax/issues/7118"),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_NOT_INITIALIZED": 40,
                "CUDNN_STATUS_INTERNAL_ERROR": 42,
                "CUDA_ERROR_OUT_OF_MEMORY": 8,
                "CUDNN_STATUS_ALLOC_FAILED": 60,
                "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED": 60,
                "CUBLAS_STATUS_NOT_INITIALIZED": 45,
                "CUBLAS_STATUS_ALLOC_FAILED": 55,
            },
            calls=("cudnnCreate", "cublasCreate"),
            words=(
                r"could not create cudnn handle",
                r"failed to (create cublas handle|determine best cudnn)",
                r"failed to get convolution algorithm",
                r"tensorflow|\btf\d?\b|\bjax\b|\bxla\b",
                r"allow_growth|prealloc|mem(ory)?_fraction",
            ),
        ),
        beliefs=(
            "CUDNN_STATUS_NOT_INITIALIZED means that cuDNN is installed wrongly: in these threads memory was the reason.",
            "nvidia-smi showed free memory, so it cannot be that: the framework takes it after the start.",
        ),
        cases=("framework_preallocated_all_memory", "gpu_oom_at_handle_creation"),
    ),
    Cause(
        id="cudnn-workspace-too-large",
        title="The convolution algorithm that was chosen needs more workspace than there is memory",
        why="The fastest algorithms need the largest workspaces. Chosen by speed alone, one does not fit into what the "
        "network has left, and the convolution fails when it runs.",
        tell=(
            Tell("nvidia-smi, just before the failure", "little free memory"),
            Tell(
                "CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stderr PROGRAM", "the size of the workspace of the failing call"
            ),
        ),
        fix="A smaller batch, or a limit: TensorFlow TF_CUDNN_WORKSPACE_LIMIT_IN_MB, ONNX Runtime "
        "cudnn_conv_use_max_workspace=0, PaddlePaddle FLAGS_conv_workspace_size_limit.",
        evidence=(
            reported("The algorithm chosen ran out of memory", "https://github.com/BVLC/caffe/issues/2197"),
            documented("cudnn_conv_use_max_workspace", ONNX_RUNTIME),
            documented(
                "TF_CUDNN_WORKSPACE_LIMIT_IN_MB limits the scratch space of convolutions, 4 GB by default",
                "TensorFlow's source, core/kernels, GetDnnWorkspaceLimit",
            ),
            reported(
                "FLAGS_conv_workspace_size_limit limits the workspace",
                "https://github.com/PaddlePaddle/Paddle/pull/17036",
            ),
        ),
        signs=Signs(
            errors={
                "CUDNN_STATUS_EXECUTION_FAILED": 30,
                "CUDNN_STATUS_EXECUTION_FAILED_CUDART": 20,
                "CUDNN_STATUS_ALLOC_FAILED": 30,
                "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED": 30,
            },
            calls=("cudnnConvolutionForward", "cudnnConvolutionBackwardData", "cudnnConvolutionBackwardFilter"),
            words=(r"workspace", r"cudnn\.benchmark"),
        ),
        cases=("cudnn_algorithm_workspace_oom",),
    ),
    Cause(
        id="framework-known-bad-release",
        title="The installed release is broken by itself",
        why="Now and then a release's binaries are defective, on every machine. Nothing in the user's installation mends that.",
        tell=(doctor("error, warning or note[framework-known-bad-release], with the thread"),),
        fix="Install what cuvet doctor names: the next release, or the build for another CUDA version.",
        evidence=(
            reported(
                "PyTorch 1.8.1 fixes what 1.8.0 for CUDA 10.2 broke", "https://github.com/pytorch/pytorch/issues/53336"
            ),
            reported("1.8.0+cu111 in its place works", "https://github.com/Turoad/CLRNet/issues/24"),
        ),
        signs=Signs(
            errors={"CUDNN_STATUS_NOT_INITIALIZED": 10, "CUBLAS_STATUS_NOT_INITIALIZED": 6},
            calls=("cudnnCreate",),
            words=_bad_releases(),
        ),
        cases=("framework_release_binary_bug",),
    ),
    Cause(
        id="framework-cpu-only",
        title="The installed build of the framework has no CUDA",
        why="pip and conda install a build for the CPU where no other fits, or where one was asked for "
        "(--index-url .../whl/cpu, tensorflow-cpu, jax without an extra). It works, and finds no GPU.",
        tell=(
            doctor("note[framework-cpu-only]"),
            Tell('python -c "import torch; print(torch.__version__, torch.version.cuda)"', "+cpu, None"),
        ),
        fix="pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu126; "
        "pip install 'tensorflow[and-cuda]'; pip install 'jax[cuda12]'",
        evidence=(
            documented(
                "The index whl/cpu holds builds without CUDA",
                "PyTorch, Start Locally, https://pytorch.org/get-started/locally/",
            ),
            documented(
                "jax alone is for the CPU, jax[cuda12] for NVIDIA GPUs",
                "JAX, Installation, https://docs.jax.dev/en/latest/installation.html",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 4},
            words=(
                r"torch not compiled with cuda",
                r"\+cpu\b",
                r"is_available\(\) (is|returns|=) ?false",
                r"falling back to cpu|no gpu/tpu found",
            ),
        ),
    ),
)

CAUSES = (*NOT_FOUND, *SETS, *LIBRARIES, *FRAMEWORKS)
