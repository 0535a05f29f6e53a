"""Does the CDI specification, by which container engines give GPUs to containers, name the files of the loaded driver?

A driver's update makes a new specification necessary (NVIDIA Container Toolkit, "Support for Container Device Interface"). Of several
directories the last counts: /var/run/cdi over /etc/cdi (CDI specification).
"""

import re

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, unknown, warning

TITLE = "CDI specification"
GROUP: Group = "devices"

_PLACES = ("/var/run/cdi", "/etc/cdi")
LOOKED_AT = (*_PLACES, driver.PROC_VERSION)


def probe(machine: Machine) -> Conclusions:
    files = [path for place in _PLACES for path in machine.glob(f"{place}/*") if path.endswith((".yaml", ".json"))]
    texts = {path: machine.read_text(path) or "" for path in files}
    first = next((path for path, text in texts.items() if "nvidia.com/gpu" in text), None)
    kernel = driver.kernel_version(machine)
    if first is None or kernel is None:
        yield healthy("no CDI specification for NVIDIA's GPUs") if first is None else unknown("no driver is loaded")
        return
    named = set(re.findall(r"hostPath\W+\S*/libcuda\.so\.(\d{3}(?:\.\d+)+)", texts[first]))
    if named and kernel not in named:
        yield warning(
            cause="cdi-specification-stale",
            verdict=f"{first} names the files of driver {', '.join(sorted(named))}, and {kernel} is loaded: containers do not start",
            evidence=(f"{first}: libcuda.so.{sorted(named)[0]}", f"{driver.PROC_VERSION}: {kernel}"),
            fix=f"sudo nvidia-ctk cdi generate --output={first}",
        )
    else:
        yield healthy(f"{first} is of the loaded driver")
