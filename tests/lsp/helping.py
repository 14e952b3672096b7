"""What is shown and offered beside the text: signatures, hints, quick fixes, folds, selections, kinds of names."""
import os
import tempfile

from cases import case, holds, place, position, same, session, span
from client import Client

URI = 'file:///nowhere/h.sf'

CALLS = '''\
-- | Scales.
def scaled [n] (by: f32) (xs: [n]f32): [n]f32 = map (* by) xs
def maker (k: i64): i64 -> i64 -> i64 = \\a b -> a + b + k
module m = { def inner (a: i32) (b: bool): i32 = if b then a else 0 }
def twice f x = f (f x)
def made (n: i64): [n]i64 = iota n
entry main [n] (ys: [n]f32) (c: bool) =
  let zs = scaled 2 ys
  let f (u: i32) (v: i32) = u + v
  let q = m.inner (f 1 2) c
  let r = reduce (\\x y -> x + y) 0 zs
  let s = ys |> scaled 3
  let t = maker 1 2 3
  in (zs, q, r, s, t)
'''


def signature(c, text, marked):
    """(label, the active parameter in it, documentation), or None."""
    r = c.at('signatureHelp', URI, *place(text, marked))
    if not r:
        return None
    s = r['signatures'][r['activeSignature']]
    i, j = s['parameters'][r['activeParameter']]['label']
    return s['label'], s['label'][i:j], s.get('documentation', {}).get('value', '')


@session
def signatures(c):
    c.open(URI, CALLS)
    same(c.checked(URI), [])
    label = 'scaled [n] (by: f32) (xs: [n]f32): [n]f32'
    for marked, want in (
            ('zs = scaled ^2', (label, '(by: f32)')), ('zs = scaled 2^ ys', (label, '(by: f32)')), ('scaled 2 ^ys', (label, '(xs: [n]f32)')),
            ('scaled 2 y^s', (label, '(xs: [n]f32)')), ('ys |> scaled ^3', (label, '(by: f32)')),
            ('m.inner (^f', ('f (u: i32) (v: i32): i32', '')), ('(f ^1', ('f (u: i32) (v: i32): i32', '(u: i32)')), ('(f 1 ^2', ('f (u: i32) (v: i32): i32', '(v: i32)')),
            ('(f 1 2) ^c', ('m.inner (a: i32) (b: bool): i32', '(b: bool)')), ('m.inner ^(f', ('m.inner (a: i32) (b: bool): i32', '(a: i32)')),
            ('x + y) ^0', ('reduce: (a -> a -> a) -> a -> [n]a -> *a', 'a')), ('reduce ^(\\x', ('reduce: (a -> a -> a) -> a -> [n]a -> *a', '(a -> a -> a)')),
            ('maker 1 ^2', ('maker (k: i64): i64 -> i64 -> i64', 'i64')), ('maker ^1', ('maker (k: i64): i64 -> i64 -> i64', '(k: i64)'))):
        got = signature(c, CALLS, marked)
        if want[1]:
            same(got and got[:2], want, marked)
    holds(signature(c, CALLS, 'scaled 2 ^ys')[2], 'Scales.')
    holds(signature(c, CALLS, 'x + y) ^0')[2], '>>> reduce')
    for nothing in ('^-- | Scales', 'l^et q =', 'def ^twice', 'in (^zs', 'maker 1 2 3^\n  in'):
        got = signature(c, CALLS, nothing)
        assert got is None or nothing.startswith('maker'), (nothing, got)


@session
def signatures_while_typing(c):
    """Where the argument, or what follows, is still to be written."""
    c.open(URI, CALLS)
    c.checked(URI)
    tail = CALLS[CALLS.index('  let q ='):]
    for typed, want in (
            ('  let q = scaled ', '(by: f32)'), ('  let q = scaled 2 ', '(xs: [n]f32)'), ('  let q = scaled (', '(by: f32)'),
            ('  let q = scaled (f32.sqrt ', 'f32'), ('  let q = map (\\x -> f 1 ', '(v: i32)'), ('  let q = m.inner 1 ', '(b: bool)'),
            ('  let q = [f ', '(u: i32)'), ('  in scaled 2 ', '(xs: [n]f32)'), ('  let q = ys |> scaled ', '(by: f32)'),
            ('  let q = made ', '(n: i64)')):
        text = CALLS.replace(tail, typed)
        c.change(URI, text)
        got = c.at('signatureHelp', URI, text.count('\n'), len(typed))
        assert got, typed
        s = got['signatures'][0]
        i, j = s['parameters'][got['activeParameter']]['label']
        same(s['label'][i:j], want, typed)
    text = CALLS.replace(tail, '  let q = scaled 2 ys ')
    c.change(URI, text)
    same(c.at('signatureHelp', URI, text.count('\n'), 22), None)  # it takes no more


HINTED = '''\
def squares xs = map (\\x -> x * x + 1f32) xs
def ones (n: i64): []i64 = replicate n 1
def f (a: []f32) (b: []f32) = map2 (+) a b
entry main [n] (ys: [n]f32) (k: i64): ([]f32, f32) =
  let one = 1f32
  let name = "x"
  let (low, high) = (f32.minimum ys, f32.maximum ys)
  let {at, by = c} = {at = k, by = low}
  let typed: f32 = high
  let zs = ones k
  let ys[0] = 3
  let sum = loop acc = high for y in ys do acc + y
  let g u = u + 1i32
  let _skipped = 1 + g 2
  let both : [](f32, i64) = map (\\y -> (y, k)) ys
  let less = filter (\\(y: f32) -> y > c) ys
  in (squares less, sum + one)
'''


def hints(c, text, first=0, last=1000):
    """The text with all hints written into it."""
    got = c.ask('textDocument/inlayHint', textDocument={'uri': URI}, range={'start': {'line': first, 'character': 0}, 'end': {'line': last, 'character': 0}})
    lines = text.split('\n')
    for h in sorted(reversed(got), key=lambda h: (h['position']['line'], -h['position']['character'])):
        k, at = h['position']['line'], h['position']['character']
        same(h['kind'], 1)
        lines[k] = f'{lines[k][:at]}<{h["label"]}>{lines[k][at:]}'
    return '\n'.join(lines)


@session
def inlay_hints(c):
    c.open(URI, HINTED)
    c.checked(URI)
    got = hints(c, HINTED)
    for part in ('\ndef ones (n: i64): [<n>]i64 = ', '(\\<(>x<: f32)> -> x * x', 'def squares <(>xs<: []f32)><: *[]f32> =',
                 'let one = 1f32', 'let name = "x"', 'let (low<: f32>, high<: f32>) = ', 'let {at<: i64>, by = c<: f32>} = ', 'let typed: f32 = high',
                 'let zs<: [k]i64> = ', 'let ys[0] = 3', 'let sum<: f32> = loop acc<: f32> = high for y<: f32> in ys', 'let g <(>u<: i32)><: i32> = u',
                 'let _skipped = ', 'let both : [<n>](f32, i64) = map (\\<(>y<: f32)> -> ', 'let less<: []f32> = filter (\\(y: f32) -> y > c)'):
        holds('\n' + got, part, 'text with hints')
    holds(hints(c, HINTED, 6, 7), 'let (low<: f32>')
    same(hints(c, HINTED, 6, 7).count('<: '), 2)
    same(hints(c, HINTED, 4, 6), HINTED)
    broken = HINTED.replace('in (squares', 'in ((squares')
    c.change(URI, broken)
    holds(hints(c, broken), 'let zs<: [k]i64> = ')
    c.change(URI, 'def f x = nowhere x\ndef g = map (\\y -> y) ???\n')
    holds(hints(c, 'def f x = nowhere x\ndef g = map (\\y -> y) ???\n'), 'def f x')
    at = {'textDocument': {'uri': URI}}
    same(c.error('textDocument/inlayHint', **at), -32602)
    same(c.error('textDocument/inlayHint', range={'start': {'line': 0, 'character': 0}}, **at), -32602)


def fixes(c, text, **context):
    """The texts that quick fixes lead to, with their diagnostics' messages."""
    whole = {'start': {'line': 0, 'character': 0}, 'end': {'line': 10 ** 6, 'character': 0}}
    got = c.ask('textDocument/codeAction', textDocument={'uri': URI}, range=whole, context={'diagnostics': [], **context})
    found = []
    for a in got:
        same(a['kind'], 'quickfix')
        edit, = a['edit']['changes'][URI]
        lines = text.split('\n')
        k, i, j = edit['range']['start']['line'], edit['range']['start']['character'], edit['range']['end']['character']
        same(edit['range']['end']['line'], k)
        lines[k] = lines[k][:i] + edit['newText'] + lines[k][j:]
        same(a['title'], f'Change to `{edit["newText"]}`')
        same(a['diagnostics'][0]['data']['fixes'][0]['newText'] == edit['newText'] or len(a['diagnostics'][0]['data']['fixes']) > 1, True)
        found.append('\n'.join(lines))
    return found


@session
def quick_fixes(c):
    """Each leads to a program without errors, but where words of other languages are meant."""
    c.open(URI, '')
    for wrong, right in (
            ('def f (abc: i32) = acb + 1', 'def f (abc: i32) = abc + 1'), ('def f (x: f32) = f32.sqtr x', 'def f (x: f32) = f32.sqrt x'),
            ('def f (xs: []i32) = lenght xs', 'def f (xs: []i32) = length xs'), ('def f (x: i23) = x', 'def f (x: i32) = x'),
            ('module mod = { def one = 1 }\ndef f = mod.oen', 'module mod = { def one = 1 }\ndef f = mod.one'),
            ('module first = { def one = 1 }\nmodule b = fisrt', 'module first = { def one = 1 }\nmodule b = first'),
            ('module type terms = { val a: i32 }\nmodule m: trems = { def a = 1 }', 'module type terms = { val a: i32 }\nmodule m: terms = { def a = 1 }'),
            ('def f (p: {width: i32, height: i32}) = p.widht', 'def f (p: {width: i32, height: i32}) = p.width'),
            ('type s = #circle i32 | #square\ndef f : s = #cirlce 1', 'type s = #circle i32 | #square\ndef f : s = #circle 1'),
            ('def f (xs: []i32) = #[sequnetial] map (+ 1) xs', 'def f (xs: []i32) = #[sequential] map (+ 1) xs'),
            ('module m: { val total: i32 } = { def toatl = 1i32 }', 'module m: { val total: i32 } = { def total = 1i32 }'),
            ('module m: { type total } = { type toatl = i32 }', 'module m: { type total } = { type total = i32 }'),
            ('def f (x: i64) (y: i32) = y + x', 'def f (x: i64) (y: i32) = y + (i32.i64 (x))'),
            ('def f (x: i64) : i32 = x * x', 'def f (x: i64) : i32 = (i32.i64 (x * x))'),
            ('def f (x: i64) = map (+ 1i32) [x]', None),
            ('def f (p: {width: i32}) = p with widht = 1', 'def f (p: {width: i32}) = p with width = 1'),
            ('type s = #circle i32 | #dot\ndef f (x: s) = match x case #cirlce r -> r case #dot -> 0',
             'type s = #circle i32 | #dot\ndef f (x: s) = match x case #circle r -> r case #dot -> 0'),
            ('module first = { def one = 1 }\ndef f = fisrt.one', 'module first = { def one = 1 }\ndef f = first.one'),
            ('module a = { module first = { def one = 1 } }\ndef f = a.fisrt.one', 'module a = { module first = { def one = 1 } }\ndef f = a.first.one'),
            ('module a = { type some = i32 }\ndef f (x: a.smoe) = x', 'module a = { type some = i32 }\ndef f (x: a.some) = x'),
            ('def f (xs: []i32) = `lenght` xs', None),
            ('def f (acb: i32) = let acb = acb in abc', 'def f (acb: i32) = let acb = acb in acb'),
            ('def f (abc: i32) : i32 = ???', 'def f (abc: i32) : i32 = abc'), ('def f (x: i32) = if x = 1 then 2 else 3', 'def f (x: i32) = if x == 1 then 2 else 3'),
            ('def f (xs: []i32) = fold (+) 0 xs', 'def f (xs: []i32) = reduce (+) 0 xs'),
            ('def f (x: i32) = pow x 2', 'def f (x: i32) = (**) x 2'), ('def f (x: (i32, i32)) = fst x', 'def f (x: (i32, i32)) = (.0) x'),
            ('def f (x: i32) = x + nothing_like_it', None)):
        c.change(URI, wrong)
        same(fixes(c, wrong), [right] if right else [], wrong)
        if right:
            c.change(URI, right)
            same([d['message'] for d in c.checked(URI)], [], right)
    text = 'def f (x: i64) : i32 = x +\n  x'
    c.change(URI, text)
    whole = {'start': {'line': 0, 'character': 0}, 'end': {'line': 9, 'character': 0}}
    action, = c.ask('textDocument/codeAction', textDocument={'uri': URI}, range=whole, context={'diagnostics': []})
    same((action['title'], action['edit']['changes'][URI][0]['newText']), ('Change to `(i32.i64 (x +…`', '(i32.i64 (x +\n  x))'))
    text = 'def f (x: i32) = x * 2.5'
    c.change(URI, text)
    same(fixes(c, text), ['def f (x: i32) = (f32.i32 (x)) * 2.5', 'def f (x: i32) = (f64.i32 (x)) * 2.5'])
    text = 'def f (x: i32) = 1.5 * f32.sqrt x\ndef g (abc: i32) = acb'
    c.change(URI, text)
    same(len(fixes(c, text)), 2)
    same(fixes(c, text, only=['refactor', 'source']), [])
    same(len(fixes(c, text, only=['quickfix'])), 2)
    at = {'line': 1, 'character': 22}
    got = c.ask('textDocument/codeAction', textDocument={'uri': URI}, range={'start': at, 'end': at}, context={'diagnostics': []})
    same([(a['title'], a['isPreferred']) for a in got], [('Change to `abc`', True)])
    same(c.error('textDocument/codeAction', textDocument={'uri': URI}), -32602)
    same([d['data']['fixes'][0]['newText'] for d in c.checked(URI)], ['(f32.i32 (x))', 'abc'])


@case
def quick_fixes_elsewhere(minifut):
    """What lacks a member may be in another file."""
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        with open(f'{d}/lib.sf', 'w', encoding='ascii') as f:
            f.write('module m = { def toatl = 1i32 }\n')
        c = Client(minifut)
        uri = f'file://{d}/main.sf'
        c.open(uri, 'import "lib"\nmodule n = m : { val total: i32 }\n')
        at = {'line': 1, 'character': 11}
        action, = c.ask('textDocument/codeAction', textDocument={'uri': uri}, range={'start': at, 'end': at}, context={'diagnostics': []})
        edit, = action['edit']['changes'][f'file://{d}/lib.sf']
        same((edit['newText'], edit['range']['start']), ('total', {'line': 0, 'character': 17}))
        c.stop()


FOLDED = '''\
import "a"
import "b"

-- | Said
-- in two lines.
module m = {
  def f (x: i32) =
    let y =
      x + 1
    in y

  def g = [
    1,
    2]
}
def h xs =
  map (\\x ->
         x + 1)
      xs
def one = 1
'''


@session
def folding(c):
    c.open(URI, FOLDED)
    got = {(f['startLine'], f['endLine'], f.get('kind')) for f in c.ask('textDocument/foldingRange', textDocument={'uri': URI})}
    same(got, {(0, 1, 'imports'), (3, 4, 'comment'), (5, 14, None), (6, 9, None), (7, 8, None), (11, 13, None), (15, 18, None), (16, 17, None)})
    c.change(URI, FOLDED.replace('in y', 'in ('))
    assert {(15, 18), (3, 4)} <= {(f['startLine'], f['endLine']) for f in c.ask('textDocument/foldingRange', textDocument={'uri': URI})}


@session
def selections(c):
    c.open(URI, CALLS)
    at = [dict(zip(('line', 'character'), place(CALLS, m))) for m in ('inner (f ^1 2)', '(x^s: [n]f32)')]
    got = c.ask('textDocument/selectionRange', textDocument={'uri': URI}, positions=at)
    same(len(got), 2)

    def texts(s):
        lines = [0]
        for line in CALLS.split('\n'):
            lines.append(lines[-1] + len(line) + 1)
        while s:
            r = s['range']
            yield CALLS[lines[r['start']['line']] + r['start']['character']:lines[r['end']['line']] + r['end']['character']]
            s = s.get('parent')
    first, second = (list(texts(s)) for s in got)
    same(first[:3], ['1', 'f 1 2', 'm.inner (f 1 2) c'])
    same(second[:2], ['xs', 'xs: [n]f32'])
    for all_of in (first, second):
        same(all_of[-1], CALLS)
        assert all(a in b and len(a) < len(b) for a, b in zip(all_of, all_of[1:])), all_of
    holds(first[-2], 'entry main')
    same(c.error('textDocument/selectionRange', textDocument={'uri': URI}), -32602)
    same(c.error('textDocument/selectionRange', textDocument={'uri': URI}, positions=[{}]), -32602)


def tokens(c, text):
    """{(name, line): (kind, modifiers)}"""
    legend = c.capabilities['semanticTokensProvider']['legend']
    data = c.ask('textDocument/semanticTokens/full', textDocument={'uri': URI})['data']
    lines, line, unit, found = text.split('\n'), 0, 0, {}
    for dl, du, n, kind, mods in zip(*[iter(data)] * 5):
        line, unit = line + dl, du if dl else unit + du
        name = lines[line][unit:unit + n]
        assert n and len(name) == n, (line, unit, n)
        names = [m for k, m in enumerate(legend['tokenModifiers']) if mods >> k & 1]
        found[(name, line)] = (legend['tokenTypes'][kind], names)
    return found


@session
def semantic_tokens(c):
    c.open(URI, CALLS)
    found = tokens(c, CALLS)
    for what, want in ((('scaled', 1), ('function', ['declaration'])), (('by', 1), ('parameter', [])), (('n', 1), ('parameter', [])),
                       (('map', 1), ('function', ['defaultLibrary'])), (('m', 3), ('namespace', ['declaration'])), (('m', 9), ('namespace', [])),
                       (('inner', 9), ('function', [])), (('zs', 7), ('variable', ['declaration'])), (('+', 8), ('operator', ['defaultLibrary'])),
                       (('u', 8), ('parameter', [])), (('f', 8), ('function', ['declaration']))):
        same(found.get(what), want, str(what))


@session
def several_broken_definitions(c):
    """Those are as they were, the others as they are, also new ones; the same in a text that never parsed, without the broken ones."""
    good = '-- | One.\ndef one [n] (xs: [n]i32) = map (+ 1) xs\n\n#[inline]\ndef two [n] (xs: [n]i32) = map (* 2) (one xs)\n' \
           'def three x = two (one x)\nmodule m = {\n  def four y = three y\n}\n'
    c.open(URI, good)
    same(c.checked(URI), [])
    broken = good
    for was, now in (('map (+ 1) xs', 'map (+ 1 xs'), ('  def four y = three y\n', '  def four y = let z = in three y\n'),
                     ('def three x = two (one x)', 'def three x = two (two (one x))\ndef five u = three u')):
        assert was in broken
        broken = broken.replace(was, now)
        c.change(URI, broken)
        got = hints(c, broken)
        holds(got, 'two [n] (xs: [n]i32)<: *[n]i32> = ')
        holds(got, 'def three <(>x<: []i32)><: *[]i32> = ')
        found = tokens(c, broken)
        for what in (('one', 1), ('xs', 1), ('xs', 4), ('three', 5), ('one', 5)):
            assert what in found, (what, found)
    holds(got, 'def five <(>u<: []i32)><: *[]i32> = ')
    holds(got, 'def four <(>y<: []i32)')
    assert ('five', 6) in found and ('u', 6) in found and ('four', 8) in found and len([t for t in found if t[0] == 'two']) == 2
    same(len(c.checked(URI)), 2)
    c.close(URI)
    c.open(URI, broken.replace('two [n]', 'two [n) [n]'))
    found = tokens(c, broken)
    assert ('three', 5) in found and ('one', 1) not in found and ('two', 4) not in found, found
