"""On the emulated device the handle or address of an object that has ended is not the next one's: a use of the old one is found, however
many others were made since."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from cuvet.findings import Finding, Report

BATCH = Path(__file__).parents[1] / "rules" / "batch.py"
OTHERS = 3
"""Made after the end of the object whose handle is stale."""


class Stale(NamedTuple):
    """How an object is made, ended and used: expressions, the last two with {} for it. ``rule`` says that it had ended."""

    make: str
    end: str
    use: str
    rule: str


ELSEWHERE = "cu.cuMemcpyHtoD({}, cu.host(64), 64)"
STALE = {
    "context": Stale(
        "cu.cuCtxCreate(0, 0, device)", "cu.cuCtxDestroy({})", "cu.cuCtxPushCurrent({})", "context-use-after-destroy"
    ),
    "green context": Stale(
        "cu.green_context()",
        "cu.cuGreenCtxDestroy({})",
        "cu.cuCtxFromGreenCtx({})",
        "green-context-use-after-destroy",
    ),
    "stream": Stale(
        "cu.cuStreamCreate(0)", "cu.cuStreamDestroy({})", "cu.cuStreamSynchronize({})", "stream-use-after-destroy"
    ),
    "event": Stale("cu.cuEventCreate(0)", "cu.cuEventDestroy({})", "cu.cuEventQuery({})", "event-use-after-destroy"),
    "device memory": Stale("cu.cuMemAlloc(512)", "cu.cuMemFree({})", ELSEWHERE, "memory-use-after-free"),
    "large device memory": Stale("cu.cuMemAlloc(8 << 20)", "cu.cuMemFree({})", ELSEWHERE, "memory-use-after-free"),
    "device memory, freed twice": Stale(
        "cu.cuMemAlloc(512)", "cu.cuMemFree({})", "cu.cuMemFree({})", "memory-free-twice"
    ),
    "stream-ordered memory": Stale(
        "cu.cuMemAllocAsync(512, 0)",
        "(cu.cuMemFreeAsync({}, 0), cu.cuCtxSynchronize())",
        ELSEWHERE,
        "memory-use-after-free",
    ),
    "managed memory": Stale(
        "cu.cuMemAllocManaged(512, 1)", "cu.cuMemFree({})", "cu.cuMemFree({})", "memory-free-twice"
    ),
    "pinned memory": Stale(
        "cu.cuMemHostAlloc(512, 0)", "cu.cuMemFreeHost({})", "cu.cuMemFreeHost({})", "memory-free-twice"
    ),
    "large pinned memory": Stale(
        "cu.cuMemHostAlloc(8 << 20, 0)", "cu.cuMemFreeHost({})", "cu.cuMemFreeHost({})", "memory-free-twice"
    ),
    "memory pool": Stale("cu.pool()", "cu.cuMemPoolDestroy({})", "cu.cuMemPoolTrimTo({}, 0)", "pool-use-after-destroy"),
    "physical memory": Stale(
        "cu.cuMemCreate(2 << 20, cu.struct('CUmemAllocationProp', type=1, **{'location.type': 1}), 0)",
        "cu.cuMemRelease({})",
        "cu.cuMemRelease({})",
        "memory-handle-released-twice",
    ),
    "graph": Stale(
        "cu.cuGraphCreate(0)",
        "cu.cuGraphDestroy({})",
        "cu.cuGraphInstantiateWithFlags({}, 0)",
        "graph-use-after-destroy",
    ),
    "executable graph": Stale(
        "cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0)",
        "cu.cuGraphExecDestroy({})",
        "cu.cuGraphLaunch({}, 0)",
        "graph-exec-use-after-destroy",
    ),
    "graph node": Stale(
        "cu.cuGraphAddEmptyNode(graph, 0, 0)",
        "cu.cuGraphDestroyNode({})",
        "cu.cuGraphDestroyNode({})",
        "graph-node-destroy-twice",
    ),
    "module": Stale(
        "cu.module()", "cu.cuModuleUnload({})", "cu.cuModuleGetFunction({}, 'trivial')", "module-use-after-unload"
    ),
    "function": Stale(
        "cu.module()",
        "cu.cuModuleUnload({})",
        "cu.launch(functions[{}])",
        "function-use-after-unload",
    ),
    "library": Stale(
        "cu.library()", "cu.cuLibraryUnload({})", "cu.cuLibraryGetKernel({}, 'trivial')", "library-use-after-unload"
    ),
    "array": Stale(
        "cu.array()",
        "cu.cuArrayDestroy({})",
        "cu.cuArray3DGetDescriptor(cu.host(40), {})",
        "array-use-after-destroy",
    ),
    "mipmapped array": Stale(
        "cu.mipmapped_array()",
        "cu.cuMipmappedArrayDestroy({})",
        "cu.cuMipmappedArrayGetLevel({}, 0)",
        "mipmapped-array-use-after-destroy",
    ),
    "texture object": Stale(
        "cu.texture(cu.array())",
        "cu.cuTexObjectDestroy({})",
        "cu.cuTexObjectGetResourceDesc(cu.host(144), {})",
        "texture-use-after-destroy",
    ),
    "surface object": Stale(
        "cu.surface(cu.array())",
        "cu.cuSurfObjectDestroy({})",
        "cu.cuSurfObjectGetResourceDesc(cu.host(144), {})",
        "surface-use-after-destroy",
    ),
    "cuBLAS handle": Stale(
        "cu.cublas.cublasCreate()",
        "cu.cublas.cublasDestroy({})",
        "cu.cublas.cublasSetStream({}, 0)",
        "library-handle-use-after-destroy",
    ),
}


def _program(kind: str, used: str) -> str:
    """An object is made and ended, then others are; ``used`` of them is used: ``old`` or ``new``."""
    each = STALE[kind]
    graph = "graph = cu.cuGraphCreate(0)\n" if "graph," in each.make else ""
    function = kind == "function"
    got = "functions = {{}}\nfunctions[old] = cu.cuModuleGetFunction(old, 'trivial')\n".format() if function else ""
    more = "functions[new] = cu.cuModuleGetFunction(new, 'trivial')\n" if function else ""
    return (
        f"{graph}old = {each.make}\n{got}{each.end.format('old')}\n"
        f"others = [{each.make} for _ in range({OTHERS})]\nnew = others[0]\n{more}{each.use.format(used)}  # used\n"
    )


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """Of each program, by its file's name."""
    folder = tmp_path_factory.mktemp("quarantine")
    files = []
    for kind in STALE:
        for used in ("old", "new"):
            files.append(folder / f"{kind}-{used}.py")
            files[-1].write_text(_program(kind, used))
    report = folder / "report.json"
    command = [
        sys.executable,
        "-m",
        "cuvet",
        "run",
        "--device",
        "emulated",
        "--format",
        "json",
        "--output",
        str(report),
    ]
    command += ["--trace", str(folder / "trace"), "--", sys.executable, str(BATCH), *map(str, files)]
    subprocess.run(command, check=True, timeout=300)
    found = defaultdict(list)
    for finding in msgspec.json.decode(report.read_bytes(), type=Report).findings:
        found[_place(finding)[0]].append(finding)
    return found


def _place(finding: Finding) -> tuple[str, int | None]:
    frames = [frame for frame in finding.site.frames if frame.file and Path(frame.file).stem.endswith(("-old", "-new"))]
    return (Path(frames[0].file or "").stem, frames[0].line) if frames else ("", None)


@pytest.mark.parametrize("kind", STALE)
def test_the_use_of_a_stale_handle_is_found(kind: str, findings: dict[str, list[Finding]]) -> None:
    (finding,) = findings[f"{kind}-old"]
    program = _program(kind, "old").splitlines()
    assert finding.name == STALE[kind].rule
    assert _place(finding)[1] == len(program)
    old = finding.objects[0]
    assert old.created is not None
    assert old.destroyed is not None
    lines = [
        next(frame.line for frame in site.frames if "-old" in (frame.file or ""))
        for site in (old.created, old.destroyed)
    ]
    assert lines[0] < lines[1] < len(program) - 2


@pytest.mark.parametrize("kind", STALE)
def test_the_use_of_a_new_object_is_not(kind: str, findings: dict[str, list[Finding]]) -> None:
    assert findings[f"{kind}-new"] == []


def test_there_is_no_other_finding(findings: dict[str, list[Finding]]) -> None:
    assert "" not in findings
