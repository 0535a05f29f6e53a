"""``cuvet check``: applies the model's rules to source code, along the paths of its functions. It compiles and executes nothing.

``check_source`` looks at one file, ``check_project`` at what only several files together show (a class whose header and source
are two files, a function that another file defines). The first is the expensive part and depends on one file alone, so its
result can be kept; the second is quick.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cuvet.findings import Finding
from cuvet.source.result import FileResult, NotChecked, Options, Outline, Summaries

__all__ = [
    "SUFFIXES",
    "FileResult",
    "NotChecked",
    "Options",
    "Outline",
    "Summaries",
    "check_project",
    "check_source",
    "findings_of_files",
    "link",
]

SUFFIXES: dict[str, Literal["c++", "python", "c#"]] = {
    **dict.fromkeys((".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".hh", ".inl", ".inc"), "c++"),
    ".py": "python",
    ".cs": "c#",
}
"""Languages by the end of a file's name."""


def check_source(
    path: Path, text: bytes, options: Options | None = None, callees: Summaries | None = None
) -> FileResult:
    """Check one file, which is not opened: ``text`` is what it holds, ``path`` names it in findings and says its language. ``callees``
    is what ``link`` says of the file.

    CuvetError if tree-sitter or the language's grammar is not installed. A file that is not valid in any way is no error:
    what could not be read is in ``not_checked``.
    """
    from cuvet.source.check import check_file  # start: the parser, which is an optional package

    return check_file(path, text, options or Options(), callees or {})


def link(files: Sequence[FileResult]) -> dict[str, Summaries]:
    """By name of the file: what functions of other files do for it. Such files are to be checked once more, with this in mind."""
    from cuvet.source.project.linking import linked  # start: the parser, which is an optional package

    return linked([file.outline for file in files if file.outline is not None])


def findings_of_files(files: Sequence[FileResult]) -> list[Finding]:
    """The findings of the files, without those about functions that another file of the program declares, and those about members that
    the class of a local object may end, wherever it is defined."""
    from cuvet.source.check import of_files  # start: the parser, which is an optional package

    return list(of_files(files))


def check_project(files: Sequence[FileResult]) -> tuple[Finding, ...]:
    """Findings that take more than one file. Those of the files themselves are not repeated."""
    from cuvet.source.check import check_together  # start: the parser, which is an optional package

    return check_together(files)
