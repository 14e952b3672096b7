#!/usr/bin/env python3
"""The formatter: tests/fmt/run.py [--bless] [MINIFUT]. Cases by construct (x.sf gives x.out), then every program of the
tests, examples and benchmarks, and of the pages of docs/: formatted, it keeps its comments and directives, is checked with
the same messages, and is formatted. Then the command: files, modes, links, what cannot be written."""
import glob
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ['tests', 'examples', 'bench']
BLESS = '--bless' in sys.argv
args = [a for a in sys.argv[1:] if a != '--bless']
MINIFUT = os.path.abspath(args[0] if args else os.path.join(ROOT, 'minifut'))
TOKEN = re.compile(rb'--[^\n]*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\n]|\\[^\n0-9]|\\x[0-9a-fA-F]+|\\[0-9]+)\'|\w[\w\']*|\s+|.', re.S)

passed = failed = 0


def case(name, problem):
    """Counts a case; problem: None, or what is wrong."""
    global passed, failed
    passed += problem is None
    failed += problem is not None
    if problem is not None:
        print(f'FAIL {name}: {problem}')


def run(*arguments, stdin=b'', cwd=None, **more):
    return subprocess.run([MINIFUT, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                          timeout=120, **more)


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)


def tokens(text):
    """Comments without blanks at their ends, and what is left without any layout; by a reader of its own."""
    found = [t for t in TOKEN.findall(text) if not t.isspace()]
    return [t.rstrip() for t in found if t.startswith(b'--')], b' '.join(t for t in found if not t.startswith(b'--'))


def blocks(text):
    """Blocks of directives: the comment lines from `-- ==` on, as minifut test finds them."""
    found, inside = [], False
    for line in text.split(b'\n'):
        if re.match(rb'--\s*==\s*$', line):
            found.append([])
            inside = True
        elif inside and line.startswith(b'--'):
            found[-1].append(line.rstrip(b'\r'))
        else:
            inside = False
    return found


def messages(path, cwd):
    """What check says, without places and source lines."""
    out = run('check', path, cwd=cwd).stderr.decode('utf-8', 'replace')
    return [re.sub(r'\S+:\d+:\d+', 'PLACE', line) for line in out.split('\n')
            if re.search(r'(error|warning|note|limit)', line) and not re.match(r'\s', line)]


def golden():
    for path in sorted(glob.glob(f'{HERE}/*.sf')):
        name = os.path.relpath(path, ROOT)
        got = run('fmt', stdin=read(path))
        if BLESS and got.returncode == 0:
            write(path[:-3] + '.out', got.stdout)
        want = read(path[:-3] + '.out')
        case(name, None if got.returncode == 0 and got.stdout == want else 'is not formatted as ' + name[:-3] + '.out')
        case(name + ' again', None if run('fmt', stdin=want).stdout == want else 'the result is not formatted')


def documented(folder):
    """The programs of the pages as files."""
    for page in sorted(glob.glob(f'{ROOT}/docs/*.md') + [f'{ROOT}/README.md']):
        for i, text in enumerate(re.findall(r'```(?:futhark|sf)\n(.*?)```', open(page, encoding='utf-8').read(), re.S)):
            write(f'{folder}/pages/{os.path.basename(page)}-{i}.sf', text.split('>>>')[0].encode())


def corpus(folder):
    for top in FOLDERS:
        for path in glob.glob(f'{ROOT}/{top}/**/*.sf', recursive=True):
            write(os.path.join(folder, os.path.relpath(path, ROOT)), read(path))
    documented(folder)
    files = sorted(os.path.relpath(p, folder) for p in glob.glob(f'{folder}/**/*.sf', recursive=True))
    before = {f: read(f'{folder}/{f}') for f in files}
    shutil.copytree(folder, folder + '.was')
    rejected = run('fmt', *files, cwd=folder)
    case('corpus: exit code', None if rejected.returncode in (0, 1, 3) else f'{rejected.returncode} {rejected.stderr[-500:]}')
    after = {f: read(f'{folder}/{f}') for f in files}
    again = run('fmt', '--check', *files, cwd=folder).stdout.decode().split('\n')[:-1]
    for f in again:
        case(f'{f}: idempotent', 'is formatted differently a second time')
    changed = [f for f in files if before[f] != after[f]]
    case('corpus: size', None if len(files) > 1000 and len(changed) > 100 else f'{len(files)} files, {len(changed)} changed')

    def same(f):
        was, now = tokens(before[f]), tokens(after[f])
        if was[0] != now[0]:
            return f, 'its comments are others'
        if was[1] != now[1]:
            return f, 'its tokens are others'
        if blocks(before[f]) != blocks(after[f]):
            return f, 'its directives are others'
        if re.search(rb'[ \t]\n', re.sub(rb'--[^\n]*|"(?:[^"\\]|\\.)*"', b'', after[f])) and \
                re.search(rb'^[^-"]*[ \t]$', after[f], re.M):
            return f, 'blanks at the end of a line'
        if messages(f, folder + '.was') != messages(f, folder):
            return f, 'check says something else'
        return f, None

    with ThreadPoolExecutor(4) as pool:
        for f, problem in pool.map(same, changed):
            case(f, problem)


UGLY = b'def  f x=x -- c\n'
NICE = b'def f x = x -- c\n'
BROKEN = b'def f x = (x\n'


def folders(folder, there):
    """Programs below a folder, but for hidden ones and packages, unless they are named."""
    ours = [there(f'all/{name}') for name in ('a.sf', 'b.fut', 'in/c.sf', 'in/deep/d.sf', 'lib/own.sf')]
    others = [there(f'all/{name}') for name in ('.git/e.sf', '.f.sf', 'notes.txt', 'in/sf', 'pkg/lib/github.com/x/y/g.fut')]
    ours.append(there('all/pkg/main.fut'))
    for project, record in (('own', ''), ('noted', 'Files.\ngithub.com/x/y 1.0.0 abc\n  0f g.fut\n')):  # packages that they are themselves
        there(f'all/{project}/futhark.pkg', b'package github.com/me/own\nrequire { github.com/x/y 1.0.0 }\n')
        ours.append(there(f'all/{project}/lib/github.com/me/own/o.fut'))
        others.append(there(f'all/{project}/lib/github.com/x/y/g.fut'))
        if record:
            there(f'all/{project}/lib/.minifut-packages', record.encode())
            ours.append(there(f'all/{project}/lib/github.com/x/y/of_the_user.fut'))
    broken = there('all/in/broken.sf', BROKEN)
    there('all/pkg/futhark.pkg', b'require { github.com/x/y 1.0.0 }\n')
    there('all/requires_nothing/futhark.pkg', b'require {}\n')
    ours.append(there('all/requires_nothing/lib/mine/m.fut'))
    os.symlink('..', f'{folder}/all/in/up')
    os.chmod(ours[2], 0o640)
    got = run('fmt', '--check', f'{folder}/all')
    case('--check of a folder', None if got.returncode == 1 and got.stdout.decode().split('\n')[:-1] == sorted(ours) and
         broken.encode() in got.stderr and all(read(f) == UGLY for f in ours) else got)
    got = run('fmt', f'{folder}/all/')
    case('a folder', None if got.returncode == 1 and broken.encode() in got.stderr and b'//' not in got.stderr else got)
    case('its files', None if {read(f) for f in ours} == {NICE} and {read(f) for f in others} == {UGLY} else [read(f) for f in ours + others])
    case('modes in a folder', None if stat.S_IMODE(os.stat(ours[2]).st_mode) == 0o640 else oct(os.stat(ours[2]).st_mode))
    os.remove(broken)
    got = run('fmt', '--check', f'{folder}/all')
    case('a formatted folder', None if (got.returncode, got.stdout) == (0, b'') else got)
    run('fmt', f'{folder}/all/pkg/lib', f'{folder}/all/.git')
    case('packages and hidden folders that are named', None if {read(others[0]), read(others[4])} == {NICE} else 'they were left')
    os.makedirs(f'{folder}/none')
    got = run('fmt', f'{folder}/none')
    case('a folder without programs', None if (got.returncode, got.stdout, got.stderr) == (0, b'', b'') else got)
    if os.geteuid():
        os.mkdir(f'{folder}/all/closed', 0)
        got = run('fmt', f'{folder}/all')
        case('a folder that cannot be read', None if got.returncode == 1 and b'closed: Permission denied' in got.stderr else got)


def command(folder):
    def there(name, data=UGLY):
        write(f'{folder}/{name}', data)
        return f'{folder}/{name}'

    got = run('fmt', stdin=UGLY)
    case('standard input', None if (got.returncode, got.stdout) == (0, NICE) else got)
    got = run('fmt', stdin=b'')
    case('nothing', None if (got.returncode, got.stdout) == (0, b'') else got)
    got = run('fmt', stdin=b'def f = 1\r\n-- c\r\n')
    case('line ends', None if got.stdout == b'def f = 1\n-- c\n' else got)
    got = run('fmt', stdin=BROKEN)
    case('syntax error', None if got.returncode == 1 and got.stdout == b'' and b'<stdin>:1:' in got.stderr else got)

    a, b, c = there('a.sf'), there('b.sf', NICE), there('c.sf', BROKEN)
    got = run('fmt', '--check', a, b)
    case('--check', None if (got.returncode, got.stdout.decode(), read(a)) == (1, f'{a}\n', UGLY) else got)
    got = run('fmt', '--check', b)
    case('--check of what is formatted', None if (got.returncode, got.stdout) == (0, b'') else got)
    old = os.stat(b)
    os.chmod(a, 0o751)
    os.symlink('a.sf', f'{folder}/link.sf')
    got = run('fmt', '-w', f'{folder}/link.sf', b, c)
    case('exit code with a syntax error among files', None if got.returncode == 1 else got)
    case('a file', None if read(a) == NICE else read(a))
    case('its mode', None if stat.S_IMODE(os.stat(a).st_mode) == 0o751 else oct(os.stat(a).st_mode))
    case('a link stays one', None if os.path.islink(f'{folder}/link.sf') else 'it is a file')
    case('what is formatted is not written', None if os.stat(b).st_ino == old.st_ino else 'it was')
    case('what has errors is not written', None if read(c) == BROKEN else read(c))
    case('errors as check has them', None if got.stderr == run('check', c).stderr else got.stderr)
    case('no such file', None if run('fmt', f'{folder}/none.sf').returncode == 1 else 'no error')
    case('-w without files', None if run('fmt', '-w').returncode == 2 else 'no error')
    case('--check with -w', None if run('fmt', '-w', '--check', a).returncode == 2 else 'no error')
    locked, free = there('locked.sf'), there('free.sf')
    os.chmod(locked, 0o444)
    got = run('fmt', locked, free)
    case('a file that may not be written', None if got.returncode == 1 and f'cannot write {locked}: Permission denied'.encode() in got.stderr else got)
    case('it stays, others are formatted', None if (read(locked), read(free)) == (UGLY, NICE) else (read(locked), read(free)))
    case('--check of it', None if run('fmt', '--check', locked).stdout.decode() == f'{locked}\n' else 'it is not named')
    with open('/dev/full', 'wb') as full:
        got = subprocess.run([MINIFUT, 'fmt'], input=UGLY, stdout=full, stderr=subprocess.PIPE)
    case('a full output', None if got.returncode == 1 and b'cannot write' in got.stderr else got)

    folders(folder, there)
    big = UGLY * 1000
    name = there('big/big.sf', big)

    def small_files(kill):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kill else signal.SIG_IGN)

    for kill in (False, True):
        got = run('fmt', name, preexec_fn=lambda: small_files(kill))
        case(f'no room for the file, killed: {kill}', None if got.returncode and read(name) == big else got)
        if not kill:
            case('nothing is left behind', None if os.listdir(f'{folder}/big') == ['big.sf'] else os.listdir(f'{folder}/big'))


def main():
    os.environ['MINIFUT_VERIFY'] = 'each'
    golden()
    with tempfile.TemporaryDirectory() as tmp:
        command(f'{tmp}/command')
        corpus(f'{tmp}/corpus')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


sys.exit(main())
