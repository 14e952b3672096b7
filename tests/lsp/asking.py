"""What is asked of a program: diagnostics, hover, definition, references, completion, symbols."""
import random
import re
from pathlib import Path

from cases import case, holds, place, position, same, session, span
from client import Client

URI = 'file:///nowhere/p.sf'

PROGRAM = '''\
-- | The sum of squares,
-- of any numbers.
def squares [n] (xs: [n]f32): f32 =
  reduce (+) 0 (map (\\x -> x * x) xs)

-- | A point.
type point = {px: f32, py: f32}
type row 'a [k] = [k](a, i32)

def shift (by: f32) (p: point): point = p with px = p.px + by

def paired 'a [m] (as: [m]a): row a [m] =
  let pair (v: a) (k: i64) = (v, i32.i64 k)
  in map2 pair as (indices as)

#[noinline]
entry main [n] (points: [n]point) (steps: i64): f32 =
  let (xs, ys) = unzip (map (\\p -> (p.px, p.py)) points)
  let zs = loop acc = copy xs for i < steps do
    let acc[i] = acc[i] + ys[i]
    in acc
  let q = shift 1.5 (head points)
  let (best, _) = last (paired zs)
  in squares zs + q.px + f32.max best ys[0]
'''


def hovers(c, text, marked):
    r = c.at('hover', URI, *place(text, marked))
    return r and r['contents']['value']


@session
def hover(c):
    c.open(URI, PROGRAM)
    same(c.checked(URI), [])
    for marked, part in (
            ('^squares zs', 'def squares [n] (xs: [n]f32): f32'), ('^squares zs', 'The sum of squares,\nof any numbers.'),
            ('^squares zs', '-- here: [n]f32 -> f32'), ('map (\\^x', 'x: f32'), ('x ^* x', '(*): num -> num -> num'),
            ('re^duce', 'reduce: (a -> a -> a) -> a -> [n]a -> *a'), ('re^duce', '```futhark\n>>> reduce (+) 0 [1, 2, 3]\n6\n```'),
            ('re^duce', '-- here: (f32 -> f32 -> f32)'),
            ('points: [n]po^int)', 'type point = {px: f32, py: f32}'), ('points: [n]po^int)', 'A point.'),
            ('(xs, y^s)', 'ys: [n]f32'), ('points: [^n]', 'n: i64'), ('loop ac^c', 'acc: '), ('f32.m^ax', 'f32.max: f32 -> f32 -> f32'),
            ('f32.m^ax', 'greater'), ('f32.max be^st', 'best: f32'), ("pair (v: ^a)", "'a"), ('map2 pa^ir', 'let pair '),
            ('1^.5', 'f32'), ('q.p^x', 'f32'), ('^row a [m]', "type row 'a [k] = [k](a, i32)"), ('^main', 'entry main [n]'),
            ('by: f32) (^p', 'p: {px: f32, py: f32}'), ('(by^:', 'by: f32'), ('(indi^ces as)', 'indices')):
        holds(hovers(c, PROGRAM, marked) or '', part, marked)
    same(hovers(c, PROGRAM, '^-- of any'), None)
    same(hovers(c, PROGRAM, '^\ntype row') and 'x', None)


@session
def definition(c):
    c.open(URI, PROGRAM)
    for marked, want in (
            ('^squares zs', 'def ^squares'), ('x * ^x', '\\^x -> x *'), ('points: [n]po^int)', 'type ^point'), ('squares z^s', 'let ^zs'),
            ('copy ^xs', 'let (^xs, ys)'), ('points: [^n]', 'main [^n]'), ('for i < st^eps', '(^steps: i64)'), ('in ac^c', 'let ^acc[i]'),
            ('let ac^c[i]', 'loop ^acc'), ('acc[^i] + ', 'for ^i <'), ("pair (v: ^a)", "paired '^a"), ('(as: [^m]a)', "paired 'a [^m]"),
            ('map2 pa^ir', 'let ^pair'), ('= [^k](a', "'a [^k] ="), ('+ ^q.px', 'let ^q ='), ('ro^w a [m]', "type ^row"), ('q.p^x', 'type point = {^px'),
            ('= p^ with', '(^p: point): point =')):
        r = c.at('definition', URI, *place(PROGRAM, marked))
        assert r, marked
        same((r['uri'], r['range']['start']['line'], r['range']['start']['character']), (URI, *place(PROGRAM, want)), marked)
    for nothing in ('re^duce', 'f32.m^ax', '^-- of any', '1^.5'):
        same(c.at('definition', URI, *place(PROGRAM, nothing)), None, nothing)


@session
def references_and_highlights(c):
    c.open(URI, PROGRAM)
    def found(marked, **more):
        rs = c.at('references', URI, *place(PROGRAM, marked), context=more)
        return sorted((r['range']['start']['line'], r['range']['start']['character']) for r in rs)
    uses = [place(PROGRAM, m) for m in ('map (\\p -> (p.px, p.py)) ^points', 'shift 1.5 (head ^points')]
    same(found('(poi^nts: ', includeDeclaration=False), uses)
    same(found('head ^points', includeDeclaration=True), sorted([place(PROGRAM, '(^points: ')] + uses))
    kinds = [(span(PROGRAM, h['range']), h['kind']) for h in c.at('documentHighlight', URI, *place(PROGRAM, '(pa^ired zs'))]
    same(kinds, [('paired', 3), ('paired', 2)])
    same(len(found("row ^a [m]", includeDeclaration=True)), 4)
    same(c.at('references', URI, 0, 3, context={'includeDeclaration': True}), None)


@session
def symbols(c):
    c.open(URI, PROGRAM)
    got = c.ask('textDocument/documentSymbol', textDocument={'uri': URI})
    same([(s['name'], s['kind']) for s in got],
         [('squares', 12), ('point', 23), ('row', 23), ('shift', 12), ('paired', 12), ('main', 24)])
    holds(got[0]['detail'], '(xs: [n]f32): f32')
    for s in got:
        same(span(PROGRAM, s['selectionRange']), s['name'])
        assert s['range']['start']['line'] <= s['selectionRange']['start']['line'] <= s['range']['end']['line']
    c.change(URI, PROGRAM.replace('reduce (+)', 'reduce (+'))
    same([s['name'] for s in c.ask('textDocument/documentSymbol', textDocument={'uri': URI})], ['point', 'row', 'shift', 'paired', 'main'])


def items(c, text, marked):
    return {i['label']: i for i in c.at('completion', URI, *place(text, marked)) or []}


@session
def completion(c):
    c.open(URI, PROGRAM)
    got = items(c, PROGRAM, '= shif^t 1.5')
    for name, part in (('zs', '[n]f32'), ('points', '[n]{px'), ('squares', '[n]f32 -> f32'), ('steps', 'i64'), ('xs', '[n]f32'), ('n', 'i64'),
                       ('map', '(a -> x)'), ('iterate', 'i32 -> (a -> a)')):
        holds(got[name]['detail'], part, name)
    holds(got['squares']['documentation'], 'The sum of squares')
    same([got[k]['kind'] for k in ('let', 'f32', 'point', 'map', 'zs')], [14, 9, 22, 3, 6])
    for name in ('q', 'best', 'acc', 'i', 'main', 'by', 'v', 'prefix -', '+'): # bound further down, or elsewhere
        assert name not in got, name
    assert got['zs']['sortText'] < got['squares']['sortText'] < got['map']['sortText'] < got['let']['sortText']
    inner = items(c, PROGRAM, 'let acc[i] = ac^c[i]')
    holds(inner['acc']['detail'], '[n]f32')
    assert 'i' in inner and 'zs' not in inner and 'p' not in inner
    members = items(c, PROGRAM, 'f32.m^ax')
    holds(members['sqrt']['detail'], 'f32 -> f32')
    holds(members['i64']['detail'], 'i64 -> f32')
    holds(members['highest']['detail'], 'f32')
    assert 'squares' not in members and 'popc' not in members
    same({k: v['detail'] for k, v in items(c, PROGRAM, '+ q.p^x').items()}, {'px': 'f32', 'py': 'f32'})
    same(items(c, PROGRAM, '-- of a^ny'), {})


@session
def completion_while_typing(c):
    """At places where the program does not parse, whatever is missing; the whole of it checked before."""
    c.open(URI, PROGRAM)
    c.checked(URI)
    tail = PROGRAM[PROGRAM.index('  let q = shift'):]
    for typed, has, lacks in (
            ('  let q = ', 'zs', 'q'), ('  let q = shift ', 'zs', 'best'), ('  let q = shift (sq', 'squares', 'q'),
            ('  let q = map (\\w -> w + ', 'w', 'best'), ('  let q = loop w = 1 for j < steps do ', 'j', 'q'), ('  let q = if steps > 2 then ', 'steps', 'q'), ('  let q = q', 'xs', 'best'),
            ('  let w = zs in ', 'w', 'q'), ('  let q = f32.', 'sqrt', 'zs'), ('  let q = (head points).', None, 'zs'),
            ('  let q = [1, 2, f32.ma', 'max', 'zs'), ('  let p = head points\n  let q = p.', 'px', 'zs'), ('  in zs[', 'steps', 'q'),
            ('  in loop w = 1 for j < ', 'steps', 'j'), ('  in ys |> map (\\v -> ', 'v', 'q')):
        text = PROGRAM.replace(tail, typed)
        c.change(URI, text + '\n')
        got = {i['label'] for i in c.at('completion', URI, text.count('\n'), len(text) - text.rfind('\n') - 1) or []}
        assert has is None or has in got, (typed, has, sorted(got)[:20])
        assert lacks not in got, (typed, lacks)
    broken = PROGRAM.replace('entry main [n]', 'entry main [n')  # elsewhere: the text that was checked last counts
    c.change(URI, broken)
    holds(hovers(c, broken, '^squares zs'), 'def squares')
    r = c.at('definition', URI, *place(broken, 'copy ^xs'))
    same((r['range']['start']['line'], r['range']['start']['character']), place(broken, 'let (^xs, ys)'))
    assert 'zs' in {i['label'] for i in c.at('completion', URI, *place(broken, 'shift 1.5 (h^ead'))}
    c.change(URI, 'entry entry entry ((\n' + PROGRAM)
    holds(hovers(c, PROGRAM, 'xs: [n]f32): f^32 =') or 'none', 'none')
    at = place(PROGRAM, '^squares zs')
    holds(c.at('hover', URI, at[0] + 1, at[1])['contents']['value'], 'def squares')


@session
def never_parsed(c):
    """Without a text that was fine before, what can be parsed counts."""
    text = 'def f (x: i32) = x\ndef g = ((\ndef h = f 1 + \n'
    c.open(URI, text)
    assert len(c.checked(URI)) >= 2
    holds(hovers(c, text, 'def ^f'), 'def f')
    got = {i['label'] for i in c.at('completion', URI, 2, 14)}
    assert 'f' in got and 'map' in got
    for nothing in ('', '(', '\n\n\n', 'def', '\ufeff', '-- |'):
        c.change(URI, nothing)
        c.checked(URI)
        c.at('hover', URI, 0, 0)
        c.at('completion', URI, 0, len(nothing))
        same(c.ask('textDocument/documentSymbol', textDocument={'uri': URI}), [])


MODULES = """\
-- | What can be added.
module type monoid = {
  -- | Of what.
  type t
  val ne: t
  -- | The sum.
  val op: t -> t -> t
}

-- | Of a monoid.
module sums (M: monoid) = {
  def total [n] (xs: [n]M.t): M.t = reduce M.op M.ne xs
  module inner = { def twice (x: M.t): M.t = x `M.op` x }
}

module ints: monoid with t = i32 = {
  type t = i32
  def ne: t = 0
  -- | Plus.
  def op (a: t) (b: t): t = a + b
  local def hidden = ne
}

module of_ints = sums ints
open of_ints.inner
type shape = #dot | #disc ints.t

def area (s: shape) =
  match s
  case #dot -> 0
  case #disc radius -> twice radius
entry main (xs: []i32) = of_ints.total xs + ints.op 1 2
"""


@session
def modules(c):
    c.open(URI, MODULES)
    same(c.checked(URI), [])
    for marked, part in (
            ('module su^ms', 'module sums'), ('module su^ms', 'Of a monoid.'), ('reduce M.^op', 'M.op: M.t -> M.t -> M.t'),
            ('reduce M.^op', 'The sum.'), ('+ ints.^op', 'Plus.'), ('[n]^M.t', 'module M'), ('[n]M.^t', 'type t'), ('[n]M.^t', 'Of what.'),
            ('xs: [n]M.t): M.t = reduce M.op M.ne ^xs', 'xs: [n]M.t'), ('(M: mon^oid)', 'What can be added.'), ('#disc rad^ius', 'radius: i32'),
            ('val o^p', 'op: t -> t -> t'), ('of_ints.to^tal', 'def total [n] (xs: [n]i32)')):
        holds(hovers(c, MODULES, marked) or '', part, marked)
    for marked, want in (
            ('reduce M.^op', 'val ^op'), ('reduce ^M.op', 'sums (^M'), ('x `M.^op`', 'val ^op'), ('+ ints.^op', 'def ^op'), ('+ int^s.op', 'module ^ints'),
            ('(M: ^monoid)', 'module type ^monoid'), ('ints: ^monoid', 'module type ^monoid'), ('= su^ms ints', 'module ^sums'),
            ('= sums in^ts', 'module ^ints'), ('open ^of_ints', 'module ^of_ints'), ('open of_ints.^inner', 'module ^inner'),
            ('-> twi^ce', 'def ^twice'), ('-> twice rad^ius', '#disc ^radius'), ('of_ints.to^tal', 'def ^total'), ('#disc ints.^t', 'with ^t = i32'),
            ('(xs: [n]M.^t', '  type ^t\n'), ('hidden = n^e', 'def ^ne: t'), ('val ne: ^t', '  type ^t\n')):
        r = c.at('definition', URI, *place(MODULES, marked))
        assert r, marked
        same((r['range']['start']['line'], r['range']['start']['character']), place(MODULES, want), marked)
    def found(marked, declaration):
        rs = c.at('references', URI, *place(MODULES, marked), context={'includeDeclaration': declaration})
        return sorted((r['range']['start']['line'], r['range']['start']['character']) for r in rs)
    def places(*marked):
        return sorted(place(MODULES, m) for m in marked)
    same(found('val ^op', True), places('val ^op', 'reduce M.^op', 'x `M.^op`'))
    same(found('def ^op', False), places('+ ints.^op'))
    same(found('def ^ne: t', True), places('def ^ne: t', 'hidden = ^ne'))
    same(found('module ^ints', False), places('= sums ^ints', '#disc ^ints.t', '+ ^ints.op'))
    same(found('def ^twice', False), places('-> ^twice radius'))
    same(found('ints: ^monoid', True), places('module type ^monoid', '(M: ^monoid)', 'ints: ^monoid'))
    same(found('case #disc ^radius', False), places('twice ^radius'))


@session
def symbols_of_modules(c):
    c.open(URI, MODULES)
    got = c.ask('textDocument/documentSymbol', textDocument={'uri': URI})
    same([(s['name'], s['kind']) for s in got],
         [('monoid', 11), ('sums', 2), ('ints', 2), ('of_ints', 2), ('shape', 23), ('area', 12), ('main', 24)])
    children = {s['name']: [m['name'] for m in s['children']] for s in got if 'children' in s}
    same(children, {'monoid': ['t', 'ne', 'op'], 'sums': ['total', 'inner'], 'ints': ['t', 'ne', 'op', 'hidden'], 'of_ints': []})
    same([m['name'] for m in got[1]['children'][1]['children']], ['twice'])
    holds(got[0]['children'][2]['detail'], 'val op : ')


@session
def completion_in_modules(c):
    c.open(URI, MODULES)
    c.checked(URI)
    got = items(c, MODULES, '+ ints.^op')
    same(sorted(got), ['ne', 'op', 't'])
    holds(got['op']['detail'], 'i32 -> i32 -> i32')
    same(sorted(items(c, MODULES, 'of_ints.to^tal')), ['inner', 'total'])
    same(sorted(items(c, MODULES, 'reduce M.^op')), ['ne', 'op', 't'])
    top = items(c, MODULES, 'entry main (xs: []i32) = of^_ints')
    assert {'ints', 'sums', 'monoid', 'twice', 'area', 'match'} <= set(top) and not {'total', 'hidden', 'M', 'radius'} & set(top), sorted(top)
    same([top[k]['kind'] for k in ('ints', 'monoid')], [9, 8])
    inside = items(c, MODULES, 'local def hidden = n^e')
    assert {'ne', 'op', 't', 'sums'} <= set(inside) and not {'ints', 'hidden', 'M'} & set(inside), sorted(inside)
    inside = items(c, MODULES, '= x^ `M.op`')
    assert {'M', 'x', 'total'} <= set(inside) and not {'xs', 'twice', 'ints'} & set(inside), sorted(inside)
    assert 'radius' in items(c, MODULES, '-> twice rad^ius')
    for typed, has, lacks in (('  def z = M.', 'op', 'total'), ('  def z = to', 'total', 'z'), ('  def z (y: M.t) = M.op y (', 'y', 'z')):
        text = MODULES.replace('  module inner', typed + '\n  module inner')
        c.change(URI, text)
        at = text.index(typed) + len(typed)
        names = {i['label'] for i in c.at('completion', URI, text[:at].count('\n'), len(typed)) or []}
        assert has in names and lacks not in names, (typed, sorted(names)[:30])


WRONG = '''\
def f (x: *[3]i32): i32 = x[0]
def g (y: *[3]i32) = let a = f y in a + y[0]
def h (z: i32): bool = z
def k (z: i32) = #[nonsense] z
'''


@session
def diagnostics(c):
    c.open(URI, WRONG)
    used, typed, warned = c.checked(URI)
    same([d['severity'] for d in (used, typed, warned)], [1, 1, 2])
    same([span(WRONG, d['range']) for d in (used, typed)], ['y', 'z'])
    holds(typed['message'], '`h` should return `bool`')
    same(span(WRONG, typed['relatedInformation'][0]['location']['range']), 'bool')
    holds(used['relatedInformation'][0]['location']['uri'], URI)
    same(used['source'], 'minifut')
    c.change(URI, 'def f = ' + '[' * 3000 + '1' + ']' * 3000)
    assert any(d.get('code') == 'limitation' for d in c.checked(URI))
    c.change(URI, 'def f (n: i64): i64 = if n > 0 then f 0 else f 1')
    never, = c.checked(URI)
    same((never['code'], never['message']), ('limitation', '`f` calls itself in each case, so it never ends'))
    c.change(URI, '\n'.join(f'def a{k}: bool = {k}' for k in range(60)))
    same(len(c.checked(URI)), 60) # a terminal gets 20
    c.close(URI)
    while c.diagnostics[URI]['diagnostics']:
        c.receive()


@case
def related_places_in_words(minifut):
    c = Client(minifut, related=False)
    c.open(URI, WRONG)
    typed = c.checked(URI)[1]
    assert 'relatedInformation' not in typed
    holds(typed['message'], '\nline 3: the result type is declared here')
    c.stop()


ROOT = Path(__file__).resolve().parent.parent.parent
NO_NAMES = set('assert def do else entry false for if import in let local loop open then true type while with bool'.split())


@session
def names_of_programs(c):
    """Whatever stands at the place where a name is bound, it is that name; nearly all have types."""
    r, seen, bare = random.Random(5), 0, []
    for path in sorted(ROOT.glob('examples/*.sf')) + sorted(ROOT.glob('tests/frontend/ok/*.sf')):
        text = path.read_text(encoding='utf-8')
        uri = path.as_uri()
        c.open(uri, text)
        code = re.sub(r'--[^\n]*', lambda m: ' ' * len(m[0]), text)
        names = [m for m in re.finditer(r"(?<![\w.'\"#])[A-Za-z][\w']*", code)
                 if m[0] not in NO_NAMES and not re.fullmatch(r'[iuf]\d+', m[0])]
        for m in r.sample(names, min(len(names), 25)):
            at = position(text, m.start())
            found = c.at('definition', uri, *at)
            if found and found['uri'] == uri:
                same(span(text, found['range']), m[0], f'{path.name}:{at}')
                seen += 1
            if not c.at('hover', uri, *at):
                bare.append((path.name, m[0]))
        c.close(uri)
    assert seen > 150 and len(bare) < seen / 20, (seen, bare)  # fields of types as written have none


@session
def formatting(c):
    """One edit that is the whole text; none where nothing changes; null where there is a syntax error."""
    text = 'def  f(x:i32):i32=x+1   -- é😀\n\n\n\ndef g = f  2'
    asked = {'textDocument': {'uri': URI}, 'options': {'tabSize': 2, 'insertSpaces': True}}
    c.open(URI, text)
    edit, = c.ask('textDocument/formatting', **asked)
    same(edit['range'], {'start': {'line': 0, 'character': 0}, 'end': {'line': 4, 'character': 12}})
    same(edit['newText'], 'def f (x: i32): i32 = x + 1 -- é😀\n\n\ndef g = f 2\n')
    c.change(URI, edit["newText"])
    same(c.ask('textDocument/formatting', **asked), [])
    c.change(URI, "def f = (")
    same(c.ask('textDocument/formatting', **asked), None)
