"""The pages for newcomers do what they say: their commands run, and print what the page shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cuvet.cli import parse

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WITH_COMMANDS = ("first-steps.md", "reading.md", "recipes.md", "agents.md", "skills/cuvet/SKILL.md", "comparison.md")


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of the page's blocks of code."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder as a reader has it: the examples, and cuvet and python on PATH."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "bin").mkdir()
    for name, command in (("python", ""), ("cuvet", "-m cuvet")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {command} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def outputs(scripts: list[str], place: Path) -> list[tuple[int, str]]:
    """Exit code and output of each script, all in one shell, as a reader would type them."""
    marked = [f'{script}printf "\\n@@@%d\\n" $?\n' for script in scripts]
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(place)}
    environment.pop("XDG_STATE_HOME", None)
    (place / "all.sh").write_text("".join(marked), encoding="utf-8")
    done = subprocess.run(
        ["bash", "all.sh"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        text=True,
        cwd=place,
        env=environment,
    )
    found = re.findall(r"(.*?)\n@@@(\d+)\n", done.stdout, re.S)
    assert len(found) == len(scripts), done.stdout
    return [(int(code), output) for output, code in found]


def same(output: str) -> str:
    """The output without what differs from run to run: threads, handles, times, the directory of the recording."""
    output = re.sub(r"\bthread \d+", "thread N", output)
    output = re.sub(r"0x[0-9a-f]+", "0xN", output)
    output = re.sub(r", \S+ (ns|µs|ms|s) before", ", N before", output)
    return re.sub(r"^(look again: cuvet analyze ).*", r"\1DIR", output, flags=re.M).strip()


@pytest.mark.parametrize("page", ["first-steps.md", "reading.md", "agents.md"])
def test_the_commands_print_what_the_page_shows(page: str, place: Path) -> None:
    written = [block for block in blocks(page) if block[0] in ("sh", "text")]
    if not shutil.which("jq"):
        jq = next((n for n, (_, text) in enumerate(written) if text.startswith("jq ")), None)
        written = written if jq is None else written[:jq] + written[jq + 2 :]
    scripts = [number for number, (language, _) in enumerate(written) if language == "sh"]
    assert len(scripts) >= 3
    found = outputs([written[number][1] for number in scripts], place)
    for number, (code, output) in zip(scripts, found, strict=True):
        shown = (
            written[number + 1][1] if written[number + 1 : number + 2] and written[number + 1][0] == "text" else None
        )
        if shown is None:
            assert code == 0, output
        elif shown.endswith("…\n"):
            assert same(output).startswith(same(shown[:-2]))
        else:
            assert same(output) == same(shown), found


def commands(page: str) -> list[list[str]]:
    """The arguments of every ``cuvet`` on the page, in blocks of code, in lists of a container and in the text."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = [
        shlex.split(line) for _, block in blocks(page) for line in re.findall(r"(?:^|-n 4 )cuvet (.+)$", block, re.M)
    ]
    found += [
        [*json.loads(words)[1:], *json.loads(more)]
        for words, more in re.findall(r'(\["cuvet".*?\])\n(?:args:|CMD) (\[.*?\])', text)
    ]
    return found + [
        shlex.split(words) for words in re.findall(r"`cuvet ([^`…]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    ]


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_is_one(page: str) -> None:
    for words in commands(page):
        cut = words[: words.index("||")] if "||" in words else words
        needs_more = cut[0] in ("check", "run", "analyze", "inspect", "explain") and len(cut) == 1
        if cut[0] != "ignore" and not needs_more:
            assert parse(cut)


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_options_of_the_plugin_are_on_its_page(page: str) -> None:
    plugin = (DOCS / "pytest.md").read_text(encoding="utf-8")
    for option in re.findall(r"(--cuvet[\w-]*)", (DOCS / page).read_text(encoding="utf-8")):
        assert f"| `{option}" in plugin, option


def test_there_are_recipes_for_containers() -> None:
    assert sum("%h" in word for words in commands("recipes.md") for word in words) >= 2


def test_the_skill_has_the_front_matter_that_agents_look_for() -> None:
    text = (DOCS / "skills/cuvet/SKILL.md").read_text(encoding="utf-8")
    name, description = re.match(r"---\nname: (.+)\ndescription: (.+)\n---\n", text).groups()  # type: ignore[union-attr]
    assert name == "cuvet" and len(description) <= 1024
    assert not re.search(r"\]\((?!https?:)", text), "the folder is copied alone: links to other pages would break"


def told(messages: list[str]) -> str:
    """What memcheck says of a program, at most."""
    if any(message.startswith("Invalid __global__") for message in messages):
        return "an access in a kernel"
    if any(message.startswith("Program hit") for message in messages):
        return "the error of a call"
    if any("didn't terminate successfully" in message for message in messages):
        return '"process didn\'t terminate successfully"'
    return "a leak" if any(message.startswith("Leaked") for message in messages) else "nothing"


def test_the_comparison_counts_what_was_measured() -> None:
    page = (DOCS / "comparison.md").read_text(encoding="utf-8")
    facts = (ROOT / "src/cuvet/knowledge/facts/h200-driver580-cuda13.jsonl").read_text(encoding="utf-8")
    named = dict(
        re.findall(r"^\| (\w+) \| H200 \| .*? \| (.*?) \|", (DOCS / "hardware.md").read_text(encoding="utf-8"), re.M)
    )
    rows = [row for row in map(json.loads, facts.splitlines()) if row["memcheck"]]
    found = [row for row in rows if named[row["id"]] != "nothing"]
    assert f"{len(rows)} small programs" in page and f"a finding about {len(found)} of them" in page
    groups: dict[str, list[dict[str, object]]] = {
        "dies of SIGSEGV": [],
        "gets an error from a call": [],
        "gets no error": [],
    }
    for row in found:
        failed = any(call["status"] not in (0, 600) for call in row["calls"])
        groups[
            "dies of SIGSEGV" if row["signal"] else "gets an error from a call" if failed else "gets no error"
        ].append(row)
    for group, members in groups.items():
        (cells,) = re.findall(rf"^\| {group} \|(.*)\|$", page, re.M)
        count, cuvet, memcheck, log = (cell.strip() for cell in cells.split("|"))
        says = Counter(told(row["memcheck"]["messages"]) for row in members)  # type: ignore[index]
        assert Counter({what: int(n) for what, n in re.findall(r"(.+?) (\d+)(?:, |$)", memcheck)}) == says
        assert [int(count), int(cuvet), int(log)] == [
            len(members),
            len(members),
            sum(bool(row["cuda_log"]) for row in members),
        ]


def test_the_comparison_has_the_times_of_the_readme() -> None:
    number = r"(?<![\w.])\d+(?:\.\d+)?(?= (?:ms|%|and))"
    told = re.findall(
        r"^\| (?:a small transformer's|these two) .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M
    )
    rows = re.findall(r"^\| a .*, training \|.*$", (DOCS / "comparison.md").read_text(encoding="utf-8"), re.M)
    figures = re.findall(number, " ".join(rows))
    known = re.sub(r" \[.*?\]", "", " ".join(told))
    assert (
        len(figures) == 8
        and [figure for figure in figures if not re.search(rf"(?<![\w.]){figure}(?![\w.])", known)] == []
    )
