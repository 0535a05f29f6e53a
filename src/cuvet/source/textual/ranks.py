"""Ranks among all processes that are taken for the number of a device of the own machine."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.device.ordinal_out_of_range import DeviceOrdinalOutOfRange
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.python_text import Place, call_at, called, finding_at, may_be_meant, value_of

_SETS = re.compile(rb"\bset_device\s*\(")
_LOCAL = re.compile(rb"LOCAL_RANK|local_rank|LOCAL_PROCESS|Split_type")
_RANK = re.compile(
    r"""(?:int\(\s*)?os\.(?:environ\[|environ\.get\(|getenv\()\s*["'](?:RANK|OMPI_COMM_WORLD_RANK|SLURM_PROCID)["'].*""",
    re.S,
)
_GET_RANK = frozenset({"torch.distributed.get_rank"})


def sets_devices_by_rank(text: bytes) -> bool:
    """Whether a file may set the current device, and knows of ranks on one machine."""
    return b"torch" in text and b"set_device" in text and _LOCAL.search(text) is not None


def rank_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each device that is set to a rank among all processes, if the file sets it nowhere in another way."""
    names = Names(source.text)
    calls = [
        call for match in first(_SETS.finditer(source.text)) if (call := call_at(root, match.end() - 1)) is not None
    ]
    calls = [call for call in calls if called(call, names) == "torch.cuda.set_device" and len(arguments_of(call)) == 1]
    found = [(call, rank) for call in calls if (rank := _rank(arguments_of(call)[0], call, names, root)) is not None]
    if len(found) < len(calls):
        return
    for call, rank in found:
        if not may_be_meant(call):
            given = text_of(arguments_of(call)[0])
            message = f"`{given}` is the rank among all processes, which on a second machine is the number of no device"
            path = (Place(rank, "the rank comes from here"),) if rank.start_byte != call.start_byte else ()
            yield finding_at(DeviceOrdinalOutOfRange, call, message, source, path, severity="note")


def _rank(given: Node, call: Node, names: Names, root: Node) -> Node | None:
    """Where the number comes from, if it is the rank among all processes."""
    value = value_of(text_of(given), call, root) if given.type in ("identifier", "attribute") else given
    if value is None:
        return None
    if _RANK.fullmatch(text_of(value)) and "%" not in text_of(value):
        return value
    of_all = value.type == "call" and called(value, names) in _GET_RANK and not arguments_of(value)
    return value if of_all else None
