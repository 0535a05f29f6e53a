"""The tables of ``cuvet export``: names, types and references. docs/export.md says what each column means.

Names, types and meanings stay as they are while ``SCHEMA_VERSION`` does; a newer cuvet can add tables and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION = 1

Type = Literal["integer", "text"]


@dataclass(frozen=True, slots=True)
class Column:
    """``references``: the table whose first column it is, and NULL for none."""

    name: str
    type: Type
    references: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """``key``: how many of the first columns are the primary key. ``indices``: columns that queries ask for."""

    name: str
    columns: tuple[Column, ...]
    key: int = 1
    indices: tuple[tuple[str, ...], ...] = ()


def _table(name: str, columns: str, *, key: int = 1, indices: tuple[str, ...] = ()) -> Table:
    """``columns``: names, each with ``:text`` or ``:table`` if it is neither an integer nor a key of its own."""
    return Table(name, tuple(map(_column, columns.split())), key, tuple(tuple(each.split()) for each in indices))


def _column(word: str) -> Column:
    name, _, kind = word.partition(":")
    return Column(name, "text" if kind == "text" else "integer", "" if kind == "text" else kind)


TABLES = (
    _table("meta", "key:text value:text"),
    _table("recordings", "recording_id directory:text arguments:text device:text driver:text pid exit_code signal host:text"),
    _table(
        "processes",
        "process_id recording_id:recordings pid executable:text start_unix_ns end_ns calls_made calls_stored rank world_size",
    ),
    _table("threads", "process_id:processes thread name:text calls_made", key=2),
    _table("stacks", "stack_id frame_count"),
    _table("frames", "stack_id:stacks depth function:text file:text line module:text language:text", key=2),
    _table(
        "calls",
        "call_id process_id:processes thread number api:text entry_point:text time_ns duration_ns status stream_object_id:objects"
        " stack_id:stacks",
        indices=("process_id thread number", "api", "stream_object_id"),
    ),
    _table(
        "objects",
        "object_id process_id:processes kind:text handle:text size_bytes created_ns ended_ns created_call_id:calls"
        " ended_call_id:calls",
        indices=("kind", "created_call_id", "ended_call_id"),
    ),
    _table(
        "findings",
        "finding_id caused_by_finding_id:findings process_id:processes rule:text name:text severity:text message:text api:text"
        " status signal thread time_ns call_id:calls stack_id:stacks repeats processes because:text help:text",
        indices=("rule", "call_id"),
    ),
    _table(
        "finding_objects",
        "finding_id:findings position object_id:objects name:text kind:text handle:text generation created_call_id:calls"
        " created_stack_id:stacks destroyed_call_id:calls destroyed_stack_id:stacks",
        key=2,
        indices=("object_id",),
    ),
    _table(
        "finding_calls",
        "finding_id:findings position text:text api:text thread time_ns call_id:calls stack_id:stacks",
        key=2,
    ),
    _table(
        "memory",
        "memory_id process_id:processes memory:text device capacity_bytes end_bytes end_allocations peak_bytes peak_allocations"
        " peak_time_ns",
    ),
    _table(
        "memory_places",
        "memory_id:memory position api:text library:text stack_id:stacks end_bytes end_allocations peak_bytes peak_allocations",
        key=2,
        indices=("stack_id",),
    ),
    _table("notes", "note_id text:text"),
)  # fmt: skip
