"""What ``cuvet inspect`` found, for people and as JSON (``cuvet-inspect/1``, whose schema is ``inspect.schema.json``)."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from cuvet.image.inspection import Code, File, GpuVerdict, Inspection, Resources
from cuvet.printable import printable
from cuvet.reports import Document
from cuvet.reports.terminal import STYLES, console, labelled, show
from cuvet.sizes import counted

SCHEMA_FILE = Path(__file__).with_name("inspect.schema.json")
_KINDS = {"cubin": "cubin", "ptx": "PTX", "ltoir": "LTO-IR"}
_OUTCOMES = {"runs": "bold green", "compiles": "bold green", "fails": STYLES["error"], "unknown": STYLES["warning"]}


def document(found: Inspection, *, entries: bool, kernels: bool) -> Document:
    """What was found; for people with every entry, and with the names of the kernels."""
    return Document(found, lambda out, color: render(found, console(out, color), entries=entries, kernels=kernels))


def render(found: Inspection, output: Console, *, entries: bool = False, kernels: bool = False) -> None:
    """Each file with its device code, folded by architecture or entry by entry; then the totals."""
    for file in found.files:
        show(output, _headline(file))
        for line in _listed(file) if entries else _folded(file.code):
            show(output, f"  {line}")
        for line in _kernels(file.code) if kernels and file.code else ():
            show(output, f"  {line}")
        for problem in file.problems:
            show(
                output,
                Text("  error", style=STYLES["error"]).append(f": {printable(problem)}", style="default not bold"),
            )
        for verdict in file.verdicts:
            show(output, _verdict(verdict))
            for label, text in _reasons(verdict) if len(file.verdicts) == 1 else ():
                labelled(label, text, output, indent=5)
    show(output, Text(_totals(found), style="bold"))


def _headline(file: File) -> Text:
    exists = os.path.exists(file.path)
    style = Style(bold=True, link=Path(file.path).absolute().as_uri() if exists else None)
    what = f": {file.form}, {_size(file.size_bytes)}" if file.form else ""
    held = f", {counted(len(file.code), 'entry', 'entries')}" if file.code else ", no device code"
    text = Text().append(printable(file.path), style=style)
    return text.append(what + ("" if file.problems and not file.code else held))


def _folded(codes: Iterable[Code]) -> Iterator[str]:
    """A line per architecture, kind and compression."""
    groups: dict[tuple[int, str, str, str], list[Code]] = defaultdict(list)
    for code in codes:
        groups[(_sm(code), code.arch, _kind(code), code.compression or "")].append(code)
    for (_, arch, kind, compression), group in sorted(groups.items()):
        size, unpacked = sum(code.size_bytes for code in group), sum(code.decompressed_bytes for code in group)
        more = f"  {compression}, {_size(unpacked)} unpacked" if compression else ""
        yield f"{arch:<8} {kind:<8} {len(group):>7,}  {_size(size):>9}{more}"


def _listed(file: File) -> Iterator[str]:
    for number, code in enumerate(file.code, 1):
        more = f"  {code.compression}, {_size(code.decompressed_bytes)} unpacked" if code.compression else ""
        bits = "" if code.address_bits == 64 else f"  {code.address_bits} bits"
        where = printable(f"{code.where.removeprefix(file.path).lstrip(':')}+{code.offset:#x}")
        yield f"{number:>5}  {code.arch:<8} {_kind(code):<8} {_size(code.size_bytes):>9}{more}{bits}  {where}"


def _kernels(codes: Iterable[Code]) -> Iterator[str]:
    """Which toolkits made the machine code; each kernel, which code it is in, and what it takes there."""
    from cuvet.recording.symbols import demangle  # start: only with --kernels

    places: dict[str, dict[str, None]] = {}
    taken: dict[str, dict[tuple[str, Resources], None]] = {}
    toolkits: dict[str, None] = {}
    for code in codes:
        if code.toolkit:
            toolkits[f"CUDA {code.toolkit}"] = None
        for number, name in enumerate(code.kernels or ()):
            places.setdefault(name, {})[f"{code.arch} PTX" if code.kind == "ptx" else code.arch] = None
            if code.resources:
                taken.setdefault(name, {})[code.arch, code.resources[number]] = None
    if toolkits:
        yield f"made by {', '.join(sorted(toolkits))}"
    yield counted(len(places), "kernel")
    for name, archs in places.items():
        yield f"  {printable(demangle(name))}  [{', '.join(archs)}]"
        for arch, each in taken.get(name, ()):
            yield f"    {arch:<8} {_taken(each)}"


def _taken(resources: Resources) -> str:
    more = (("shared", resources.shared_bytes), ("stack", resources.stack_bytes), ("local", resources.local_bytes))
    return ", ".join((f"{resources.registers} registers", *(f"{size} B {what}" for what, size in more if size)))


def _verdict(verdict: GpuVerdict) -> Text:
    line = Text("  ").append(verdict.gpu, style=_OUTCOMES[verdict.outcome]).append(f": {verdict.text}")
    return line.append(f"; loading it returns {verdict.error} ({verdict.status})") if verdict.error else line


def _reasons(verdict: GpuVerdict) -> Iterator[tuple[str, str]]:
    yield from (("because", because) for because in verdict.because)
    if verdict.note:
        yield "note", verdict.note
    yield from (("help", help_) for help_ in verdict.help)
    if verdict.cause:
        yield "more", f"cuvet explain {verdict.cause}"


def _totals(found: Inspection) -> str:
    holding = [file for file in found.files if file.code]
    entries = sum(len(file.code) for file in holding)
    parts = [f"{counted(entries, 'entry', 'entries')} in {counted(len(holding), 'file')}"]
    if found.without_code:
        parts.append(f"{counted(found.without_code, 'other file has', 'other files have')} no device code")
    if found.windows_binaries:
        parts.append(f"{counted(found.windows_binaries, 'Windows binary', 'Windows binaries')} not examined")
    broken = sum(1 for file in found.files if file.problems)
    if broken:
        parts.append(f"{counted(broken, 'file')} could not be read, or only in part")
    return "; ".join(parts)


def _kind(code: Code) -> str:
    return f"{_KINDS[code.kind]} {code.ptx_version}" if code.ptx_version else _KINDS[code.kind]


def _sm(code: Code) -> int:
    return int("".join(filter(str.isdecimal, code.arch)) or 0)


def _size(size_bytes: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:,.1f} {unit}"
    return f"{size_bytes} B"
