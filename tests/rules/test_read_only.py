"""Rules look at the model and change nothing: mypy refuses what the view lacks, and no rule stores into what it was told of."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "src/cuvet/rules"
NOT_RULES = {"programs.py"}
"""It runs the example programs."""
CHANGING = set("add append clear discard extend insert pop popitem remove reverse setdefault sort update".split())
SETTING = {"setattr", "delattr", "__setattr__", "__delattr__"}
MAKING = {"__init__": "self", "__init_subclass__": "cls"}
"""What makes an object or a class, and may store into that and into nothing else."""
STATE = {"allocations", "host_memory", "live_captures", "order", "primaries", "table", "threads"}
"""What the view's queries look into. It can be changed, and so is no rule's."""


def changes(source: str) -> Iterator[str]:
    """The places of a source that store into an object, or into a container that is an attribute of one."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in MAKING]
    own = {id(node) for made in functions for node in ast.walk(made) if _is_of(node, MAKING[made.name])}
    for node in ast.walk(tree):
        stored = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        attribute = isinstance(node, ast.Attribute) and id(node) not in own
        inside = isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Name)
        if (stored and (attribute or inside)) or (
            isinstance(node, ast.Attribute) and ast.unparse(node.value) == "model" and node.attr in STATE
        ):
            yield ast.unparse(node)
        elif isinstance(node, ast.Call):
            method = node.func
            if (
                isinstance(method, ast.Attribute) and method.attr in CHANGING and not isinstance(method.value, ast.Name)
            ) or getattr(method, "attr", getattr(method, "id", "")) in SETTING:
                yield ast.unparse(node)


def _is_of(node: ast.AST, name: str) -> bool:
    """Whether it is an attribute of what has that name."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


def test_no_rule_changes_what_it_was_told_of() -> None:
    files = [file for file in RULES.rglob("*.py") if file.name not in NOT_RULES]
    assert {(file.name, *changes(file.read_text())) for file in files if [*changes(file.read_text())]} == set()


@pytest.mark.parametrize(
    "line",
    [
        "stream.capture = None",
        "stream.context.device += 1",
        "del allocation.pool",
        "context.default_streams[0] = stream",
        "context.children.pop(stream)",
        "model.table.add(Stream, Kind.STREAM, 1, 0)",
        "setattr(stream, 'lost', True)",
        "object.__setattr__(stream, 'lost', True)",
        "def check(self): self.seen = True",
        "def check(cls): cls.count += 1",
        "def __init__(self, stream): stream.lost = True",
        "def __init_subclass__(cls, self): self.lost = True",
    ],
)
def test_a_change_is_seen(line: str) -> None:
    assert list(changes(line))


@pytest.mark.parametrize(
    "line",
    [
        "found = model.find(kind, 1)",
        "words[0] = 1",
        "seen.add(stream)",
        "def __init_subclass__(cls): cls.kinds = kinds",
    ],
)
def test_what_changes_nothing_is_let_pass(line: str) -> None:
    assert list(changes(line)) == []


def test_mypy_refuses_a_rule_that_changes_the_model(tmp_path: Path) -> None:
    """Each line of the rule but the first asks for what a view has not."""
    lines = [
        "found = model.current_context(call)",
        "model.devices = 2",
        "model.shutdown_by = True",
        "model.compiled.add((b'', 90))",
        "model.resets[0] = call",
        "model.lost_contexts.clear()",
        "model.observe(call, Outcome(0))",
        "model.end(model.captures()[0].origin, call)",
        "model.shutdown()",
    ]
    rule = tmp_path / "changing.py"
    head = "from cuvet.model import Call, ModelView, Outcome\n\n\ndef check(call: Call, model: ModelView) -> None:\n"
    rule.write_text(head + "".join(f"    {line}\n" for line in lines))
    environment = {**os.environ, "MYPYPATH": str(RULES.parents[1])}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", str(rule)]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "cache")], env=environment, capture_output=True, text=True, check=False
    )
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert wrong == set(range(6, 5 + len(lines))), done.stdout
