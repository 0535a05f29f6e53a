// Activates the extension of VS Code with a stub of its API and of the client: prints as JSON what it registers, starts and shows.
"use strict";
const Module = require("node:module");
const [extension, fails] = process.argv.slice(2);
const told = { commands: [], started: [], stopped: 0, errors: [] };
const commands = {};
let changed;
const vscode = {
  workspace: {
    getConfiguration: () => ({ get: () => "/opt/cuvet" }),
    onDidChangeConfiguration: (listener) => ((changed = listener), { dispose() {} }),
  },
  commands: {
    registerCommand: (name, run) => (told.commands.push(name), (commands[name] = run), { dispose() {} }),
    executeCommand: () => {},
  },
  window: { showErrorMessage: async (text) => void told.errors.push(text) },
};
class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { server, options });
  }
  async start() {
    if (fails) throw new Error("spawn /opt/cuvet ENOENT");
    told.started.push({ ...this.server, languages: this.options.documentSelector.map((each) => each.language) });
  }
  async dispose() {
    told.stopped++;
  }
}
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
const settled = () => new Promise((resolve) => setImmediate(resolve));
(async () => {
  const { activate, deactivate } = require(extension);
  activate({ subscriptions: [] });
  await settled();
  await commands["cuvet.start"]();
  await commands["cuvet.restart"]();
  await changed({ affectsConfiguration: (name) => name === "other" });
  await settled();
  await deactivate();
  console.log(JSON.stringify(told));
})();
