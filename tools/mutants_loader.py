"""Loads one source of cuvet as another, with a mutant in it. Imports little: every process that a test starts may need it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]


def mutated(mutant: dict[str, Any]) -> bytes:
    source, text = Path(ROOT, mutant["file"]).read_bytes(), str(mutant["text"])
    return source[: mutant["start"]] + text.encode() + source[mutant["end"] :]


def module_name(file: str) -> str:
    parts = Path(file).relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class OtherSource(importlib.machinery.SourceFileLoader):
    """Loads the mutated file instead of the one that is there."""

    def __init__(self, mutant: dict[str, Any]) -> None:
        self.mutant = mutant
        super().__init__(module_name(mutant["file"]), str(ROOT / mutant["file"]))

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> Any:
        if fullname != self.name:
            return None
        folder = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=folder
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutated(self.mutant), self.path, "exec")
