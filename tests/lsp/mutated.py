"""Programs with tokens and bytes changed at random, as they are while people type, and worse: no job may die of one."""
import random
import re
from pathlib import Path

from cases import case, units
from client import Client, Failed

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = ['0', '-1', '9223372036854775807', '1e400', 'map', 'let', 'in', '(', ')', '[', ']', '->', '\\x ->', '#[x]', '..<', ':>', 'i64', '[]',
         '()', "'t", 'loop', 'with', '{', '}', 'if true then', 'f32', 'f32.', '*', ':', '=', '"\\u{1F600}"', 'reduce', 'filter', '?[k].', '255u8',
         '???', 'def', 'entry', 'type', 'import "x"', '\n', '😀', '.x', '.0', '[n]', 'local', 'open', '--', '"', "'"]
TOKEN = re.compile(r"[\w.']+|\s+|[^\w\s]+")


def corpus():
    found = [p.read_text(encoding='utf-8', errors='replace') for folder in ('tests/programs', 'tests/diag', 'tests/frontend/ok', 'examples')
             for p in sorted((ROOT / folder).rglob('*.sf'))]
    return [t[:4000] for t in found if t.strip()]


def mutate(r, text, texts):
    """(i, j, new): text[i:j] becomes new."""
    i = r.randrange(len(text) + 1)
    token = TOKEN.search(text, i)
    i, j = token.span() if token and r.randrange(4) else (i, min(len(text), i + r.randrange(6)))
    other = r.choice(texts)
    piece = TOKEN.search(other, r.randrange(len(other)))
    kind = r.randrange(5)
    if kind == 0:
        return i, j, ''
    if kind == 1:
        return i, j, r.choice(WORDS)
    if kind == 2:
        return i, i, ' ' + r.choice(WORDS) + ' '
    if kind == 3:
        return i, j, piece[0] if piece else ''
    return i, i, chr(r.choice([0, 7, 0x7f, 0xe9, 0x1f600, r.randrange(32, 127)]))


def position(text, at):
    line = max(text.rfind('\n', 0, at), text.rfind('\r', 0, at)) + 1
    count = len(re.findall('\r\n|\n|\r', text[:line]))
    return {'line': count, 'character': units(text[line:at])}


# Requests that are asked about all of a document or about a place of it.
METHODS = ['hover', 'completion', 'definition', 'references', 'documentHighlight', 'documentSymbol', 'formatting', 'prepareRename', 'rename',
           'signatureHelp', 'inlayHint', 'codeAction', 'foldingRange', 'selectionRange', 'semanticTokens/full']


def in_order(edits):
    """Edits of one document must not touch each other."""
    at = sorted((e['range']['start']['line'], e['range']['start']['character'], e['range']['end']['line'], e['range']['end']['character']) for e in edits)
    return all(a[:2] <= a[2:] for a in at) and all(a[2:] <= b[:2] for a, b in zip(at, at[1:]))


def wrong_answer(method, m, text):
    """What cannot be right whatever the program is, or None."""
    if 'error' in m:
        refused = method in ('rename', 'prepareRename') and m['error']['code'] == -32803 and m['error']['message']
        return None if refused else m['error']['message']
    last = len(re.findall('\r\n|\n|\r', text))
    edits = [d['edits'] for d in m['result']['documentChanges']] if method == 'rename' else [m['result']] if method == 'formatting' and m['result'] else []
    if not all(in_order(e) for e in edits):
        return 'edits overlap'
    if method == 'inlayHint' and not all(h['position']['line'] <= last for h in m['result']):
        return 'a hint is behind the end'
    if method == 'foldingRange' and not all(f['startLine'] < f['endLine'] <= last for f in m['result']):
        return 'a fold has no lines'
    if method == 'semanticTokens/full' and (len(m['result']['data']) % 5 or any(n < 0 for n in m['result']['data'])):
        return 'tokens are not in order'
    return None


def one(c, r, texts, k):
    """A program, three changes, questions at random places; what went wrong with it, as texts."""
    uri, text = f'file:///nowhere/{k}.sf', r.choice(texts)
    if r.randrange(2):
        c.open(uri, text)
    else:
        i, j, new = mutate(r, text, texts)
        text = text[:i] + new + text[j:]
        c.open(uri, text)
    for _ in range(3):
        i, j, new = mutate(r, text, texts)
        changed = text[:i] + new + text[j:]
        if '\r' in text[max(0, i - 1):j + 1] or '\r' in new:
            c.change(uri, changed)
        else:
            c.change(uri, ({'start': position(text, i), 'end': position(text, j)}, new))
        text = changed
        for method in r.sample(METHODS, 2) + [r.choice(['completion', 'signatureHelp', 'rename'])]:
            at = min(r.choice([i + len(new), r.randrange(len(text) + 1)]), len(text))
            where = position(text, at)
            span = {'start': position(text, r.randrange(at + 1)), 'end': where}
            asked = c.start('textDocument/' + method, textDocument={'uri': uri}, position=where, range=span, positions=[where, span['start']],
                            newName=r.choice(['zz', 'x', 'map', '+', 'n', 'A']), context={'includeDeclaration': True, 'diagnostics': []})
            cancelled = not r.randrange(8)
            if cancelled:
                c.tell('$/cancelRequest', id=asked)
            m = c.answer(asked)
            wrong = None if cancelled and m.get('error', {}).get('code') == -32800 else wrong_answer(method, m, text)
            if wrong:
                yield f'{method} at {at}: {wrong}', text
    for d in c.checked(uri):
        if 'minifut failed' in d['message']:
            yield d['message'], text
    c.close(uri)
    c.diagnostics.pop(uri, None)


def gentle(r, text):
    """A change after which a program may well be one, as mutate."""
    found = list(re.finditer(r'\b\d+\b|\b[a-z]\w*\b|\n', text))
    if not found:
        return 0, 0, '\n'
    m, kind = r.choice(found), r.randrange(4)
    if m[0] == '\n':
        return m.end(), m.end(), r.choice(['', '\n', '-- | A comment.\n', f'def more{r.randrange(100)} = {r.randrange(9)}\n', f'type more{r.randrange(100)} = i32\n'])
    other = r.choice(found)[0]
    return m.start(), m.end(), r.choice(['7', '(1 + 2)']) if m[0].isdigit() and kind else other if kind == 1 else m[0] + ' '


# What is asked after changes, and of a document that is as it is from the beginning.
COMPARED = ['hover', 'definition', 'references', 'documentHighlight', 'documentSymbol', 'inlayHint', 'semanticTokens/full', 'completion', 'prepareRename', 'rename']


def answers(c, uri, where, span, all_of_them):
    yield 'diagnostics', c.checked(uri)
    for method in COMPARED if all_of_them else []:
        m = c.answer(c.start('textDocument/' + method, textDocument={'uri': uri}, position=where, range=span, newName='zz', context={'includeDeclaration': True}))
        yield method, str(m.get('result', m.get('error'))).replace("'version': " + str(c.versions[uri]), '')


def changed_often(c, r, texts, k):
    """A program and changes of it, and back: what is said in the end must be what is said of a document that is opened then."""
    uri, first = f'file:///nowhere/changed{k}.sf', r.choice(texts).replace('\r', '')
    c.open(uri, first)
    c.checked(uri)
    text = first
    for _ in range(r.randrange(1, 8)):
        i, j, new = gentle(r, text) if r.randrange(3) else mutate(r, text, texts)
        before, text = text, (text[:i] + new + text[j:]).replace('\r', '')
        if not r.randrange(3):
            text = r.choice([first, before])
        c.change(uri, text)
        if r.randrange(6):
            c.checked(uri)
        if not r.randrange(3):
            c.at('hover', uri, **position(text, r.randrange(len(text) + 1)))
    at = r.randrange(len(text) + 1)
    where, span = position(text, at), {'start': position(text, 0), 'end': position(text, len(text))}
    sound = all(d['severity'] != 1 for d in c.checked(uri))
    went_on = list(answers(c, uri, where, span, sound))
    c.close(uri)
    c.diagnostics.pop(uri, None)
    c.open(uri, text)
    for (method, was), (_, is_now) in zip(went_on, answers(c, uri, where, span, sound)):
        if was != is_now:
            yield f'{method} at {where}: after changes {was}, else {is_now}', text
    c.close(uri)
    c.diagnostics.pop(uri, None)


def fuzz(minifut, n, seed):
    r, texts, failed = random.Random(seed), corpus(), 0
    c = Client(minifut)
    for k in range(n):
        if k % 1000 == 999:
            print(f'{k + 1} programs', flush=True)
        for said, text in list(one(c, r, texts, k)) + list(changed_often(c, r, texts, k)):
            failed += 1
            path = ROOT / f'tests/fuzz/failures/lsp-{seed}-{k}.sf'
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='utf-8', errors='replace')
            print(f'{path}: {said}')
    c.stop()
    print(f'{n - failed} passed, {failed} failed')
    return failed != 0


@case
def mutated_programs(minifut):
    r, texts = random.Random(1), corpus()
    c = Client(minifut)
    for k in range(150):
        for said, text in list(one(c, r, texts, k)) + (list(changed_often(c, r, texts, k)) if k % 3 == 0 else []):
            raise Failed(f'{said} of {text!r}')
    c.stop()
