"""How long each request takes on a program of 2,000 lines: a table, of which nothing depends on the numbers but that answers come."""
import os
import time

from cases import same, session
from processes import children
from program import program

URI = 'file:///nowhere/p.sf'
TIMES = 9
TICKS = os.sysconf('SC_CLK_TCK')


def work(pid):
    """Seconds that the server, its workers and all that they have waited for have computed."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        own = sum(map(int, f.read().rsplit(')', 1)[1].split()[11:15])) / TICKS
    return own + sum(map(work, children(pid)))


@session
def times(c):
    text = program()
    lines = text.split('\n')
    k = next(k for k in range(1000, 1010) if lines[k].startswith('  let total'))
    use = lines[k].rindex('ps')
    c.open(URI, text)
    same(c.checked(URI), [])
    edit = {'line': k, 'character': len(lines[k])}
    asked = {'textDocument': {'uri': URI}}
    whole = {'start': {'line': 0, 'character': 0}, 'end': {'line': len(lines), 'character': 0}}
    page = {'start': {'line': k - 25, 'character': 0}, 'end': {'line': k + 25, 'character': 0}}

    def type_a_blank():
        c.change(URI, ({'start': edit, 'end': edit}, ' '))
        return c.checked(URI) == []

    def then(method, character, new=' '):
        """Typed, then asked, and taken away again."""
        def run():
            c.change(URI, ({'start': edit, 'end': edit}, new))
            found = c.at(method, URI, k, character)
            c.change(URI, ({'start': edit, 'end': {**edit, 'character': edit['character'] + len(new)}}, ''))
            return found
        return run

    def at(method, character, line=k, **more):
        return lambda: c.at(method, URI, line, character, **more)

    def of_all(method, **more):
        return lambda: c.ask('textDocument/' + method, **asked, **more) is not None
    rows = [('change to diagnostics', type_a_blank), ('hover', at('hover', 17)), ('definition', at('definition', use)), ('completion', at('completion', 20)),
            ('references', at('references', use, context={'includeDeclaration': True})), ('documentHighlight', at('documentHighlight', use)),
            ('signatureHelp', at('signatureHelp', lines[k].index(' ps)'))), ('prepareRename', at('prepareRename', use)),
            ('rename a variable', at('rename', use, newName='points')),
            ('rename a definition', at('rename', 5, next(n for n in range(k, 0, -1) if lines[n].startswith('def step')), newName='stage')),
            ('documentSymbol', of_all('documentSymbol')), ('workspace/symbol', lambda: c.ask('workspace/symbol', query='step9')),
            ('inlayHint of a page', of_all('inlayHint', range=page)), ('inlayHint', of_all('inlayHint', range=whole)),
            ('codeAction', of_all('codeAction', range=page, context={'diagnostics': []})), ('foldingRange', of_all('foldingRange')),
            ('selectionRange', of_all('selectionRange', positions=[edit])), ('semanticTokens', of_all('semanticTokens/full')), ('formatting', of_all('formatting', options={})),
            ('change, hover', then('hover', 17)), ('break, hover', then('hover', 17, ' (')), ('break, completion', then('completion', edit['character'] + 3, ' (p')),
            ('signatureHelp of no word', then('signatureHelp', edit['character'] + 11, ' + f32.sin '))]
    print(f'ms on {len(lines)} lines: {"median":>14}{"most":>7}{"computed":>10}')
    for name, f in rows:
        took, before = [], work(c.process.pid)
        for _ in range(TIMES):
            start = time.monotonic()
            assert f(), name
            took.append(1000 * (time.monotonic() - start))
        took.sort()
        print(f'{name:<24}{took[TIMES // 2]:>10.0f}{took[-1]:>7.0f}{1000 * (work(c.process.pid) - before) / TIMES:>10.0f}')
