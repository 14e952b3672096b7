#!/usr/bin/env python3
"""The modes of editors/ against the compiler: tests/editors/run.py [--all] [MINIFUT]. Their lists of words are those of the scanner
and of the built-in functions, and each of them gives every token of each third program here (--all: of all) the class that the
scanner gives it (`minifut fmt --tokens`). Vim and Emacs run themselves where they are installed, else what they do is counted as skipped; the
grammar of VS Code is applied by textmate.py. Then messages and formatting in Vim and Emacs."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import textmate  # noqa: E402
from checks import ending, need, scalar_types, skip  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODES = f'{ROOT}/editors'
MINIFUT = os.path.abspath(([a for a in sys.argv[1:] if a != '--all'] or [f'{ROOT}/minifut'])[0])
GRAMMAR = f'{MODES}/vscode/syntaxes/sf.tmLanguage.json'
MOST_SHOWN = 10

passed = failed = 0


def case(name, problem):
    global passed, failed
    passed += problem is None
    failed += problem is not None
    if problem is not None:
        print(f'FAIL {name}: {problem}')


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


# --- Lists of words ---------------------------------------------------------------------------


def scanner_words():
    lex = read(f'{ROOT}/frontend/syntax/lex.l')
    words = {}
    for word in re.findall(r'^"([a-z]+)"[ /]', lex, re.M):
        words[word] = 'boolean' if word in ('true', 'false') else 'keyword'
    for name in scalar_types():
        words[name] = 'type'
    return words


def builtins():
    table = re.sub(r'/\*.*?\*/', '', read(f'{ROOT}/frontend/syntax/builtins.def'), flags=re.S)
    return set(re.findall(r'^(?:BUILTIN|ALIAS)\(\w+,\s*"([a-z]\w*)"', table, re.M)) | \
        set(re.findall(r'^def ([a-z]\w*) ', read(f'{ROOT}/frontend/prelude.sf'), re.M))


WORDS = scanner_words()
BUILTINS = builtins()
KINDS = {kind: {w for w, k in WORDS.items() if k == kind} for kind in ('keyword', 'boolean', 'type')}
KINDS['builtin'] = BUILTINS


def vim_words():
    text = read(f'{MODES}/vim/syntax/sf.vim')
    return {kind: set(' '.join(re.findall(rf'^syn keyword sf{kind.capitalize()} (.*)', text, re.M)).split())
            for kind in KINDS}


def emacs_words():
    text = read(f'{MODES}/emacs/sf-mode.el')
    found = {kind: set(re.findall(r'"([^"]+)"', (re.search(rf"\(defconst sf-{name}\s+'\((.*?)\)\)", text, re.S) or ['', ''])[1]))
             for kind, name in (('keyword', 'keywords'), ('type', 'types'), ('builtin', 'builtins'))}
    found['boolean'] = set(re.findall(r'"(\w+)"', re.search(r"regexp-opt '\((\"true\".*?)\)", text)[1]))
    return found


def textmate_words():
    rules = json.loads(read(GRAMMAR))['repository']

    def words(rule):
        return set(re.search(r'\(\?:([\w|]+)\)\(\?!', rule['match'])[1].split('|'))

    keyword, boolean = rules['keywords']['patterns'][:2]
    return {'keyword': words(keyword), 'boolean': words(boolean), 'type': words(rules['types']),
            'builtin': words(rules['builtins'])}


def lists():
    case('keywords of the scanner', None if {'def', 'let', 'assert', 'open', 'match'} <= KINDS['keyword'] else KINDS['keyword'])
    case('types of the table', None if {'bool', 'i8', 'f64'} <= KINDS['type'] else KINDS['type'])
    case('builtins', None if {'map', 'reduce_by_index', 'foldl', 'map5'} <= BUILTINS else BUILTINS)
    for editor, found in (('vim', vim_words()), ('emacs', emacs_words()), ('vscode', textmate_words())):
        for kind, want in KINDS.items():
            more, less = found[kind] - want, want - found[kind]
            case(f'{editor}: {kind}s', None if not more and not less else f'too many: {sorted(more)}, missing: {sorted(less)}')


# --- Tokens -----------------------------------------------------------------------------------


class Program:
    """A program's tokens as the scanner has them: (first byte, end, class)."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as f:
            self.bytes = f.read()
        out = subprocess.run([MINIFUT, 'fmt', '--tokens'], input=self.bytes, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.tokens = []
        for line in out.stdout.decode().splitlines() if out.returncode == 0 else []:
            begin, end, kind = line.split()
            self.tokens.append((int(begin), int(end), kind))
        self.lines = [0] + [i + 1 for i, b in enumerate(self.bytes) if b == 10]

    def text(self, token):
        return self.bytes[token[0]:token[1]].decode()

    def want(self, token):
        """The class that an editor should show: None if that is up to it, `other` if it is none that has a name."""
        begin, end, kind = token
        if kind == 'name':
            return 'builtin' if self.text(token) in BUILTINS else 'other'
        if kind == 'type' and self.bytes[begin - 1:begin] in (b"'", b'^', b'~'):
            return 'other'  # the name of a type parameter
        return {'member': 'no word', 'attribute': 'no word', 'symbol': 'no word'}.get(kind, kind)


NAMED = {'keyword', 'boolean', 'number', 'string', 'char', 'comment', 'type', 'builtin', 'constructor'}
SAME_COLOUR = {'emacs': [{'boolean', 'number', 'constructor'}, {'string', 'char'}]}


def accepts(editor, want, got):
    if want == got:
        return True
    if want == 'builtin':
        return got in ('function', 'typeparam', 'attribute')  # def map ...
    if want == 'type' and got == 'function':
        return True  # def i64 ...
    if want == 'other':
        return got not in NAMED
    if want == 'no word':
        return got not in ('keyword', 'boolean', 'number', 'string', 'comment', 'constructor')
    return any(want in s and got in s for s in SAME_COLOUR.get(editor, []))


def judge(editor, programs, answers):
    """answers[i][k]: the class that the editor gives token k of program i."""
    count, shown = 0, 0
    for program, got in zip(programs, answers):
        wrong = [(t, kind) for t, kind in zip(program.tokens, got) if not accepts(editor, program.want(t), kind)]
        count += len(got)
        name = f'{editor}: {os.path.relpath(program.path, ROOT)}'
        if wrong and shown < MOST_SHOWN:
            token, kind = wrong[0]
            line = program.bytes.count(b'\n', 0, token[0]) + 1
            case(name, f'line {line}: `{program.text(token)[:30]}` is a {token[2]}, shown as {kind}; {len(wrong)} are wrong')
            shown += 1
        else:
            case(name, 'wrong, too' if wrong else None)
    want = sum(len(p.tokens) for p in programs)
    case(f'{editor}: number of tokens', None if count == want > 10000 else f'{count} of {want}')


SCOPES = [('keyword.control', 'keyword'), ('constant.language.boolean', 'boolean'), ('constant.numeric', 'number'),
          ('string.quoted.single', 'char'), ('string', 'string'), ('constant.character.escape', 'string'), ('comment', 'comment'),
          ('storage.type', 'type'), ('support.function', 'builtin'), ('entity.name.tag', 'constructor'),
          ('entity.name.function', 'function'), ('entity.name.type', 'typeparam'), ('entity.other', 'attribute')]
GROUPS = {'sfKeyword': 'keyword', 'sfBoolean': 'boolean', 'sfNumber': 'number', 'sfChar': 'char', 'sfString': 'string',
          'sfComment': 'comment', 'sfDocComment': 'comment', 'sfDirectives': 'comment', 'sfType': 'type', 'sfBuiltin': 'builtin',
          'sfConstructor': 'constructor', 'sfFunction': 'function', 'sfTypeParam': 'typeparam', 'sfAttribute': 'attribute'}
FACES = {'font-lock-keyword-face': 'keyword', 'font-lock-constant-face': 'number', 'font-lock-string-face': 'string',
         'font-lock-comment-face': 'comment', 'font-lock-comment-delimiter-face': 'comment', 'font-lock-type-face': 'type',
         'font-lock-builtin-face': 'builtin', 'font-lock-function-name-face': 'function',
         'font-lock-preprocessor-face': 'attribute'}


def by_textmate(programs):
    grammar = textmate.Grammar(GRAMMAR)
    answers = []
    for program in programs:
        text = program.bytes.decode()
        ascii_only = len(text) == len(program.bytes)
        scopes = grammar.scopes(text)
        at = (lambda b: b) if ascii_only else (lambda b: len(program.bytes[:b].decode()))
        answers.append([next((kind for scope, kind in SCOPES if scopes[at(t[0])].startswith(scope)), 'plain')
                        for t in program.tokens])
    return answers


def ask(command, places, tmp, env):
    """Runs an editor on the places; its answers, program by program, and the types that it has found for the files."""
    with open(f'{tmp}/places', 'w', encoding='utf-8') as f:
        f.write('\n'.join(places) + '\n')
    result = f'{tmp}/result'
    r = subprocess.run(command, env={**os.environ, **env, 'PLACES': f'{tmp}/places', 'RESULT': result}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if not os.path.exists(result):
        return [], set(), r.stdout.decode('utf-8', 'replace')[-800:]
    answers, modes = [], set()
    for line in read(result).split('\n')[:-1]:
        if line.startswith('= '):
            modes.add(line[2:])
            answers.append([])
        else:
            answers[-1].append(line)
    os.remove(result)
    return answers, modes, ''


def by_vim(programs, tmp):
    places = []
    for program in programs:
        places.append('= ' + program.path)
        line = 0
        for begin, _, _ in program.tokens:
            line = line if line + 1 < len(program.lines) and program.lines[line] <= begin else 0
            while line + 1 < len(program.lines) and program.lines[line + 1] <= begin:
                line += 1
            places.append(f'{line + 1} {begin - program.lines[line] + 1}')
    answers, modes, said = ask(['vim', '-u', 'NONE', '-i', 'NONE', '-n', '-e', '-s', '-S', f'{HERE}/tokens.vim'], places, tmp,
                               {'MODE': f'{MODES}/vim'})
    case('vim: type of files', None if modes == {'sf'} else f'{modes} {said}')
    return [[GROUPS.get(group, 'plain') for group in groups] for groups in answers]


EMACS = ['emacs', '--batch', '-Q', '-L', f'{MODES}/emacs', '-l', f'{HERE}/tokens.el']


def by_emacs(programs, tmp):
    places = []
    for program in programs:
        places.append('= ' + program.path)
        places += [str(t[0]) for t in program.tokens]
    answers, modes, said = ask([*EMACS, '-f', 'tokens-places'], places, tmp, {})
    case('emacs: type of files', None if modes == {'sf-mode'} else f'{modes} {said}')
    return [[FACES.get(face, 'plain') for face in faces] for faces in answers]


# --- Messages and formatting ------------------------------------------------------------------

WRONG = 'def f (x:i32) = x\n\ndef g = f true\n'


def at_work(editor, command, tmp):
    """The editor shows what check says of a wrong program, and formats it."""
    program = f'{tmp}/wrong program.sf'
    with open(program, 'w', encoding='utf-8') as f:
        f.write(WRONG)
    env = {**os.environ, 'PATH': f'{os.path.dirname(MINIFUT)}:{os.environ["PATH"]}', 'PROGRAM': program,
           'RESULT': f'{tmp}/made', 'MODE': f'{MODES}/vim'}
    r = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    got = read(f'{tmp}/made') if os.path.exists(f'{tmp}/made') else r.stdout.decode('utf-8', 'replace')[-800:]
    says = subprocess.run([MINIFUT, 'check', program], stderr=subprocess.PIPE, check=False).stderr.decode()
    line, column, text = re.search(r':(\d+):(\d+): error: (.*)', says).groups()
    start = f'{line}:{column}:e:{text}' if editor == 'vim' else f'{line}::error:{text}'
    case(f'{editor}: messages', None if got.startswith(start) else f'{got!r}, not {start!r}')
    case(f'{editor}: formats', None if 'def f (x: i32) = x\n' in got else got)


# --- The package for VS Code -------------------------------------------------------------------

VSX = '{http://schemas.microsoft.com/developer/vsx-schema/2011}'
CODE = 'Microsoft.VisualStudio.Code.'


def pack(tmp):
    """The path of the package; the same files must give the same bytes."""
    paths = [subprocess.run([sys.executable, f'{ROOT}/tools/vsix.py', f'{tmp}/{k}'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
             for k in (1, 2)]
    both = []
    for path in paths:
        with open(path, 'rb') as f:
            both.append(f.read())
    case('vsix: bytes', None if both[0] == both[1] else 'they differ from time to time')
    return paths[0]


def package(path):
    """What VS Code reads of it before it is installed, against package.json and the files in it."""
    with zipfile.ZipFile(path) as z:
        names, manifest = z.namelist(), ElementTree.fromstring(z.read('extension.vsixmanifest'))
        types = ElementTree.fromstring(z.read('[Content_Types].xml'))
        extension = json.loads(z.read('extension/package.json'))
    identity = manifest.find(f'.//{VSX}Identity').attrib
    case('vsix: identity', None if (identity['Id'], identity['Version'], identity['Publisher']) ==
         (extension['name'], read(f'{ROOT}/VERSION').strip(), extension['publisher']) == (extension['name'], extension['version'], 'minifut') else identity)
    properties = {p.attrib['Id']: p.attrib['Value'] for p in manifest.iter(f'{VSX}Property')}
    case('vsix: engine', None if properties[CODE + 'Engine'] == extension['engines']['vscode'] else properties)
    case('vsix: target', None if manifest.find(f'.//{VSX}InstallationTarget').attrib['Id'] == 'Microsoft.VisualStudio.Code' else 'another one')
    assets = {a.attrib['Type']: a.attrib['Path'] for a in manifest.iter(f'{VSX}Asset')}
    case('vsix: assets', None if assets[CODE + 'Manifest'] == 'extension/package.json' and set(assets.values()) <= set(names) else assets)
    case('vsix: categories', None if manifest.find(f'.//{VSX}Categories').text.split(',') == extension['categories'] else 'others')
    said = {t.attrib['Extension'] for t in types}
    want = {os.path.splitext(name)[1] for name in names if name != '[Content_Types].xml'}
    case('vsix: types of files', None if want == said else want ^ said)
    given = {path for top in ('grammars', 'languages') for one in extension['contributes'][top] for k, path in one.items() if k in ('path', 'configuration')}
    asked = {os.path.normpath(f'extension/{path}') for path in given | {extension['main']}}
    case('vsix: files', None if asked <= set(names) and not any('node_modules' in n for n in names) else asked - set(names))
    sources = {os.path.relpath(p, f'{MODES}/vscode') for p in glob.glob(f'{MODES}/vscode/**/*.js*', recursive=True)}
    case('vsix: all that is there', None if {f'extension/{s}' for s in sources} <= set(names) else sources)


def client(path, tmp):
    """The extension as it is in the package, in node, with a real server."""
    with zipfile.ZipFile(path) as z:
        z.extractall(f'{tmp}/unpacked')
    os.mkdir(f'{tmp}/programs')
    r = subprocess.run(['node', f'{HERE}/client.js', f'{tmp}/unpacked/extension', MINIFUT, f'{tmp}/programs'], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    *said, last = r.stdout.strip().split('\n')
    counted = re.fullmatch(r'(\d+) passed, (\d+) failed', last)
    for line in said:
        print(line)
    for k in range(int(counted[1])) if counted else []:
        case(f'client of VS Code {k}', None)
    case('client of VS Code', None if counted and not r.returncode and int(counted[1]) >= CLIENT_CASES else last)


CLIENT_CASES = 23


def main():
    lists()
    with tempfile.TemporaryDirectory() as tmp:
        vsix = pack(tmp)
        package(vsix)
        if need('node', CLIENT_CASES + 1):
            client(vsix, os.path.realpath(tmp))
    json.loads(read(f'{MODES}/vscode/language-configuration.json'))
    paths = sorted(p for top in ('tests', 'examples', 'bench') for p in glob.glob(f'{ROOT}/{top}/**/*.sf', recursive=True))
    paths = paths if '--all' in sys.argv else paths[::3]
    with ThreadPoolExecutor(4) as pool:
        programs = [p for p in pool.map(Program, paths) if p.tokens]
    judge('vscode', programs, by_textmate(programs))
    with tempfile.TemporaryDirectory() as tmp:
        if shutil.which('vim') and '+syntax' in subprocess.run(['vim', '--version'], stdout=subprocess.PIPE, text=True).stdout:
            judge('vim', programs, by_vim(programs, tmp))
            at_work('vim', ['vim', '-u', 'NONE', '-i', 'NONE', '-n', '-e', '-s', '-S', f'{HERE}/make.vim'], tmp)
        else:
            skip('vim with syntax', len(programs) + 4)
        if need('emacs', len(programs) + 4):
            judge('emacs', programs, by_emacs(programs, tmp))
            at_work('emacs', [*EMACS, '-f', 'tokens-make'], tmp)
    ending(passed, failed)
    return failed != 0


sys.exit(main())
