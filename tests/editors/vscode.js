// What the extension uses of VS Code's interface, as far as it can be had without VS Code: values that refuse what VS Code would,
// providers that are kept to be called, documents that tell of their changes. Whatever is not here is an error where it is used.
'use strict';
const fs = require('fs');
const path = require('path');

const strict = (name, members) => new Proxy(members, {
  get(target, key) {
    if (!(key in target) && typeof key === 'string' && key !== 'then') {
      throw new Error(`${name}.${key} is not in the mock`);
    }
    return target[key];
  },
});

class Position {
  constructor(line, character) {
    if (!Number.isInteger(line) || !Number.isInteger(character) || line < 0 || character < 0) {
      throw new Error(`no position: ${line}, ${character}`);
    }
    Object.assign(this, { line, character });
  }
  compareTo(o) { return this.line - o.line || this.character - o.character; }
}

class Range {
  constructor(start, end) {
    if (!(start instanceof Position) || !(end instanceof Position)) {
      throw new Error('no range');
    }
    [this.start, this.end] = start.compareTo(end) <= 0 ? [start, end] : [end, start];
  }
  isEqual(o) { return !this.start.compareTo(o.start) && !this.end.compareTo(o.end); }
  contains(o) { return this.start.compareTo(o.start) <= 0 && this.end.compareTo(o.end) >= 0; }
}

class Uri {
  constructor(scheme, name) { Object.assign(this, { scheme, path: name, fsPath: name }); }
  static file(name) { return new Uri('file', path.resolve(name)); }
  static parse(text) {
    const [, scheme, rest] = /^([a-z][\w+.-]*):(?:\/\/)?(.*)$/.exec(text);
    return new Uri(scheme, decodeURIComponent(rest));
  }
  toString() { return `${this.scheme}:${this.scheme === 'file' ? '//' : ''}${this.path.split('/').map(encodeURIComponent).join('/')}`; }
}

const event = () => {
  const listeners = new Set();
  const on = f => {
    listeners.add(f);
    return { dispose: () => listeners.delete(f) };
  };
  return { on, fire: value => [...listeners].forEach(f => f(value)), listeners };
};

const events = {};
for (const name of ['Open', 'Close', 'Save', 'Change', 'Folders', 'Configuration']) {
  events[name] = event();
}

class Document {
  constructor(uri, text) {
    Object.assign(this, { uri, text, version: 1, languageId: 'sf', isDirty: false });
  }
  getText() { return this.text; }
  offsetAt(p) {
    const lines = this.text.split('\n');
    return lines.slice(0, p.line).reduce((n, line) => n + line.length + 1, 0) + p.character;
  }
  positionAt(offset) {
    const before = this.text.slice(0, offset).split('\n');
    return new Position(before.length - 1, before[before.length - 1].length);
  }
  edit(range, text) {
    this.text = this.text.slice(0, this.offsetAt(range.start)) + text + this.text.slice(this.offsetAt(range.end));
    this.version++;
    this.isDirty = true;
    events.Change.fire({ document: this, contentChanges: [{ range, text }] });
  }
  async save() {
    fs.writeFileSync(this.uri.fsPath, this.text);
    this.isDirty = false;
    events.Save.fire(this);
    return true;
  }
}

// What tests look at.
const seen = { providers: {}, commands: {}, tasks: [], errors: [], output: [], diagnostics: new Map(), settings: {}, watchers: 0 };

const register = name => (selector, provider, ...more) => {
  seen.providers[name] = { selector, provider, more };
  return { dispose: () => delete seen.providers[name] };
};

const value = (...fields) => class {
  constructor(...given) {
    fields.forEach((f, i) => { this[f] = given[i]; });
  }
};

class WorkspaceEdit {
  constructor() { this.all = new Map(); }
  set(uri, edits) {
    if (!(uri instanceof Uri)) {
      throw new Error('no URI');
    }
    this.all.set(uri.toString(), edits);
  }
}

const documents = [];
const workspace = {
  textDocuments: documents,
  workspaceFolders: undefined,
  onDidOpenTextDocument: events.Open.on,
  onDidCloseTextDocument: events.Close.on,
  onDidSaveTextDocument: events.Save.on,
  onDidChangeTextDocument: events.Change.on,
  onDidChangeWorkspaceFolders: events.Folders.on,
  onDidChangeConfiguration: events.Configuration.on,
  getConfiguration: section => ({ get: key => seen.settings[`${section}.${key}`] }),
  getWorkspaceFolder: uri => (workspace.workspaceFolders || []).find(f => uri.fsPath.startsWith(f.uri.fsPath)),
  createFileSystemWatcher: () => {
    seen.watchers++;
    const [created, changed, deleted] = [event(), event(), event()];
    seen.watcher = { created, changed, deleted };
    return { onDidCreate: created.on, onDidChange: changed.on, onDidDelete: deleted.on, dispose: () => seen.watchers-- };
  },
};

const names = ['HoverProvider', 'DefinitionProvider', 'ReferenceProvider', 'DocumentHighlightProvider', 'RenameProvider', 'CompletionItemProvider',
  'SignatureHelpProvider', 'DocumentSymbolProvider', 'DocumentFormattingEditProvider', 'InlayHintsProvider', 'CodeActionsProvider',
  'FoldingRangeProvider', 'SelectionRangeProvider', 'DocumentSemanticTokensProvider'];

const languages = {
  ...Object.fromEntries(names.map(name => [`register${name}`, register(name)])),
  registerWorkspaceSymbolProvider: provider => register('WorkspaceSymbolProvider')(undefined, provider),
  createDiagnosticCollection: () => ({
    set: (uri, all) => seen.diagnostics.set(uri.toString(), all),
    clear: () => seen.diagnostics.clear(),
    dispose: () => seen.diagnostics.clear(),
  }),
  match: (selector, d) => (selector.some(s => s.language === d.languageId && s.scheme === d.uri.scheme) ? 10 : 0),
};

const window = {
  activeTextEditor: undefined,
  createOutputChannel: () => ({ appendLine: line => seen.output.push(line), dispose: () => {} }),
  showErrorMessage: async (text, ...choices) => {
    seen.errors.push({ text, choices });
    return undefined;
  },
};

const vscode = strict('vscode', {
  Position, Range, Uri, WorkspaceEdit,
  Location: value('uri', 'range'), TextEdit: value('range', 'newText'), Hover: value('contents', 'range'), MarkdownString: value('value'),
  Diagnostic: value('range', 'message', 'severity'), DiagnosticRelatedInformation: value('location', 'message'),
  CompletionItem: value('label', 'kind'), DocumentSymbol: value('name', 'detail', 'kind', 'range', 'selectionRange'),
  SymbolInformation: value('name', 'kind', 'containerName', 'location'), DocumentHighlight: value('range', 'kind'),
  SignatureHelp: value(), SignatureInformation: value('label', 'documentation'), ParameterInformation: value('label'),
  InlayHint: value('position', 'label', 'kind'), CodeAction: value('title', 'kind'), CodeActionKind: strict('CodeActionKind', { QuickFix: { value: 'quickfix' } }),
  FoldingRange: value('start', 'end', 'kind'), FoldingRangeKind: { Comment: 1, Imports: 2, Region: 3 },
  SelectionRange: class {
    constructor(range, parent) {
      if (parent && !parent.range.contains(range)) { // as VS Code does
        throw new Error('a selection is not in its parent');
      }
      Object.assign(this, { range, parent });
    }
  },
  SemanticTokens: value('data'), SemanticTokensLegend: value('types', 'modifiers'),
  Task: value('definition', 'scope', 'name', 'source', 'execution', 'matchers'), TaskScope: strict('TaskScope', { Workspace: 2 }),
  ProcessExecution: value('process', 'args', 'options'),
  tasks: strict('tasks', { executeTask: async task => { seen.tasks.push(task); return { task }; } }),
  commands: strict('commands', {
    registerCommand: (name, run) => { seen.commands[name] = run; return { dispose: () => delete seen.commands[name] }; },
    executeCommand: async name => { seen.output.push(name); },
  }),
  workspace: strict('workspace', workspace), languages: strict('languages', languages), window,
});

module.exports = { vscode, seen, events, Document, documents };
