"""Each kind of object has one row, from which all that is asked about kinds is derived."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cuvet
from cuvet.catalog import Kind, driver
from cuvet.catalog.kinds import (
    BY_HANDLE,
    FUNCTIONS,
    LIBRARY_OBJECTS,
    OF_CONTEXT,
    OUTLIVES_CONTEXT,
    OWNED,
    SURVIVES_FAULT,
    WITHOUT_CONTEXT,
)

ROOT = Path(cuvet.__file__).parent
TABLES = {
    "model/current.py": "what was not tried without a context",
    "source/calls.py": "what was not tried on public code",
    "model/objects.py": "classes, which the catalog does not know",
    "conformance/world.py": "what a random program may dare",
    "device/foreknown.py": "what answers about contexts depend on",
    "analysis/history.py": "what has no life of its own that a page could draw",
    "recording/ordering.py": "which repeated calls were shown to be left out rightly",
}
"""Where more than two kinds stand in one set or are the keys of a table, and what else than a fact about them that is."""


def test_what_is_of_a_context_does_not_outlive_it() -> None:
    assert not OF_CONTEXT & OUTLIVES_CONTEXT
    assert WITHOUT_CONTEXT < OUTLIVES_CONTEXT


def test_what_goes_on_working_belongs_to_no_context() -> None:
    """A green context is the exception: making one fails where the context is lost."""
    assert not SURVIVES_FAULT & OF_CONTEXT
    assert {Kind.GREEN_CONTEXT} == WITHOUT_CONTEXT - SURVIVES_FAULT
    assert {Kind.CONTEXT, Kind.GRAPH_NODE, Kind.LINKER} == SURVIVES_FAULT - WITHOUT_CONTEXT


def test_who_makes_it_has_to_end_it_by_a_call() -> None:
    ended = {
        role.kind for entry in driver().entry_points for role in entry.roles if role.verb.value in ("destroys", "frees")
    }
    assert ended >= OWNED


def test_functions_and_kernels_stand_for_each_other() -> None:
    assert {kind.stands_for for kind in FUNCTIONS} == FUNCTIONS
    assert Kind.CUBLASLT_HANDLE.stands_for is Kind.CUBLAS_HANDLE and Kind.CUBLAS_HANDLE.stands_for is None


@pytest.mark.parametrize(
    ("kind", "noun", "counted"),
    [
        (Kind.MEMORY, "device memory", "allocation"),
        (Kind.HOST_MEMORY, "host memory", "host allocation"),
        (Kind.CUDNN_BACKEND_DESCRIPTOR, "cuDNN backend descriptor", "cuDNN backend descriptor"),
    ],
)
def test_words(kind: Kind, noun: str, counted: str) -> None:
    assert (kind.noun, kind.counted) == (noun, counted)


def test_objects_of_libraries() -> None:
    assert Kind.STREAM.api == "" and Kind.CUBLASLT_DESCRIPTOR.api == "cublaslt"
    assert all(kind in BY_HANDLE and not kind.row.owned for kind in LIBRARY_OBJECTS)


def test_there_is_no_second_table_of_kinds() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if path.parts[len(ROOT.parts)] not in ("catalog", "rules")
        and any(len(kinds) > 2 for kinds in _tables(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == TABLES.keys()


def _tables(tree: ast.AST) -> Iterator[list[ast.expr]]:
    """Members of sets, and keys of dictionaries, that are kinds."""
    for node in ast.walk(tree):
        members = node.elts if isinstance(node, ast.Set) else node.keys if isinstance(node, ast.Dict) else []
        kinds = [each for each in members if isinstance(each, ast.Attribute)]
        yield [each for each in kinds if isinstance(each.value, ast.Name) and each.value.id == "Kind"]
