"""Run ``cuvet inject`` on programs that nobody here wrote, on this machine's GPU, and write what became of each place to ``inject.json``.

``python tests/hardware/inject.py SAMPLES --output FILE`` needs nvcc, a GPU and the folder of cuda-samples. The samples are built
as their CMake files build them (libcudart linked in, ``-lineinfo``), and with ``-g``. Programs of ``frameworks/`` have one
fault for each place (``--quick``). ``--emulated`` tries the samples without a GPU, with a shared libcudart.

``python tests/hardware/inject.py --page`` writes the table of ``docs/inject.md`` from ``inject.json`` beside this file.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import msgspec

from cuvet.inject.observed import line_of
from cuvet.inject.outcome import HARMLESS, InjectReport, Tried

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "inject.json"
PAGE = HERE.parents[1] / "docs/inject.md"
BEGIN, END = "<!-- hardware -->\n", "<!-- end -->"
INTRODUCTION, CONCEPTS, FEATURES, LIBRARIES = (
    "0_Introduction",
    "2_Concepts_and_Techniques",
    "3_CUDA_Features",
    "4_CUDA_Libraries",
)
SAMPLES = {
    "asyncAPI": INTRODUCTION,
    "batchCUBLAS": LIBRARIES,
    "clock": INTRODUCTION,
    "conjugateGradient": LIBRARIES,
    "cudaOpenMP": INTRODUCTION,
    "fp16ScalarProduct": INTRODUCTION,
    "graphMemoryNodes": FEATURES,
    "inlinePTX": CONCEPTS,
    "matrixMul": INTRODUCTION,
    "newdelete": FEATURES,
    "scalarProd": CONCEPTS,
    "shfl_scan": CONCEPTS,
    "simpleCUBLAS": LIBRARIES,
    "simpleCUFFT": LIBRARIES,
    "simpleCallback": INTRODUCTION,
    "simpleCudaGraphs": FEATURES,
    "simpleHyperQ": INTRODUCTION,
    "simpleLayeredTexture": INTRODUCTION,
    "simpleMultiCopy": INTRODUCTION,
    "simpleOccupancy": INTRODUCTION,
    "simplePitchLinearTexture": INTRODUCTION,
    "simpleStreams": INTRODUCTION,
    "simpleZeroCopy": INTRODUCTION,
    "StreamPriorities": FEATURES,
    "streamOrderedAllocation": CONCEPTS,
    "vectorAdd": INTRODUCTION,
}
FRAMEWORKS = {"PyTorch": "torch_small.py", "CuPy": "cupy_arrays.py"}
LIBS = ("-lcublas", "-lcufft", "-lcusparse", "-lcuda", "-Xcompiler", "-fopenmp")
COMMIT = "c94ff366"
"""Of cuda-samples."""
AT_ONCE = 5
JOBS = 3
JOBS_OF_FRAMEWORKS = 6
BUDGET_S = 60
BUDGET_OF_FRAMEWORKS_S = 480
_PATH = re.compile(r"/\S*/(?=(Samples|Common|tests|frameworks|site-packages)/)")
"""Of the machine, not of the program."""
MOST_LETTERS = 90
"""Of the name of a function."""


class Defect(msgspec.Struct, frozen=True, kw_only=True):
    """A place that does not deal with a failure. ``line``: file and line in the program. ``functions``: the innermost ones."""

    api: str
    line: str
    functions: tuple[str, ...]
    verdict: str
    severity: str
    codes: tuple[str, ...]
    because: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    program: str
    verdicts: dict[str, int] = {}
    runs: int = 0
    seconds: float = 0.0
    untried: int = 0
    defects: tuple[Defect, ...] = ()
    why_not: str = ""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    device: str
    driver: str
    date: str
    samples: str
    rows: tuple[Measured, ...]


def built(samples: Path, folder: Path, device: str, name: str) -> Path | str:
    """The program, or why there is none."""
    place = samples / "Samples" / SAMPLES[name] / name
    sources = sorted(each for each in place.iterdir() if each.suffix in (".cu", ".cpp"))
    command = ["nvcc", "-g", "-lineinfo", "-std=c++17", "-arch=native", "-w", "--extended-lambda", "-rdc=true"]
    command += ["-I", str(samples / "Common"), *map(str, sources), *LIBS, "-o", str(folder / name)]
    if device == "emulated":
        command[command.index("-arch=native")] = "-arch=sm_90"
        command += ["-cudart", "shared"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return folder / name if done.returncode == 0 else (done.stderr.splitlines() or ["nvcc failed"])[0]


def measured(name: str, command: Sequence[str], device: str, options: Sequence[str], place: Path) -> Measured:
    cuvet = [sys.executable, "-m", "cuvet", "inject", "--device", device, "--fail-on", "never", "--format", "json"]
    done = subprocess.run([*cuvet, *options, "--", *command], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        return Measured(program=name, why_not=(done.stderr.strip().splitlines() or ["no output"])[-1])
    report = msgspec.json.decode(done.stdout, type=InjectReport)
    return Measured(
        program=name,
        verdicts=report.verdicts,
        runs=report.runs,
        seconds=round(report.seconds, 1),
        untried=report.untried,
        defects=tuple(defect(each) for each in report.sites if each.severity),
    )


def defect(tried: Tried) -> Defect:
    those = [each for each in tried.trials if each.verdict == tried.verdict]
    native = [each.function or "?" for each in tried.frames if each.language != "python"]
    return Defect(
        api=tried.api,
        line=_PATH.sub("", line_of(tried.frames)),
        functions=tuple(each[:MOST_LETTERS] for each in native[:2]),
        verdict=tried.verdict,
        severity=tried.severity or "",
        codes=tuple(dict.fromkeys(each.fault.code for each in those)),
        because=_PATH.sub("", those[0].because[0]) if those and those[0].because else "",
    )


def sample(samples: Path, folder: Path, device: str, name: str) -> Measured:
    program = built(samples, folder, device, name)
    if isinstance(program, str):
        return Measured(program=name, why_not=program)
    options = ("--jobs", str(JOBS), "--budget", str(BUDGET_S), "--trace", str(folder / f"{name}.rec"))
    return measured(name, [str(program)], device, options, samples / "Samples" / SAMPLES[name] / name)


def framework(folder: Path, name: str) -> Measured:
    command = [sys.executable, str(HERE / "frameworks" / FRAMEWORKS[name])]
    options = (
        "--quick",
        "--jobs",
        "12",
        "--budget",
        str(BUDGET_OF_FRAMEWORKS_S),
        "--trace",
        str(folder / f"{name}.rec"),
    )
    return measured(name, command, "real", options, folder)


def measure(samples: Path, device: str, output: Path) -> None:
    folder = output.resolve().parent / "inject-programs"
    folder.mkdir(parents=True, exist_ok=True)
    card, driver = ("emulated device", "") if device == "emulated" else of_card()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows: list[Measured] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = [pool.submit(framework, folder, name) for name in FRAMEWORKS if device == "real"]
        begun += [pool.submit(sample, samples.resolve(), folder, device, name) for name in SAMPLES]
        for done in as_completed(begun):
            rows.append(row := done.result())
            print(row.program, row.verdicts or row.why_not, f"{row.seconds} s", flush=True)
            ordered = tuple(sorted(rows, key=lambda each: (each.program in SAMPLES, each.program.casefold())))
            results = Results(device=card, driver=driver, date=today, samples=COMMIT, rows=ordered)
            output.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def of_card() -> tuple[str, str]:
    """Its name and its driver."""
    ask = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    card, _, driver = done.stdout.splitlines()[0].partition(", ")
    return card, driver


def table(results: Results) -> Iterator[str]:
    yield f"{results.device}, driver {results.driver}, {results.date}; cuda-samples at {results.samples}.\n\n"
    yield "| program | places | handled | errors and warnings | notes | not tried | runs | seconds |\n"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    for row in results.rows:
        places = sum(row.verdicts.values())
        fine = sum(count for verdict, count in row.verdicts.items() if verdict in HARMLESS)
        notes = sum(each.severity == "note" for each in row.defects)
        bad = Counter(each.verdict for each in row.defects if each.severity != "note")
        said = ", ".join(f"{count} {verdict}" for verdict, count in bad.most_common())
        cells = (row.program, places, fine, said, notes or "", row.untried or "", row.runs, round(row.seconds))
        yield f"| {' | '.join(map(str, cells))} |\n"
    yield "\n"
    for row in results.rows:
        for line in defects(row):
            yield f"* {line}\n"


def defects(row: Measured) -> Iterator[str]:
    """By file and line; where many calls of one line come to the same, by function."""
    bad = [each for each in row.defects if each.severity != "note"]
    if row.program in FRAMEWORKS:
        for (function, api), count in Counter((each.functions[0], each.api) for each in bad).most_common():
            yield f"{row.program}: `{api}` in `{function}`: {bad[0].verdict}, places: {count}"
        return
    lines: dict[tuple[str, str], set[int]] = {}
    for each in bad:
        file, _, line = each.line.rpartition(":")
        lines.setdefault((file.removeprefix("Samples/"), each.verdict), set()).add(int(line))
    for (file, verdict), numbers in sorted(lines.items()):
        yield f"{row.program}: `{file}`, line {', '.join(map(str, sorted(numbers)))}: {verdict}"


def write_page() -> None:
    results = msgspec.json.decode(RESULTS.read_bytes(), type=Results)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}{''.join(table(results))}{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="?", type=Path, help="the folder of cuda-samples")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    if arguments.samples is not None:
        measure(arguments.samples, "emulated" if arguments.emulated else "real", arguments.output)
    if arguments.page:
        write_page()


if __name__ == "__main__":
    main()
