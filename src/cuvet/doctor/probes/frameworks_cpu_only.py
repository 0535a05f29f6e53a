"""Was a build of a framework without CUDA installed, on a machine with a GPU?"""

from collections.abc import Iterator

from cuvet.doctor import cudnn, frameworks, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, note, unknown

TITLE = "builds without CUDA"
GROUP: Group = "frameworks"

LOOKED_AT = ("torch/version.py", "tensorflow/python/platform/build_info.py", "jaxlib and its plugins")
_FIXES = {
    "torch": "install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu{cuda}",
    "tensorflow": "install 'tensorflow[and-cuda]'",
    "tensorflow-cpu": "uninstall -y tensorflow-cpu, then: pip install 'tensorflow[and-cuda]'",
    "jax": "install --upgrade 'jax[cuda{major}]'",
}


def probe(machine: Machine) -> Conclusions:
    if python.interpreter(machine) is None:
        yield healthy("not a Python program")
        return
    if not machine.state.nvml.gpus:
        yield unknown("the driver shows no GPU: a build without CUDA may be meant")
        return
    found = list(_cpu_only(machine))
    for name, title, evidence in found:
        yield note(
            cause="framework-cpu-only",
            verdict=f"{title} was built without CUDA and does not use the GPU",
            evidence=(evidence,),
            fix=_fix(machine, name),
        )
    if not found:
        titles = ", ".join(each.title for each in frameworks.installed(machine))
        yield healthy(f"with CUDA: {titles}" if titles else "no framework here that uses CUDA")


def _cpu_only(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Name of the distribution, title, and what shows it."""
    for framework in frameworks.installed(machine):
        if framework.cpu_only:
            yield (
                framework.distribution.name,
                framework.title,
                f"{framework.distribution.dist_info}: its build names no CUDA",
            )
    installed = python.distributions(machine)
    jax, jaxlib = installed.get("jax"), installed.get("jaxlib")
    plugins = any(name.startswith(("jax-cuda", "jax-rocm", "libtpu")) for name in installed)
    if jax and jaxlib and "cuda" not in jaxlib.version and not plugins:
        yield "jax", f"JAX {jax.version}", f"{jaxlib.dist_info}: no jax-cuda12-plugin or jax-cuda13-plugin beside it"


def _fix(machine: Machine, name: str) -> str:
    newest = machine.state.cuda.version or machine.state.nvml.cuda
    major = 13 if newest >= 13000 else 12
    return cudnn.pip(machine, _FIXES[name].format(major=major, cuda="130" if major == 13 else "126"))
