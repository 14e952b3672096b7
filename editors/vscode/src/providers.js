// What VS Code asks, as requests of the protocol: a table, a row for each capability of the server.
'use strict';
const vscode = require('vscode');
const to = require('./convert');
const { CANCELLED } = require('./connection');

const all = (list, f) => (list || []).map(f);
const some = (value, f) => (value ? f(value) : undefined);

// Rows: the server's capability, and what registers it. `ask(method, params, token)` gives the result; undefined, where the server cannot
// answer any more.
function rows(ask, capabilities) {
  const of = (document, more) => ({ textDocument: { uri: document.uri.toString() }, ...more });
  const at = (document, position, more) => of(document, { position: to.fromPosition(position), ...more });
  const languages = vscode.languages;
  return {
    hoverProvider: selector => languages.registerHoverProvider(selector, {
      provideHover: async (d, p, token) => some(await ask('textDocument/hover', at(d, p), token),
        h => new vscode.Hover(to.markdown(h.contents), h.range && to.range(h.range))),
    }),
    definitionProvider: selector => languages.registerDefinitionProvider(selector, {
      provideDefinition: async (d, p, token) => some(await ask('textDocument/definition', at(d, p), token), to.location),
    }),
    referencesProvider: selector => languages.registerReferenceProvider(selector, {
      provideReferences: async (d, p, context, token) => all(await ask('textDocument/references', at(d, p, {
        context: { includeDeclaration: context.includeDeclaration },
      }), token), to.location),
    }),
    documentHighlightProvider: selector => languages.registerDocumentHighlightProvider(selector, {
      provideDocumentHighlights: async (d, p, token) => all(await ask('textDocument/documentHighlight', at(d, p), token),
        h => new vscode.DocumentHighlight(to.range(h.range), h.kind - 1)),
    }),
    renameProvider: selector => languages.registerRenameProvider(selector, {
      prepareRename: async (d, p, token) => some(await ask('textDocument/prepareRename', at(d, p), token),
        r => ({ range: to.range(r.range), placeholder: r.placeholder })),
      provideRenameEdits: async (d, p, newName, token) => some(await ask('textDocument/rename', at(d, p, { newName }), token), to.workspaceEdit),
    }),
    completionProvider: selector => languages.registerCompletionItemProvider(selector, {
      provideCompletionItems: async (d, p, token) => all(await ask('textDocument/completion', at(d, p), token), to.completionItem),
    }, ...(capabilities.completionProvider.triggerCharacters || [])),
    signatureHelpProvider: selector => languages.registerSignatureHelpProvider(selector, {
      provideSignatureHelp: async (d, p, token) => some(await ask('textDocument/signatureHelp', at(d, p), token), to.signatureHelp),
    }, ...(capabilities.signatureHelpProvider.triggerCharacters || [])),
    documentSymbolProvider: selector => languages.registerDocumentSymbolProvider(selector, {
      provideDocumentSymbols: async (d, token) => all(await ask('textDocument/documentSymbol', of(d), token), to.documentSymbol),
    }),
    workspaceSymbolProvider: () => languages.registerWorkspaceSymbolProvider({
      provideWorkspaceSymbols: async (query, token) => all(await ask('workspace/symbol', { query }, token),
        s => new vscode.SymbolInformation(s.name, s.kind - 1, s.containerName || '', to.location(s.location))),
    }),
    documentFormattingProvider: selector => languages.registerDocumentFormattingEditProvider(selector, {
      provideDocumentFormattingEdits: async (d, options, token) => all(await ask('textDocument/formatting', of(d, {
        options: { tabSize: options.tabSize, insertSpaces: options.insertSpaces },
      }), token), to.edit),
    }),
    inlayHintProvider: selector => languages.registerInlayHintsProvider(selector, {
      provideInlayHints: async (d, r, token) => all(await ask('textDocument/inlayHint', of(d, { range: to.fromRange(r) }), token), to.inlayHint),
    }),
    codeActionProvider: selector => languages.registerCodeActionsProvider(selector, {
      provideCodeActions: async (d, r, context, token) => all(await ask('textDocument/codeAction', of(d, {
        range: to.fromRange(r),
        context: { diagnostics: [], ...(context.only ? { only: [context.only.value] } : {}) },
      }), token), a => to.codeAction(a, context.diagnostics)),
    }, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    foldingRangeProvider: selector => languages.registerFoldingRangeProvider(selector, {
      provideFoldingRanges: async (d, context, token) => all(await ask('textDocument/foldingRange', of(d), token), to.foldingRange),
    }),
    selectionRangeProvider: selector => languages.registerSelectionRangeProvider(selector, {
      provideSelectionRanges: async (d, positions, token) => all(await ask('textDocument/selectionRange', of(d, {
        positions: positions.map(to.fromPosition),
      }), token), to.selectionRange),
    }),
    semanticTokensProvider: selector => {
      const { tokenTypes, tokenModifiers } = capabilities.semanticTokensProvider.legend;
      return languages.registerDocumentSemanticTokensProvider(selector, {
        provideDocumentSemanticTokens: async (d, token) => some(await ask('textDocument/semanticTokens/full', of(d), token),
          t => new vscode.SemanticTokens(new Uint32Array(t.data))),
      }, new vscode.SemanticTokensLegend(tokenTypes, tokenModifiers));
    },
  };
}

// Registers what the server offers; what is to be disposed.
function register(connection, capabilities, selector) {
  const ask = (method, params, token) => connection.ask(method, params, token).catch(e => {
    if (e.code === CANCELLED) {
      return undefined;
    }
    throw e; // VS Code shows the reason of a rename that cannot be
  });
  return Object.entries(rows(ask, capabilities)).filter(([name]) => capabilities[name]).map(([, row]) => row(selector));
}

module.exports = { register };
