// Speaks with `cuvet lsp` by the protocol's library that VS Code uses: prints as JSON what it says of a document, and its quick fixes.
"use strict";
const { spawn } = require("node:child_process");
const { pathToFileURL } = require("node:url");
const [modules, program, folder, file, text] = process.argv.slice(2);
const lsp = require(`${modules}/vscode-languageserver-protocol/node`);
const server = spawn(program, ["lsp"], { stdio: ["pipe", "pipe", "ignore"] });
const connection = lsp.createProtocolConnection(
  new lsp.StreamMessageReader(server.stdout),
  new lsp.StreamMessageWriter(server.stdin),
);
const root = pathToFileURL(folder).href;
const uri = pathToFileURL(file).href;
(async () => {
  connection.onRequest(() => null);
  const shown = new Promise((resolve) =>
    connection.onNotification(lsp.PublishDiagnosticsNotification.type, (said) => {
      if (said.uri === uri && said.diagnostics.length) resolve(said.diagnostics);
    }),
  );
  connection.listen();
  await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: root,
    workspaceFolders: [{ uri: root, name: "folder" }],
    capabilities: {
      textDocument: {
        publishDiagnostics: { relatedInformation: true },
        codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } },
      },
    },
  });
  await connection.sendNotification(lsp.InitializedNotification.type, {});
  await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "cpp", version: 1, text },
  });
  const diagnostics = await shown;
  const actions = await connection.sendRequest(lsp.CodeActionRequest.type, {
    textDocument: { uri },
    range: diagnostics[0].range,
    context: { diagnostics },
  });
  console.log(JSON.stringify({ diagnostics, actions }));
  await connection.sendRequest(lsp.ShutdownRequest.type);
  await connection.sendNotification(lsp.ExitNotification.type);
  connection.dispose();
})();
