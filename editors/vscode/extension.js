// Starts `cuvet lsp` for the workspace, and restarts it when told to.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["c", "cpp", "cuda-cpp", "python", "csharp"];

let client;

async function start() {
  if (client) {
    return;
  }
  const command = vscode.workspace.getConfiguration("cuvet").get("path", "cuvet");
  client = new LanguageClient(
    "cuvet",
    "cuvet",
    { command, args: ["lsp"] },
    { documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })) },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    await failed(command, error);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.dispose();
}

async function restart() {
  await stop();
  await start();
}

async function failed(command, error) {
  const settings = "Open Settings";
  const chosen = await vscode.window.showErrorMessage(
    `cuvet: \`${command} lsp\` did not start (${error.message ?? error}). ` +
      "Install it with `pip install 'cuvet[lsp]'`, or set cuvet.path to the program.",
    settings,
  );
  if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "cuvet.path");
  }
}

function activate(context) {
  for (const [name, run] of Object.entries({ start, stop, restart })) {
    context.subscriptions.push(vscode.commands.registerCommand(`cuvet.${name}`, run));
  }
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("cuvet.path") && restart()),
  );
  void start();
}

module.exports = { activate, deactivate: stop };
