"""The machine's part in a failure: what the doctor's probes say about what the program had loaded and what the driver refused it.

They are asked when the program has ended, in this process; only what can be why it failed is told.
"""

import errno
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from cuvet.analysis import ProcessAnalysis
from cuvet.doctor import state
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Probe, all_probes, ask
from cuvet.doctor.state import State
from cuvet.findings import MachineCause

BUDGET_S = 2.0
_OF_LIBRARY = {"libcudnn": ("cudnn-set", "cudnn-built-for", "cudnn-dependencies"), "libnvrtc": ("nvrtc-builtins",)}
"""Start of a loaded file's name to the probes that look at such files."""
_OUT_OF_MEMORY = 2
_OF_STATUS = {_OUT_OF_MEMORY: "device-memory", 46: "compute-mode", 221: "driver-ptx-compiler"}
"""CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_JIT_COMPILER_NOT_FOUND."""
_STARTING = ("cuInit", "cuDeviceGetCount")
_OF_START = ("driver", "devices")
"""Groups of probes that are asked if one of these calls failed."""
_OF_CREATION = ("cudnn-files", "toolkit-packages", "nvjitlink-order")
"""Asked if a library could not make its handle, besides what looks at that library."""

Reader = Callable[[Mapping[str, str]], State]


def causes(
    processes: Iterable[ProcessAnalysis], environment_of: Callable[[int], Mapping[str, str]], *, emulated: bool
) -> tuple[MachineCause, ...]:
    """What is wrong with the machine, of the errors that these processes can have met. ``environment_of`` tells that of a process.

    With the emulated device only libraries are looked at. What is not known within ``BUDGET_S`` is left out.
    """
    until = time.monotonic() + BUDGET_S
    read_state: Reader = (lambda _: State()) if emulated else _reader(until)
    found: dict[tuple[str, str], MachineCause] = {}
    for process in processes:
        machine = _machine(process, environment_of(process.recording.pid), read_state)
        names = {*_of_libraries(machine.loaded), *(() if emulated else _of_driver(process, machine.loaded))}
        names.update(_OF_CREATION if process.judge.handles_not_made else ())
        refused = _refused(process)
        for probe in all_probes():
            if probe.name in names and time.monotonic() < until:
                for cause in _causes(probe, machine, refused=probe.name in refused):
                    found.setdefault((cause.cause, cause.verdict), cause)
    return tuple(found.values())


def _reader(until: float) -> Reader:
    """Asks the driver. TimeoutError, which a probe takes for not being able to look, if it does not answer in time."""

    def read(environ: Mapping[str, str]) -> State:
        patience_s = (until - time.monotonic()) / 2  # for libcuda, and then for NVML
        found = state.read(environ, patience_s) if patience_s > 0 else State()
        if found.cuda.status is None:
            raise TimeoutError(errno.ETIMEDOUT, found.cuda.error or os.strerror(errno.ETIMEDOUT), "libcuda.so.1")
        return found

    return read


def _machine(process: ProcessAnalysis, environ: Mapping[str, str], read_state: Reader) -> Machine:
    recording = process.recording
    loaded = tuple(dict.fromkeys(each.path for each in recording.modules if each.path.startswith("/")))
    python = _python(recording.executable, loaded)
    program = recording.executable or None
    return Machine(environ=environ, program=program, python=python, loaded=loaded, read_state=read_state)


def _python(executable: str, loaded: tuple[str, ...]) -> str | None:
    """The interpreter, if the process was one: that of the environment whose packages it had loaded libraries of, or else itself."""
    if not re.fullmatch(r"(?:python|pypy)[\d.]*t?", os.path.basename(executable)):
        return None
    packages = (re.match(r"(.+)/lib(?:64)?/python3[^/]*/(?:site|dist)-packages/", path) for path in loaded)
    own = (os.path.join(found[1], "bin", "python3") for found in packages if found)
    return next(filter(os.path.exists, own), executable)


def _of_libraries(loaded: tuple[str, ...]) -> Iterator[str]:
    names = tuple(map(os.path.basename, loaded))
    for start, probes in _OF_LIBRARY.items():
        if any(name.startswith(start) for name in names):
            yield from probes


def _of_driver(process: ProcessAnalysis, loaded: tuple[str, ...]) -> Iterator[str]:
    """The probes that look at the driver, for what this process was refused."""
    yield from _refused(process)
    if any(each.name in _STARTING for each in process.judge.failures):
        yield from (probe.name for probe in all_probes() if probe.group in _OF_START)
    supported = int(process.recording.header["driver_version"]) // 1000
    runtimes = (re.search(r"/libcudart(?:-[0-9a-f]+)?\.so\.(\d+)[^/]*$", path) for path in loaded)
    if supported and any(found and int(found[1]) > supported for found in runtimes):
        yield "driver-version"


def _refused(process: ProcessAnalysis) -> set[str]:
    """The probes that look at just what was refused. A library for which there is no memory says that it is not initialised."""
    statuses = {each.status for each in process.judge.failures} | (
        {_OUT_OF_MEMORY} if process.judge.handles_not_made else set()
    )
    return {_OF_STATUS[status] for status in statuses & _OF_STATUS.keys()}


def _causes(probe: Probe, machine: Machine, *, refused: bool) -> Iterator[MachineCause]:
    """What it calls an error; if a call was refused just what the probe looks at, also what it warns of."""
    for each in ask(probe, machine):
        if each.cause and (each.severity == "error" or (each.severity == "warning" and refused)):
            then = ("looked at after the program had ended",) if refused else ()
            yield MachineCause(cause=each.cause, verdict=each.verdict, evidence=(*each.evidence, *then), fix=each.fix)
