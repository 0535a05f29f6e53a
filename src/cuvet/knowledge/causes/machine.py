"""Causes in the machine: driver, devices, limits on memory. ``cuvet doctor`` finds them before any CUDA call."""

from __future__ import annotations

from cuvet.knowledge.cause import Cause, Signs, Tell
from cuvet.knowledge.causes._tells import doctor
from cuvet.rules.evidence import documented, reported

COMPATIBILITY = "CUDA Compatibility, https://docs.nvidia.com/deploy/cuda-compatibility/"
CONTAINERS = (
    "NVIDIA Container Toolkit, Specialized Configurations with Docker, "
    "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html"
)
ENVIRONMENT = "CUDA Programming Guide, CUDA Environment Variables"
INSTALLATION = "CUDA Installation Guide for Linux"
DRIVER_API = "CUDA Driver API, CUresult"
NCCL = "NCCL User Guide, Runtime and MPI issues, Memory issues"
RELEASE_NOTES = "CUDA Toolkit Release Notes, CUDA Toolkit and Minimum Required Driver Versions"


DRIVER = (
    Cause(
        id="driver-not-installed",
        title="The NVIDIA driver is missing, not loaded, or installed in part",
        why="A CUDA program needs two parts of one driver: the kernel module nvidia and libcuda.so.1. Where either is"
        " missing, no call succeeds: the runtime reports an insufficient driver or no device.",
        tell=(
            doctor("error[driver-not-installed], and which of the two is missing"),
            Tell("cat /proc/driver/nvidia/version; ldconfig -p | grep libcuda.so.1", "one of the two prints nothing"),
        ),
        fix="Install the driver (Ubuntu: sudo ubuntu-drivers install) and reboot; if only the module is not loaded: "
        "sudo modprobe nvidia.",
        evidence=(
            documented("The driver consists of kernel modules and libraries, and both must be installed", INSTALLATION),
            documented(
                "CUDA_ERROR_NO_DEVICE: no CUDA-capable devices were detected by the installed driver", DRIVER_API
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 40, "cudaErrorInsufficientDriver": 40},
            calls=("cuInit", "cudaGetDeviceCount"),
            words=(r"found no nvidia driver", r"libcuda\.so\.1: cannot open shared object", r"driver not loaded"),
        ),
        beliefs=("Installing the CUDA toolkit installs a driver: its packages for WSL and containers do not.",),
    ),
    Cause(
        id="driver-nouveau",
        title="The GPU is driven by nouveau, which CUDA cannot use",
        why="Only one kernel driver can be bound to a GPU. While nouveau is, the module nvidia cannot be.",
        tell=(
            doctor("error[driver-nouveau]"),
            Tell("lspci -k -d 10de:", "Kernel driver in use: nouveau"),
        ),
        fix="Install the NVIDIA driver, which keeps nouveau from loading, and reboot.",
        evidence=(documented("The nouveau drivers must be disabled before the driver is installed", INSTALLATION),),
        signs=Signs(errors={"CUDA_ERROR_NO_DEVICE": 10, "cudaErrorInsufficientDriver": 10}, words=(r"\bnouveau\b",)),
    ),
    Cause(
        id="device-not-present",
        title="There is no NVIDIA GPU in this machine",
        why="No display controller of NVIDIA is on the PCI bus: none is built in, or the virtual machine was given "
        "none.",
        tell=(doctor("error[device-not-present]"), Tell("lspci -d 10de:", "prints nothing")),
        fix="Run on a machine with a GPU. Without one, cuvet run --device emulated -- PROGRAM checks the program's "
        "calls.",
        evidence=(documented("lspci | grep -i nvidia verifies that there is a CUDA-capable GPU", INSTALLATION),),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 15, "cudaErrorInsufficientDriver": 10},
            calls=("cuInit", "cudaGetDeviceCount"),
        ),
    ),
    Cause(
        id="container-without-driver",
        title="The container was started without the host's GPUs",
        why="A container has libcuda.so.1 and the device nodes only if the NVIDIA Container Toolkit put them there, "
        "which it does when GPUs are asked for and the compute capability is among those wanted.",
        tell=(
            doctor("error[container-without-driver]"),
            Tell("ls /dev/nvidia* ; ldconfig -p | grep libcuda.so.1", "nothing in the container, both on the host"),
        ),
        fix="docker run --gpus all …, and where NVIDIA_DRIVER_CAPABILITIES is set, let it include compute.",
        evidence=(
            documented(
                "NVIDIA_VISIBLE_DEVICES void, empty or unset: neither GPUs nor capabilities are exposed", CONTAINERS
            ),
            documented("The capability compute is required for CUDA and OpenCL applications", CONTAINERS),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 30, "cudaErrorInsufficientDriver": 30},
            words=(r"\b(docker|podman|kubernetes|container)\b", r"libcuda\.so\.1: cannot open shared object"),
        ),
    ),
    Cause(
        id="driver-does-not-start",
        title="The driver is there, but cuInit fails or does not return",
        why="libcuda reached the kernel module and was refused, or broke: a GPU that fell off the bus, a module in a "
        "bad state, a security policy.",
        tell=(
            doctor("error[driver-does-not-start], with cuInit's status"),
            Tell("sudo dmesg | grep -i -e NVRM -e Xid", "the kernel module's own words"),
        ),
        fix="Do what dmesg's line asks for; if it names an Xid, look it up in NVIDIA's Xid catalog. Often a reboot is"
        " needed.",
        evidence=(
            documented(
                "Xid messages are the kernel module's reports of GPU errors", "NVIDIA, XID Errors, Introduction"
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_UNKNOWN": 30, "CUDA_ERROR_NOT_INITIALIZED": 10},
            calls=("cuInit",),
            words=(r"\bXid\b", r"fallen off the bus"),
        ),
    ),
    Cause(
        id="driver-system-not-ready",
        title="A service that the driver needs is not running, such as Fabric Manager",
        why="Where GPUs are connected through NVSwitch, CUDA waits for Fabric Manager to set the links up; until then"
        " cuInit returns 802.",
        tell=(
            doctor("error[driver-system-not-ready]"),
            Tell("systemctl status nvidia-fabricmanager", "it is not active, or of another version than the driver"),
        ),
        fix="Install nvidia-fabricmanager of exactly the driver's version, then: sudo systemctl enable --now "
        "nvidia-fabricmanager.",
        evidence=(
            documented(
                "CUDA_ERROR_SYSTEM_NOT_READY: verify that all required driver daemons are actively running", DRIVER_API
            ),
            reported(
                "Fabric Manager is required on all systems with several GPUs and NVSwitch, and sets up their links",
                "https://github.com/NVIDIA/NVSentinel/issues/883",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_SYSTEM_NOT_READY": 95}, calls=("cuInit",), words=(r"fabric ?manager", r"nvswitch")
        ),
    ),
    Cause(
        id="driver-kernel-module-mismatch",
        title="The loaded kernel module is of another driver version than libcuda",
        why="libcuda and the kernel module speak a private protocol and must be of one version. An upgrade replaces "
        "the files at once, the loaded module only at the next boot; in a container, the host's upgrade leaves "
        "the old files behind.",
        tell=(
            doctor("error[driver-kernel-module-mismatch], with both versions"),
            Tell("nvidia-smi", "Failed to initialize NVML: Driver/library version mismatch"),
        ),
        fix="sudo reboot; restart a container whose host was upgraded.",
        evidence=(
            documented(
                "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: the versions of the display driver and the CUDA driver differ",
                DRIVER_API,
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": 60, "CUDA_ERROR_UNKNOWN": 10},
            calls=("cuInit",),
            words=(r"driver/library version mismatch", r"apt(-get)? (upgrade|install)|unattended.upgrade"),
        ),
    ),
    Cause(
        id="driver-stub-in-front",
        title="The program loads the toolkit's stub of libcuda instead of the driver's",
        why="lib64/stubs/libcuda.so of the toolkit exists to link against where no driver is installed; every call of"
        " it returns CUDA_ERROR_STUB_LIBRARY. It is taken when its directory is on the loader's path before the "
        "driver's.",
        tell=(
            doctor("error[driver-stub-in-front], and how the loader gets there"),
            Tell("LD_DEBUG=libs PROGRAM 2>&1 | grep libcuda.so", "calling init: …/stubs/libcuda.so"),
        ),
        fix="Take …/stubs out of LD_LIBRARY_PATH, /etc/ld.so.conf.d and the program's rpath; it belongs into "
        "LIBRARY_PATH or -L only.",
        evidence=(
            documented(
                "CUDA_ERROR_STUB_LIBRARY: the CUDA driver that the application has loaded is a stub library", DRIVER_API
            ),
            reported("stubs in LD_LIBRARY_PATH, removing it mended it", "https://github.com/numba/numba/issues/8985"),
            reported(
                "Maintainer: the stub's directory is searched before the driver's",
                "https://github.com/NVIDIA/warp/issues/219",
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_STUB_LIBRARY": 98}, calls=("cuInit",), words=(r"stub library", r"/stubs\b")),
        beliefs=("A libcuda.so from the toolkit can stand in for a missing driver: every call of it returns 34.",),
    ),
    Cause(
        id="driver-compat-in-front",
        title="A forward-compatibility libcuda is loaded on a driver or GPU that does not take it",
        why="cuda-compat brings a libcuda that is newer than the installed driver. On a driver that is newer than it,"
        " cuInit returns 803; on GPUs that forward compatibility is not for, 804.",
        tell=(
            doctor("error[driver-compat-in-front], with both versions"),
            Tell("ldconfig -p | grep libcuda.so.1; echo $LD_LIBRARY_PATH", "a directory named compat comes first"),
        ),
        fix="Take the compat directory off the loader's path, or enable it only on hosts whose driver is older than "
        "it.",
        evidence=(
            documented(
                "Forward compatibility is for data center GPUs and some others, and for drivers older than the package",
                COMPATIBILITY,
            ),
            reported(
                "compat put first by ldconfig where the host needs its own driver",
                "https://github.com/NVIDIA/nvidia-container-toolkit/pull/1679",
            ),
            reported(
                "compat forced on every host fails on newer ones", "https://github.com/NVIDIA-NeMo/labs-molt/pull/44"
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": 75, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": 95},
            calls=("cuInit", "cudaGetDeviceCount"),
            words=(r"cuda[-/]compat|forward[- ]compat|/compat\b",),
        ),
        cases=("compat_libcuda_shadowing_native",),
    ),
    Cause(
        id="driver-wsl-not-found",
        title="Under WSL, the Windows driver's libcuda is not found, or a Linux driver's is in front",
        why="WSL keeps libcuda in /usr/lib/wsl/lib. A program that opens libcuda.so, a name that the loader's cache "
        "does not list, fails to; so does one whose loader path lacks the directory. A Linux driver installed in "
        "WSL hides the right one.",
        tell=(
            doctor("error[driver-wsl-not-found], with both names and where they lead"),
            Tell("ldconfig -p | grep libcuda; ls /usr/lib/wsl/lib", "libcuda.so is in the directory, not in the cache"),
        ),
        fix="export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH; remove any Linux driver that was installed in "
        "WSL.",
        evidence=(
            documented(
                "No Linux display driver may be installed in WSL; the Windows driver is the only one",
                "CUDA on WSL User Guide",
            ),
            reported(
                "libcudnn_cnn_infer opens libcuda.so; a link mended it",
                "https://github.com/facebookresearch/nougat/issues/105",
            ),
            reported("libcuda.so is not cached by ldconfig in WSL", "https://github.com/NVIDIA/cuda-python/issues/17"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 15, "cudaErrorInsufficientDriver": 10},
            words=(r"\bwsl", r"dlopen libcuda\.so"),
        ),
        cases=("wsl_libcuda_name_not_resolvable",),
    ),
    Cause(
        id="driver-too-old",
        title="The driver is older than the CUDA release that the program or a library needs",
        why="A driver runs programs of its own CUDA major version and of older ones. The runtime of a newer major "
        "version reports cudaErrorInsufficientDriver, and libraries above it say only that they are not "
        "initialised.",
        tell=(
            doctor("error[driver-too-old], with what the driver supports and who needs more"),
            Tell("nvidia-smi", "CUDA Version in its head is lower than the program's"),
        ),
        fix="Install a newer driver (CUDA 13: 580.65.06 or later; CUDA 12: 525.60.13), or the program's build for the"
        " driver's CUDA version.",
        evidence=(
            documented(
                "CUDA 13.x needs a driver of 580 or later, 12.x of 525, 11.x of 450",
                f"{COMPATIBILITY}minor-version-compatibility.html",
            ),
            documented(
                "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER: incompatible CUDA driver",
                "cuDNN 9.28, cudnn_graph.h, cudnnStatus_t",
            ),
            documented("Table of the oldest driver for each toolkit", RELEASE_NOTES),
            reported(
                "Driver 384 with CUDA 9 and cuDNN 7: not initialised", "https://github.com/localminimum/QANet/issues/5"
            ),
            reported(
                "Driver 3xx with kernels of CUDA 9.2: invalid PTX", "https://github.com/openmm/openmm/issues/2847"
            ),
            reported("The failed initialisation was reported as a fork", "https://github.com/numba/numba/issues/2673"),
            reported("A miner needs a newer driver: invalid PTX", "https://github.com/nicehash/excavator/issues/54"),
        ),
        signs=Signs(
            errors={
                "cudaErrorInsufficientDriver": 80,
                "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER": 90,
                "CUDA_ERROR_INVALID_PTX": 20,
                "CUDNN_STATUS_NOT_INITIALIZED": 20,
                "CUDA_ERROR_INVALID_IMAGE": 10,
            },
            calls=("cudaGetDeviceCount", "cudnnCreate"),
            words=(
                r"insufficient driver|driver version is insufficient",
                r"driver .{0,20}too old|old(er)? driver|update (your )?driver",
            ),
        ),
        beliefs=(
            "The CUDA version in nvidia-smi is the installed toolkit's: it is the newest that the driver supports.",
        ),
        cases=("driver_too_old",),
    ),
    Cause(
        id="ptx-compiler-missing",
        title="libnvidia-ptxjitcompiler of the driver is missing, or of another driver version",
        why="libcuda compiles PTX with libnvidia-ptxjitcompiler.so.1, which it opens by that name. Minimal "
        "installations and hand-made containers leave it out; remains of an older driver are found instead of it.",
        tell=(
            doctor("warning[ptx-compiler-missing]"),
            Tell("ldconfig -p | grep ptxjitcompiler", "nothing, or a file of another version than libcuda's"),
        ),
        fix="Install all libraries of the driver's version; in containers let the NVIDIA Container Toolkit mount them"
        " (compute capability).",
        evidence=(
            documented("CUDA_ERROR_JIT_COMPILER_NOT_FOUND: the PTX JIT compiler library was not found", DRIVER_API),
            reported(
                "LD_DEBUG shows libcuda searching libnvidia-ptxjitcompiler.so.1",
                "https://github.com/anduril/jetpack-nixos/issues/184",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_JIT_COMPILER_NOT_FOUND": 95},
            calls=("cuModuleLoadData", "cuModuleLoadDataEx", "cuLinkCreate", "cuLibraryLoadData"),
            words=(r"ptxjitcompiler", r"JIT compiler library not found"),
        ),
    ),
)

DEVICES = (
    Cause(
        id="device-none-visible",
        title="There is a GPU, but none is visible to the program",
        why="CUDA_VISIBLE_DEVICES lists the GPUs that a program sees. Empty, -1, a number past the last GPU or an "
        "unknown UUID in the first place leaves none; job schedulers and notebooks set it without saying so.",
        tell=(
            doctor("error[device-none-visible], with the variable's value and what is wrong in it"),
            Tell('echo "[$CUDA_VISIBLE_DEVICES]"; nvidia-smi -L', "a value that names none of the listed GPUs"),
        ),
        fix="unset CUDA_VISIBLE_DEVICES, or name a GPU of nvidia-smi -L; it is read when the program first calls CUDA.",
        evidence=(
            documented("Set to an empty string, no GPU devices are visible", ENVIRONMENT),
            documented("Only devices before the first invalid index are visible", ENVIRONMENT),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 60, "CUDNN_STATUS_NOT_INITIALIZED": 5},
            calls=("cuInit", "cudaGetDeviceCount", "cudaSetDevice"),
            words=(r"CUDA_VISIBLE_DEVICES", r"no CUDA-capable device"),
        ),
    ),
    Cause(
        id="device-list-truncated",
        title="CUDA_VISIBLE_DEVICES has a wrong entry, and the GPUs after it are not visible",
        why="The list is read up to the first entry that names no GPU; that entry and all after it are ignored "
        "without a message.",
        tell=(doctor("warning[device-list-truncated], with the entry"),),
        fix="Write the list with numbers or UUIDs of nvidia-smi -L.",
        evidence=(documented("Only devices before the first invalid index are visible", ENVIRONMENT),),
        signs=Signs(
            errors={"CUDA_ERROR_INVALID_DEVICE": 40}, calls=("cudaSetDevice",), words=(r"CUDA_VISIBLE_DEVICES",)
        ),
    ),
    Cause(
        id="device-order-differs",
        title="CUDA numbers the GPUs differently than nvidia-smi does",
        why="CUDA counts the fastest GPU first, unless CUDA_DEVICE_ORDER=PCI_BUS_ID; nvidia-smi counts by PCI bus. "
        "With GPUs of different kinds the same number then means another GPU, with another architecture and "
        "memory.",
        tell=(doctor("note[device-order-differs], with nvidia-smi's order"),),
        fix="export CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID.",
        evidence=(documented("CUDA_DEVICE_ORDER: FASTEST_FIRST (default) or PCI_BUS_ID", ENVIRONMENT),),
        signs=Signs(errors={"CUDA_ERROR_NO_BINARY_FOR_GPU": 5}, words=(r"CUDA_DEVICE_ORDER", r"wrong gpu")),
    ),
    Cause(
        id="device-mig-without-instances",
        title="MIG mode is on, but no MIG device was made",
        why="In MIG mode a GPU is used through its MIG devices only; without GPU and compute instances there is "
        "nothing to run on.",
        tell=(
            doctor("error[device-mig-without-instances]"),
            Tell("nvidia-smi -L", "the GPU without any MIG line below it, and nvidia-smi shows MIG M. Enabled"),
        ),
        fix="sudo nvidia-smi mig -cgi <profile> -C, or turn MIG mode off: sudo nvidia-smi -mig 0.",
        evidence=(
            documented(
                "Without creating GPU instances and compute instances, CUDA workloads cannot be run on the GPU",
                "NVIDIA Multi-Instance GPU User Guide, Getting Started with MIG, Creating GPU Instances",
            ),
        ),
        signs=Signs(errors={"CUDA_ERROR_NO_DEVICE": 10}, words=(r"\bMIG\b",)),
    ),
    Cause(
        id="device-node-permission",
        title="The user may not open the GPU's device nodes",
        why="libcuda opens /dev/nvidiactl, /dev/nvidia<N> and /dev/nvidia-uvm for reading and writing. Where their "
        "mode, their group or the container's device rules refuse that, no device is found, and libraries above "
        "say that they are not initialised.",
        tell=(
            doctor("error[device-node-permission], with each node and its mode"),
            Tell("ls -l /dev/nvidia*; id", "nodes that neither the user nor its groups may write"),
        ),
        fix="Join the nodes' group (video or render), or set NVreg_DeviceFileMode=0666; in containers pass the group "
        "or ask for the GPU by --gpus.",
        evidence=(
            documented(
                "NVreg_DeviceFileUID, _GID and _Mode set owner and mode of the nodes",
                "NVIDIA Linux Driver README, Chapter 8",
            ),
            reported(
                "A mapped user in a Jetson container; as root it works", "https://github.com/ceccocats/tkDNN/issues/282"
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_NO_DEVICE": 15, "CUDNN_STATUS_NOT_INITIALIZED": 12, "CUDA_ERROR_OPERATING_SYSTEM": 20},
            calls=("cuInit", "cudnnCreate"),
            words=(
                r"permission denied",
                r"/dev/(nvidia|nvhost|nvmap)",
                r"\b(non-?root|as root|sudo|video group)\b",
            ),
        ),
        cases=("device_node_permission",),
    ),
    Cause(
        id="device-node-missing",
        title="The kernel module is loaded, but the GPU's device nodes are missing",
        why="/dev/nvidiactl, /dev/nvidia<N> and /dev/nvidia-uvm are made when the driver is first used, by "
        "nvidia-modprobe or udev. A container started before that, or with a hand-made list of devices, lacks "
        "them.",
        tell=(doctor("error[device-node-missing]"), Tell("ls /dev/nvidia*", "one of the three is not there")),
        fix="sudo nvidia-modprobe -c 0 -u on the host; start containers with --gpus all.",
        evidence=(
            documented("nvidia-modprobe makes the device files", "nvidia-modprobe(1)"),
            reported(
                "/dev/nvidia-uvm was missing in a container; nvidia-modprobe -c 0 -u on the host mends it",
                "https://github.com/pytorch/pytorch/issues/49081",
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_UNKNOWN": 20, "CUDA_ERROR_NO_DEVICE": 10}, calls=("cuInit",), words=(r"nvidia-uvm",)
        ),
    ),
    Cause(
        id="device-compute-mode",
        title="The GPU's compute mode keeps the program out",
        why="In mode Prohibited no program may make a context; in Exclusive Process only one at a time may.",
        tell=(
            doctor("error[device-compute-mode], with the mode and who has the GPU"),
            Tell("nvidia-smi -q -d COMPUTE", "Compute Mode: Prohibited or Exclusive_Process"),
        ),
        fix="sudo nvidia-smi -c DEFAULT, end the process that has the GPU, or share it through MPS.",
        evidence=(
            documented(
                "CUDA_ERROR_DEVICE_UNAVAILABLE: devices may be unavailable because of the compute mode, or "
                "because another process uses them",
                DRIVER_API,
            ),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_DEVICE_UNAVAILABLE": 80, "CUDA_ERROR_INVALID_DEVICE": 15},
            calls=("cuCtxCreate", "cuDevicePrimaryCtxRetain", "cudaSetDevice"),
            words=(r"busy or unavailable", r"exclusive.process|compute mode"),
        ),
    ),
    Cause(
        id="device-mps",
        title="The program runs as a client of a Multi-Process Service",
        why="Where a control daemon's pipe is in CUDA_MPS_PIPE_DIRECTORY (/tmp/nvidia-mps), programs connect to it. "
        "They then have the server's view of the GPUs, its limits, and a fatal fault of one client can end the "
        "others.",
        tell=(
            doctor("note[device-mps]"),
            Tell("ps -e | grep nvidia-cuda-mps", "the daemon, or only its pipe left behind"),
        ),
        fix="If it is not wanted: echo quit | nvidia-cuda-mps-control. Set CUDA_VISIBLE_DEVICES for the daemon or for"
        " the client, not both by number.",
        evidence=(
            documented(
                "CUDA_MPS_PIPE_DIRECTORY; CUDA_VISIBLE_DEVICES set for daemon and client is an error",
                "Multi-Process Service, Appendix",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_MPS_CONNECTION_FAILED": 90,
                "CUDA_ERROR_MPS_SERVER_NOT_READY": 90,
                "CUDA_ERROR_MPS_RPC_FAILURE": 90,
                "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED": 90,
                "CUDA_ERROR_MPS_CLIENT_TERMINATED": 90,
            },
            words=(r"\bMPS\b", r"nvidia-cuda-mps"),
        ),
    ),
    Cause(
        id="gpu-not-supported-by-framework",
        title="The installed framework has no code for this GPU's architecture",
        why="A wheel holds machine code for some architectures and PTX for few. On a GPU that is older or newer than "
        "these, the first kernel fails, or a library's handle cannot be made.",
        tell=(
            doctor("error[gpu-not-supported-by-framework], with both architectures"),
            Tell('python -c "import torch; print(torch.cuda.get_arch_list())"', "no entry for this GPU"),
        ),
        fix="Install a build of the framework for this GPU: a newer CUDA version for new GPUs, an older one for GPUs "
        "that were dropped.",
        evidence=(
            reported(
                "A GPU of compute capability 3.0 with a build without it",
                "https://github.com/opencv/opencv/issues/16074",
            ),
            reported(
                "torch 1.13.1+cu117 instead of a newer one, on a K80",
                "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9589",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_NO_BINARY_FOR_GPU": 40,
                "CUDNN_STATUS_NOT_INITIALIZED": 12,
                "CUDNN_STATUS_ARCH_MISMATCH": 90,
            },
            calls=("cudnnCreate",),
            words=(
                r"compute capability",
                r"not compatible with the current|no longer supports",
                r"\bsm_\d+\b",
                r"\b[KM]\d0\b",
            ),
        ),
        cases=("gpu_compute_capability_unsupported",),
    ),
)

MEMORY = (
    Cause(
        id="device-memory-held",
        title="Another process holds nearly all memory of the GPU",
        why="An earlier run that did not end, a notebook, or another user's program has it. A cuDNN or cuBLAS handle is among"
        " the first that find none, and reports that it is not initialized instead of out of memory.",
        tell=(
            doctor("warning[device-memory-held], with the free memory and the processes that hold the rest"),
            Tell("nvidia-smi", "Memory-Usage near the total, and the processes"),
        ),
        fix="End the process that holds it, or use another GPU: CUDA_VISIBLE_DEVICES=<number>.",
        evidence=(
            reported("The GPU was full when the handle was made", "https://github.com/haotian-liu/LLaVA/issues/392"),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_OUT_OF_MEMORY": 35,
                "CUDNN_STATUS_NOT_INITIALIZED": 34,
                "CUDNN_STATUS_INTERNAL_ERROR": 20,
                "CUDNN_STATUS_ALLOC_FAILED": 30,
                "CUBLAS_STATUS_NOT_INITIALIZED": 36,
                "CUBLAS_STATUS_ALLOC_FAILED": 30,
                "CUSOLVER_STATUS_INTERNAL_ERROR": 20,
            },
            calls=("cudnnCreate", "cublasCreate"),
            words=(r"(another|other|zombie|leftover) process", r"nvidia-smi"),
        ),
        cases=("gpu_oom_at_handle_creation", "framework_preallocated_all_memory"),
    ),
    Cause(
        id="memlock-limit",
        title="The limit on locked memory is too small to register buffers for RDMA",
        why="RDMA needs its buffers locked, within RLIMIT_MEMLOCK. Containers and login sessions often allow 64 KiB "
        "to 8 MiB.",
        tell=(doctor("note[memlock-limit], with the limit"), Tell("ulimit -l", "a small number instead of unlimited")),
        fix="docker run --ulimit memlock=-1; otherwise memlock unlimited in /etc/security/limits.conf.",
        evidence=(
            documented("Docker's default limits are too small for NCCL: --shm-size=1g --ulimit memlock=-1", NCCL),
        ),
        signs=Signs(
            errors={"ncclSystemError": 30}, words=(r"memlock|ulimit -l", r"ibv_reg_mr", r"cannot allocate memory")
        ),
    ),
    Cause(
        id="cgroup-memory-limit",
        title="Pinned memory goes past the cgroup's limit, and the kernel kills the program",
        why="In a container /proc/meminfo shows the host's memory. Pinned memory is charged to the container's cgroup"
        " and cannot be swapped: a program that sizes its pinned pool by /proc/meminfo passes the limit and is "
        "killed without an error code.",
        tell=(
            doctor("warning[cgroup-memory-limit], with limit and headroom"),
            Tell(
                "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.current; dmesg | grep -i oom",
                "a limit below MemTotal; a kill",
            ),
        ),
        fix="Size pinned memory by memory.max less what is held (page cache not counted), or raise the limit: docker "
        "run --memory.",
        evidence=(
            documented(
                "memory.max is the hard limit; the OOM killer is invoked when it cannot be kept",
                "Linux kernel, Control Group v2",
            ),
            reported("Pinning by MemAvailable was killed in containers", "https://github.com/kekzl/imp/pull/2070"),
        ),
        signs=Signs(
            errors={"SIGKILL": 40, "CUDA_ERROR_OUT_OF_MEMORY": 5},
            calls=("cudaHostAlloc", "cudaMallocHost", "cudaHostRegister"),
            words=(
                r"oom[- ]?kill",
                r"cgroup|memory\.max",
                r"\b(docker|kubernetes|container)\b",
                r"\bpin(ned|ning|s)?\b",
            ),
        ),
        cases=("cgroup_limit_ignored_by_pin_budget",),
    ),
    Cause(
        id="wsl-pinned-memory-limit",
        title="WSL limits pinned host memory",
        why="Under WSL the amount of host memory that can be pinned is limited, below that of the virtual machine. A "
        "program that pins much gets out of memory, though the GPU's memory is free.",
        tell=(
            doctor("note[wsl-pinned-memory-limit]"),
            Tell("run with less pinned memory (PyTorch: pin_memory=False)", "the error is gone"),
        ),
        fix="Pin less, or give WSL more memory: memory= in %UserProfile%\\.wslconfig, then wsl --shutdown.",
        evidence=(
            documented(
                "Pinned system memory availability is limited",
                "CUDA on WSL User Guide, Known Limitations for Linux CUDA Applications",
            ),
            reported("pin_memory=False removes the error", "https://github.com/microsoft/WSL/issues/8447"),
        ),
        signs=Signs(
            errors={"CUDA_ERROR_OUT_OF_MEMORY": 10},
            calls=("cudaHostAlloc", "cudaMallocHost", "cudaHostRegister"),
            words=(r"\bwsl", r"pin_memory|pinned"),
        ),
        cases=("wsl_pinned_memory_limit",),
    ),
)

LIBRARIES = (
    Cause(
        id="cudart-several-copies",
        title="Several CUDA runtimes are in one process",
        why="They are copies of libcudart, or one linked statically into each library. Each has its own registered kernels,"
        " launch configuration and last error. Where several shared objects define the same kernel or launcher (a template, a"
        " static library linked into each), the loader takes one of them for all, and registration and launch may mean"
        " different runtimes: a kernel is not found or is skipped without an error, a handle is invalid.",
        tell=(
            doctor("warning or note[cudart-several-copies], with each copy in the loader's order"),
            Tell("grep libcudart /proc/PID/maps", "two different paths"),
            Tell(
                "nm -DC A.so B.so | grep KERNEL", "the kernel's host function exported (W or T) by more than one file"
            ),
        ),
        fix="Let all libraries use one shared libcudart (nvcc -cudart shared, packages of one CUDA major version); give kernels"
        " internal linkage (static, an anonymous namespace) or hidden visibility.",
        evidence=(
            reported("A system copy beside PyTorch's gave 400", "https://github.com/NVIDIA/cuda-quantum/issues/4236"),
            reported(
                "one kernel in several shared objects: failures at run time, mended by internal linkage",
                "https://github.com/NVIDIA/cudf/issues/14734",
            ),
            reported(
                "a launch was configured in one statically linked runtime and made in another: the kernel was skipped",
                "https://github.com/pytorch/FBGEMM/pull/5963",
            ),
        ),
        signs=Signs(
            errors={
                "CUDA_ERROR_INVALID_HANDLE": 12,
                "CUDA_ERROR_NOT_FOUND": 8,
                "cudaErrorInvalidDeviceFunction": 15,
                "cudaErrorMissingConfiguration": 30,
            },
            calls=("__cudaPushCallConfiguration", "__cudaPopCallConfiguration", "__cudaRegisterFatBinary"),
            words=(
                r"libcudart",
                r"(two|several|duplicate) (copies|runtimes)|duplicate (symbol|.{0,20}(runtime|cudart))",
                r"(multiple|several) (dsos?|shared (objects|libraries))|static(ally)? (linked )?lib\w*",
            ),
        ),
        cases=("duplicate_cudart_in_process", "duplicate_kernel_symbols_across_dsos"),
    ),
)

CAUSES = (*DRIVER, *DEVICES, *MEMORY, *LIBRARIES)
