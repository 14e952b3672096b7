// The extension for VS Code under node, with the mock of vscode.js and a real server: node tests/editors/client.js EXTENSION MINIFUT FOLDER.
// EXTENSION: the folder of its package.json; FOLDER: empty, for programs. Prints `FAIL ...` lines, then `N passed, N failed`.
'use strict';
const Module = require('module');
const fs = require('fs');
const path = require('path');
const assert = require('assert');
const mock = require('./vscode');

const [extension, minifut, folder] = process.argv.slice(2);
const load = Module._load;
Module._load = (name, ...more) => (name === 'vscode' ? mock.vscode : load(name, ...more));

const { vscode, seen, events, Document, documents } = mock;
const manifest = JSON.parse(fs.readFileSync(path.join(extension, 'package.json'), 'utf8'));
const main = require(path.join(extension, manifest.main));

const LIB = 'def twice (x: i32): i32 = 2 * x\n';
const TEXT = `import "lib"
-- | Shifts; é😀.
def shift (by: f32) (xs: []f32) =
  map (\\x -> x + by) xs

entry main (ys: []f32) (n: i32) =
  let zs = shift 2 ys
  in (zs, twice n)
`;
const never = { onCancellationRequested: () => ({ dispose: () => {} }) };

async function until(what, f) {
  for (let i = 0; i < 1000; i++) {
    const got = f();
    if (got) {
      return got;
    }
    await new Promise(resolve => { setTimeout(resolve, 10); });
  }
  throw new Error(`there is no ${what}`);
}

function open(name, text, written = true) {
  const uri = vscode.Uri.file(path.join(folder, name));
  if (written) {
    fs.writeFileSync(uri.fsPath, text);
  }
  const document = new Document(uri, text);
  documents.push(document);
  events.Open.fire(document);
  return document;
}

const provider = name => seen.providers[name].provider;
const shown = document => seen.diagnostics.get(document.uri.toString());
const at = (document, marked) => {
  const plain = marked.replace('^', '');
  const where = document.getText().indexOf(plain);
  assert(where >= 0, marked);
  return document.positionAt(where + marked.indexOf('^'));
};
const piece = (document, range) => document.getText().slice(document.offsetAt(range.start), document.offsetAt(range.end));
const whole = document => new vscode.Range(new vscode.Position(0, 0), document.positionAt(document.getText().length));

// By provider; each is asked with the open program.
const cases = {
  HoverProvider: async (p, d) => {
    const h = await p.provideHover(d, at(d, 'sh^ift 2'), never);
    assert(h.contents.value.includes('def shift') && h.contents.value.includes('é😀'));
    assert.strictEqual(piece(d, h.range), 'shift');
    assert.strictEqual(await p.provideHover(d, at(d, '^-- |'), never), undefined);
  },
  DefinitionProvider: async (p, d) => {
    const l = await p.provideDefinition(d, at(d, 'tw^ice n'), never);
    assert.deepStrictEqual([path.basename(l.uri.fsPath), l.range.start.line, l.range.start.character], ['lib.sf', 0, 4]);
  },
  ReferenceProvider: async (p, d) => {
    const ls = await p.provideReferences(d, at(d, 'tw^ice n'), { includeDeclaration: true }, never);
    assert.deepStrictEqual(ls.map(l => path.basename(l.uri.fsPath)).sort(), ['lib.sf', 'main.sf', 'more.sf']);
  },
  DocumentHighlightProvider: async (p, d) => {
    const hs = await p.provideDocumentHighlights(d, at(d, '(b^y: f32)'), never);
    assert.deepStrictEqual(hs.map(h => [piece(d, h.range), h.kind]), [['by', 2], ['by', 1]]);
  },
  RenameProvider: async (p, d) => {
    const r = await p.prepareRename(d, at(d, 'tw^ice n'), never);
    assert.deepStrictEqual([piece(d, r.range), r.placeholder], ['twice', 'twice']);
    const w = await p.provideRenameEdits(d, at(d, 'tw^ice n'), 'double', never);
    assert.deepStrictEqual([...w.all.keys()].map(u => path.basename(u)).sort(), ['lib.sf', 'main.sf', 'more.sf']);
    assert.deepStrictEqual(w.all.get(d.uri.toString()).map(e => [piece(d, e.range), e.newText]), [['twice', 'double']]);
    await assert.rejects(p.provideRenameEdits(d, at(d, 'tw^ice n'), 'let', never), /keyword/);
    await assert.rejects(p.prepareRename(d, at(d, 'm^ap'), never), /by the language/);
  },
  CompletionItemProvider: async (p, d) => {
    const items = await p.provideCompletionItems(d, at(d, 'sh^ift 2'), never);
    const item = items.find(i => i.label === 'shift');
    assert.deepStrictEqual([item.kind, item.detail.startsWith('f32 ->'), item.documentation.value.trim()], [2, true, 'Shifts; é😀.']);
    assert(seen.providers.CompletionItemProvider.more.includes('.'));
  },
  SignatureHelpProvider: async (p, d) => {
    const h = await p.provideSignatureHelp(d, at(d, 'shift 2 ^ys'), never);
    const [i, j] = h.signatures[h.activeSignature].parameters[h.activeParameter].label;
    assert.strictEqual(h.signatures[0].label.slice(i, j), '(xs: []f32)');
  },
  DocumentSymbolProvider: async (p, d) => {
    const all = await p.provideDocumentSymbols(d, never);
    assert.deepStrictEqual(all.map(s => [s.name, s.kind]), [['shift', 11], ['main', 23]]);
    assert.strictEqual(piece(d, all[0].selectionRange), 'shift');
  },
  WorkspaceSymbolProvider: async p => {
    const all = await p.provideWorkspaceSymbols('twi', never);
    assert.deepStrictEqual(all.map(s => [s.name, s.kind, path.basename(s.location.uri.fsPath)]), [['twice', 11, 'lib.sf']]);
  },
  DocumentFormattingEditProvider: async (p, d) => {
    d.edit(new vscode.Range(at(d, '^entry main'), at(d, 'entry^ main')), 'entry   ');
    const [edit] = await p.provideDocumentFormattingEdits(d, { tabSize: 2, insertSpaces: true }, never);
    d.edit(edit.range, edit.newText);
    assert.strictEqual(d.getText(), TEXT);
    assert.deepStrictEqual(await p.provideDocumentFormattingEdits(d, { tabSize: 2, insertSpaces: true }, never), []);
  },
  InlayHintsProvider: async (p, d) => {
    const all = await p.provideInlayHints(d, whole(d), never);
    assert(all.some(h => h.label === ': []f32' && h.kind === 1 && !h.position.compareTo(at(d, 'let zs^ ='))), JSON.stringify(all));
  },
  CodeActionsProvider: async (p, d) => {
    d.edit(new vscode.Range(at(d, '^shift 2'), at(d, 'shift^ 2')), 'shfit');
    const wrong = (await until('message', () => shown(d) && shown(d).length && shown(d)))[0];
    assert.deepStrictEqual([wrong.severity, wrong.source, piece(d, wrong.range)], [0, 'minifut', 'shfit']);
    const [action] = await p.provideCodeActions(d, wrong.range, { diagnostics: [wrong], only: vscode.CodeActionKind.QuickFix }, never);
    assert.deepStrictEqual([action.isPreferred, action.diagnostics, action.kind.value], [true, [wrong], 'quickfix']);
    const [edit] = action.edit.all.get(d.uri.toString());
    d.edit(edit.range, edit.newText);
    assert.strictEqual(d.getText(), TEXT);
    await until('end of the message', () => !shown(d).length);
  },
  FoldingRangeProvider: async (p, d) => {
    const all = await p.provideFoldingRanges(d, {}, never);
    assert.deepStrictEqual(all.map(f => [f.start, f.end]), [[2, 3], [5, 7]]);
  },
  SelectionRangeProvider: async (p, d) => {
    const [s] = await p.provideSelectionRanges(d, [at(d, 'x + b^y')], never);
    assert.deepStrictEqual([piece(d, s.range), piece(d, s.parent.range)], ['by', 'x + by']);
  },
  DocumentSemanticTokensProvider: async (p, d) => {
    const { data } = await p.provideDocumentSemanticTokens(d, never);
    const legend = seen.providers.DocumentSemanticTokensProvider.more[0];
    assert(data instanceof Uint32Array && data.length % 5 === 0);
    assert.deepStrictEqual([data[0], data[1], data[2], legend.types[data[3]]], [2, 4, 5, 'function']);
  },
};

// What the extension does besides: commands, and a server that is not there or ends.
const others = {
  'the manifest says what is there': async () => {
    assert.deepStrictEqual(manifest.contributes.commands.map(c => c.command).sort(), Object.keys(seen.commands).sort());
    assert.deepStrictEqual(Object.keys(seen.providers).sort(), Object.keys(cases).sort());
    for (const { selector } of Object.values(seen.providers)) {
      assert(!selector || selector.every(s => manifest.contributes.languages.some(l => l.id === s.language)));
    }
  },
  'commands': async d => {
    await seen.commands['minifut.run']();
    assert.strictEqual(seen.errors.pop().text, 'minifut: this is no program in a file');
    vscode.window.activeTextEditor = { document: d };
    d.isDirty = true;
    for (const name of ['run', 'explain', 'tune']) {
      await seen.commands[`minifut.${name}`]();
      const { execution, matchers, definition } = seen.tasks.pop();
      assert.deepStrictEqual([execution.process, execution.args, matchers, definition.task, d.isDirty], [minifut, [name, d.uri.fsPath], '$minifut', name, false]);
    }
  },
  'a question that is cancelled': async d => {
    let cancel;
    const token = { onCancellationRequested: f => { cancel = f; return { dispose: () => {} }; } };
    const asked = provider('HoverProvider').provideHover(d, at(d, 'sh^ift 2'), token);
    cancel();
    const h = await asked;
    assert(h === undefined || h.contents.value.includes('shift'));
  },
  'files that change on the disk': async d => {
    fs.writeFileSync(path.join(folder, 'lib.sf'), LIB.replace('twice', 'thrice'));
    seen.watcher.changed.fire(vscode.Uri.file(path.join(folder, 'lib.sf')));
    await until('message', () => shown(d) && shown(d).length);
    fs.writeFileSync(path.join(folder, 'lib.sf'), LIB);
    seen.watcher.changed.fire(vscode.Uri.file(path.join(folder, 'lib.sf')));
    await until('end of the message', () => !shown(d).length);
  },
  'related places': async () => {
    const d = open('wrong.sf', 'def f (x: i32): bool = x\n');
    const [wrong] = await until('message', () => shown(d));
    assert.strictEqual(piece(d, wrong.relatedInformation[0].location.range), 'bool');
    documents.splice(documents.indexOf(d), 1);
    events.Close.fire(d);
    await until('end of the message', () => !shown(d).length);
  },
  'a server that ends is started again': async d => {
    const server = fs.readdirSync('/proc').filter(p => /^\d+$/.test(p)).find(p => {
      try {
        return fs.readFileSync(`/proc/${p}/cmdline`, 'utf8') === `${minifut}\0lsp\0` &&
          fs.readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1].split(' ')[1] === String(process.pid);
      } catch {
        return false; // it is gone
      }
    });
    process.kill(Number(server), 'SIGKILL');
    await until('end', () => seen.output.some(line => line.includes('SIGKILL')));
    await until('server', () => seen.providers.HoverProvider);
    await cases.HoverProvider(provider('HoverProvider'), d);
  },
  'a compiler that is not there': async d => {
    seen.settings['minifut.path'] = '/nowhere/minifut';
    events.Configuration.fire({ affectsConfiguration: name => name === 'minifut.path' });
    const { text, choices } = await until('message', () => seen.errors.pop());
    assert(text.includes('cannot start /nowhere/minifut') && choices.includes('Settings'), text);
    assert.deepStrictEqual(Object.keys(seen.providers), []);
    seen.settings['minifut.path'] = minifut;
    await seen.commands['minifut.restart']();
    await cases.HoverProvider(provider('HoverProvider'), d);
  },
  'its end': async () => {
    await main.deactivate();
    assert.deepStrictEqual([Object.keys(seen.providers), seen.watchers, seen.diagnostics.size], [[], 0, 0]);
    for (const name of ['Open', 'Close', 'Save', 'Change', 'Folders']) {
      assert.strictEqual(events[name].listeners.size, 0, name);
    }
  },
};

async function run() {
  let passed = 0, failed = 0;
  seen.settings['minifut.path'] = minifut;
  vscode.workspace.workspaceFolders = [{ uri: vscode.Uri.file(folder), name: 'test' }];
  fs.writeFileSync(path.join(folder, 'lib.sf'), LIB);
  fs.writeFileSync(path.join(folder, 'more.sf'), 'import "lib"\ndef four = twice 2\n');
  const before = open('main.sf', TEXT); // it is there before the extension
  const context = { subscriptions: [] };
  await main.activate(context);
  await until('diagnostics', () => shown(before));
  const all = [
    ...Object.keys(cases).map(name => [name, () => cases[name](provider(name), before)]),
    ...Object.entries(others).map(([name, f]) => [name, () => f(before)])];
  for (const [name, f] of all) {
    try {
      await f();
      passed++;
    } catch (e) {
      failed++;
      console.log(`FAIL client of VS Code: ${name}: ${e.message}`);
    }
  }
  context.subscriptions.forEach(s => s.dispose());
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

run();
