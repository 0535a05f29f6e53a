"""The extension of VS Code: its own code against a stub of the editor, and ``cuvet lsp`` against the client library that it uses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
EXTENSION = HERE.parents[1] / "editors/vscode"
NODE = shutil.which("node")
MODULES = EXTENSION / "node_modules"
IN_TIME_S = 120
MISTAKE = """\
void drain() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(stream));
}
"""

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js")


def node(script: str, *arguments: str) -> Any:
    command = [str(NODE), str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=IN_TIME_S, check=True)
    return json.loads(done.stdout)


def test_it_starts_the_server_once_and_again_when_told() -> None:
    told = node("vscode_activate.js", str(EXTENSION / "extension.js"))

    assert told["commands"] == ["cuvet.start", "cuvet.stop", "cuvet.restart"]
    server = {"command": "/opt/cuvet", "args": ["lsp"], "languages": ["c", "cpp", "cuda-cpp", "python", "csharp"]}
    assert told["started"] == [server, server]
    assert (told["stopped"], told["errors"]) == (2, [])


def test_it_says_what_to_do_if_cuvet_is_not_found() -> None:
    told = node("vscode_activate.js", str(EXTENSION / "extension.js"), "fails")

    assert told["started"] == []
    assert "`/opt/cuvet lsp` did not start" in told["errors"][0]
    assert "set cuvet.path" in told["errors"][0]


def test_the_package_declares_what_the_code_registers() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))

    commands = [command["command"] for command in package["contributes"]["commands"]]
    assert commands == node("vscode_activate.js", str(EXTENSION / "extension.js"))["commands"]
    assert list(package["contributes"]["configuration"]["properties"]) == ["cuvet.path"]


@pytest.mark.skipif(not MODULES.is_dir(), reason="needs `npm ci` in editors/vscode")
def test_the_client_library_gets_findings_related_places_and_quick_fixes(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    file = tmp_path / "drain.cpp"
    file.write_text(MISTAKE, encoding="utf-8")
    program = str(Path(sys.executable).with_name("cuvet"))

    told = node("vscode_traffic.js", str(MODULES), program, str(tmp_path), str(file), MISTAKE)

    (finding,) = told["diagnostics"]
    assert finding["range"]["start"]["line"] == 4
    assert {place["location"]["range"]["start"]["line"] for place in finding["relatedInformation"]} >= {2, 3}
    assert told["actions"]
    assert all(action["kind"] == "quickfix" and action["edit"] for action in told["actions"])
