// The language client: a server for all programs of the window. It is told of their texts, shows what is wrong with them, and asked
// whatever VS Code asks (providers.js). A server that ends by itself is started again, but not for ever.
'use strict';
const vscode = require('vscode');
const to = require('./convert');
const { Connection } = require('./connection');
const { register } = require('./providers');

const SELECTOR = [{ language: 'sf', scheme: 'file' }, { language: 'sf', scheme: 'untitled' }];
const MOST_ENDS = 4, WITHIN = 180000; // so often in that many milliseconds

const CAPABILITIES = {
  textDocument: {
    publishDiagnostics: { relatedInformation: true, versionSupport: true },
    rename: { prepareSupport: true },
    signatureHelp: { signatureInformation: { documentationFormat: ['markdown'], parameterInformation: { labelOffsetSupport: true } } },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } }, isPreferredSupport: true },
  },
  workspace: { workspaceEdit: { documentChanges: true }, workspaceFolders: true },
  general: { positionEncodings: ['utf-16'] },
};

const folder = f => ({ uri: f.uri.toString(), name: f.name });
const ours = document => vscode.languages.match(SELECTOR, document) > 0;

class Client {
  constructor(command, output) {
    this.command = command;
    this.output = output;
    this.ends = []; // when the server has ended by itself
    this.diagnostics = vscode.languages.createDiagnosticCollection('minifut');
    this.registered = []; // while a server runs
    this.listening = [];  // always
  }

  async start() {
    const cwd = (vscode.workspace.workspaceFolders || []).map(f => f.uri).filter(u => u.scheme === 'file').map(u => u.fsPath)[0];
    const connection = new Connection(this.command, ['lsp'], { cwd }, {
      'textDocument/publishDiagnostics': p => this.show(p),
      'window/logMessage': p => this.output.appendLine(p.message),
    }, why => this.ended(why));
    this.connection = connection;
    const answer = await connection.ask('initialize', {
      processId: process.pid,
      clientInfo: { name: 'minifut for VS Code' },
      rootUri: null,
      workspaceFolders: (vscode.workspace.workspaceFolders || []).map(folder),
      capabilities: CAPABILITIES,
    }).catch(() => undefined); // `ended` has told
    if (!answer || this.connection !== connection) {
      return;
    }
    connection.tell('initialized', {});
    vscode.workspace.textDocuments.forEach(d => this.open(d));
    this.registered = register(connection, answer.capabilities, SELECTOR);
  }

  // Tells the server what happens, from now on.
  listen() {
    const tell = (method, params) => this.connection.tell(method, params);
    const identified = d => ({ uri: d.uri.toString(), version: d.version });
    const workspace = vscode.workspace;
    const watcher = workspace.createFileSystemWatcher('**/*.{sf,fut}');
    const changed = type => uri => tell('workspace/didChangeWatchedFiles', { changes: [{ uri: uri.toString(), type }] });
    this.listening.push(
      workspace.onDidOpenTextDocument(d => this.open(d)),
      workspace.onDidCloseTextDocument(d => ours(d) && tell('textDocument/didClose', { textDocument: { uri: d.uri.toString() } })),
      workspace.onDidSaveTextDocument(d => ours(d) && tell('textDocument/didSave', { textDocument: { uri: d.uri.toString() } })),
      workspace.onDidChangeTextDocument(e => ours(e.document) && e.contentChanges.length && tell('textDocument/didChange', {
        textDocument: identified(e.document),
        contentChanges: e.contentChanges.map(c => ({ range: to.fromRange(c.range), text: c.text })),
      })),
      workspace.onDidChangeWorkspaceFolders(e => tell('workspace/didChangeWorkspaceFolders', {
        event: { added: e.added.map(folder), removed: e.removed.map(folder) },
      })),
      watcher, watcher.onDidCreate(changed(1)), watcher.onDidChange(changed(2)), watcher.onDidDelete(changed(3)));
  }

  open(document) {
    if (ours(document)) {
      this.connection.tell('textDocument/didOpen', {
        textDocument: { uri: document.uri.toString(), languageId: document.languageId, version: document.version, text: document.getText() },
      });
    }
  }

  show(params) {
    const uri = vscode.Uri.parse(params.uri);
    const document = vscode.workspace.textDocuments.find(d => d.uri.toString() === uri.toString());
    if (!document || params.version === undefined || params.version === document.version) {
      this.diagnostics.set(uri, params.diagnostics.map(to.diagnostic));
    }
  }

  forget() {
    this.registered.forEach(d => d.dispose());
    this.registered = [];
    this.diagnostics.clear();
  }

  ended(why) {
    const now = Date.now();
    this.forget();
    this.output.appendLine(`the language server is gone: ${why}`);
    this.ends = this.ends.filter(t => now - t < WITHIN).concat(now);
    const started = !why.startsWith('cannot start');
    if (started && this.ends.length < MOST_ENDS) {
      this.start();
      return;
    }
    const said = started ? `minifut's language server has ended ${this.ends.length} times: ${why}`
      : `${why}. Is minifut installed? The setting minifut.path says where it is.`;
    vscode.window.showErrorMessage(said, 'Settings', 'Try again').then(choice => {
      if (choice === 'Settings') {
        vscode.commands.executeCommand('workbench.action.openSettings', 'minifut.path');
      } else if (choice) {
        this.restart(this.command);
      }
    });
  }

  async restart(command) {
    this.forget();
    await this.connection.stop();
    this.command = command;
    this.ends = [];
    await this.start();
  }

  async stop() {
    this.forget();
    this.listening.forEach(d => d.dispose());
    this.diagnostics.dispose();
    await this.connection.stop();
  }
}

module.exports = { Client };
