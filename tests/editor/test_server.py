"""``cuvet lsp`` as an editor sees it: a client that opens, changes and closes documents."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from cuvet.editor.server import Worker
from cuvet.editor.worker import Answer, Ask

MISTAKE = """\
void drain() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(stream));
}
"""
CORRECT = MISTAKE.replace("    CHECK(cudaStreamDestroy(stream));\n", "", 1)
IN_TIME_S = 120
"""A server that says nothing fails the test, and does not stop all."""


class Editor:
    """An editor with a folder, or with none."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.shown: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self._news = asyncio.Event()

        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._published(params))
        client.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self._message(params))

    def _published(self, params: types.PublishDiagnosticsParams) -> None:
        self.shown[params.uri] = params
        self._news.set()

    def _message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)
        self._news.set()

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str, version: int = 1) -> None:
        document = types.TextDocumentItem(self.uri(name), "cuda-cpp", version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, name: str, text: str, version: int) -> None:
        document = types.VersionedTextDocumentIdentifier(version, self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def codes(self, name: str) -> list[object] | None:
        """Of what is shown of a file; None if nothing was ever said of it."""
        shown = self.shown.get(self.uri(name))
        return None if shown is None else [each.code for each in shown.diagnostics]

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), IN_TIME_S)

    async def actions(self, name: str) -> list[types.CodeAction]:
        shown = self.shown[self.uri(name)].diagnostics
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri(name)), shown[0].range, types.CodeActionContext(shown)
        )
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, types.CodeAction)]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs what an editor does. ``folder``: the editor has the directory open, not documents alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()

    async def session(does: Callable[[Editor], Awaitable[None]], folder: bool, units: list[str]) -> None:
        client = LanguageClient("test", "1")
        editor = Editor(client, root)
        await client.start_io(sys.executable, "-m", "cuvet", "lsp")
        encodings = [types.PositionEncodingKind(each) for each in units]
        capabilities = types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=encodings))
        folders = [types.WorkspaceFolder(root.as_uri(), "project")] if folder else None
        await client.initialize_async(types.InitializeParams(capabilities, workspace_folders=folders))
        client.initialized(types.InitializedParams())
        await does(editor)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]

    def run(
        does: Callable[[Editor], Awaitable[None]],
        files: dict[str, str] | None = None,
        folder: bool = True,
        units: list[str] | None = None,
    ) -> None:
        for name, text in (files or {}).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        asyncio.run(session(does, folder, units or ["utf-16"]))

    return run


Edit = Callable[..., None]


def test_what_is_typed_is_checked_before_it_is_saved(edit: Edit) -> None:
    async def does(editor: Editor) -> None:
        editor.open("a.cu", MISTAKE)
        await editor.until(lambda: editor.codes("a.cu") == ["CV202"])
        (found,) = editor.shown[editor.uri("a.cu")].diagnostics
        assert found.range == types.Range(types.Position(4, 28), types.Position(4, 34))
        assert (found.severity, found.source) == (types.DiagnosticSeverity.Error, "cuvet")
        assert found.message.startswith("cudaStreamDestroy: stream `stream` was already destroyed\n")
        related = [(each.location.uri, each.location.range.start.line) for each in found.related_information or ()]
        assert related[:2] == [(editor.uri("a.cu"), 2), (editor.uri("a.cu"), 3)]
        editor.change("a.cu", CORRECT, 2)
        await editor.until(lambda: editor.codes("a.cu") == [])
        assert editor.shown[editor.uri("a.cu")].version == 2

    edit(does, {"a.cu": CORRECT})


def test_the_whole_folder_is_checked_and_documents_alone_are_not(edit: Edit) -> None:
    callee = "void finish(cudaStream_t s) {\n    CHECK(cudaStreamDestroy(s));\n}\n"
    caller = MISTAKE.replace("CHECK(cudaStreamDestroy(stream))", "finish(stream)", 1)

    async def in_a_folder(editor: Editor) -> None:
        editor.open("a.cu", caller)
        await editor.until(lambda: editor.codes("a.cu") == ["CV202"] and editor.codes("other.cu") == ["CV202"])

    async def alone(editor: Editor) -> None:
        editor.open("a.cu", caller)
        editor.open("b.cu", MISTAKE)
        await editor.until(lambda: editor.codes("b.cu") == ["CV202"])
        assert editor.codes("a.cu") is None and editor.codes("other.cu") is None
        editor.close("b.cu")
        await editor.until(lambda: editor.codes("b.cu") == [])

    files = {"a.cu": caller, "finish.cu": callee, "other.cu": MISTAKE.replace("drain", "other")}
    edit(in_a_folder, files)
    edit(alone, files, folder=False)


def test_a_fix_and_a_comment_are_offered(edit: Edit) -> None:
    async def does(editor: Editor) -> None:
        editor.open("a.cu", MISTAKE)
        await editor.until(lambda: editor.codes("a.cu") == ["CV202"])
        fix, ignore = await editor.actions("a.cu")
        assert fix.title == "Fix CV202 (stream-destroy-twice)" and fix.is_preferred
        assert fix.edit and fix.edit.changes
        line = types.Range(types.Position(4, 0), types.Position(5, 0))
        assert list(fix.edit.changes[editor.uri("a.cu")]) == [types.TextEdit(line, "")]
        assert ignore.edit and ignore.edit.changes
        (added,) = ignore.edit.changes[editor.uri("a.cu")]
        assert added == types.TextEdit(
            types.Range(types.Position(4, 37), types.Position(4, 37)), "  // cuvet: ignore[stream-destroy-twice]"
        )
        lines = MISTAKE.split("\n")
        lines[4] += str(added.new_text)
        editor.change("a.cu", "\n".join(lines), 2)
        await editor.until(lambda: editor.codes("a.cu") == [])

    edit(does)


@pytest.mark.parametrize(("unit", "column"), [("utf-16", 34), ("utf-32", 33), ("utf-8", 36)])
def test_columns_are_in_the_units_of_the_editor(edit: Edit, unit: str, column: int) -> None:
    text = MISTAKE.replace(
        "    CHECK(cudaStreamDestroy(stream));\n}", '    "\N{ROCKET}", CHECK(cudaStreamDestroy(stream));\n}'
    )

    async def does(editor: Editor) -> None:
        editor.open("a.cu", text)
        await editor.until(lambda: editor.codes("a.cu") == ["CV202"])
        assert editor.shown[editor.uri("a.cu")].diagnostics[0].range.start.character == column

    edit(does, units=[unit])


def test_a_mistake_in_the_configuration_is_told_once(edit: Edit) -> None:
    async def does(editor: Editor) -> None:
        editor.open("a.cu", MISTAKE)
        await editor.until(lambda: bool(editor.messages))
        (editor.root / ".cuvet.toml").unlink()
        editor.change("a.cu", MISTAKE, 2)
        await editor.until(lambda: editor.codes("a.cu") == ["CV202"])
        assert editor.messages == [f"cuvet: {editor.root}/.cuvet.toml [check]: unknown key selct; did you mean select?"]

    edit(does, {".cuvet.toml": "[check]\nselct = []\n"})


def test_what_is_no_source_file_is_passed_over(edit: Edit) -> None:
    async def does(editor: Editor) -> None:
        editor.open("notes.txt", MISTAKE)
        editor.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem("untitled:a.cu", "cuda-cpp", 1, MISTAKE))
        )
        editor.open("a.cu", MISTAKE)
        await editor.until(lambda: editor.codes("a.cu") == ["CV202"])
        assert list(editor.shown) == [editor.uri("a.cu")]

    edit(does)


def test_a_process_that_ended_is_started_again(tmp_path: Path) -> None:
    ask = Ask(str(tmp_path), True, {"a.cu": MISTAKE.encode()})

    async def does() -> None:
        worker = Worker()
        first = await worker.check(ask, lambda progress: None)
        worker.end()
        second = await worker.check(ask, lambda progress: None)
        third = await worker.check(ask, lambda progress: None)
        worker.end()
        assert await worker.check(ask, lambda progress: None) == second
        assert second == Answer(mistake="the process that checks ended with code -9; the next change starts another")
        assert first.report and first.report == third.report and len(first.report.findings) == 1

    asyncio.run(does())
