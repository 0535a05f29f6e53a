"""Pinned memory of ManagedCuda that the host uses before the copy to it has ended."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
from cuvet.rules.source.copy_not_awaited import SourceCopyNotAwaited
from cuvet.source.paths.reporting import Reporter
from cuvet.source.program import Function, Invoke
from cuvet.source.sites import finding
from cuvet.source.syntax.lexing import block_end

_COPY = re.compile(rb"([A-Za-z_]\w*)\s*\.\s*AsyncCopyFromDevice\s*\(")
_CALLED = re.compile(rb"\b([A-Za-z_][\w.]*)\s*(?:<[\w\s,.<>]{1,80}>\s*)?\(")
_WAITS_NOT = re.compile(
    rb"(?:if|for|foreach|while|switch|using|lock|checked|unchecked|sizeof|typeof|nameof|return|in|is|and|or|not|when"
    rb"|(?:System\.)?Math\.\w+|MathF\.\w+|BitConverter\.\w+|[\w.]*\bAsyncCopy\w+|[\w.]*\bRunAsync|[\w.]*\bMemsetAsync)"
)
"""Words before a bracket after which nothing may have waited."""
_OTHER = re.compile(
    rb"\b(?:await|yield|goto|return|throw|break|continue|case|else|catch|Stop|Status|Wait\w*)\b|=>|[\"'#]"
)
"""What is not followed."""
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)


def used_too_early(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """The first element of each buffer that is read or written between a copy to it and anything that may wait."""
    for call in function.calls:
        copy = _COPY.match(reporter.source.text, call.start, call.end) if call.name == "cuMemcpyDtoHAsync" else None
        use = _used(copy[1], call, function, reporter.source.text) if copy is not None else None
        if copy is not None and use is not None:
            buffer, line = copy[1].decode(), reporter.source.line(call.start)
            message = f"the host reads or writes `{buffer}` while AsyncCopyFromDevice in line {line} may still be at work on it"
            path = (
                Step(frame=reporter.frame(call.start, call.end), text="the copy starts here"),
                Step(frame=reporter.frame(*use), text=f"the host reads or writes `{buffer}` here"),
            )
            yield finding(SourceCopyNotAwaited, message, reporter.site(call, *use), path=path)


def _used(buffer: bytes, call: Invoke, function: Function, text: bytes) -> tuple[int, int] | None:
    """Where the buffer is indexed further on in the block of the call, if nothing before may wait or leave."""
    code = _COMMENT.sub(lambda match: b" " * len(match[0]), text[call.end : function.end])
    rest = code[: block_end(code, 0)]
    use = re.search(rb"(?<![\w.])(?:this\s*\.\s*)?%s\s*\[" % re.escape(buffer), rest)
    if use is None:
        return None
    between = rest[: use.start()]
    if _OTHER.search(between) or not all(_WAITS_NOT.fullmatch(name) for name in _CALLED.findall(between)):
        return None
    return call.end + use.start(), call.end + use.end() - 1
