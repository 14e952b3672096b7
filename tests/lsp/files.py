"""Several files: what the editor shows counts, not what the disk has."""
import os
import tempfile
from urllib.parse import quote

from cases import holds, place, same, session

LIB = 'def twice (x: i32): i32 = 2 * x\nlocal def hidden = 1\ntype t = i32\n'
MAIN = 'import "lib"\ndef f (y: t): i32 = twice y\n'


def uri(path):
    return 'file://' + quote(path)


@session
def an_open_import_counts(c):
    with tempfile.TemporaryDirectory() as d:
        main, lib = uri(f'{d}/a b/main.sf'), uri(f'{d}/a b/lib.sf')
        os.mkdir(f'{d}/a b')
        c.open(main, MAIN)
        holds(c.checked(main)[0]['message'], 'there is neither')
        c.open(lib, LIB)
        same(c.fresh(main), [])  # though neither is on the disk
        same(c.checked(lib), [])
        r = c.at('definition', main, *place(MAIN, 'tw^ice'))
        same((r['uri'], r['range']['start']), (lib, {'line': 0, 'character': 4}))
        same(c.at('definition', main, *place(MAIN, 'y: ^t'))['range']['start'], {'line': 2, 'character': 5})
        same(c.at('definition', main, 0, 9)['uri'], lib)
        holds(c.at('hover', main, *place(MAIN, 'tw^ice'))['contents']['value'], 'def twice (x: i32): i32')
        got = {i['label'] for i in c.at('completion', main, *place(MAIN, 'tw^ice'))}
        assert 'twice' in got and 'hidden' not in got
        same(len(c.at('references', main, *place(MAIN, 'tw^ice'), context={'includeDeclaration': True})), 2)
        c.change(lib, LIB.replace('twice', 'thrice'))
        holds(c.fresh(main)[0]['message'], 'twice')
        c.change(lib, LIB.replace('2 * x', '2 * '))
        wrong = c.fresh(main)[0]
        same(wrong['range']['start'], {'line': 0, 'character': 0})
        holds(wrong['message'], 'lib.sf:')
        same(wrong['relatedInformation'][0]['location']['uri'], lib)
        c.change(lib, LIB)
        same(c.fresh(main), [])
        with open(f'{d}/a b/lib.sf', 'w', encoding='utf-8') as f:
            f.write('-- on the disk\n' + LIB.replace('2 * x', 'true'))
        c.close(lib)
        holds(c.fresh(main)[0]['message'], 'lib.sf:2:')
        r = c.at('definition', main, *place(MAIN, 'tw^ice'))
        same((r['uri'], r['range']['start']), (lib, {'line': 1, 'character': 4}))
        with open(f'{d}/a b/lib.sf', 'w', encoding='utf-8') as f:
            f.write(LIB)
        c.tell('textDocument/didSave', textDocument={'uri': main})
        same(c.fresh(main), [])


@session
def where_an_error_is_imported(c):
    """Errors of other files stand at the import that leads there: behind definitions, in modules, by other files."""
    with tempfile.TemporaryDirectory() as d:
        c.open(uri(f'{d}/lib.sf'), 'def g = 1i32\nimport "far"\n')
        c.open(uri(f'{d}/far.sf'), 'def wrong : bool = 1i32\n')
        main = uri(f'{d}/main.sf')
        for text in ('def f = 1i32\nimport "lib"\n', 'def f = 1i32\nmodule m = { module n = import "lib" }\n'):
            c.open(main, text)
            wrong = c.fresh(main)[0]
            same(wrong['range']['start'], {'line': 1, 'character': text.split('\n')[1].index('import')})
            holds(wrong['message'], 'far.sf:1:')


@session
def names_of_files(c):
    """One file has many names: .., ., links, %-escapes."""
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(f'{d}/in')
        with open(f'{d}/lib.sf', 'w', encoding='utf-8') as f:
            f.write('def of_the_disk = 1\n')
        os.symlink(f'{d}/lib.sf', f'{d}/in/link.sf')
        main = uri(f'{d}/in/main.sf')
        c.open(uri(f'{d}/lib.sf').replace('lib', '%6Cib'), LIB)
        for name in ('../lib', '.././lib', '../in/../lib', 'link', './link'):
            text = MAIN.replace('"lib"', f'"{name}"')
            c.open(main, text)
            same((name, c.fresh(main)), (name, []))
            same(c.at('definition', main, *place(text, 'tw^ice'))['range']['start']['line'], 0, name)
        c.open(main, 'import "main"\nimport "../in/main"\ndef f = 1\n')  # itself, by another name as well
        holds(c.fresh(main)[0]['message'], 'import cycle')


@session
def no_files(c):
    for name in ('untitled:Untitled-1', 'file:', 'file://', 'inmemory://model/1', '%', 'file:///%zz%00.sf', ''):
        c.open(name, 'import "x"\ndef f = 1\ndef g = f\n')
        assert c.checked(name), name
        holds(c.at('hover', name, 2, 8)['contents']['value'], 'def f')
        same(c.at('definition', name, 2, 8)['uri'], name)


@session
def bytes_of_no_character(c):
    """A file may hold any bytes; what the server sends is UTF-8."""
    with tempfile.TemporaryDirectory() as d:
        with open(f'{d}/lib.sf', 'wb') as f:
            f.write(b'-- | Gr\xfc\xdfe.\n/* \xff */\ndef twice (x: i32): i32 = "\xe9" + x\ntype t = i32\n')
        main = uri(f'{d}/main.sf')
        c.open(main, MAIN)
        holds(c.checked(main)[0]['message'], 'lib.sf:2:')
        with open(f'{d}/lib.sf', 'wb') as f:
            f.write(b'-- | Gr\xfc\xdfe.\ndef twice (x: i32): i32 = 2 * x -- \xe9\ntype t = i32\n')
        c.tell('textDocument/didSave', textDocument={'uri': main})
        same(c.fresh(main), [])
        holds(c.at('hover', main, *place(MAIN, 'tw^ice'))['contents']['value'], 'Gr\ufffd\ufffde.')
        os.mkdir(os.fsencode(d) + b'/\xff')
        with open(os.fsencode(d) + b'/\xff/lib.sf', 'w', encoding='utf-8') as f:
            f.write(LIB)
        main = f'file://{quote(d)}/%ff/main.sf'
        c.open(main, MAIN)
        same(c.checked(main), [])
        same(c.at('definition', main, *place(MAIN, 'tw^ice'))['uri'], f'file://{quote(d)}/%FF/lib.sf')
