"""Constructors, modules that are opened, programs with packages."""
import os
import tempfile
from urllib.parse import quote

from cases import holds, place, same, session

URI = 'file:///nowhere/s.sf'

PROGRAM = """\
-- | What can be drawn.
type shape = #circle f32 | #square {side: f32} | #dot
type option 'a = #some a | #none
module type measure = {
  module of: { type t val zero: t }
  val size: of.t -> i64
}
module geometry = {
  def unit: shape = #circle 1
  module inner = { def half (x: f32) = x / 2 }
  def area (s: shape): f32 =
    match s
    case #circle r -> r * r * 3
    case #square {side} -> inner.(half side + half side) * side
    case #dot -> 0
}
module floats: { type t val zero: t } with t = f32 = { type t = f32 def zero: f32 = 0 }
def other (x: #circle i32 | #none) = match x case #circle y -> y case #none -> 0
entry main (x: f32): f32 = geometry.(area (#square {side = x}) + area unit) + (match (#some x : option f32) case #some y -> y case _ -> 0)
"""


def hovers(c, text, marked):
    r = c.at('hover', URI, *place(text, marked))
    return r and r['contents']['value']


def goes(c, text, marked):
    r = c.at('definition', URI, *place(text, marked))
    return r and (r['range']['start']['line'], r['range']['start']['character'])


@session
def constructors(c):
    c.open(URI, PROGRAM)
    same(c.checked(URI), [])
    for marked, part in (
            ('case #cir^cle r', '#circle f32\ntype shape = #circle f32 | #square'), ('case #cir^cle r', 'What can be drawn.'),
            ('= ^#circle f32', '#circle f32\n'), ('match (^#some x', "#some f32\ntype option 'a"), ('(#squ^are {side = x}', '#square {side: f32}'),
            ('case #circ^le y', '#circle i32\n-- of #circle i32 | #none')):
        holds(hovers(c, PROGRAM, marked) or '', part, marked)
    for marked, want in (('case #cir^cle r', '= ^#circle f32'), ('match (^#some x', '= ^#some a'), ('case #d^ot', '| ^#dot'),
                         ('case #circ^le y', '(x: ^#circle i32'), ('(x: #cir^cle i32', '(x: ^#circle i32')):
        same(goes(c, PROGRAM, marked), place(PROGRAM, want), marked)
    found = c.at('references', URI, *place(PROGRAM, 'case #cir^cle r'), context={'includeDeclaration': True})
    same(sorted((r['range']['start']['line'], r['range']['start']['character']) for r in found),
         sorted(place(PROGRAM, m) for m in ('= ^#circle f32', 'unit: shape = ^#circle', 'case ^#circle r')))
    got = {i['label']: i for i in c.at('completion', URI, *place(PROGRAM, 'case #cir^cle r'))}
    same(sorted(got), ['circle', 'dot', 'none', 'some', 'square'])
    same([got[k]['detail'] for k in ('circle', 'square', 'some')], ['#circle f32', '#square {side: f32}', '#some a'])
    assert got['dot']['sortText'] < got['circle']['sortText'][:1] + 'z' < got['none']['sortText']
    same(got['dot']['kind'], 20)
    for typed, has in (('    case #', 'circle'), ('    case #circle r -> #', 'some'), ('    case #dot -> 1\n    case ', 'shape')):
        text = PROGRAM.replace('    case #circle r -> r * r * 3', typed)
        c.change(URI, text)
        at = text.index(typed) + len(typed)
        line = text[:at].count('\n')
        assert has in {i['label'] for i in c.at('completion', URI, line, at - text.rfind('\n', 0, at) - 1) or []}, typed


@session
def modules_that_are_opened(c):
    c.open(URI, PROGRAM)
    same(c.checked(URI), [])
    for marked, part in (('= geom^etry.(area', 'module geometry'), ('-> inn^er.(half side', 'module inner'), ('(half^ side', 'def half'),
                         ('floats: { type t val zero: t } with ^t', 'type t'),
                         ('module flo^ats', 'module floats : {'), ('module type mea^sure', 'val size : of.t -> i64')):
        holds(hovers(c, PROGRAM, marked) or '', part, marked)
    for marked, want in (('= geom^etry.(area', 'module ^geometry'), ('-> inn^er.(half side', 'module ^inner'),
                         ('floats: { type t val zero: t } with ^t', 'floats: { type ^t val')):
        same(goes(c, PROGRAM, marked), place(PROGRAM, want), marked)
    got = {i['label'] for i in c.at('completion', URI, *place(PROGRAM, '+ area un^it)'))}
    assert {'unit', 'inner', 'area', 'x'} <= got and 'half' not in got, sorted(got)
    got = {i['label'] for i in c.at('completion', URI, *place(PROGRAM, '(half^ side'))}
    assert {'half', 'side', 'unit'} <= got and 'area' not in got, sorted(got)
    symbols = {s['name']: s for s in c.ask('textDocument/documentSymbol', textDocument={'uri': URI})}
    of = symbols['measure']['children'][0]
    same((of['name'], [m['name'] for m in of['children']]), ('of', ['t', 'zero']))


PACKAGE = """\
-- | What can be added.
module type monoid = { type t val ne: t val op: t -> t -> t }
-- | Of a monoid.
module mk_sum (M: monoid) = {
  -- | All of them.
  def total [n] (xs: [n]M.t): M.t = reduce M.op M.ne xs
}
"""
USER = """\
import "lib/github.com/someone/sums/sums"
module s = import "../lib/github.com/someone/sums/sums"
module ints = mk_sum {type t = i32 def ne = 0i32 def op (x: t) (y: t) = x + y}
module type more = s.monoid
entry main (xs: []i32) = ints.total xs
"""


@session
def packages(c):
    with tempfile.TemporaryDirectory() as d:
        os.makedirs(f'{d}/lib/github.com/someone/sums')
        os.mkdir(f'{d}/src')
        lib, main = f'file://{quote(d)}/lib/github.com/someone/sums/sums.sf', f'file://{quote(d)}/src/main.sf'
        with open(f'{d}/lib/github.com/someone/sums/sums.sf', 'w', encoding='utf-8') as f:
            f.write(PACKAGE)
        c.open(main, USER)
        same(c.checked(main), [])
        for marked, part in (('ints.to^tal xs', 'def total [n] (xs: [n]i32): i32'), ('ints.to^tal xs', 'All of them.'),
                             ('= mk_^sum {', 'module mk_sum (M: monoid)'), ('= mk_^sum {', 'Of a monoid.'),
                             ('module in^ts', 'module ints = mk_sum'), ('s.mon^oid', 'module type monoid = {'),
                             ('s.mon^oid', 'What can be added.')):
            holds(c.at('hover', main, *place(USER, marked))['contents']['value'], part, marked)
        for marked, want in (('ints.to^tal xs', 'def ^total'), ('= mk_^sum {', 'module ^mk_sum'), ('s.mon^oid', 'module type ^monoid')):
            r = c.at('definition', main, *place(USER, marked))
            same((r['uri'], r['range']['start']['line'], r['range']['start']['character']), (lib, *place(PACKAGE, want)), marked)
        same(c.at('definition', main, *place(USER, '"../lib/git^hub'))['uri'], lib)
        same(sorted(i['label'] for i in c.at('completion', main, *place(USER, 's.mon^oid'))), ['mk_sum', 'monoid'])
        found = c.at('references', main, *place(USER, '= mk_^sum {'), context={'includeDeclaration': True})
        same(sorted(r['uri'] for r in found), sorted([lib, main]))
        c.open(lib, PACKAGE.replace('M.op M.ne', 'M.ne M.op'))
        wrong = c.fresh(main)[0]
        holds(wrong['message'], 'sums.sf:6:')
        same(wrong['range']['start']['line'], 0)
        c.change(lib, PACKAGE.replace('val ne: t', 'val none: t'))
        holds(' '.join(w['message'] for w in c.fresh(main)), 'no member `ne`')
