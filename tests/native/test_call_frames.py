"""What native/cfi.cpp finds in .eh_frame is what readelf finds there, in each row of each function of large files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "cfi.h"
// FILE and where its .eh_frame is; from input: offset of a description in it, function, address.
int main(int, char** arguments) {
    const int file = open(arguments[1], O_RDONLY);
    struct stat status;
    fstat(file, &status);
    const char* bytes = static_cast<const char*>(mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, file, 0));
    const char* frames = bytes + strtoull(arguments[2], nullptr, 16);
    unsigned long offset, function, address;
    while (scanf("%lx %lx %lx", &offset, &function, &address) == 3) {
        const cuvet::Rule rule = cuvet::rule_of(frames + offset, function, address);
        printf("%d %d %d %d\n", int(rule.cfa), int(rule.saved), rule.offset, rule.frame_offset);
    }
}
"""
NAMES = ("UNKNOWN", "STACK", "FRAME", "AT_FRAME", "NONE", "OUTERMOST", "COMPLEX")
SAVED = ("NOT", "AT_CFA", "AT_FRAME")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cfi")
    (folder / "ask.cpp").write_text(PROGRAM)
    flags = ["-std=c++17", "-O2", f"-I{NATIVE}", "-o", str(folder / "ask")]
    subprocess.run(["c++", *flags, str(folder / "ask.cpp"), str(NATIVE / "cfi.cpp")], check=True)
    return folder / "ask"


def rows(file: Path) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Offset of the description, function, address behind an instruction, and what readelf says of each register there."""
    command = ["readelf", "--wide", "--debug-dump=frames-interp", str(file)]
    text = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    (frames,) = re.findall(r"Contents of the \.eh_frame section[^\n]*:\n(.*?)(?:Contents of|\Z)", text, re.DOTALL)
    for entry in frames.split("\n\n"):
        head = re.search(r"^(\w+) \w+ \w+ FDE .*pc=(\w+)\.\.(\w+)$", entry, re.MULTILINE)
        table = re.search(r"^ +LOC +(.*)\n((?:\w.*\n?)*)", entry, re.MULTILINE)
        if not head or not table:
            continue
        names = ["cfa" if name == "CFA" else name for name in table[1].split()]
        found = {}
        for line in table[2].splitlines():
            place, *values = re.sub(r" \(\w+\)", "", line).split()  # r2 (rcx)
            found[int(place, 16)] = dict(zip(names, values, strict=True))
        for place, registers in found.items():
            if place < int(head[3], 16):
                yield head[1], head[2], f"{place + 1:x}", registers


def expected(registers: dict[str, str]) -> set[tuple[str, str, int, int]]:
    """The rules that say the same; of an expression readelf does not say which it is."""
    if registers["ra"] == "u":
        return {("OUTERMOST", "NOT", 0, 0)}
    complex_rule = ("COMPLEX", "NOT", 0, 0)
    cfa = re.fullmatch(r"(rsp|rbp)\+(\d+)", registers["cfa"])
    saved = registers.get("rbp", "u")
    if cfa and int(cfa[2]) % 8 == 0 and registers["ra"] == "c-8" and re.fullmatch(r"u|s|c-\d+", saved):
        where = (0, "NOT") if saved in "us" else (int(saved[1:]) // 8, "AT_CFA")
        return {("STACK" if cfa[1] == "rsp" else "FRAME", where[1], int(cfa[2]) // 8, where[0])}
    if registers["cfa"] == "exp":
        return {complex_rule, *(("AT_FRAME", "AT_FRAME", at, frame) for at in range(-32, 1) for frame in range(-32, 1))}
    return {complex_rule}


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf (binutils) is missing")
@pytest.mark.parametrize("name", ["libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"])
def test_each_row(asked: Path, name: str) -> None:
    command = ["cc", f"-print-file-name={name}"]
    file = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()).resolve()
    sections = subprocess.run(["readelf", "--wide", "-S", str(file)], capture_output=True, text=True, check=True).stdout
    (offset,) = re.findall(r"\.eh_frame +\w+ +\w+ +(\w+)", sections)
    questions = list(rows(file))
    lines = "".join(f"{description} {function} {address}\n" for description, function, address, _ in questions)
    command = [str(asked), str(file), offset]
    answers = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    wrong, simple = [], 0
    for (description, function, address, registers), answer in zip(questions, answers, strict=True):
        cfa, saved, at, frame_at = map(int, answer.split())
        rule = (NAMES[cfa], SAVED[saved], at, frame_at)
        simple += NAMES[cfa] != "COMPLEX"
        if rule not in expected(registers):
            wrong.append((description, function, address, registers, rule))
    assert not wrong, wrong[:5]
    assert len(questions) > 1000 and simple > 0.95 * len(questions)
