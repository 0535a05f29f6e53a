"""Causes of errors about device code: machine code and PTX that does not fit the GPU, the driver or the program."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.causes._tells import doctor, inspect_driver, inspect_gpu, run
from cuvet.rules.evidence import documented, measured, reported

LOADS = (
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleLoadDataEx",
    "cuModuleLoadFatBinary",
    "cuLibraryLoadData",
    "cuLinkAddData",
)
FILES = ("cuModuleLoad", "cuLibraryLoadFromFile", "cuLinkAddFile")

RULES = (
    RuleCause(
        id="image-wrong-gpu",
        tell=(
            inspect_gpu("has no code for sm_XX, and the options that add it to the build"),
            doctor("error[gpu-not-supported-by-framework], if the code is a framework's"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_NO_BINARY_FOR_GPU": 90,
                "cudaErrorInvalidDeviceFunction": 85,
                "CUDA_ERROR_INVALID_IMAGE": 35,
                "CUDA_ERROR_INVALID_PTX": 38,
                "CUDA_ERROR_NOT_FOUND": 40,
                "CUDA_ERROR_INVALID_SOURCE": 15,
            },
            calls=("cudaGetLastError", "cudaLaunchKernel", *LOADS),
            words=(
                r"\bsm_\d+|compute capability|-gencode|CUDA_ARCH(ITECTURES|_BIN|_LIST)?",
                r"\b(RTX|GTX|Tesla|Quadro|[KTVPAHB]\d{2,3})\b.{0,6}\d*|blackwell|pascal|volta",
                r"not compatible|no kernel image|architecture",
            ),
        ),
        beliefs=(
            "The driver is too old: that is 222 or 35. 209 says that the binary lacks code for the GPU.",
            "Code for sm_90a runs on later GPUs: code for an architecture with a suffix does not move on.",
            "PyTorch's CUDA version decides: what counts is the list in torch.cuda.get_arch_list().",
        ),
        cases=("binary_lacks_gpu_arch", "cubin_arch_hardcoded", "wrong_target_arch_in_ptx"),
    ),
    RuleCause(
        id="image-ptx-too-new",
        tell=(
            inspect_driver("PTX X.Y is newer than the driver takes, and which driver takes it"),
            Tell(
                "nvidia-smi",
                "CUDA Version, the newest that the driver supports, is below the toolkit's that made the PTX",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": 95,
                "CUDA_ERROR_INVALID_PTX": 42,
                "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC": 3,
            },
            calls=LOADS,
            words=(r"unsupported \.version|unsupported toolchain", r"linkererror|\bJIT\b|\bPTX\b", r"\bdriver\b"),
        ),
        beliefs=(
            "Minor-version compatibility covers it: it covers machine code, not PTX that the driver must compile.",
            "Reinstalling the toolkit mends 222: a newer toolkit writes newer PTX. Take a newer driver or an older toolkit.",
        ),
        cases=("driver_older_than_ptx_toolchain", "driver_too_old"),
    ),
    RuleCause(
        id="image-ptx-not-compiled",
        tell=(
            inspect_driver("compiles PTX …: version and target are not the reason, so it is the text"),
            Tell("ptxas -arch=sm_XX FILE.ptx", "the line and what is wrong in it"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_PTX": 45, "CUDA_ERROR_INVALID_SOURCE": 25},
            calls=LOADS,
            words=(r"ptxas (fatal|error)|syntax error|unresolved extern", r"inline asm|\bPTX\b"),
        ),
    ),
    RuleCause(
        id="image-ptx-not-terminated",
        tell=(Tell("tail -c1 FILE.ptx | xxd", "another byte than 00 at the end of what is passed to the load"),),
        signs=Signs(
            errors={"SIGSEGV": 20, "CUDA_ERROR_INVALID_PTX": 15, "CUDA_ERROR_INVALID_IMAGE": 5},
            calls=LOADS,
            words=(r"\bxxd\b|bin2c|#embed|include_bytes", r"NUL.?terminat|null.?terminat|terminating"),
        ),
        cases=("ptx_not_nul_terminated",),
    ),
    RuleCause(
        id="image-not-recognised",
        tell=(
            inspect_gpu("no device code is in the file"),
            Tell("head -c 64 FILE | xxd", "neither 7f 45 4c 46 (ELF), 50 ed 55 ba (fatbin) nor the text of PTX"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_IMAGE": 50, "CUDA_ERROR_INVALID_SOURCE": 25},
            calls=LOADS,
            words=(r"magic|garbage|LFS pointer",),
        ),
        cases=("image_bytes_not_recognised",),
    ),
    RuleCause(
        id="image-truncated",
        tell=(inspect_gpu("truncated: how long the image is, and how long it says it is"),),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_IMAGE": 30, "CUDA_ERROR_INVALID_SOURCE": 5},
            calls=LOADS,
            words=(r"truncat|incomplete|disk full|partial(ly)? (written|downloaded)|corrupt",),
        ),
    ),
    RuleCause(
        id="image-file-not-found",
        tell=(Tell("strace -f -e trace=openat PROGRAM 2>&1 | grep ENOENT", "the path as the driver looked for it"),),
        signs=Signs(
            errors={"CUDA_ERROR_FILE_NOT_FOUND": 85, "CUDA_ERROR_INVALID_PTX": 5},
            calls=FILES,
            words=(r"no such file|working directory|relative path",),
        ),
        cases=("module_file_not_found_or_stale",),
    ),
    RuleCause(
        id="image-no-such-function",
        tell=(Tell("cuvet inspect --kernels FILE", "the kernels that the file has"),),
        signs=Signs(
            errors={"CUDA_ERROR_NOT_FOUND": 60, "cudaErrorInvalidSymbol": 20},
            calls=("cuModuleGetFunction", "cuModuleGetGlobal", "cuLibraryGetKernel", "cudaMemcpyToSymbol"),
            words=(r"mangl|extern \"?C|named symbol",),
        ),
        beliefs=("The kernel's name in the source is its name in the image: C++ names are mangled.",),
    ),
)

TOOLKITS = (
    Cause(
        id="toolkit-too-old-for-gpu",
        title="The compiler or library that makes the code does not know this GPU",
        why="NVRTC, ptxas and the frameworks that call them have a list of architectures. One from before the GPU cannot"
        " compile for it, or makes an image without the kernels that are then looked for.",
        tell=(
            Tell("nvcc --list-gpu-arch", "the GPU's architecture is not in the list"),
            doctor("the toolkits and NVRTC libraries that are found, and the GPU's architecture"),
            run("nvrtcCompileProgram or the load that fails, with the options given to it"),
        ),
        fix="Take a toolkit (and framework) of the CUDA release that brought the GPU's architecture or later; until then,"
        " compile to PTX of an older architecture and let the driver finish it.",
        evidence=(
            reported("an older CuPy on compute capability 8.9: 200", "https://github.com/cupy/cupy/issues/8045"),
            reported(
                "a ptxas from before compute capability 8.9: the kernel was not found in the module",
                "https://github.com/jax-ml/jax/issues/13570",
            ),
            reported(
                "NVRTC in a container did not know the host's GPU", "https://github.com/dizcza/docker-hashcat/issues/6"
            ),
            documented(
                "NVRTC_ERROR_INVALID_OPTION; the values of --gpu-architecture are those of the release",
                "NVRTC, User Interface, Supported Compile Options",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_IMAGE": 25,
                "CUDA_ERROR_NOT_FOUND": 35,
                "CUDA_ERROR_INVALID_SOURCE": 30,
                "CUDA_ERROR_NO_BINARY_FOR_GPU": 15,
                "NVRTC_ERROR_INVALID_OPTION": 90,
                "CUDA_ERROR_INVALID_PTX": 15,
            },
            calls=("nvrtcCompileProgram",),
            words=(
                r"--?gpu-(architecture|name)|invalid value for",
                r"\b(cupy|numba|xla|jax)\b",
                r"\bRTX \d{4}|new(er)? gpu",
            ),
        ),
        beliefs=("A new driver suffices for a new GPU: it runs old PTX, but old compilers do not know the GPU.",),
        cases=("library_too_old_for_gpu_arch", "toolkit_too_old_for_gpu_arch"),
    ),
    Cause(
        id="toolkit-dropped-gpu",
        title="The toolkit is too new: it no longer compiles for this GPU",
        why="Releases drop the oldest architectures. CUDA 13 compiles for compute capability 7.5 and later: Maxwell, Pascal"
        " and Volta need CUDA 12.",
        tell=(
            Tell("nvcc --list-gpu-arch", "begins above the GPU's architecture"),
            Tell("nvidia-smi --query-gpu=name,compute_cap --format=csv", "the GPU's compute capability"),
        ),
        fix="Stay with CUDA 12.9 or older, and with packages built by it (cu126 wheels for example).",
        evidence=(
            reported("ptxas of CUDA 13 refuses sm_70", "https://github.com/JuliaGPU/CUDA.jl/issues/2844"),
            documented(
                "offline compilation and library support for Maxwell, Pascal and Volta is removed",
                "CUDA Toolkit 13.0 Release Notes, Deprecated Architectures",
            ),
        ),
        signs=Signs(
            errors={"NVRTC_ERROR_INVALID_OPTION": 40, "CUDA_ERROR_NO_BINARY_FOR_GPU": 20},
            words=(
                r"(sm|compute)_\d+.{0,20}(not defined|unsupported)|(not defined|unsupported).{0,30}(sm|compute)_\d+",
                r"ptxas",
                r"V100|P100|GTX 10\d0|K80|titan|volta|pascal",
            ),
        ),
        cases=("toolkit_dropped_gpu_arch",),
    ),
    Cause(
        id="toolkit-package-of-other-release",
        title="The package is for another CUDA release than the toolkit that it finds",
        why="Packages such as cupy-cuda12x compile with the NVRTC and headers of the toolkit that they find. Those of another"
        " release produce code that the rest does not take.",
        tell=(
            Tell("cuvet doctor --python python", "built-for against found versions"),
            Tell("python -c 'import cupy; cupy.show_config()'", "CUDA Build, Runtime and NVRTC versions that differ"),
            Tell("ldd LIBRARY | grep -e cudart -e nvrtc", "where they come from"),
        ),
        fix="Install the package of the toolkit's release (cupy-cuda12x with CUDA 12), and only one of them.",
        evidence=(
            reported(
                "a CuPy package of another release than the toolkit: 218",
                "https://github.com/loicland/superpoint_graph/issues/250",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_PTX": 15,
                "CUDA_ERROR_INVALID_IMAGE": 8,
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": 10,
            },
            calls=(),
            words=(r"\bcupy\b", r"cupy-cuda|\bcu1[0-9]{2}\b|toolkit version|conda"),
        ),
        cases=("toolkit_package_mismatch",),
    ),
    Cause(
        id="nvrtc-builtins-missing",
        title="NVRTC does not find its libnvrtc-builtins",
        why="libnvrtc loads libnvrtc-builtins of its own release by name while it compiles. Where the directory is not on the"
        " loader's path, or holds another release's, nothing is compiled.",
        tell=(
            doctor("error[nvrtc-builtins-missing], with the libnvrtc and what it looks for"),
            Tell("LD_DEBUG=libs PROGRAM 2>&1 | grep nvrtc-builtins", "trying file=…, and none found"),
        ),
        fix="Put the toolkit's lib64 on LD_LIBRARY_PATH (or in ldconfig), or install nvidia-cuda-nvrtc of the same release.",
        evidence=(
            reported(
                "the CUDA library directory was not on the loader's path",
                "https://github.com/fireice-uk/xmr-stak/issues/2319",
            ),
            reported(
                "libnvrtc opens it by dlopen, which does not use the program's RPATH: preloading it mends the failure",
                "https://github.com/nlesc-recruit/cudawrappers/pull/354",
            ),
            documented("NVRTC consists of libnvrtc and libnvrtc-builtins", "NVRTC, Getting Started, Installation"),
        ),
        signs=Signs(
            errors={
                "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE": 95,
                "CUDA_ERROR_INVALID_IMAGE": 8,
                "NVRTC_ERROR_COMPILATION": 5,
            },
            calls=("nvrtcCompileProgram",),
            words=(r"nvrtc-builtins|failed to load builtins", r"\bnvrtc"),
        ),
        cases=("library_path_missing_nvrtc_builtins",),
    ),
)

LOADING = (
    Cause(
        id="image-cache-of-other-gpu",
        title="A cache handed out machine code that was compiled for another GPU",
        why="Caches of compiled kernels (Triton's, CuPy's, a program's own) must be keyed by architecture. One that is not, or"
        " that is shared by machines, gives code of the GPU that filled it.",
        tell=(
            Tell("cuvet inspect ~/.triton/cache --gpu this", "cubins of another architecture"),
            Tell("TRITON_CACHE_DIR=$(mktemp -d) PROGRAM", "the error is gone"),
        ),
        fix="Delete the cache (rm -r ~/.triton/cache, ~/.cupy/kernel_cache, ~/.nv/ComputeCache); add the compute capability to"
        " the key.",
        evidence=(
            reported("Triton's key lacked the architecture", "https://github.com/triton-lang/triton/pull/1593"),
            documented(
                "cubins run on GPUs of the same major compute capability and the same or a higher minor one",
                "CUDA Programming Guide, The CUDA platform, Binary Compatibility",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_IMAGE": 20, "CUDA_ERROR_NO_BINARY_FOR_GPU": 15},
            calls=LOADS,
            words=(r"cache[ds]?\b", r"triton"),
        ),
        cases=("stale_cubin_cache_for_other_arch",),
    ),
    Cause(
        id="kernel-parameters-over-limit",
        title="The kernel's parameters are larger than the architecture allows",
        why="All parameters together may take 4096 bytes, or 32764 bytes with CUDA 12.1 or newer on Volta and later. Code"
        " that is generated, such as fused expressions, can go over it.",
        tell=(
            Tell("cuobjdump --dump-resource-usage FILE", "CONSTANT[0] near or over the limit"),
            Tell("cuModuleLoadDataEx with CU_JIT_ERROR_LOG_BUFFER", "formal parameter space overflowed"),
        ),
        fix="Pass a pointer to a structure instead, or split the kernel.",
        evidence=(
            reported(
                "a fused kernel with too many arguments: 200 at its load",
                "https://github.com/arrayfire/arrayfire/pull/2484",
            ),
            documented(
                "kernel parameters are limited to 4,096 bytes, with CUDA 12.1 on Volta and later to 32,764 bytes",
                "CUDA C++ Programming Guide, __global__ Function Parameters",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_IMAGE": 8,
                "CUDA_ERROR_INVALID_PTX": 5,
                "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 15,
            },
            calls=("cuModuleLoadDataEx",),
            words=(
                r"parameter space|argument list|too many (arguments|parameters)",
                r"(\bjit|fused|generated)\b.{0,12}kernel",
            ),
        ),
        cases=("kernel_param_space_over_limit",),
    ),
    Cause(
        id="image-path-given-for-data",
        title="A path is given where an image is wanted, or an image where a path is wanted",
        why="cuModuleLoad takes a file's name, cuModuleLoadData its contents. Both are char pointers or strings, and overloads"
        " in other languages choose by type. PTX as a name is a file that does not exist; a name as an image is no image.",
        tell=(run("the load's argument: text of PTX in cuModuleLoad (301), a path in cuModuleLoadData (200)"),),
        fix="cuModuleLoad for paths, cuModuleLoadData for contents.",
        evidence=(
            reported(
                "PTX was passed to the overload that takes a path: 301",
                "https://github.com/bytedeco/sample-projects/issues/66",
            ),
            measured(
                "text that is no PTX as image: 200; a file that is not there: 301",
                "module_garbage",
                "module_load_missing_file",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_FILE_NOT_FOUND": 60, "CUDA_ERROR_INVALID_IMAGE": 15},
            calls=LOADS,
            words=(r"string overload|ptx (source|string|text)",),
        ),
        cases=("path_vs_data_confusion",),
    ),
    Cause(
        id="image-file-stale",
        title="The kernel's file on disk is not the one that the build made",
        why="Kernels kept beside the program as .ptx or .cubin files are built and copied apart from it. An old, an empty or a"
        " missing one is loaded without notice.",
        tell=(
            Tell("ls -l *.ptx *.cubin", "missing in the working directory, or older than the sources"),
            inspect_driver("the verdict on what is there"),
            run("the path that is loaded"),
        ),
        fix="Build the kernels' target and copy its output beside the program, as a step of the build.",
        evidence=(
            reported(
                "PTX files were not built or not in the working directory: 218",
                "https://github.com/kunzmi/ImageStackAlignator/issues/10",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_PTX": 15,
                "CUDA_ERROR_FILE_NOT_FOUND": 30,
                "CUDA_ERROR_INVALID_IMAGE": 15,
                "CUDA_ERROR_NOT_FOUND": 25,
            },
            calls=FILES,
            words=(r"LoadModulePTX|\.ptx\b|\.cubin\b", r"stale|out of date|rebuil[dt]"),
        ),
        cases=("module_file_not_found_or_stale",),
    ),
    Cause(
        id="image-log-not-asked-for",
        title="The driver's compiler said what is wrong, and nobody asked for its log",
        why="cuModuleLoadData returns a number only. The compiler's messages go to buffers that are passed to"
        " cuModuleLoadDataEx.",
        tell=(
            Tell("CUDA_LOG_FILE=stderr PROGRAM", "a line on why the load failed, with drivers of CUDA 12.9 and later"),
            Tell("ptxas -arch=sm_XX FILE.ptx", "the same messages from the toolkit's compiler"),
        ),
        fix="Load with cuModuleLoadDataEx, CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, and print the buffer.",
        evidence=(
            reported(
                "a library that loaded without a log hid a trivial error for long",
                "https://github.com/Theano/libgpuarray/issues/290",
            ),
            documented(
                "CU_JIT_ERROR_LOG_BUFFER: pointer to a buffer in which to print log messages that reflect errors",
                "CUDA Driver API, Data types used by CUDA driver, CUjit_option",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_PTX": 25, "CUDA_ERROR_INVALID_SOURCE": 15},
            calls=("cuModuleLoadData", "cuModuleLoad", "cuLibraryLoadData"),
            words=(r"\b(jit|compiler) (error|log)|no (log|message)",),
        ),
        cases=("missing_jit_log",),
    ),
)

CAUSES: tuple[Cause | RuleCause, ...] = (*RULES, *TOOLKITS, *LOADING)
