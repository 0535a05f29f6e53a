"""Name the test suites that other people wrote as programs for ``others.py``, and run samples of PyTorch's and JAX's own operations.

``python tests/hardware/suites.py list FOLDER > programs.jsonl``: FOLDER has the unpacked sources of the projects in ``SUITES`` from
PyPI (sdists; Warp's tests are in its wheel) or from their repositories, in folders of their names. Each module of tests is a program.
Of a module ``MOST`` tests run, chosen by a hash of their names. The programs come in an order that is chosen so, too.
``list FOLDER SOURCE…`` names only those of these projects.

``python tests/hardware/suites.py torch PART PARTS``: samples of the operations that PyTorch tests itself with
(``torch.testing._internal.common_methods_invocations.op_db``), forwards and backwards, on a side stream that waits for the default stream
and is waited for. ``jax PART PARTS``: the same of JAX (``jax._src.internal_test_util.test_harnesses``). They print how each ended.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST = 60
"""Tests of one module."""
MOST_MODULES = 70
"""Of one suite, chosen in the same way."""
MOST_SAMPLES = 6
"""Of one operation with one type."""
PARTS = {"torch": 16, "jax": 12}
LIMIT_S = 75
PYTEST = ["-m", "pytest", "-v", "--no-header", "--no-summary", "--tb=no", "-p", "no:cacheprovider", "-p", "suites"]
PYTEST += ["-o", "console_output_style=classic"]
"""Without the progress beside each test, which tells their order: where it is that of a set, it is another one in each run."""
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Suite:
    """``tests``: patterns of modules in ``folder``. ``words``: only of modules with one of these in their text. ``environment``: what asks
    for CUDA."""

    folder: str
    tests: tuple[str, ...]
    path: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


SUITES = {
    "NVIDIA/warp": Suite("warp", ("warp/tests/test_*.py",), (".",)),
    "inducer/pycuda": Suite("pycuda/test", ("test_*.py",), ("..",)),
    "linkedin/Liger-Kernel": Suite(
        "liger_kernel", ("test/ops/test_*.py", "test/transformers/test_*.py", "test/chunked_loss/test_*.py"), ("src",)
    ),
    "cornellius-gp/gpytorch": Suite("gpytorch", ("test/**/test_*.py",), (".",), ("cuda",)),
    "cornellius-gp/linear_operator": Suite("linear_operator", ("test/**/test_*.py",), (".",), ("cuda",)),
    "getkeops/keops": Suite("pykeops", ("pykeops/test/test_*.py",), (".", "../keopscore")),
    "KernelTuner/kernel_tuner": Suite(
        "kernel_tuner", ("test/test_*.py",), (".",), ("cuda", "cupy"), ("-o", "addopts=")
    ),
    "cupy/cupy": Suite(
        "cupy/tests",
        ("cupy_tests/**/test_*.py", "cupyx_tests/**/test_*.py"),
        options=("-c", "../pyproject.toml", "--rootdir", "..", "-m", "not multi_gpu and not slow"),
    ),
    "dmlc/xgboost": Suite("xgboost/tests/python-gpu", ("test_*.py",), ("../python",)),
    "ml-explore/mlx": Suite("mlx/python/tests", ("test_*.py",), (".",), environment=(("DEVICE", "gpu"),)),
    "bitsandbytes-foundation/bitsandbytes": Suite("bitsandbytes", ("tests/test_*.py",), (".",)),
    "tinygrad/tinygrad": Suite(
        "tinygrad",
        ("test/test_*.py", "test/backend/test_*.py", "test/unit/test_*.py"),
        (".",),
        environment=(("DEV", "CUDA"),),
    ),
    "NVIDIA/cccl": Suite("cccl/python/cuda_cccl/tests", ("compute/test_*.py",)),
    "NVIDIA/nvmath-python": Suite(
        "nvmath/tests",
        tuple(f"nvmath_tests/{part}/**/test_*.py" for part in ("fft", "linalg", "ndbuffer", "sparse")),
        (".",),
    ),
    "taichi-dev/taichi": Suite(
        "taichi", ("tests/python/test_*.py",), (".",), environment=(("TI_WANTED_ARCHS", "cuda"),)
    ),
    "rapidsai/rmm": Suite("rmm/python/rmm/rmm/tests", ("test_*.py",)),
    "mitsuba-renderer/drjit": Suite("drjit/tests", ("test_*.py",), words=("cuda", "test_arrays")),
    "mitsuba-renderer/mitsuba3": Suite("mitsuba/src", ("*/tests/test_*.py",), words=("cuda", "variants_")),
    "jax-ml/jax": Suite("jax", ("tests/*_test.py", "tests/pallas/*_test.py"), (".",)),
    "pyg-team/pytorch_geometric": Suite("pyg", ("test/**/test_*.py",), words=("withCUDA", "onlyCUDA")),
    "kornia/kornia": Suite("kornia", ("tests/**/test_*.py",), (".",), ("device",), ("--device", "cuda")),
    "huggingface/diffusers": Suite(
        "diffusers", ("tests/models/**/test_*.py",), ("src",), environment=(("HF_HUB_OFFLINE", "1"),)
    ),
    "pytorch/ao": Suite("ao", ("test/**/test_*.py",), (".",), ("cuda",)),
    "rapidsai/kvikio": Suite("kvikio/python/kvikio/tests", ("test_*.py",)),
}


def programs(folder: Path) -> Iterator[dict[str, Any]]:
    for kind, parts in PARTS.items():
        for part in range(parts):
            command = [sys.executable, str(HERE / "suites.py"), kind, str(part), str(parts)]
            yield _program(f"{kind}'s operations", f"part {part + 1} of {parts}", command, HERE, {})
    for source, suite in SUITES.items():
        where = (folder / suite.folder).resolve()
        modules = {module for pattern in suite.tests for module in where.glob(pattern)}
        chosen = sorted(
            (module for module in modules if _says(module, suite.words)),
            key=lambda module: _rank(str(module.relative_to(where))),
        )
        for module in chosen[:MOST_MODULES]:
            name = module.relative_to(where)
            before = [HERE, *((where / each).resolve() for each in suite.path)]
            path = ":".join([*map(str, before), os.environ.get("PYTHONPATH", "")])
            command = [sys.executable, *PYTEST, *suite.options, str(name)]
            yield _program(
                source, str(name.with_suffix("")), command, where, {"PYTHONPATH": path, **dict(suite.environment)}
            )


def _program(source: str, name: str, command: list[str], where: Path, environment: dict[str, str]) -> dict[str, Any]:
    environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "OMP_NUM_THREADS": "2", **environment}
    return {
        "source": source,
        "name": name,
        "command": command,
        "cwd": str(where),
        "environment": environment,
        "limit_s": LIMIT_S,
    }


def _says(module: Path, words: tuple[str, ...]) -> bool:
    text = module.read_text(encoding="utf-8", errors="replace")
    return not words or any(word in text for word in words)


def _rank(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """The module is pytest's plugin of the programs that it names."""
    chosen = set(sorted((item.nodeid for item in items), key=_rank)[:MOST])
    items[:] = [item for item in items if item.nodeid in chosen]


def run_torch(part: int, parts: int) -> None:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    stream = torch.cuda.Stream()
    for op in op_db[part::parts]:
        for dtype in (torch.float32, torch.float16, torch.complex64, torch.int64):
            if dtype not in op.supported_dtypes("cuda"):
                continue
            torch.manual_seed(0)
            name = f"{op.name} {op.variant_test_name} {str(dtype).removeprefix('torch.')}"
            backward = op.supports_autograd and dtype in op.supported_backward_dtypes("cuda")
            try:
                samples = list(itertools.islice(op.sample_inputs("cuda", dtype, requires_grad=backward), MOST_SAMPLES))
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    for sample in samples:
                        _forwards_and_backwards(op, sample, backward)
                torch.cuda.current_stream().wait_stream(stream)
                torch.cuda.synchronize()
                print(name, "done", flush=True)
            except Exception as error:
                print(name, type(error).__name__, flush=True)


def _forwards_and_backwards(op: Any, sample: Any, backward: bool) -> None:
    import torch

    out = op(sample.input, *sample.args, **sample.kwargs)
    if not backward:
        return
    results = [out] if isinstance(out, torch.Tensor) else out if isinstance(out, (list, tuple)) else []
    for result in results:
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.abs().sum().backward(retain_graph=True)


def run_jax(part: int, parts: int) -> None:
    import jax
    import numpy
    from jax._src.internal_test_util import test_harnesses

    chosen: dict[str, list[Any]] = {}
    for harness in sorted(test_harnesses.all_harnesses, key=lambda harness: _rank(harness.fullname)):
        group = chosen.setdefault(harness.group_name, [])
        if len(group) < MOST_SAMPLES and harness.filter("gpu"):
            group.append(harness)
    for name in sorted(chosen)[part::parts]:
        for harness in chosen[name]:
            try:
                arguments = harness.dyn_args_maker(numpy.random.RandomState(0))
                jax.block_until_ready(jax.jit(harness.dyn_fun)(*arguments))
                print(harness.fullname, "done", flush=True)
            except Exception as error:
                print(harness.fullname, type(error).__name__, flush=True)


def main() -> None:
    match sys.argv[1:]:
        case ["list", folder, *sources]:
            found = [each for each in programs(Path(folder)) if not sources or each["source"] in sources]
            for each in sorted(found, key=lambda each: _rank(each["source"] + each["name"])):
                print(json.dumps(each))
        case ["torch", part, parts]:
            run_torch(int(part), int(parts))
        case ["jax", part, parts]:
            run_jax(int(part), int(parts))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
