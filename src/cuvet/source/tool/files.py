"""Which files are checked: source files below the paths given, each once, without those that ``.gitignore`` or ``exclude`` name."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError
from cuvet.configuration import repository
from cuvet.printable import valid
from cuvet.regular import NOT_REGULAR, read_whole
from cuvet.source import SUFFIXES
from cuvet.source.tool.cache import Status, status_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MOST_BYTES = 1 << 20
"""Of a file with patterns."""
SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))
"""Directories that hold no source of the project, besides hidden ones and virtual environments."""


@dataclass(frozen=True, slots=True)
class File:
    """``name`` is ``path`` as reports write it: relative to the working directory if it is below it, and always valid. ``text`` stands
    for what the file holds, if there is one: an editor has it, or it came by standard input."""

    name: str
    path: Path
    status: Status | None = None
    text: bytes | None = None


@dataclass(slots=True)
class Found:
    """``skipped`` says what was asked for or found and is not checked, one (name, reason) each; ``broken``, what could not be read."""

    files: list[File]
    skipped: list[tuple[str, str]]
    broken: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of a ``.gitignore``: they are about what is below ``directory``."""

    directory: str
    spec: GitIgnoreSpec

    def decide(self, path: str, is_directory: bool) -> bool | None:
        """Whether they leave the path out (True) or in (False); None if no pattern is about it."""
        if not path.startswith(f"{self.directory}/"):
            return None
        relative = path[len(self.directory) + 1 :]
        return self.spec.check_file(relative + "/" if is_directory else relative).include


def as_they_are(found: Found) -> Found:
    """The same files, with what tells now whether they were changed."""
    return Found([replace(each, status=_status(each.path)) for each in found.files], found.skipped, found.broken)


def _status(path: Path) -> Status | None:
    try:
        return status_of(path.stat())
    except OSError:
        return None  # reading it says why


def find(
    paths: Sequence[Path],
    exclude: Sequence[str] = (),
    base: Path | None = None,
    texts: Mapping[Path, bytes] | None = None,
) -> Found:
    """The files to check. A file named by ``paths`` is checked whatever patterns say, and so is one of ``texts``, with its text.

    ``exclude`` are patterns as in ``.gitignore``, relative to the directory ``base``. CuvetError if a path does not exist, or a text is
    in no language that is read.
    """
    found = Found([], [], [])
    seen: set[tuple[int, int]] = set()
    for path, text in (texts or {}).items():
        if path.suffix.lower() not in SUFFIXES:
            raise CuvetError(f"{valid(path)} is not a kind of source file that cuvet check reads")
        found.files.append(File(_shown(path), path, None, text))
        with suppress(OSError):
            seen.add(_identity(path.stat()))
    always = [_patterns(exclude, base, "exclude")]
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise CuvetError(f"{valid(path)}: {error.strerror}") from None
        if stat.S_ISDIR(mode):
            for file in _below(path, always, found):
                _add(file, seen, found)
        elif not stat.S_ISREG(mode):
            found.skipped.append((valid(path), NOT_REGULAR))
        elif path.suffix.lower() not in SUFFIXES:
            found.skipped.append((valid(path), "not a kind of source file that cuvet check reads"))
        else:
            _add(path, seen, found)
    irregular = [name for name, why in found.skipped if why == NOT_REGULAR]
    if irregular and not found.files and not found.broken:
        raise CuvetError(f"{irregular[0]} is {NOT_REGULAR}: cuvet check reads source files and directories of them")
    if not found.files and not found.broken:
        raise CuvetError(f"no source file in {' '.join(map(valid, paths))} (looked for {' '.join(SUFFIXES)})")
    return found


def named_by(pattern: str, base: Path | None, what: str) -> Callable[[str], bool]:
    """Whether a file, by its path, is meant by a pattern as in ``.gitignore``, relative to the directory ``base``. CuvetError, which
    begins with ``what``, if it is no pattern."""
    patterns = _patterns([pattern], base, what)
    return lambda file: bool(patterns.decide(os.path.abspath(file), is_directory=False))


def _patterns(lines: Sequence[str], base: Path | None, what: str) -> _Patterns:
    wrong = next((line for line in lines if not _is_pattern(line)), None)
    if wrong is not None:
        raise CuvetError(f"{what}: {wrong!r} is not a pattern as in .gitignore")
    return _Patterns(str((base or Path.cwd()).resolve()), _spec(lines))


def _add(path: Path, seen: set[tuple[int, int]], found: Found) -> None:
    try:
        status = path.stat()
    except OSError as error:  # a link to nothing, or to itself
        found.skipped.append((valid(path), error.strerror or str(error)))
        return
    key = _identity(status)
    if key not in seen and stat.S_ISREG(status.st_mode):
        seen.add(key)
        found.files.append(File(_shown(path), path, status_of(status)))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _shown(path: Path) -> str:
    if path.is_absolute():
        try:
            path = path.relative_to(Path.cwd())
        except ValueError:
            pass
    return valid(path)


def _below(top: Path, always: list[_Patterns], found: Found) -> Iterator[Path]:
    """Source files in and below a directory, in the order of their names. Links to directories are not followed."""
    pending = [(top, os.path.realpath(top), _from_above(top))]
    while pending:
        directory, real, ignored = pending.pop()
        try:
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            found.broken.append((valid(directory), error.strerror or str(error)))
            continue
        if any(entry.name == ".gitignore" for entry in entries):
            ignored = [*ignored, *_read(directory / ".gitignore", Path(real))]
        elif any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        below = []
        for entry in entries:
            is_directory = entry.is_dir(follow_symlinks=False)
            if not (_may_hold_source(entry) if is_directory else _is_source(entry)):
                continue
            path = os.path.join(real, entry.name)
            if _left_out(path, always, ignored, is_directory):
                continue
            if is_directory:
                below.append((directory / entry.name, path, ignored))
            else:
                yield directory / entry.name
        pending.extend(reversed(below))


def _may_hold_source(directory: os.DirEntry[str]) -> bool:
    return not directory.name.startswith(".") and directory.name not in SKIPPED


def _is_source(entry: os.DirEntry[str]) -> bool:
    return os.path.splitext(entry.name)[1].lower() in SUFFIXES and not os.path.isdir(entry.path)


def _left_out(path: str, always: list[_Patterns], ignored: list[_Patterns], is_directory: bool) -> bool:
    """As git decides: the patterns of the innermost directory that say anything about the path."""
    for patterns in (*always, *reversed(ignored)):
        decision = patterns.decide(path, is_directory)
        if decision is not None:
            return decision
    return False


def _from_above(top: Path) -> list[_Patterns]:
    """The patterns of the directories above ``top`` in its repository; none if they leave out ``top`` itself, which was asked for."""
    root = repository(top)
    real = top.resolve()
    if root is None or root == real:
        return _read(root / ".git/info/exclude", root) if root else []
    patterns = _read(root / ".git/info/exclude", root)
    ignored = False
    for directory in (root, *reversed([each for each in real.parents if root in each.parents]), real):
        if directory != root and _left_out(str(directory), [], patterns, is_directory=True):
            ignored = True
        if directory != real:
            patterns += _read(directory / ".gitignore", directory)
    return [] if ignored else patterns


def _read(file: Path, directory: Path) -> list[_Patterns]:
    try:
        lines = read_whole(file, _MOST_BYTES).decode("utf-8", "surrogateescape").splitlines()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return []
    except OSError as error:
        raise CuvetError(f"cannot read {valid(file)}: {error.strerror}") from None
    return [_Patterns(str(directory), _spec([line for line in lines if _is_pattern(line)]))]


def _is_pattern(line: str) -> bool:
    """Git, too, passes over what is none, as ``!`` alone."""
    try:
        _spec([line])
    except ValueError:
        return False
    return True


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    try:
        from pathspec import GitIgnoreSpec
    except ImportError as error:
        raise CuvetError(f"cuvet check needs {error.name}: pip install 'cuvet[check]'") from error
    return GitIgnoreSpec.from_lines(lines)
