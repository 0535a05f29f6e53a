"""Launches of PyTorch's extensions on the current device, which may be another one than that of the tensors."""

import re
from collections.abc import Iterator, Sequence

from cuvet.findings import Finding
from cuvet.rules.source.device_of_tensors import SourceDeviceOfTensors
from cuvet.source.ownership import MAY_MAKE_CURRENT
from cuvet.source.syntax.parsing import text_of
from cuvet.source.textual.written import Body

_TENSOR = re.compile(rb"(?<![\w<:])(?:const\s+)?(?:at::|torch::)?Tensor\s*(?:const\s*)?&{0,2}\s*(\w+)\s*[,)=]")
_CURRENT = re.compile(rb"\b(?:at|c10|torch)::(?:cuda::)?getCurrentCUDAStream\(\s*\)")
_SIZE = re.compile(rb"\.(?:sizes?|numel|zero_|fill_)\(|\bempty\w*\(")
"""What an operation of its own does with tensors. A part of one is given the sizes, and its caller may be in another file."""
_OF_PYTORCH = re.compile(rb"ATen/native/|\bnamespace\s+(?:at|native)\b[^;{]*\{")
"""Its own functions, whose callers are generated and make the device current."""


def of_tensors(bodies: Sequence[Body]) -> Iterator[Finding]:
    """One finding for each function that is given tensors; for a file in which nothing makes a device current, only at the first."""
    code = bodies[0].source.code if bodies else b""
    if _CURRENT.search(code) is None or _OF_PYTORCH.search(code):
        return
    anywhere = MAY_MAKE_CURRENT.search(code) is not None
    for body in bodies:
        head = code[body.node.start_byte : body.body.start_byte]
        tensor = _TENSOR.search(head)
        if tensor is None or not _launches_on_current(body) or (anywhere and _is_called(body, code)):
            continue
        launch, name = body.launches[0], tensor[1].decode()
        given = body.node.descendant_for_byte_range(
            body.node.start_byte + tensor.start(1), body.node.start_byte + tensor.end(1)
        )
        message = f"the launch is on the current device, and nothing in {body.shown} makes that of `{name}` current"
        path = (
            *((body.step(given, f"`{name}` may be a tensor of any device"),) if given is not None else ()),
            body.step(body.body.children[0], "no guard makes its device current"),
            body.step(launch, "the kernel is launched on the current device"),
        )
        yield body.finding(SourceDeviceOfTensors, launch, message, api=_kernel(text_of(launch)), path=path)
        if not anywhere:
            return


def _launches_on_current(body: Body) -> bool:
    current = _CURRENT.search(body.code) is not None and MAY_MAKE_CURRENT.search(body.code) is None
    return bool(body.launches) and current and _SIZE.search(body.code) is not None


def _is_called(body: Body, code: bytes) -> bool:
    """Whether another function of the file calls it, which may make the device current."""
    calls = re.compile(rb"(?<![\w&])%s\s*(?:<[^;<>]*>)?\s*\(" % re.escape(body.name.encode()))
    own = range(body.node.start_byte, body.node.end_byte)
    ends = (
        code[match.end() :].partition(b")")[2].lstrip()[:1]
        for match in calls.finditer(code)
        if match.start() not in own
    )
    return body.name.isidentifier() and any(end != b"{" for end in ends)


def _kernel(launch: str) -> str:
    return launch.partition("<")[0].strip()
