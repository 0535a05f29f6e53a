"""Whose an address was, for people and as JSON (``cuvet-whose/1``, whose schema is ``whose.schema.json``); and of those in a GPU core dump
(``cuvet-whose-dump/1``)."""

import os
from collections.abc import Iterator
from pathlib import Path

from cuvet.analysis.core_dumps import described
from cuvet.analysis.whose import Given, Life, Whose, WhoseOfDump
from cuvet.findings import Site
from cuvet.reports import Document
from cuvet.reports.terminal import console, line, located, place_of
from cuvet.sizes import binary_size, counted

SCHEMA_FILE = Path(__file__).with_name("whose.schema.json")
DUMP_SCHEMA_FILE = Path(__file__).with_name("whose_dump.schema.json")
_MOST = 20
"""Lives, and launches, that are shown."""


def document(found: Whose) -> Document:
    def show(out: object, color: str) -> None:
        output = console(out, color)  # type: ignore[arg-type]
        for text in lines(found):
            line(output, text)

    return Document(found, show)


def document_of_dump(found: WhoseOfDump) -> Document:
    def show(out: object, color: str) -> None:
        output = console(out, color)  # type: ignore[arg-type]
        for text in (*described(found.dump, os.path.basename(found.file)), *_given_addresses(found)):
            line(output, text)

    return Document(found, show)


def _given_addresses(found: WhoseOfDump) -> Iterator[str]:
    if not found.addresses:
        yield "the kernel was given no address, as far as the dump tells"
    for each in found.addresses:
        yield from lines(each)


def lines(found: Whose) -> Iterator[str]:
    if not (found.lives or found.beside):
        yield f"{found.address}: no memory of CUDA was here or within 1 MiB, as far as it was recorded"
    elif found.lives:
        yield f"{found.address}: memory covered it {counted(len(found.lives), 'time')}, oldest first"
    else:
        yield f"{found.address}: no memory covered it; this lay beside it"
    several = len({life.process for life in (*found.lives, *found.beside)}) > 1
    for number, life in enumerate((*found.lives, *found.beside)[:_MOST], 1):
        yield f"{number}. {_where(life)}" + (f" (process {life.process})" if several else "")
        yield f"   made{_by(life.made)}"
        yield f"   {life.end}{_by(life.ended)}" if life.end else "   alive when the recording ended"
    if len(found.lives) > _MOST:
        yield f"and {len(found.lives) - _MOST} more: see --format json"
    if found.given:
        yield "launches that were given it, of those in the flight recorders when a context was lost:"
    yield from map(_given, found.given[:_MOST])
    yield from (f"note: {note}" for note in found.notes[:_MOST])


def _where(life: Life) -> str:
    if life.offset < 0:
        place = f"{counted(-life.offset, 'byte')} before the start of"
    elif life.offset >= life.bytes:
        beyond = life.offset - life.bytes
        place = f"{counted(beyond, 'byte')} beyond the end of" if beyond else "at the end of"
    else:
        place = f"{counted(life.offset, 'byte')} into" if life.offset else "the start of"
    device = f", device {life.device}" if life.device is not None else ""
    return f"{place} {life.name}: {binary_size(life.bytes)} at {life.start}{device}"


def _by(site: Site | None) -> str:
    if site is None:
        return " by a call that is not in the recording"
    place = place_of(located(site))
    return f" by {site.api}{f' at {place}' if place else ''} [thread {site.thread}, call #{site.call}]"


def _given(each: Given) -> str:
    place = place_of(located(each.site)) if each.site is not None else ""
    times = f", {each.times:,} times" if each.times > 1 else ""
    kernel = each.kernel or "a kernel whose name is not known"
    return f"   {kernel}{f' at {place}' if place else ''}: argument {each.argument} = {each.value}{times}"
