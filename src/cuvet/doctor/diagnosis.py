"""What ``cuvet doctor`` says about a machine.

The JSON form of a ``Diagnosis`` is the contract ``cuvet-doctor/1``; its schema is generated from these types (``make generate``)
into ``reports/doctor.schema.json``.
"""

import msgspec

from cuvet import __version__
from cuvet.doctor import driver, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Examination, Severity, examine
from cuvet.findings import Tool
from cuvet.printable import readable

SCHEMA = "cuvet-doctor/1"


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What was examined. ``program``: what would run; ``python``: whose packages it would import."""

    program: str | None = None
    python: str | None = None
    driver: str | None = None
    """``580.95.05``"""
    cuda: str | None = None
    """Newest CUDA version that the driver supports, ``13.0``."""
    gpus: tuple[str, ...] = ()
    """Names of the GPUs that the program would see."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """``healthy``: no probe found an error or gives a warning."""

    schema: str = SCHEMA
    tool: Tool
    subject: Subject
    healthy: bool
    probes: tuple[Examination, ...]

    def of(self, *severities: Severity) -> Conclusions:
        """The conclusions of these severities: the first severity's first, then by probe."""
        for severity in severities:
            for examination in self.probes:
                yield from (each for each in examination.conclusions if each.severity == severity)


def diagnose(machine: Machine) -> Diagnosis:
    examinations = examine(machine)
    found = {conclusion.severity for each in examinations for conclusion in each.conclusions}
    return Diagnosis(
        tool=Tool(version=__version__),
        subject=_subject(machine),
        healthy=not found & {"error", "warning"},
        probes=examinations,
    )


def _subject(machine: Machine) -> Subject:
    supported, interpreter = driver.supported_cuda(machine), python.interpreter(machine)
    return Subject(
        program=readable(machine.program) if machine.program else None,
        python=readable(interpreter) if interpreter else None,
        driver=machine.state.nvml.driver or driver.kernel_version(machine),
        cuda=f"{supported[0]}.{supported[1]}" if supported else None,
        gpus=tuple(device.name for device in machine.state.cuda.devices),
    )
