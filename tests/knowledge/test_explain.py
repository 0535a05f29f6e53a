"""``cuvet explain``: what is asked, what is answered."""

from __future__ import annotations

import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from cuvet import CuvetError
from cuvet.cli import main
from cuvet.commands import explain
from cuvet.knowledge import logs
from cuvet.knowledge.explanation import Explanation, explain_log
from cuvet.knowledge.search import MOST_CAUSES
from cuvet.reports.explanation import SCHEMA_FILE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> Explanation:
    assert main(["explain", "--format", "json", *arguments]) == 0
    return msgspec.json.decode(capsys.readouterr().out, type=Explanation)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    return [error.names[0] for error in ask(capsys, *arguments).errors]


@pytest.mark.parametrize(
    "words",
    [
        ["400"],
        ["0x190"],
        ["33"],
        ["cudaErrorInvalidResourceHandle"],
        ["cudaerrorinvalidresourcehandle"],
        ["invalid resource handle"],
        ["invalid", "resource", "handle"],
        ["CUDA error: invalid resource handle"],
        ["error", "400", "cudaEventRecord"],
        ["400", "--api", "driver"],
        ["400", "--api", "runtime"],
    ],
)
def test_one_error_asked_for_in_many_ways(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, *words) == ["CUDA_ERROR_INVALID_HANDLE"]


def test_a_number_gives_every_api_and_api_narrows(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"CUDA_ERROR_INVALID_VALUE", "CUDNN_STATUS_NOT_INITIALIZED", "ncclUnhandledCudaError"} <= set(
        asked(capsys, "1")
    )
    assert asked(capsys, "1", "--api", "cudnn") == ["CUDNN_STATUS_NOT_INITIALIZED"]
    assert asked(capsys, "-11") == ["SIGSEGV"]


def test_a_document_is_valid(validator: jsonschema.Draft202012Validator, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["400"],
        ["1", "--all"],
        ["driver-too-old"],
        ["CUDA error 400 in cudaEventRecord\nSegmentation fault"],
    ):
        main(["explain", "--format", "json", *words])
        validator.validate(json.loads(capsys.readouterr().out))


def test_the_schema_is_that_of_the_types() -> None:
    tool = runpy.run_path(str(ROOT / "tools/generate_schema.py"))
    assert tool["schema"](*tool["SCHEMAS"][SCHEMA_FILE]) == SCHEMA_FILE.read_text()


def test_three_causes_are_told_and_the_rest_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    few, all_of_them = ask(capsys, "CUDA_ERROR_NO_DEVICE"), ask(capsys, "CUDA_ERROR_NO_DEVICE", "--all")
    assert len(few.causes) == MOST_CAUSES
    assert few.causes == all_of_them.causes[:MOST_CAUSES]
    assert (few.more_causes, all_of_them.more_causes) == (len(all_of_them.causes) - MOST_CAUSES, 0)
    scores = [cause.score for cause in all_of_them.causes]
    assert scores == sorted(scores, reverse=True) and min(scores) > 0


def test_a_call_changes_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    alone, with_call = ask(capsys, "100", "--all"), ask(capsys, "100 from cuInit", "--all")
    scores = {cause.id: cause.score for cause in alone.causes}
    assert any(cause.score > scores.get(cause.id, 0) and "cuInit" in cause.signs for cause in with_call.causes)


def test_a_cause_alone(capsys: pytest.CaptureFixture[str]) -> None:
    (cause,) = ask(capsys, "Driver-Nouveau").causes
    assert (cause.id, cause.tell[0].command) == ("driver-nouveau", "cuvet doctor")
    assert main(["explain", "driver-nouveau"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The GPU is driven by nouveau")
    assert "= how to tell: cuvet doctor → error[driver-nouveau]" in out
    assert "= fix: " in out and "= documented: " in out


def test_the_verdict_comes_first_and_the_answer_ends_within_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "CUDA_ERROR_NO_DEVICE", "cuInit"])
    out = capsys.readouterr().out
    verdict = "CUDA_ERROR_NO_DEVICE, cudaErrorNoDevice: 100 (38 in the runtime of CUDA 10.0 and older); likely cause: "
    assert out.startswith(verdict)
    assert out.count("\nor: ") == 2 and out.count("= how to tell: ") == out.count("= fix: ") == 3
    assert "less likely causes, sources and all else: cuvet explain --all 'CUDA_ERROR_NO_DEVICE cuInit'" in out
    assert len(out.splitlines()) <= 25
    main(["explain", "--all", "CUDA_ERROR_NO_DEVICE", "cuInit"])
    full = capsys.readouterr().out
    assert full.startswith(verdict) and full.index("\n1. ") < full.index("\n2. ") < full.index("\n20. ")


def test_too_little_is_not_known_and_checks_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gpu went away, waiting for the triton engine cache"]) == 2
    out = capsys.readouterr().out
    assert out.startswith("not known to cuvet; what would tell:\n   = check: ")
    assert 1 <= out.count("= check: ") <= 3 and " → " in out and "= fix" not in out
    assert main(["explain", "--format", "json", "gpu went away, waiting for the triton engine cache"]) == 2
    found = msgspec.json.decode(capsys.readouterr().out, type=Explanation)
    assert not found.known and not found.causes and found.checks


def test_less_is_enough_where_the_same_line_tells_of_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "Error: the triton engine cache is not compatible with the gpu").known
    assert main(["explain", "the triton engine cache of the gpu\nerror: it rains\n"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        "it rains",
        "mat1 and mat2 shapes cannot be multiplied (1x18 and 512x1024)",
        "fatal error: Python.h: No such file or directory",
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
        "ImportError: DLL load failed while importing _ssl: The specified module could not be found.",
        "docker: Error response from daemon: pull access denied for myimage, repository does not exist",
        "OCI runtime create failed: runc create failed: unable to start container process: exec: bash: not found",
        "/usr/bin/ld: cannot find -lboost_system",
        "Error! Bad return status for module build on kernel: 6.10 Consult /var/lib/dkms/wireguard/1.0/build/make.log dkms",
        'hip_code_object.cpp:120: guarantee(false && "hipErrorNoBinaryForGpu: Couldn\'t find binary for current devices!")',
        "vkCreateInstance failed: VK_ERROR_INCOMPATIBLE_DRIVER",
        "exceeded the memory limit",
        "slurmstepd: error: Exceeded job memory limit",
        "KeyError: 'HOME'",
        "NameError: name '_C' is not defined",
        "Must have at least one device",
        "service web: Additional properties are not allowed ('networks_mode' was unexpected)",
        "Unsupported config option for services.web: 'buildx'",
        'exec: "python": executable file not found in $PATH: unknown',
        'main.cpp(3): error: namespace "std" has no member "filesystem"',
        "error C2039: 'foo': is not a member of 'std'",
        "Unknown encoder 'libx265'",
        "the requested functionality is not supported",
        "Launch failed in customer portal",
        "invalid value in cursor",
        "ValueError: Expected a 'cpu' device type for generator but found 'mps'",
        "/usr/lib/libfoo.so: file too short",
        "a.cpp:3:1: error: 'vector' does not name a type",
        "a.cpp:9:2: error: expected primary-expression before '<' token",
        'a.cpp(9): error: no suitable constructor exists to convert from "float" to "std::string"',
        "Error(s) in loading state_dict for ResNet: size mismatch for fc.weight: torch.load(path, map_location=device)",
        "_pickle.UnpicklingError: invalid load key, 'v'. in torch.load(f, map_location)",
        "src/util.cpp:3: redefinition of 'max3'",
        "/usr/bin/ld: cannot find -lpython3.8",
        "./app: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./app)",
        "modprobe: ERROR: could not insert 'wireguard': No such device",
        "zpool: failed to set property: insufficient permissions",
        "foo.so: undefined symbol: _ZN3foo3barEv",
        "error: failed to push some refs: the request was rejected by the driver of the queue",
        "ERROR: No matching distribution found for sklearn==0.0",
        "The following packages have unmet dependencies: vlc : Depends: libqt5gui5 but it is not going to be installed",
        "W: GPG error: http://ppa.launchpad.net/x focal InRelease: NO_PUBKEY 6A030B21BA07F4FB",
        "rmmod: ERROR: Module wireguard is in use",
        "ResolvePackageNotFound: openblas=0.3",
        "TypingError: Failed in nopython mode pipeline (step: nopython frontend)",
    ],
)
def test_an_everyday_message_has_no_cause(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", words]) == 2
    shown = capsys.readouterr()
    assert "not known to cuvet" in shown.out + shown.err and "cause:" not in shown.out


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("Mismatched NCCL version detected : rank 1 version 22705 rank 0 version 22703", "nccl-versions-differ"),
        ("rank0: NCCL version 2.20.5+cuda12.4\nrank1: NCCL version 2.19.3+cuda12.3\nit hangs", "nccl-versions-differ"),
        ("ImportError: libc10.so: cannot open shared object file", "extension-imported-before-torch"),
        ("fatal error: cuda_runtime.h: No such file or directory", "toolkit-header-not-found"),
        ("ktmig.cu(56): error: texture is not a template", "source-removed-entry-point"),
        ('config.toml: root = "/run/nvidia/driver"', "container-toolkit-wrong-driver-root"),
        ("error: DLL load failed while importing _C: torch", "windows-dll-directory-not-searched"),
        ("libgomp-d22c30c5.so.1: cannot allocate memory in static TLS block", "static-tls-exhausted"),
        ("KeyError: 'CUDA_VISIBLE_DEVICES'", "visible-devices-not-set"),
        ("CUDA memory: exceeded the memory limit", "memory-pool-limit"),
        (
            "ptxas error : Entry function 'k' uses too much shared data (0xf000 bytes, 0xc000 max)",
            "kernel-shared-memory-over-limit",
        ),
        ("value Additional properties are not allowed ('devices' was unexpected)", "compose-too-old-for-gpus"),
        ("nvcc fatal   : Unknown option '-Wall'", "host-option-given-to-nvcc"),
        ("nvcc fatal   : Unknown option '-generate-dependencies-with-compile'", "wrong-nvcc-on-path"),
        ('a.cu(121): error: class "cudaDeviceProp" has no member "memoryClockRate"', "source-removed-member"),
        ("error C2039: 'clockRate': is not a member of 'cudaDeviceProp'", "source-removed-member"),
        (
            'a.cu(3): error: calling a __host__ function("f") from a __global__ function("k")',
            "host-function-in-device-code",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_20'", "toolkit-dropped-gpu"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_native'", "cmake-does-not-know-native"),
        ("a.cpp:3:1: error: '__global__' does not name a type", "cuda-source-compiled-as-cpp"),
        (
            'a.cu(9): error: no suitable constructor exists to convert from "float" to "__half"',
            "function-of-newer-architecture",
        ),
        ('avx512fintrin.h(9): error: identifier "__builtin_ia32_x" is undefined', "host-compiler-not-supported"),
        ('exec: "nvidia-container-runtime-hook": executable file not found in $PATH', "container-toolkit-missing"),
        ("csrc/roi.cpp:1:21: fatal error: THC/THC.h: No such file or directory", "torch-header-removed"),
        ('a.cu(7): error: cannot open source file "THC/THCAtomics.cuh"', "torch-header-removed"),
        ('a.cu(9): error: identifier "THCudaCheck" is undefined', "torch-header-removed"),
        (
            'a.cu(35): error: function "atomicAdd(double *, double)" has already been defined',
            "source-redefines-toolkit-function",
        ),
        ("tcc: error: include file 'Python.h' not found in cuda_utils.c", "python-headers-missing"),
        ("ibv_reg_mr of the GPU buffer failed: Bad address", "peer-memory-module-missing"),
        ("Neither nv_peer_mem, or nvidia_peermem detected", "peer-memory-module-missing"),
        ("Using more than 32 (40) decode surfaces might cause nvdec to fail.", "nvdec-too-many-surfaces"),
        (
            "/lib/libc.so.6: version `GLIBC_2.34' not found (required by /.singularity.d/libs/libGLdispatch.so.0)",
            "container-libc-older-than-driver-libraries",
        ),
        ("NVRM: Xid (PCI:0000:01:00): 8, pid=1234, Channel 00000010", "kernel-timed-out"),
        ("NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.", "hardware-fault"),
        ("WARNING: infoROM is corrupted at gpu 0000:01:00.0", "hardware-fault"),
        ("libnvdla_compiler.so: cannot open shared object file", "jetson-container-of-other-l4t"),
        ("GPU 00000000:01:00.0: No MIG devices found.", "device-mig-without-instances"),
        ("Unable to set persistence mode for GPU 0000:01:00.0: Insufficient Permissions", "not-permitted"),
        ("libcusparseLt.so.0: failed to map segment from shared object", "address-space-limit"),
        ("Failed to find nvToolsExt", "toolkit-package-of-other-release"),
        ("cuFileDriverOpen failed: 5001, nvidia-fs driver is not loaded", "gpudirect-storage-not-set-up"),
        (
            "InvalidIRError: compiling MethodInstance for k(::CuDeviceVector{Float32, 1}) resulted in invalid LLVM IR",
            "kernel-not-translatable",
        ),
        (
            "numba.core.errors.TypingError: Failed in cuda mode pipeline (step: nopython frontend)",
            "kernel-not-translatable",
        ),
        ("both onnxruntime and onnxruntime-gpu are installed", "two-builds-of-package-installed"),
        ("ERROR: No matching distribution found for torch==1.7.1+cu110", "package-index-lacks-wheel"),
        (
            "ERROR: tensorrt-8.6-cp36-none-linux_x86_64.whl is not a supported wheel on this platform.",
            "package-index-lacks-wheel",
        ),
        ("LibMambaUnsatisfiableError: nothing provides __cuda needed by pytorch-2.1.0", "conda-sees-no-driver"),
        (
            "W: GPG error: https://developer.download.nvidia.com/compute/cuda/repos x86_64 InRelease: NO_PUBKEY A4B469963BF863CC",
            "package-repository-key-replaced",
        ),
        (
            "The following packages have unmet dependencies:\n cuda-drivers : Depends: nvidia-driver-550 (>= 550.54) but it is"
            " not going to be installed",
            "packages-exclude-each-other",
        ),
        ("rmmod: ERROR: Module nvidia_drm is in use", "driver-module-in-use"),
        ("01:00.0 VGA: NVIDIA GA102\n\tKernel driver in use: vfio-pci\nno CUDA GPU", "gpu-bound-to-vfio"),
        ("CUDBG_ERROR_ALL_DEVICES_WATCHDOGGED(0x18)", "debugger-cannot-take-gpu"),
        ("The code execution cannot proceed because nvcuda.dll was not found.", "driver-not-installed"),
        ("Failed to verify gcc version. See log at /var/log/cuda-installer.log", "host-compiler-not-supported"),
    ],
)
def test_a_sentence_that_one_cause_prints(words: str, cause: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, words).causes[0].id == cause


def test_one_version_of_nccl_on_every_rank_is_no_mismatch(capsys: pytest.CaptureFixture[str]) -> None:
    log = "rank0: NCCL version 2.20.5+cuda12.4\nrank1: NCCL version 2.20.5+cuda12.4\nncclInvalidUsage: NCCL failed\n"
    assert not any("NCCL version" in sign for cause in ask(capsys, log).causes for sign in cause.signs)
    main(["explain", "--all", "--format", "json", log])
    found = msgspec.json.decode(capsys.readouterr().out, type=Explanation)
    assert all(sign.lower() != "nccl version 2.20.5" for cause in found.causes for sign in cause.signs)


def test_a_container_s_prompt_is_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    failed = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    on_host = [cause.id for cause in ask(capsys, failed).causes]
    within = [cause.id for cause in ask(capsys, f"[root@24c96d985c30 /]# nvidia-smi\n{failed}").causes]
    assert "container-without-driver" in within and "container-without-driver" not in on_host


def test_each_error_of_a_log_has_its_own_call(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "cudaMalloc failed: CUDA error: out of memory\ncudaFree failed: CUDA error: invalid argument"])
    out = capsys.readouterr().out
    assert out.startswith("line 1: CUDA_ERROR_OUT_OF_MEMORY; ")
    assert "first: line 1: CUDA_ERROR_OUT_OF_MEMORY from cudaMalloc\n" in out
    assert "then: line 2: CUDA_ERROR_INVALID_VALUE from cudaFree\n" in out


def test_of_a_number_with_several_meanings_the_first_is_explained_and_the_others_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["explain", "1"])
    out = capsys.readouterr().out
    first, _, others = out.partition("\n1 is also\n")
    assert first.startswith("CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue: 1 ")
    assert "CUBLAS" not in first
    assert "   ncclUnhandledCudaError (1 in NCCL): A call of CUDA inside NCCL failed.\n" in others
    assert "   the causes of one: cuvet explain CUBLAS_STATUS_NOT_INITIALIZED\n" in others


def test_of_several_causes_the_evidence_is_told_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "CUDA_ERROR_NO_DEVICE"])
    several = capsys.readouterr().out
    assert "= documented" not in several and "= sources" not in several
    main(["explain", "--all", "CUDA_ERROR_NO_DEVICE"])
    assert "= sources: CUDA Programming Guide" in capsys.readouterr().out
    main(["explain", "device-none-visible"])
    alone = capsys.readouterr().out
    assert alone.count("= documented: ") == 2 and "= sources" not in alone


def test_what_people_wrongly_believe_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "--all", "CUDA_ERROR_INVALID_HANDLE"])
    assert "= wrong belief: The handle was destroyed: destroyed streams" in capsys.readouterr().out


def test_lines_end_before_a_wide_terminal_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    main(["explain", "700"])
    indented = [line for line in capsys.readouterr().out.splitlines() if line.startswith("   ")]
    assert 90 < max(map(len, indented)) <= 100


def test_of_success_no_cause_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "0", "--api", "runtime"])
    out = capsys.readouterr().out
    assert out.startswith("CUDA_SUCCESS, cudaSuccess: 0; ")
    assert "no cause is known" not in out


@pytest.mark.parametrize(
    ("number", "line"), [("1001", "1001 in cuDNN 9.28, 1 in 8.9"), ("CUBLAS_STATUS_NOT_SUPPORTED", "15 in cuBLAS")]
)
def test_numbers_of_libraries_name_their_release(number: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", number])
    assert line in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("words", ["Segmentation fault", "step 1\nSegmentation fault (core dumped)\n"])
def test_a_signal_alone_tells_no_cause(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", words]) == 2
    out = capsys.readouterr().out
    assert out.startswith(
        "SIGSEGV: signal 11; a signal alone tells no cause: the lines before it are needed; what would tell:"
    )
    assert "check: cuvet run -- PROGRAM" in out


@pytest.mark.parametrize("words", ["Segmentation fault in cudaEventRecord", "SIGSEGV", "139"])
def test_a_signal_with_a_function_or_looked_up_has_causes(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, words).causes


LOG = """\
loading checkpoint
Traceback (most recent call last):
  File "train.py", line 12, in <module>
RuntimeError: CUDA error: no CUDA-capable device is detected
cuDNN error: CUDNN_STATUS_NOT_INITIALIZED
Segmentation fault (core dumped)
"""


def test_a_file_and_standard_input_are_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.log").write_text(LOG)
    found = ask(capsys, str(tmp_path / "train.log"))
    assert [(one.error, one.line) for one in found.sightings] == [
        ("CUDA_ERROR_NO_DEVICE", 4),
        ("CUDNN_STATUS_NOT_INITIALIZED", 5),
        ("SIGSEGV", 6),
    ]
    assert [error.names[0] for error in found.errors] == ["CUDA_ERROR_NO_DEVICE"]
    for given in ("-", LOG):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
        again = ask(capsys, given)
        assert (again.sightings, again.causes) == (found.sightings, found.causes)


def test_a_log_in_the_terminal_names_the_first_error_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(LOG + "\x1b[2J CUDA error 400\n")
    main(["explain", str(tmp_path / "train.log")])
    out = capsys.readouterr().out
    assert out.startswith("line 4: CUDA_ERROR_NO_DEVICE; likely cause: ")
    assert "\nfirst: line 4: CUDA_ERROR_NO_DEVICE\n   | RuntimeError: CUDA error: no CUDA-capable device" in out
    assert "then: line 6: SIGSEGV" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["cudaErorInvalidValue"],
            "no error, cause or rule is called cudaErorInvalidValue; did you mean cudaErrorInvalidValue",
        ),
        (["driver-noveau"], "no error, cause or rule is called driver-noveau; did you mean driver-nouveau"),
        (["CV999999"], "no error, cause or rule is called CV999999 (see cuvet rules)"),
        (["12345678"], "no error has the number 12345678"),
        (["-5"], "no error has the number -5"),
        (["400", "--api", "cublas"], "no error of cublas has the number 400"),
        (
            ["cudaErrorInvalidValue", "--api", "cublas"],
            "no error of cublas, cause or rule is called cudaErrorInvalidValue",
        ),
        ([""], "nothing to explain: WHAT is empty (see cuvet explain -h)"),
        (["x" * 100_000], "no error, cause or rule is called xxx"),
        (["all went well\nindeed"], "no error of CUDA or its libraries was found in the log"),
        (["/"], "cannot read /: Is a directory"),
        (["y" * 1000], "no error, cause or rule is called yyy"),
        (["\udcff"], "no error, cause or rule is called \\xff"),
    ],
)
def test_what_is_unknown_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"cuvet: {line}")
    assert err.count("\n") == 1 and len(err) < 400


@pytest.mark.parametrize(
    "words",
    [
        ["qwertz"],
        ["qwertz", "asdf"],
        ["all went well\nindeed"],
        ["--api", "cudnn", "no", "kernel", "image"],
        ["\udcff"],
    ],
)
def test_what_is_unknown_is_a_document_too(
    words: list[str], validator: jsonschema.Draft202012Validator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--format", "json", *words]) == 2
    document = json.loads(capsys.readouterr().out)
    validator.validate(document)
    assert document["known"] is False and document["causes"] == []


@pytest.mark.parametrize("id", ["driver-too-old", "stream-use-after-destroy", "CV201"])
def test_an_id_is_meant_before_a_file_of_its_name(
    id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / id).write_text("CUDA error: out of memory\n")
    monkeypatch.chdir(tmp_path)
    assert main(["explain", id]) == 0
    out, err = capsys.readouterr()
    assert "out of memory" not in out.lower() and err == f"cuvet: {id} is an id; the file: ./{id}\n"
    assert ask(capsys, f"./{id}").sightings[0].error == "CUDA_ERROR_OUT_OF_MEMORY"


def test_bytes_that_are_no_text_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "CUDA error 400 \udcff").asked == "CUDA error 400 \\xff"
    assert ask(capsys, "CUDA error 400 \udcff\ndone").sightings[0].line == 1


def test_an_unreadable_log_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CuvetError, match="Is a directory"):
        explain._content(str(tmp_path))


def test_of_a_long_log_the_end_is_read_and_what_was_not_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = "========= Invalid __global__ write of size 4 bytes\n"
    (tmp_path / "train.log").write_text("step 1: loss 0.5\n" * 1_100_000 + fault)
    assert main(["explain", "--format", "json", str(tmp_path / "train.log")]) == 0
    out, err = capsys.readouterr()
    found = msgspec.json.decode(out, type=Explanation)
    assert [one.line for one in (*found.sightings, *found.faults)] == [1_100_001, 1_100_001]
    assert re.fullmatch(
        r"cuvet: .*/train.log: [\d,]+ bytes after line [\d,]+ were not looked at, the log is too long\n", err
    )
    assert ask(capsys, LOG).sightings and capsys.readouterr().err == ""


@pytest.mark.parametrize("over", [0, 1])
def test_of_many_lines_that_may_matter_those_left_out_are_said(
    over: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "step 1\n" + "gpu 0 is warm\n" * (logs.MOST_LINES - 1) + "CUDA error 400\n" * (1 + over)
    (tmp_path / "train.log").write_text(lines)
    assert main(["explain", "--format", "json", str(tmp_path / "train.log")]) == 0
    out, err = capsys.readouterr()
    assert [(one.line, one.times) for one in msgspec.json.decode(out, type=Explanation).sightings] == [(20_001, 1)]
    said = r"cuvet: .*/train.log: lines after 20,001 were not looked at, 20,000 before them may matter\n"
    assert re.fullmatch(said if over else "", err)


def test_standard_input_is_read_to_its_end() -> None:
    """The program that writes the log goes on, however much it writes."""
    pieces = (logs.MOST_BYTES >> 16) + 64
    producer = f"import os; print('CUDA error 400', flush=True); [os.write(1, b'x' * 65536) for _ in range({pieces})]; os.write(2, b'end')"
    command = f'{sys.executable} -c "{producer}" | {sys.executable} -m cuvet explain -'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr.startswith("end")) == (0, True)


def test_the_example_of_the_help_works() -> None:
    command = f"echo 'CUDA error 400' | {sys.executable} -m cuvet explain -"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("line 1: CUDA_ERROR_INVALID_HANDLE; ")


def test_a_line_of_which_the_middle_was_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(
        "starting\n" + "cuda step ".ljust(3 << 20, ".") + " CUDA error: out of memory\n"
    )
    assert main(["explain", str(tmp_path / "train.log")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("line 2: CUDA_ERROR_OUT_OF_MEMORY; ")
    assert re.fullmatch(r"cuvet: .*/train.log: of line 2 the middle was not looked at, it is too long\n", err)


ENGINE = """\
./infer ./model.plan
Loading engine...
6: The engine plan file is not compatible with this version of TensorRT, expecting library version 8.0.0 got 8.0.1, please rebuild.
Segmentation fault (core dumped)
"""


def test_the_failure_that_a_signal_ended_comes_first(
    capsys: pytest.CaptureFixture[str], validator: jsonschema.Draft202012Validator
) -> None:
    found = ask(capsys, ENGINE)
    assert found.begins is not None and found.begins.line == 3
    assert [one.line for one in found.sightings] == [4]
    validator.validate(json.loads(msgspec.json.encode(found)))
    main(["explain", ENGINE])
    out = capsys.readouterr().out
    assert out.startswith("line 3, before SIGSEGV; likely cause: ")
    assert "\nfirst: line 3\n   | 6: The engine plan file is not compatible" in out
    assert "\nthen: line 4: SIGSEGV\n" in out


@pytest.mark.parametrize(
    "text",
    [
        "Loading engine...\nSegmentation fault (core dumped)\nmpi_allreduce: invalid permissions\n",
        "Loading the engine plan, which is compatible\nCUDA error: out of memory\nSegmentation fault\n",
        "NVRM: Xid (PCI:0000:01:00): 31, pid=1, error: MMU fault\nCUDA error: an illegal memory access was encountered\n",
    ],
)
def test_without_an_earlier_failure_the_first_error_comes_first(text: str) -> None:
    found = explain_log("-", logs.read(text.encode()))
    assert found is None or found.begins is None


def test_a_long_line_is_quoted_in_whole_words_around_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = "a step of the training " * 40, " in all denominations," * 40
    main(["explain", f"starting\n{before}CUDA error: invalid device ordinal{after}\n"])
    (quoted,) = re.findall(r"^   \| (.*)$", capsys.readouterr().out, re.M)
    assert "CUDA error: invalid device ordinal" in quoted
    assert quoted.startswith("… ") and quoted.endswith(" …") and len(quoted) <= 164
    words = quoted.removeprefix("… ").removesuffix(" …")
    assert f" {words} " in f"{before}CUDA error: invalid device ordinal{after}"


def test_a_short_line_is_quoted_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "starting\nRuntimeError: CUDA error: invalid device ordinal\n"])
    assert "\n   | RuntimeError: CUDA error: invalid device ordinal\n" in capsys.readouterr().out
