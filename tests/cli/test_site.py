"""The documentation as a site: built from all pages, and without a network to look at it."""

from __future__ import annotations

import importlib.util
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE: dict[str, Any] = runpy.run_path(str(ROOT / "tools/build_site.py"))
CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
for_mkdocs: Callable[[str, Callable[[str], str | None]], str] = SITE["for_mkdocs"]

needs_mkdocs = pytest.mark.skipif(not importlib.util.find_spec("material"), reason="mkdocs-material is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    SITE["build"](folder)
    return folder


def test_every_page_is_in_the_navigation_or_in_its_list() -> None:
    navigation = set(re.findall(r"^ +- (?:.*: )?(\S+\.md)$", CONFIGURATION, re.M))
    lists = {f"{kind}/": (DOCS / f"{kind}.md").read_text(encoding="utf-8") for kind in ("rules", "causes")}
    for page in sorted(DOCS.glob("**/*.md")):
        path = page.relative_to(DOCS).as_posix()
        folder = path[: path.find("/") + 1]
        assert f"]({path})" in lists[folder] if folder in lists else path in navigation, path


@needs_mkdocs
def test_the_site_has_every_page(site: Path) -> None:
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.glob("**/*.md")]
    assert [
        page for page in [*pages, Path("index.html"), Path("search/search_index.js")] if not (site / page).exists()
    ] == []


@needs_mkdocs
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    tags = r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
    for page in site.glob("**/*.html"):
        assert re.findall(tags, page.read_text(encoding="utf-8")) == [], page
    for sheet in site.glob("**/*.css"):
        assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")) == [], sheet


@needs_mkdocs
@pytest.mark.parametrize("broken", ["[x](no-such-page.md)", "[x](check.md#no-such-heading)"])
def test_a_broken_link_ends_the_build(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools/site").mkdir(parents=True)
    (tmp_path / "tools/site/iframe-worker.js").touch()
    for page in ("README.md", "docs/check.md", "docs/ci.md"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text("# Page\n", encoding="utf-8")
    start, _, _ = CONFIGURATION.partition("nav:\n")
    (tmp_path / "mkdocs.yml").write_text(start + "nav: [index.md, check.md, ci.md]\n", encoding="utf-8")
    monkeypatch.setitem(SITE["build"].__globals__, "ROOT", tmp_path)
    SITE["build"](tmp_path / "site")
    (tmp_path / "docs/ci.md").write_text(f"# Page\n\n{broken}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"no-such-(page|heading)"):
        SITE["build"](tmp_path / "site")


@pytest.mark.parametrize(
    ("link", "page", "moved"),
    [
        ("docs/check.md#edits", "README.md", "check.md#edits"),
        ("../README.md#what-it-costs", "docs/check.md", "index.md#what-it-costs"),
        ("../check.md", "docs/rules/x.md", "../check.md"),
        ("../native/README.md#words", "docs/check.md", "files/native/README.md#words"),
        ("#edits", "docs/check.md", "#edits"),
        ("https://example.org/a.md", "docs/check.md", "https://example.org/a.md"),
        ("no-such-page.md", "docs/check.md", "no-such-page.md"),
        ("../tests/races", "docs/check.md", None),
    ],
)
def test_links_follow_their_pages(link: str, page: str, moved: str | None) -> None:
    assert SITE["_moved"](link, page) == moved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text:\n* one\n  more\n* two", "Text:\n\n* one\n    more\n* two"),
        ("1. a\n\n   ```\n   code\n     more\n   ```\n   b", "1. a\n\n    ```\n    code\n      more\n    ```\n    b"),
        ("```\n- [x](y)\n  z\n```", "```\n- [x](y)\n  z\n```"),
        ("`[x](y)` [a `b]`](y)", "`[x](y)` [a `b]`](moved)"),
        ("[over\ntwo](y)", "[over\ntwo](moved)"),
        ("````\n```\n[x](y)\n```\n````\n[x](y)", "````\n```\n[x](y)\n```\n````\n[x](moved)"),
    ],
)
def test_markdown_of_github_reads_the_same(text: str, expected: str) -> None:
    assert for_mkdocs(text, lambda link: "moved") == expected


def test_a_link_to_a_folder_is_text() -> None:
    assert for_mkdocs("[decisions](docs/decisions)", lambda link: None) == "decisions"
