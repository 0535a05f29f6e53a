"""The language server: which documents are open, when what is checked, and what the editor is told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import msgspec
from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

import cuvet
from cuvet.editor.diagnostics import Diagnostics
from cuvet.editor.worker import LENGTH, Answer, Ask, Progress
from cuvet.findings import Tool
from cuvet.printable import printable
from cuvet.source import SUFFIXES
from cuvet.source.tool.fingerprints import place
from cuvet.source.tool.lines import hold
from cuvet.source.tool.report import CheckFinding, CheckReport

QUIET_S = 0.3
"""After a change nothing is checked for so long: the next one may follow."""
_MANY_FILES = 200
"""Fewer are checked before anyone could read that they are."""


class Worker:
    """The process that checks. It is started when it is needed, and again if it ended."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def check(self, ask: Ask, tell: Callable[[Progress], None]) -> Answer:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "cuvet.editor.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        try:
            return await self._answer(self._process, msgspec.msgpack.encode(ask), tell)
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self._process.wait()
            self._process = None
            return Answer(mistake=f"the process that checks ended with code {code}; the next change starts another")

    async def _answer(
        self, process: asyncio.subprocess.Process, ask: bytes, tell: Callable[[Progress], None]
    ) -> Answer:
        assert process.stdin and process.stdout
        process.stdin.write(LENGTH.pack(len(ask)) + ask)
        await process.stdin.drain()
        while True:
            (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
            message = _DECODER.decode(await process.stdout.readexactly(length))
            if isinstance(message, Answer):
                return message
            tell(message)

    def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


_DECODER: msgspec.msgpack.Decoder[Progress | Answer] = msgspec.msgpack.Decoder(Progress | Answer)


@dataclass
class Area:
    """What is checked together: a folder of the workspace, or with ``alone`` the open documents of a folder outside of it."""

    root: Path
    alone: bool
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    told: set[Path] = field(default_factory=set)
    """Files of which the editor shows something."""
    findings: dict[Path, list[CheckFinding]] = field(default_factory=dict)
    versions: dict[Path, int | None] = field(default_factory=dict)
    """Of the documents, as they were checked."""
    mistake: str = ""
    """What the user was told last of why nothing could be checked."""


class Server(LanguageServer):
    """Areas are checked one after the other. A change while one is checked makes it be checked again."""

    def __init__(self) -> None:
        super().__init__("cuvet", cuvet.__version__)
        self._worker = Worker()
        self._turn = asyncio.Lock()
        self._areas: dict[Path, Area] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def changed(self, uri: str) -> None:
        """A document was opened, changed, saved or closed."""
        path = _path_of(uri)
        if path is None:
            return
        root, alone = self._root_of(path)
        if root not in self._areas:
            self._areas[root] = Area(root, alone)
            self._tasks.append(asyncio.create_task(self._watch(self._areas[root])))
        self._areas[root].changed.set()

    def everything_changed(self) -> None:
        """Files changed on the disk."""
        for area in self._areas.values():
            area.changed.set()

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What can be done about the findings in a range, if the document is as it was checked."""
        uri = params.text_document.uri
        path = _path_of(uri)
        area = self._areas.get(self._root_of(path)[0]) if path else None
        document = self.workspace.get_text_document(uri)
        if path is None or area is None or area.versions.get(path) != document.version:
            return []
        hold(_texts(self._documents(area)))
        diagnostics = Diagnostics(area.root, self.workspace.position_codec)
        wanted = {each.data for each in params.context.diagnostics if each.source == "cuvet"}
        every = area.findings.get(path, [])
        return [
            action
            for finding in every
            if finding.fingerprint in wanted
            for action in diagnostics.actions(uri, path, finding, every)
        ]

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._worker.end()

    async def _watch(self, area: Area) -> None:
        """Check the area whenever it changed."""
        while True:
            await area.changed.wait()
            while area.changed.is_set():
                area.changed.clear()
                await asyncio.sleep(QUIET_S)
            async with self._turn:
                await self._check(area)

    async def _check(self, area: Area) -> None:
        documents = self._documents(area)
        if area.alone and not documents:
            self._tell(area, documents, CheckReport(tool=_TOOL, root=str(area.root)))
            return
        texts = _texts(documents)
        progress = _Progress(self, area.root)
        ask = Ask(str(area.root), area.alone, {str(path.relative_to(area.root)): text for path, text in texts.items()})
        answer = await self._worker.check(ask, progress.tell)
        progress.end()
        if answer.mistake and answer.mistake != area.mistake:
            message = types.ShowMessageParams(types.MessageType.Error, f"cuvet: {printable(answer.mistake)}")
            self.window_show_message(message)
        area.mistake = answer.mistake
        if answer.report is not None:
            hold(texts)
            self._tell(area, documents, answer.report)

    def _tell(self, area: Area, documents: Sequence[tuple[Path, str, str, int | None]], report: CheckReport) -> None:
        """Show what was found, where something else is shown."""
        found = Diagnostics(area.root, self.workspace.position_codec).of(report)
        opened = {path: (uri, version) for path, uri, _, version in documents}
        for path in area.told | set(found):
            uri, version = opened.get(path, (uris.from_fs_path(str(path)) or "", None))
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=uri, diagnostics=found.get(path, []), version=version)
            )
        area.told = set(found)
        area.versions = {path: version for path, (_, version) in opened.items()}
        area.findings = {}
        for finding in report.findings:
            area.findings.setdefault(area.root / (place(finding).file or ""), []).append(finding)
        for unread in report.unread:
            message = types.LogMessageParams(types.MessageType.Warning, printable(f"{unread.file}: {unread.why}"))
            self.window_log_message(message)

    def _documents(self, area: Area) -> list[tuple[Path, str, str, int | None]]:
        """The open documents of an area: path, address, text and version."""
        found = []
        for uri, document in self.workspace.text_documents.items():
            path = _path_of(uri)
            if path is not None and self._root_of(path) == (area.root, area.alone):
                found.append((path, uri, document.source, document.version))
        return found

    def _root_of(self, path: Path) -> tuple[Path, bool]:
        """The innermost folder of the workspace that has the file; its own folder, of which nothing else is checked, if none has."""
        folders = [Path(name) for uri in self.workspace.folders if (name := uris.to_fs_path(uri))]
        if not folders and self.workspace.root_path:
            folders = [Path(self.workspace.root_path)]
        around = [folder for folder in folders if folder in path.parents]
        return (max(around, key=lambda folder: len(folder.parts)), False) if around else (path.parent, True)


class _Progress:
    """Tells how far a check is, once it turns out to be of many files, and if the editor can show it."""

    def __init__(self, server: Server, root: Path) -> None:
        self._server = server
        self._title = f"cuvet: checking {root.name}"
        self._token = ""

    def tell(self, progress: Progress) -> None:
        window = self._server.client_capabilities.window
        if progress.files < _MANY_FILES or window is None or not window.work_done_progress:
            return
        if not self._token:
            self._token = str(uuid4())
            self._server.window_work_done_progress_create(types.WorkDoneProgressCreateParams(self._token))
            begin = types.WorkDoneProgressBegin(title=self._title, percentage=0)
            self._server.work_done_progress.begin(self._token, begin)
        said = f"{progress.done:,} of {progress.files:,} files"
        report = types.WorkDoneProgressReport(message=said, percentage=100 * progress.done // progress.files)
        self._server.work_done_progress.report(self._token, report)

    def end(self) -> None:
        if self._token:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())


def _path_of(uri: str) -> Path | None:
    """The file of a document; None if it is none, or in no language that is read."""
    name = uris.to_fs_path(uri) if uri.startswith("file:") else None
    path = Path(name) if name else None
    return path if path is not None and path.suffix.lower() in SUFFIXES else None


def _texts(documents: Sequence[tuple[Path, str, str, int | None]]) -> dict[Path, bytes]:
    return {path: text.encode("utf-8", "replace") for path, _, text, _ in documents}


_TOOL = Tool(version=cuvet.__version__)


def serve() -> None:
    """Answer an editor on standard input and output, until it says that it is done."""
    server = Server()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def changed(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        server.everything_changed()

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return server.actions(params)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.end()

    try:
        server.start_io()
    finally:
        server.end()
