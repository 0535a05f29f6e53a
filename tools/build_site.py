"""Build the documentation as a site that needs no network: ``python tools/build_site.py [DIRECTORY]`` (default: build/site).

GitHub shows the pages where they lie; MkDocs wants them in one folder, with links that stay in it. So the pages of docs/,
README.md and each file that a page links to are copied to one folder first, and their links follow. A link that leads
nowhere ends the build.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]

PLACES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Where pages of the repository are in the site. Those of docs/ keep their path below it; others are in files/."""

_FENCE = re.compile(r"( *)(```+|~~~+)")
_LINK = re.compile(r"(`[^`]*`)|\[((?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_LIST = re.compile(r"(?:[*-]|\d+\.) ")


def build(directory: Path) -> None:
    """Writes the site to ``directory``; raises ``SystemExit`` with what MkDocs says if a page or link is wrong."""
    with tempfile.TemporaryDirectory() as scratch:
        pages = Path(scratch, "pages")
        copy_pages(pages)
        (pages / "assets").mkdir()
        (pages / "assets/iframe-worker.js").write_bytes((ROOT / "tools/site/iframe-worker.js").read_bytes())
        configuration = Path(scratch, "mkdocs.yml")
        configuration.write_bytes((ROOT / "mkdocs.yml").read_bytes())
        paths = ["--config-file", str(configuration), "--site-dir", str(directory.absolute())]
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", *paths],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        )
    if done.returncode:
        sys.exit(f"{done.stdout}\nthe site cannot be built")


def copy_pages(pages: Path) -> None:
    """Copies the pages, and the files that they link to, into the folder ``pages``."""
    waiting = ["README.md", *(page.relative_to(ROOT).as_posix() for page in sorted(ROOT.glob("docs/**/*.md")))]
    known = set(waiting)
    while waiting:
        source = waiting.pop()
        target = pages / place(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            target.write_text(for_mkdocs(text, partial(_moved, page=source)), encoding="utf-8")
            linked = linked_files(text, source)
            waiting += sorted(linked - known)
            known |= linked
        else:
            target.write_bytes((ROOT / source).read_bytes())


def place(source: str) -> str:
    """Where a file of the repository is in the site."""
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return PLACES.get(source, f"files/{source}")


def linked_files(text: str, page: str) -> set[str]:
    """The files of the repository, by their path in it, that ``text``, the page at path ``page``, links to."""
    found: set[str] = set()

    def see(link: str) -> str:
        if (source := _source(link, page)) is not None:
            found.add(source)
        return link

    for_mkdocs(text, see)
    return found


def _source(link: str, page: str) -> str | None:
    """The path in the repository of the file that a link of ``page`` names; None for an address, an anchor, or no file."""
    if re.match(r"[a-z]+:|#", link):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link.partition("#")[0]))
    return path if (ROOT / path).is_file() else None


def _moved(link: str, page: str) -> str | None:
    """The link as it must be in the site. None if it leads to a folder, which the site does not show."""
    source = _source(link, page)
    if source is None:
        folder = (ROOT / page).parent / link.partition("#")[0]
        return None if not re.match(r"[a-z]+:|#", link) and folder.is_dir() else link
    moved = posixpath.relpath(place(source), posixpath.dirname(place(page)) or ".")
    return moved + "".join(link.partition("#")[1:])


def for_mkdocs(text: str, moved: Callable[[str], str | None]) -> str:
    """A page of GitHub's Markdown as MkDocs's reads the same: lists begin after an empty line, what belongs to an item is
    indented by 4. ``moved`` says what becomes of a link; of None, only its text stays."""

    def link(match: re.Match[str]) -> str:
        code, words, target = match.groups()
        if code is not None:
            return str(code)
        new = moved(target)
        return str(words) if new is None else f"[{words}]({new})"

    parts: list[str] = []
    for is_code, lines in _parts(text):
        if is_code:
            indent = len(lines[0]) - len(lines[0].lstrip(" "))
            shift = " " * (4 - indent) if 0 < indent < 4 else ""
            parts += [shift + line if line else line for line in lines]
        else:
            parts.append(_LINK.sub(link, "\n".join(_prose(lines))))
    return "\n".join(parts)


def _parts(text: str) -> Iterator[tuple[bool, list[str]]]:
    """The lines of the text, in parts: whether it is a block of code, with its fences, and its lines."""
    fence, lines = "", list[str]()
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            if mark and mark[2].startswith(fence) and line.strip() == mark[2]:
                yield True, lines
                fence, lines = "", []
        elif mark:
            if lines:
                yield False, lines
            fence, lines = mark[2], [line]
        else:
            lines.append(line)
    if lines:
        yield bool(fence), lines


def _prose(lines: list[str]) -> Iterator[str]:
    """Lines that are no code, with what lists need."""
    before = ""
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if 0 < indent < 4:
            line = "    " + line[indent:]
        elif _LIST.match(line) and before and not before.startswith(" ") and not _LIST.match(before):
            yield ""
        yield line
        before = line


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/site")
