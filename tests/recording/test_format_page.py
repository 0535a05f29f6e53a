"""FORMAT.md has the numbers of the code."""

from __future__ import annotations

import re
from pathlib import Path

from cuvet.recording import layout

PAGE = (Path(layout.__file__).parent / "FORMAT.md").read_text(encoding="utf-8")


def offsets(section: str) -> list[int]:
    return [int(offset) for offset in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]


def test_the_files_header() -> None:
    section = PAGE.split("## File header")[1].split("## Chunks")[0]
    assert offsets(section) == [offset for _, offset, *_ in layout.HEADER.fields.values()]  # type: ignore[union-attr]
    assert f"({layout.HEADER_BYTES} bytes)" in section


def test_the_types_of_records() -> None:
    rows = re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", PAGE.split("## Records")[1], re.MULTILINE)
    assert rows == [(str(kind.value), kind.name) for kind in layout.RecordType]


def test_the_fields_of_each_record() -> None:
    """Their types, in order, as far as they are always there."""
    rows = re.findall(
        r"^\| \d+ \| ([A-Z_]+) \| (.*) \|$", PAGE.split("## Records")[1].split("### CALL")[0], re.MULTILINE
    )
    for name, text in rows:
        if not name.startswith("CALL"):
            fields = layout.fields("".join(word.title() for word in name.split("_")) + "Fields")
            expected = [kind if kind != "i64" else "u64" for kind, _, _ in fields]
            assert re.findall(r"\b[ui]\d+\b(?!\[|s)", text)[: len(expected)] == expected, name


def test_a_call() -> None:
    section = PAGE.split("### CALL\n")[1].split("### CALL_AGAIN")[0]
    fixed = [int(layout.CALL.fields[name][1]) for name in layout.CALL.names or ()]  # type: ignore[index]
    assert set(offsets(section)) == {offset for offset in fixed if offset >= 8 and offset not in (57, 58, 59)} | {64}
    assert f"object[objects] | {layout.CALL_OBJECT.size} bytes" in section
    assert f"output[outputs] | {layout.CALL_OUTPUT.size} bytes" in section


def test_a_call_that_is_made_again() -> None:
    section = PAGE.split("### CALL_AGAIN")[1].split("### CALL_LIKE")[0]
    fields = [int(layout.AGAIN.fields[name][1]) for name in layout.AGAIN.names or ()]  # type: ignore[index]
    assert offsets(section) == [*fields, layout.AGAIN.itemsize]
    assert f"{layout.AGAIN.itemsize} bytes and some words" in section


def test_a_call_that_is_like_another() -> None:
    section = PAGE.split("### CALL_LIKE")[1].split("### Flight recorder")[0]
    fields = [int(layout.LIKE.fields[name][1]) for name in layout.LIKE.names or ()]  # type: ignore[index]
    assert offsets(section) == [*fields, layout.LIKE.itemsize]
    assert f"newest {layout.EXAMPLES} of" in section
    assert f"at most {layout.EXAMPLE_BYTES} bytes" in section


def test_the_flight_recorder() -> None:
    section = PAGE.split("### Flight recorder")[1]
    assert f"{layout.FLIGHT_SLOTS} slots of {layout.FLIGHT_SLOT.itemsize} bytes" in section
    assert f"{layout.FLIGHT_SLOTS} launches of {layout.LAUNCH.itemsize} bytes" in section
