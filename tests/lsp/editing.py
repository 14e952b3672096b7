"""Edits: positions, what the server takes for the text, when it checks it."""
import random

from cases import holds, place, position, same, session, span, units

URI = 'file:///nowhere/p.sf'


@session
def utf_16(c):
    """Characters beyond 16 bits are two units, accented ones are one, whatever their bytes."""
    text = 'def f (abc: i32): ([]u8, i32) = ("é😀𝛂", abc) -- 😀\ndef g = f 1 + "é😀" ?? x'
    c.open(URI, text)
    r = c.at('hover', URI, *place(text, '^abc)'))
    holds(r['contents']['value'], 'abc: i32')
    same(span(text, r['range']), 'abc')
    error = c.checked(URI)[0]
    same(span(text, error['range']), '?', error['message'])
    same(c.at('definition', URI, *place(text, 'ab^c)'))['range']['start'], {'line': 0, 'character': 7})
    inside = position(text, text.index('😀') + 1)[1] - 1
    c.change(URI, ({'start': {'line': 0, 'character': inside}, 'end': {'line': 0, 'character': inside + 1}}, '')) # half a character
    same(span(text.replace('😀', '\ufffd', 1), c.checked(URI)[0]['range']), '?')


@session
def line_ends(c):
    """\\n, \\r\\n and \\r end lines, for positions that come and that go."""
    text = 'def a = 1\r\ndef b = 2\rdef c = 3\ndef d: i32 = true'
    c.open(URI, text)
    r = c.checked(URI)[0]['range']
    same((r['start'], r['end']), ({'line': 3, 'character': 13}, {'line': 3, 'character': 17}))
    end = {'line': 0, 'character': 99}
    c.change(URI, ({'start': {'line': 0, 'character': 8}, 'end': end}, 'b'), ({'start': end, 'end': end}, ' + 1'))
    holds(c.checked(URI)[0]['message'], '`b` is used before its definition')
    same([(s['name'], s['selectionRange']['start']['line']) for s in c.ask('textDocument/documentSymbol', textDocument={'uri': URI})],
         [('a', 0), ('b', 1), ('c', 2), ('d', 3)])


def lines_of(text):
    """The lines with their ends."""
    lines, line = [], ''
    for k, ch in enumerate(text):
        line += ch
        if ch == '\n' or (ch == '\r' and text[k + 1:k + 2] != '\n'):
            lines.append(line)
            line = ''
    return lines + [line]


def random_position(r, lines):
    k = r.randrange(len(lines))
    chars = lines[k].rstrip('\r\n')
    at = r.randrange(len(chars) + 1)
    return {'line': k, 'character': units(chars[:at])}, sum(map(len, lines[:k])) + at


@session
def edits_against_a_model(c):
    """Random edits, several a message: the server then says of its text what it says of the same one opened anew."""
    r = random.Random(7)
    pieces = ['x', '😀', 'é', '\n', '\r\n', '\r', ' ', '"', 'def ', '--', '1', '\n\ndef q = 2\n', '(', '\u2028', '']
    text = ''.join(f'def a{k} = "é😀{k}" -- 𝛂\n' for k in range(12))
    other = 'file:///nowhere/other.sf'
    c.open(URI, text)
    for turn in range(60):
        changes = []
        for _ in range(r.randrange(1, 6)):
            lines = lines_of(text)
            (p, i), (q, j) = sorted((random_position(r, lines) for _ in range(2)), key=lambda x: x[1])
            if j - i > 12:
                q, j = p, i
            new = ''.join(r.choice(pieces) for _ in range(r.randrange(4)))
            if r.randrange(15) == 0:
                text = text[:i] + new + text[j:]
                changes.append(text)
                continue
            changes.append(({'start': p, 'end': q}, new))
            text = text[:i] + new + text[j:]
        c.change(URI, *changes)
        mine = c.checked(URI)
        c.open(other, text)
        for d in mine:
            d.pop('relatedInformation')
        theirs = c.checked(other)
        for d in theirs:
            d.pop('relatedInformation')
        same(mine, theirs, f'turn {turn}')
        same(c.ask('textDocument/documentSymbol', textDocument={'uri': URI}),
             c.ask('textDocument/documentSymbol', textDocument={'uri': other}), f'symbols of turn {turn}')
        c.close(other)
        while c.diagnostics[other]['diagnostics'] or c.diagnostics[other]['version'] != 1:
            c.receive()
        c.diagnostics.pop(other)


@session
def only_the_last_state_is_checked(c):
    c.open(URI, 'def f = 0')
    c.checked(URI)
    seen = []
    c.hold()
    for k in range(100):
        c.change(URI, f'def f: bool = {k}')
    c.release()
    last = c.versions[URI]
    while not seen or seen[-1] != last:
        m = c.receive()
        if m and m.get('method') == 'textDocument/publishDiagnostics':
            seen.append(m['params']['version'])
    assert len(seen) < 50 and seen == sorted(seen), seen
    same(len(c.diagnostics[URI]['diagnostics']), 1)


@session
def characters_of_no_program(c):
    """Zero characters and halves of pairs are characters, too."""
    c.open(URI, 'def f = 0 -- \0 \ud800 x\ndef g: i32 = true')
    same(c.checked(URI)[0]['range']['start'], {'line': 1, 'character': 13})
    c.change(URI, ({'start': {'line': 0, 'character': 10}, 'end': {'line': 0, 'character': 18}}, ''))
    same(c.checked(URI)[0]['range']['start'], {'line': 1, 'character': 13})
    same([s['name'] for s in c.ask('textDocument/documentSymbol', textDocument={'uri': URI})], ['f', 'g'])


@session
def sizes_after_changes(c):
    """Where sizes arise is said after a change, too, when builtins have been used before it."""
    text = 'def f [n] (xs: [n]i32) (g: [][]i32 -> i64) = g (unflatten xs)\nentry main (xs: []i32) = f xs length\n'

    def notes(now):
        (c.change if URI in c.versions else c.open)(URI, now)
        return [n['message'] for d in c.checked(URI) if 'size `n`' in d['message'] for n in d['relatedInformation']]
    first = notes(text)
    same(sum('arises here' in n for n in first), 2)
    same(notes(text.replace('[][]i32 ->', '[][]i3 ->')), first)


@session
def text_behind_the_last_definition(c):
    """What comes behind it may continue it: what is said is what is said of the whole text."""
    text = 'def f (n: i64) (x: i64): i64 = n + x\nentry main (n: i64): i64 = f n n\n'

    def said(now):
        (c.change if URI in c.versions else c.open)(URI, now)
        return [d['message'] for d in c.checked(URI) if d['severity'] == 1]
    same(said(text), [])
    same(said(text + 'ntal'), ['`f` takes 2 arguments, but is given 3', 'unknown name `ntal`'])
    same(said(text), [])
    same(said(text + 'def g = 2i64\n'), [])
    same(said(text + '"'), ['unterminated string'])
