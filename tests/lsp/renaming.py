"""Renaming, references over files, symbols of the workspace."""
import os
import tempfile
from urllib.parse import quote

from cases import case, holds, place, same, session
from client import Client

URI = 'file:///nowhere/r.sf'

PROGRAM = '''\
-- | Of numbers.
module type monoid = { type t val ne: t val op: t -> t -> t }
module ints: monoid with t = i32 = { type t = i32 def ne: t = 0 def op (x: t) (y: t): t = x + y }
module sums (M: monoid) = { def total [n] (xs: [n]M.t): M.t = reduce M.op M.ne xs }
module of_ints = sums ints
type shape = #circle f32 | #dot
type point = {px: f32, py: f32}
def area (s: shape): f32 = match s case #circle r -> r * r case #dot -> 0
def far (p: point): f32 = let {px, py = y} = p in px + y
def moved (px: f32): point = {px, -- as it is
                              py = px}
def a <+> b = a + b + 1i32
def swept [n] (acc: *[n]i32): [n]i32 =
  let k = 1 let acc[0] = k let acc[1] = acc[0] + k in acc
entry main [n] (xs: [n]i32): i32 =
  let best = of_ints.total xs
  let f (q: i32) = q + best <+> 2
  in loop best for i < 3 do f best `i32.max` best `ints.op` i
'''


def applied(text, edits):
    """The text after edits; of ASCII texts here."""
    lines = [0]
    for line in text.split('\n'):
        lines.append(lines[-1] + len(line) + 1)
    spans = sorted((lines[e['range']['start']['line']] + e['range']['start']['character'],
                    lines[e['range']['end']['line']] + e['range']['end']['character'], e['newText']) for e in edits)
    for i, j, new in reversed(spans):
        text = text[:i] + new + text[j:]
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans
    return text


def rename(c, uri, text, marked, new):
    """{uri: (version, edits)}, or the message of a refusal."""
    line, character = place(text, marked)
    m = c.answer(c.start('textDocument/rename', textDocument={'uri': uri}, position={'line': line, 'character': character}, newName=new))
    if 'error' in m:
        same(m['error']['code'], -32803)
        return m['error']['message']
    changes = m['result']['documentChanges']
    return {d['textDocument']['uri']: (d['textDocument']['version'], d['edits']) for d in changes}


def renamed(c, text, marked, new):
    got = rename(c, URI, text, marked, new)
    assert isinstance(got, dict), (marked, got)
    same(list(got), [URI])
    same(got[URI][0], c.versions[URI])
    return applied(text, got[URI][1])


@session
def renames(c):
    c.open(URI, PROGRAM)
    same(c.checked(URI), [])

    def to(marked, new, *pairs):
        want = PROGRAM
        for was, now in pairs:
            assert was in want, was
            want = want.replace(was, now)
        same(renamed(c, PROGRAM, marked, new), want, marked)

    to('match ^s case', 'it', ('(s: shape)', '(it: shape)'), ('match s case', 'match it case'))
    to('def ^area', 'surface', ('area', 'surface'))
    to('s: sh^ape', 'form', ('shape', 'form'))
    to('case #cir^cle', 'disc', ('#circle', '#disc'))
    to('let {p^x, py', 'x', ('{px, py = y} = p in px', '{px = x, py = y} = p in x'))
    to('py = ^y}', 'v', ('py = y}', 'py = v}'), ('px + y', 'px + v'))
    to('moved (p^x', 'at', ('moved (px: f32)', 'moved (at: f32)'), ('{px, -- as', '{px = at, -- as'), ('py = px}', 'py = at}'))
    to('best <^+> 2', '<+->', ('<+>', '<+->'))
    to('(ac^c: *[n]', 'xs', ('acc', 'xs'))
    to('let acc[1] = ac^c', 'ys', ('acc', 'ys'))
    to('swept [^n]', 'm', ('swept [n] (acc: *[n]i32): [n]', 'swept [m] (acc: *[m]i32): [m]'))
    # What a module type asks for, modules that have it, and what is used of either.
    for marked in ('val o^p', 'def o^p', 'M.o^p', '`ints.o^p`'):
        to(marked, 'join', ('val op', 'val join'), ('def op', 'def join'), ('M.op', 'M.join'), ('ints.op', 'ints.join'))
    to('type ^t val', 'elem', ('type t val ne: t val op: t -> t -> t', 'type elem val ne: elem val op: elem -> elem -> elem'),
       ('with t =', 'with elem ='), ('{ type t = i32 def ne: t = 0 def op (x: t) (y: t): t', '{ type elem = i32 def ne: elem = 0 def op (x: elem) (y: elem): elem'),
       ('[n]M.t): M.t', '[n]M.elem): M.elem'))
    to('module in^ts', 'whole', ('module ints:', 'module whole:'), ('sums ints', 'sums whole'), ('`ints.op`', '`whole.op`'))
    to('(^M: monoid)', 'N', ('(M:', '(N:'), ('M.', 'N.'))
    to('module type mon^oid', 'adds', ('monoid', 'adds'))
    to('of_ints.tot^al', 'all_of', ('total', 'all_of'))
    to('(^q: i32)', 'z', ('(q: i32) = q', '(z: i32) = z'))
    # `loop best` binds anew what it begins with
    to('let be^st', 'most', ('best', 'most'))
    same(rename(c, URI, PROGRAM, 'def ^area', 'area')[URI][1][0]['newText'], 'area')
    got = c.at('prepareRename', URI, *place(PROGRAM, 'case #cir^cle'))
    same(got['placeholder'], 'circle')
    line, character = place(PROGRAM, 'case #^circle')
    same(got['range'], {'start': {'line': line, 'character': character}, 'end': {'line': line, 'character': character + 6}})


MUTUAL = '''\
def front [n] (xs: [n]i32) : []i32 = if n == 0 then [] else [xs[0]] ++ back xs[1:]
def back [n] (xs: [n]i32) : []i32 = if n == 0 then [] else front xs[:n - 1]
def both (xs: []i32) = (front xs, back xs)
'''


@session
def renames_what_is_below(c):
    """Functions that call each other, of which one is used before it is defined."""
    c.open(URI, MUTUAL)
    same(c.checked(URI), [])
    for marked in ('def ba^ck', '++ ba^ck', 'xs, ba^ck'):
        same(renamed(c, MUTUAL, marked, 'rear'), MUTUAL.replace('back', 'rear'), marked)
    same(renamed(c, MUTUAL, 'fro^nt xs[:', 'first'), MUTUAL.replace('front', 'first'))
    first, second, third = MUTUAL.splitlines(True)
    same(renamed(c, MUTUAL, 'back [^n]', 'm'), first + second.replace('[n]', '[m]').replace('n == 0', 'm == 0').replace('n - 1', 'm - 1') + third)
    holds(c.at('hover', URI, *place(MUTUAL, '++ ba^ck'))['contents']['value'], 'def back [n] (xs: [n]i32)')
    same(c.at('definition', URI, *place(MUTUAL, '++ ba^ck'))['range']['start'], {'line': 1, 'character': 4})


SPECS = '''\
module type made = { val of 'b [k]: (size: i64) -> [k]b -> [size]b }
module type held = { type~ t 'a val of 'a: a -> t a }
module lists: held with t 'c = []c = { type~ t 'd = []d def of x = [x] }
def call 'a (f: (k: i64) -> [k]a) (n: i64): [n]a = f n
'''


@session
def renames_in_specifications(c):
    """What binds a name in a type, and the types and sizes that use it."""
    c.open(URI, SPECS)
    same(c.checked(URI), [])
    for marked, new, was, now in (
            ("of '^b", 'x', "of 'b [k]: (size: i64) -> [k]b -> [size]b", "of 'x [k]: (size: i64) -> [k]x -> [size]x"),
            ('[^k]: (size', 'm', "[k]: (size: i64) -> [k]b", "[m]: (size: i64) -> [m]b"),
            ('-> [siz^e]b', 'n', "(size: i64) -> [k]b -> [size]b", "(n: i64) -> [k]b -> [n]b"),
            ("of 'a: ^a", 'x', "val of 'a: a -> t a", "val of 'x: x -> t x"), ("t '^c", 'x', "t 'c = []c", "t 'x = []x"), ("t '^d", 'x', "t 'd = []d", "t 'x = []x"),
            ('(f: (^k: i64)', 'm', '(f: (k: i64) -> [k]a)', '(f: (m: i64) -> [m]a)')):
        same(renamed(c, SPECS, marked, new), SPECS.replace(was, now), marked)
    same(renamed(c, SPECS, 'def ^of', 'put'), SPECS.replace("val of 'a", "val put 'a").replace('def of', 'def put'))


FIELDS = r'''type point = {px: f32, py: f32}
type line = {from: point, to: point}
def a (l: line) = l.from.px + (l.to) .py
def b (p: point) = p with px = 1
def c (l: line) = l with from.px = 2
def d (ls: []line) = map (.from.px) ls
def e (l: line) = let l.to.px = 4 in l
def f (px: f32): point = {px, py = px}
def g (p: point) = let {px, py = y} = p in px + y
def h (p: point) = match p case {px = 0, py} -> py case {px: f32, py = _} -> px
def k = {px = 1f32, py = 2f32, pz = 3f32}.px
def n = (\p -> p.px) {px = 1f32, -- , px
                      py = 0f32}
module m = { type t = {py: f32, px: f32} def o: t = {py = 0, px = 0} }
def r = m.o.px
'''
RENAMED_FIELDS = r'''type point = {x: f32, py: f32}
type line = {from: point, to: point}
def a (l: line) = l.from.x + (l.to) .py
def b (p: point) = p with x = 1
def c (l: line) = l with from.x = 2
def d (ls: []line) = map (.from.x) ls
def e (l: line) = let l.to.x = 4 in l
def f (px: f32): point = {x = px, py = px}
def g (p: point) = let {x = px, py = y} = p in px + y
def h (p: point) = match p case {x = 0, py} -> py case {x = px: f32, py = _} -> px
def k = {px = 1f32, py = 2f32, pz = 3f32}.px
def n = (\p -> p.x) {x = 1f32, -- , px
                      py = 0f32}
module m = { type t = {py: f32, x: f32} def o: t = {py = 0, x = 0} }
def r = m.o.x
'''


@session
def renames_of_fields(c):
    """... of all records with the same fields; a variable that is a field by its name alone keeps its own."""
    c.open(URI, FIELDS)
    same(c.checked(URI), [])
    for marked in ('type point = {p^x', 'l.from.p^x', 'with p^x', 'with from.p^x', '(.from.p^x', 'l.to.p^x', 'case {p^x =', 'p -> p.p^x', '^px = 1f32, --', 'm.o.p^x'):
        same(renamed(c, FIELDS, marked, 'x'), RENAMED_FIELDS, marked)
    c.change(URI, RENAMED_FIELDS)
    same(c.checked(URI), [])
    same(renamed(c, RENAMED_FIELDS, 'type point = {^x', 'map'), RENAMED_FIELDS.replace('{x', '{map').replace('.x', '.map').replace('with x', 'with map').replace(' x:', ' map:').replace(', x =', ', map ='))
    puns = FIELDS.replace('px', 'x')
    c.change(URI, puns)
    same(renamed(c, puns, 'let {^x, py', 'u'), puns.replace('let {x, py = y} = p in x + y', 'let {x = u, py = y} = p in u + y'))
    c.change(URI, FIELDS)
    same(len(c.at('references', URI, *place(FIELDS, 'with p^x'), context={'includeDeclaration': True})), 15)
    for marked, new, part in (('type point = {p^x', 'py', 'r.sf:'), ('type point = {p^x', 'let', 'keyword'), ('type point = {p^x', '1', 'no name')):
        got = rename(c, URI, FIELDS, marked, new)
        assert isinstance(got, str), (marked, new, got)
        holds(got, part)
    two = 'type one = {a: i32, b: i32}\ntype two = {a: i32, c: i32}\n'
    c.change(URI, two)
    holds(rename(c, URI, two, '^b: i32', 'c'), 'would mean something else')
    wrong = FIELDS + 'def s: bool = r\n'
    c.change(URI, wrong)
    holds(rename(c, URI, wrong, 'type point = {p^x', 'x'), 'there are errors')


@session
def renames_that_are_refused(c):
    c.open(URI, PROGRAM)
    for marked, new, part in (
            ('match ^s case', 'let', 'keyword'), ('match ^s case', '1x', 'no name'), ('match ^s case', 'a b', 'no name'), ('match ^s case', '', 'no name'),
            ('match ^s case', '+', 'no name'), ('match ^s case', 'map', 'all programs have'), ('match ^s case', 'f32', 'all programs have'),
            ('best <^+> 2', 'plus', 'no operator'), ('best <^+> 2', '**>', 'r.sf:'), ('best <^+> 2', '&&', '&&'),
            ('redu^ce', 'fold', 'by the language'), ('i32.m^ax', 'most', 'by the language'), ('-> r ^* r', '+', 'by the language'),
            ('(s: shape): f^32', 'x', 'no name'), ('^-- | Of', 'x', 'no name'),
            ('def ^area', 'far', 'defined twice'), ('let be^st', 'f', 'r.sf:18:'), ('(^q: i32)', 'best', 'r.sf:17:'),
            ('case #cir^cle', 'dot', 'r.sf:'), ('let be^st', 'i', 'r.sf:18:'), ('(p^x: f32)', '_', 'r.sf:')):
        got = rename(c, URI, PROGRAM, marked, new)
        assert isinstance(got, str), (marked, new, got)
        holds(got, part, f'{marked} {new}')
    for marked in ('redu^ce', '^-- | Of', '(s: shape): f^32'):
        line, character = place(PROGRAM, marked)
        same(c.error('textDocument/prepareRename', textDocument={'uri': URI}, position={'line': line, 'character': character}), -32803)
    line, character = place(PROGRAM, 'def ^area')
    at = {'textDocument': {'uri': URI}, 'position': {'line': line, 'character': character}}
    same(c.error('textDocument/rename', **at), -32602)
    same(c.error('textDocument/rename', newName=3, **at), -32602)
    broken = PROGRAM + 'def g = (\n'
    c.change(URI, broken)
    holds(rename(c, URI, broken, 'def ^area', 'surface'), 'syntax error')
    wrong = 'def early = area #dot\n' + PROGRAM
    c.change(URI, wrong)
    holds(rename(c, URI, wrong, 'def ^area', 'surface'), 'is not known')
    wrong = PROGRAM + 'def g: bool = area #dot\n'  # an error that has nothing to do with names
    c.change(URI, wrong)
    same(renamed(c, wrong, 'def ^area', 'surface'), wrong.replace('area', 'surface'))


@case
def renames_for_simple_editors(minifut):
    """Those that know no versions of documents."""
    c = Client(minifut, versioned=False)
    same(c.capabilities['renameProvider'], True)
    c.open(URI, PROGRAM)
    line, character = place(PROGRAM, 'def ^far')
    got = c.at('rename', URI, line, character, newName='away')
    same(list(got), ['changes'])
    same(applied(PROGRAM, got['changes'][URI]), PROGRAM.replace('far', 'away'))
    c.stop()


LIB = 'def twice (x: i32): i32 = 2 * x -- é😀\nlocal def hidden = 1\ntype t = i32\ndef four = twice 2\n'
MAIN = 'import "lib"\n-- é😀\ndef f (y: t): i32 = -- é\n  twice y\n'
FAR = 'module m = import "in/main"\nimport "lib"\ndef g = "é" == "é" && m.f 3 == twice 2\n'
OTHER = 'def twice = 2 -- imports nothing\n'
SAME = 'import "other"\ndef h = twice\n'


def uri(path):
    return 'file://' + quote(path)


def workspace(folder):
    os.makedirs(f'{folder}/in/.hidden')
    for name, text in (('lib.sf', LIB), ('in/main.sf', MAIN.replace('"lib"', '"../lib"')), ('far.fut', FAR), ('other.sf', OTHER), ('same.sf', SAME),
                       ('broken.sf', 'import "lib"\ndef k = four +\n'), ('in/.hidden/x.sf', 'import "../../lib"\ndef z = twice 1\n')):
        with open(f'{folder}/{name}', 'w', encoding='utf-8') as f:
            f.write(text)


def sixteen(text):
    return text.encode('utf-16-le')


def changed(folder, got):
    """The texts of files after edits, whose characters are counted in UTF-16."""
    texts = {}
    for at, (version, edits) in got.items():
        path = at[len('file://'):]
        with open(path, encoding='utf-8') as f:
            lines = f.read().split('\n')
        for e in sorted(edits, key=lambda e: (e['range']['start']['line'], -e['range']['start']['character'])):
            (k, i), (_, j) = ((e['range'][end]['line'], e['range'][end]['character']) for end in ('start', 'end'))
            raw = sixteen(lines[k])
            lines[k] = (raw[:2 * i] + sixteen(e['newText']) + raw[2 * j:]).decode('utf-16-le')
        texts[os.path.relpath(path, folder)] = (version, '\n'.join(lines))
    return texts


@case
def over_files(minifut):
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        workspace(d)
        c = Client(minifut, folders=[uri(d)])
        lib, main = uri(f'{d}/lib.sf'), uri(f'{d}/in/main.sf')
        c.open(lib, LIB)
        found = c.at('references', lib, *place(LIB, 'def tw^ice'), context={'includeDeclaration': True})
        want = [('far.fut', 2), ('in/main.sf', 3), ('lib.sf', 0), ('lib.sf', 3)]
        same(sorted((os.path.relpath(r['uri'][7:], d), r['range']['start']['line']) for r in found), want)
        c.change(lib, LIB)
        got = changed(d, rename(c, lib, LIB, 'def tw^ice', 'double'))
        same(got, {'lib.sf': (2, LIB.replace('twice', 'double')), 'in/main.sf': (None, MAIN.replace('"lib"', '"../lib"').replace('twice', 'double')),
                   'far.fut': (None, FAR.replace('twice', 'double'))})
        holds(rename(c, lib, LIB, 'def tw^ice', 'hidden'), 'lib.sf:4')
        holds(rename(c, lib, LIB, 'def tw^ice', 'm'), 'far.fut:3')
        holds(rename(c, lib, LIB, 'def fo^ur', 'five'), 'broken.sf has a syntax error')
        text = MAIN.replace('"lib"', '"../lib"')
        c.open(main, text)
        same(changed(d, rename(c, main, text, 'def ^f', 'ff')), {'in/main.sf': (1, text.replace('def f', 'def ff')), 'far.fut': (None, FAR.replace('m.f', 'm.ff'))})
        same(sorted(changed(d, rename(c, main, text, 'tw^ice y', 'double'))), ['far.fut', 'in/main.sf', 'lib.sf'])
        same(list(changed(d, rename(c, main, text, '(^y: t)', 'z'))), ['in/main.sf'])
        c.change(main, text + 'def more = twice 7\n') # what the editor shows counts
        same(len(c.at('references', lib, *place(LIB, 'def tw^ice'), context={'includeDeclaration': False})), 4)

        def symbols(query):
            return [(s['name'], os.path.relpath(s['location']['uri'][7:], d), s.get('containerName')) for s in c.ask('workspace/symbol', query=query)]
        same(symbols('twice'), [('twice', 'lib.sf', None), ('twice', 'other.sf', None)])
        same(symbols('mO'), [('more', 'in/main.sf', None)])
        same([s[0] for s in symbols('hdn')], ['hidden'])
        same(symbols('xyz'), [])
        assert {'twice', 'f', 'g', 'h', 't', 'hidden', 'm', 'more'} <= {s[0] for s in symbols('')}
        same(c.error('workspace/symbol'), -32602)
        c.tell('workspace/didChangeWorkspaceFolders', event={'added': [], 'removed': [{'uri': uri(d), 'name': 'x'}]})
        assert 'g' not in {s[0] for s in symbols('g')}
        c.tell('workspace/didChangeWorkspaceFolders', event={'added': [{'uri': uri(d), 'name': 'x'}], 'removed': []})
        assert 'g' in {s[0] for s in symbols('g')}
        same(c.stop(), 0)


SHAPES = {'lib.sf': 'type shape = #circle f32 | #dot\n',
          'main.sf': 'import "lib"\ndef f (s: shape) = match s case #circle r -> r case #dot -> 0\n',
          'own.sf': 'import "lib"\nmodule m = {\n  type other = #circle i32\n  def f (c: other) = match c case #circle r -> r\n}\n'}


POINTS = {'point.sf': 'def origin = {x = 0i32, y = 0i32}\n', 'right.sf': 'import "point"\nimport "other"\ndef f = origin.x + unit.y\n',
          'other.sf': 'def unit = {x = 1i32, y = 0i32}\n', 'far.sf': 'import "other"\ndef g = unit.x\n'}


@case
def parts_of_types(minifut):
    """Constructors and fields in files that import the type, or only values of it, or who does so has files with such values."""
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        for name, text in {**SHAPES, **POINTS}.items():
            with open(f'{d}/{name}', 'w', encoding='ascii') as f:
                f.write(text)
        c = Client(minifut, folders=[uri(d)])
        lib = SHAPES['lib.sf']
        c.open(uri(f'{d}/lib.sf'), lib)
        got = rename(c, uri(f'{d}/lib.sf'), lib, '#cir^cle', 'round')
        same({os.path.basename(f): applied(SHAPES[os.path.basename(f)], edits) for f, (_, edits) in got.items()},
             {f: SHAPES[f].replace('circle', 'round') for f in ('lib.sf', 'main.sf')})  # own.sf has another sum
        found = c.at('references', uri(f'{d}/lib.sf'), *place(lib, '#cir^cle'), context={'includeDeclaration': True})
        same(sorted(os.path.basename(r['uri']) for r in found), ['lib.sf', 'main.sf'])
        c.open(uri(f'{d}/point.sf'), POINTS['point.sf'])
        got = rename(c, uri(f'{d}/point.sf'), POINTS['point.sf'], '= {^x', 'horizontal')
        same({os.path.basename(f): applied(POINTS[os.path.basename(f)], edits) for f, (_, edits) in got.items()},
             {f: t.replace('x', 'horizontal') for f, t in POINTS.items()})
        same(c.stop(), 0)


@case
def files_of_packages(minifut):
    """... are not changed: neither what they define, nor what must be called as they do; others in `lib` are."""
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        files = {'futhark.pkg': 'package github.com/me/own\nrequire { github.com/x/y 1.0.0 }\n',
                 'lib/.minifut-packages': 'Files.\ngithub.com/x/y 1.0.0 abc\n  0f y.fut\n',
                 'lib/github.com/x/y/y.fut': 'def theirs = 1i32\nmodule type has = { val what: i32 }\n',
                 'lib/github.com/me/own/own.fut': 'import "../../x/y/y"\ndef ours = theirs + 1\nmodule m: has = { def what = 3i32 }\n',
                 'main.fut': 'import "lib/github.com/me/own/own"\nimport "lib/github.com/x/y/y"\ndef f = ours + theirs\n'}
        for name, text in files.items():
            os.makedirs(os.path.dirname(f'{d}/{name}'), exist_ok=True)
            with open(f'{d}/{name}', 'w', encoding='ascii') as f:
                f.write(text)
        c = Client(minifut, folders=[uri(d)])
        main, own = 'main.fut', 'lib/github.com/me/own/own.fut'
        for name in (main, own):
            c.open(uri(f'{d}/{name}'), files[name])
        got = rename(c, uri(f'{d}/{main}'), files[main], '= o^urs', 'mine')
        same(sorted(got), sorted(uri(f'{d}/{name}') for name in (main, own)))
        for name, marked in ((main, '+ th^eirs'), (own, '= th^eirs'), (own, 'def wh^at')):
            holds(rename(c, uri(f'{d}/{name}'), files[name], marked, 'other'), 'y/y.fut, which is of a package')
        line, character = place(files[main], '+ th^eirs')
        same(c.error('textDocument/prepareRename', textDocument={'uri': uri(f'{d}/{main}')}, position={'line': line, 'character': character}), -32803)
        same(c.stop(), 0)


@case
def without_folders(minifut):
    """The folder of the file counts, or all below one with a futhark.pkg."""
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        workspace(d)
        lib, at = uri(f'{d}/lib.sf'), place(LIB, 'def tw^ice')
        for more, want in (([], ['far.fut', 'in/main.sf', 'lib.sf', 'lib.sf']), (['futhark.pkg'], ['far.fut', 'in/main.sf', 'in/more.sf', 'lib.sf', 'lib.sf'])):
            for name in more:
                open(f'{d}/{name}', 'w', encoding='ascii').close()
                with open(f'{d}/in/more.sf', 'w', encoding='ascii') as f:
                    f.write('import "../lib"\ndef x = twice 1\n')
            c = Client(minifut)
            c.open(lib, LIB)
            found = c.at('references', lib, *at, context={'includeDeclaration': True})
            same(sorted(os.path.relpath(r['uri'][7:], d) for r in found), want)
            same(c.stop(), 0)


@case
def positions_in_bytes(minifut):
    """Editors choose how characters are counted."""
    text = 'def f (abc: i32): ([]u8, i32) = ("é😀𝛂", abc) -- 😀\n'
    line = text.rstrip('\n')
    for names, want, size in ((['utf-8', 'utf-16'], 'utf-8', lambda s: len(s.encode())), (['utf-32', 'utf-8'], 'utf-32', len),
                              (['ucs-2'], 'utf-16', lambda s: len(s.encode('utf-16-le')) // 2)):
        c = Client(minifut, encodings=names)
        same(c.capabilities['positionEncoding'], want)
        c.open(URI, text)
        same(c.checked(URI), [])
        at = size(line[:line.index('abc)')])
        r = c.at('hover', URI, 0, at)
        holds(r['contents']['value'], 'abc: i32')
        same(r['range'], {'start': {'line': 0, 'character': at}, 'end': {'line': 0, 'character': at + 3}})
        edits = c.at('rename', URI, 0, at, newName='x')['documentChanges'][0]['edits']
        same(sorted(e['range']['start']['character'] for e in edits), [7, at])
        c.change(URI, ({'start': {'line': 0, 'character': at}, 'end': {'line': 0, 'character': at + 3}}, '1'))
        same(c.checked(URI), [])
        same(c.stop(), 0)
