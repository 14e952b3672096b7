// minifut for VS Code: the language client, and commands that run the compiler on the program in the editor.
'use strict';
const vscode = require('vscode');
const path = require('path');
const { Client } = require('./client');

let client; // while the extension is active

const compiler = () => vscode.workspace.getConfiguration('minifut').get('path') || 'minifut';

// What the commands run, in a terminal: run reads arguments from it, explain and tune print.
const TASKS = {
  'minifut.run': { title: 'run', args: file => ['run', file] },
  'minifut.explain': { title: 'explain', args: file => ['explain', file] },
  'minifut.tune': { title: 'tune', args: file => ['tune', file] },
};

// Saves the program of the editor and runs a command of the compiler on it.
async function runTask(name) {
  const document = vscode.window.activeTextEditor && vscode.window.activeTextEditor.document;
  if (!document || document.languageId !== 'sf' || document.uri.scheme !== 'file') {
    vscode.window.showErrorMessage('minifut: this is no program in a file');
    return undefined;
  }
  if (document.isDirty && !(await document.save())) {
    return undefined;
  }
  const { title, args } = TASKS[name];
  const file = document.uri.fsPath;
  const task = new vscode.Task({ type: 'minifut', task: title }, vscode.workspace.getWorkspaceFolder(document.uri) || vscode.TaskScope.Workspace,
    `${title} ${path.basename(file)}`, 'minifut', new vscode.ProcessExecution(compiler(), args(file), { cwd: path.dirname(file) }), '$minifut');
  task.presentationOptions = { clear: true, focus: name === 'minifut.run' };
  return vscode.tasks.executeTask(task);
}

async function activate(context) {
  const output = vscode.window.createOutputChannel('minifut');
  client = new Client(compiler(), output);
  context.subscriptions.push(output,
    ...Object.keys(TASKS).map(name => vscode.commands.registerCommand(name, () => runTask(name))),
    vscode.commands.registerCommand('minifut.restart', () => client.restart(compiler())),
    vscode.workspace.onDidChangeConfiguration(e => e.affectsConfiguration('minifut.path') && client.restart(compiler())));
  const started = client.start();
  client.listen();
  await started;
}

async function deactivate() {
  const was = client;
  client = undefined;
  if (was) {
    await was.stop();
  }
}

module.exports = { activate, deactivate };
