"""Which device, or context, is current when a function ends: what it makes current and leaves so."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.device_not_restored import SourceDeviceNotRestored
from cuvet.source.syntax.parsing import text_of
from cuvet.source.textual.written import Body, positions

_SETS = {"cudaGetDevice": "cudaSetDevice", "cuCtxGetCurrent": "cuCtxSetCurrent"}
"""By what asks for the current device or context, what makes another one current."""
_ADDRESS = re.compile(r"&\s*(\w+)")


def not_restored(body: Body) -> Iterator[Finding]:
    """The device that was current is asked for, another one is made current, and the answer is never used."""
    if body.name == "main":
        return
    for call in body.calls:
        match = _ADDRESS.fullmatch(text_of(call.arguments[0])) if call.name in _SETS and call.arguments else None
        before = any(each.name == _SETS.get(call.name) and each.start < call.start for each in body.calls)
        if match is None or before or not _is_only_set(match[1], body):
            continue
        changed = next((each for each in body.calls if each.name == _SETS[call.name] and each.start > call.end), None)
        again = changed is not None and any(
            each.name == call.name and call.end < each.start < changed.start for each in body.calls
        )
        if changed is not None and not again:  # else the second answer is the one to be made current again
            what = "device" if "Device" in call.name else "context"
            message = f"the {what} that was current is kept in `{match[1]}`, and never made current again"
            path = (
                body.step(call.node, f"{call.name} asks which {what} is current"),
                body.step(changed.node, "another one is made current here"),
            )
            yield body.finding(SourceDeviceNotRestored, changed.node, message, api=changed.name, path=path)
            return


def _is_only_set(name: str, body: Body) -> bool:
    """Whether the variable is declared in the function, and only its address is used, by what asks for the current device."""
    declared, seen = False, 0
    for node, parent in body.identifiers(name):
        seen += 1
        outer = parent.parent
        pointer = parent.type == "pointer_declarator" and outer is not None and outer.type == "declaration"
        plain = parent.type in ("declaration", "init_declarator") and parent.child_by_field_name("declarator") == node
        if plain or pointer:
            declared = True
        elif parent.type != "pointer_expression" or not any(
            call.name in _SETS and call.start <= node.start_byte < call.end for call in body.calls
        ):
            return False
    return declared and seen == sum(1 for _ in positions(body.code, name.encode()))
