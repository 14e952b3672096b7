// Values of the protocol from and to those of VS Code. Kinds of the protocol count from 1, those of VS Code from 0.
'use strict';
const vscode = require('vscode');

const position = p => new vscode.Position(p.line, p.character);
const range = r => new vscode.Range(position(r.start), position(r.end));
const location = l => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const edit = e => new vscode.TextEdit(range(e.range), e.newText);
const markdown = m => (m === undefined ? undefined : new vscode.MarkdownString(typeof m === 'string' ? m : m.value));

const fromPosition = p => ({ line: p.line, character: p.character });
const fromRange = r => ({ start: fromPosition(r.start), end: fromPosition(r.end) });

function diagnostic(d) {
  const made = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  made.source = d.source;
  made.code = d.code;
  made.relatedInformation = (d.relatedInformation || [])
    .map(r => new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
  return made;
}

// {documentChanges} or {changes}.
function workspaceEdit(w) {
  const made = new vscode.WorkspaceEdit();
  const all = w.documentChanges
    ? w.documentChanges.map(d => [d.textDocument.uri, d.edits])
    : Object.entries(w.changes || {});
  for (const [uri, edits] of all) {
    made.set(vscode.Uri.parse(uri), edits.map(edit));
  }
  return made;
}

function completionItem(i) {
  const made = new vscode.CompletionItem(i.label, i.kind === undefined ? undefined : i.kind - 1);
  made.detail = i.detail;
  made.documentation = markdown(i.documentation);
  made.sortText = i.sortText;
  return made;
}

function documentSymbol(s) {
  const made = new vscode.DocumentSymbol(s.name, s.detail || '', s.kind - 1, range(s.range), range(s.selectionRange));
  made.children = (s.children || []).map(documentSymbol);
  return made;
}

function signatureHelp(h) {
  const made = new vscode.SignatureHelp();
  made.signatures = h.signatures.map(s => {
    const one = new vscode.SignatureInformation(s.label, markdown(s.documentation));
    one.parameters = s.parameters.map(p => new vscode.ParameterInformation(p.label));
    return one;
  });
  made.activeSignature = h.activeSignature;
  made.activeParameter = h.activeParameter;
  return made;
}

function inlayHint(h) {
  const made = new vscode.InlayHint(position(h.position), h.label, h.kind);
  made.tooltip = h.tooltip;
  return made;
}

// diagnostics: VS Code's, of which those that the action mends are told by place and text.
function codeAction(a, diagnostics) {
  const made = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
  made.edit = workspaceEdit(a.edit);
  made.isPreferred = a.isPreferred;
  made.diagnostics = diagnostics.filter(d =>
    (a.diagnostics || []).some(o => o.message === d.message && range(o.range).isEqual(d.range)));
  return made;
}

const FOLDS = { comment: 'Comment', imports: 'Imports', region: 'Region' };
const foldingRange = f => new vscode.FoldingRange(f.startLine, f.endLine, vscode.FoldingRangeKind[FOLDS[f.kind]]);

const selectionRange = s => new vscode.SelectionRange(range(s.range), s.parent && selectionRange(s.parent));

module.exports = {
  position, range, location, edit, markdown, fromPosition, fromRange, diagnostic, workspaceEdit, completionItem, documentSymbol, signatureHelp,
  inlayHint, codeAction, foldingRange, selectionRange,
};
