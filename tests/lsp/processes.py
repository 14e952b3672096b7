"""The processes of a server: a worker for each document, forks of it that answer, jobs; what is cancelled, killed, changed behind their backs."""
import json
import os
import signal
import tempfile
import time

from cases import case, holds, place, same, session
from client import Client, Failed
from program import program

URI = 'file:///nowhere/p.sf'
AT = {'textDocument': {'uri': URI}, 'position': {'line': 1, 'character': 5}}
LIB = 'def twice (x: i32): i32 = 2 * x\n'
MAIN = 'import "lib"\ndef f (y: i32): i32 = twice y\n'


def children(pid):
    found = []
    try:
        for task in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{task}/children', encoding='ascii') as f:
                found += map(int, f.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended
    return found


def is_ours(pid):
    """Does it live, and is it the compiler?"""
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as f:
            return b'minifut' in f.read()  # nothing is left of one that has ended
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(ask, what, seconds=10):
    """What `ask` gives as soon as that is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = ask()
        if got:
            return got
    raise Failed(f'{what}: not within {seconds} s')


def kill_first(find, seconds=2):
    """Kills the first process that is found; false: it was too quick."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for pid in find():
            try:
                os.kill(pid, signal.SIGKILL)
                return True
            except ProcessLookupError:
                return False
    return False


def the_worker(c):
    """Of a server that has looked at one document, and does nothing else."""
    same(c.checked(URI), [])
    pid, = until(lambda: len(children(c.process.pid)) == 1 and children(c.process.pid), 'one worker')
    return pid


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


@session
def cancels(c):
    """What is at work and what waits is answered at once when it is cancelled; others are answered."""
    text = program(5000)
    c.open(URI, text)
    codes = set()
    for _ in range(20):
        c.change(URI, text)
        c.hold()
        ids = [c.start('textDocument/hover', **AT) for _ in range(9)]
        c.release()
        while not children(c.process.pid) and json.dumps(ids[0]) not in c.answers:
            if not c.messages.empty():
                c.receive()
        c.hold()
        for k in (ids[0], ids[8], 'of nobody'):
            c.tell('$/cancelRequest', id=k)
        c.tell('$/cancelRequest')
        c.release()
        answers = [c.answer(k) for k in ids]
        for m in answers[1:8]:
            holds(m['result']['contents']['value'], 'step0')
        codes = {m.get('error', {}).get('code') for m in (answers[0], answers[8])}
        if codes == {-32800}:
            break
    same(codes, {-32800})


@session
def a_check_dies(c):
    """What kills a check is its diagnostic, and costs no other answer."""
    text = program(5000)
    c.open(URI, text)
    for _ in range(20):
        before = children(c.process.pid)
        c.change(URI, text)
        if kill_first(lambda: set(children(c.process.pid)) - set(before)) and c.checked(URI):  # pylint: disable=cell-var-from-loop
            break
    holds(c.checked(URI)[0]['message'], 'minifut failed on this program: it ended by signal 9')
    holds(c.at('hover', URI, 1, 5)['contents']['value'], 'step0')


@session
def an_answer_dies(c):
    """What kills a fork that answers costs its answer; the worker lives on."""
    c.open(URI, program(2000))
    worker = the_worker(c)
    message = None
    for _ in range(100):
        k = c.start('textDocument/inlayHint', textDocument={'uri': URI}, range={'start': {'line': 0, 'character': 0}, 'end': {'line': 9999, 'character': 0}})
        kill_first(lambda: children(worker), 0.2)
        message = c.answer(k).get('error', {}).get('message')
        if message:
            break
    same(message, 'minifut failed on this program: it ended by signal 9')
    holds(c.at('hover', URI, 1, 5)['contents']['value'], 'step0')
    same(the_worker(c), worker)


@session
def a_worker_is_kept(c):
    """Requests are answered by one process, which goes on when the text changes."""
    text = program(50)
    c.open(URI, text)
    worker = the_worker(c)
    for method in ('hover', 'completion', 'documentHighlight', 'rename'):
        c.at(method, URI, 1, 5, newName='other')
    same(the_worker(c), worker)
    c.change(URI, text + '\n')
    same(the_worker(c), worker)
    broken = text.replace('in map2', 'in map2 ((')
    c.change(URI, broken)
    assert c.checked(URI)
    for _ in range(3):  # of the text before, which parsed
        holds(c.at('hover', URI, 1, 5)['contents']['value'], 'def step0')
        assert len(c.ask('textDocument/semanticTokens/full', textDocument={'uri': URI})['data']) > 100
        assert c.at('completion', URI, 3, 6)
    same(len(children(c.process.pid)), 1)


@session
def a_worker_has_grown(c):
    """... by changes: another one takes its place at the next pause, unless the text does not parse."""
    text = program(2000)
    c.open(URI, text)
    worker = the_worker(c)
    line = text.split('\n')[1]
    at = {'start': {'line': 1, 'character': len(line)}, 'end': {'line': 1, 'character': len(line)}}

    def type_in(*new):
        for piece in new:
            c.change(URI, (at, piece))
            c.checked(URI)
    type_in(*7 * ' ')
    same(the_worker(c), worker)
    type_in(' (')
    time.sleep(0.6)
    same(children(c.process.pid), [worker])
    c.change(URI, text)
    until(lambda: children(c.process.pid) not in ([], [worker]), 'another worker')
    assert the_worker(c) != worker
    holds(c.at('hover', URI, 1, 5)['contents']['value'], 'step0')


@session
def a_worker_is_killed(c):
    """... between requests: the next one starts another."""
    c.open(URI, program(50))
    for _ in range(3):
        killed = the_worker(c)
        os.kill(killed, signal.SIGKILL)
        until(lambda: killed not in children(c.process.pid), 'the killed worker is waited for')  # pylint: disable=cell-var-from-loop
        holds(c.at('hover', URI, 1, 5)['contents']['value'], 'def step0')


@session
def a_worker_hangs(c):
    """What it is asked can be cancelled, and a change does not wait for it."""
    text = program(50)
    c.open(URI, text)
    worker = the_worker(c)
    os.kill(worker, signal.SIGSTOP)
    k = c.start('textDocument/hover', **AT)
    c.tell('$/cancelRequest', id=k)
    same(c.answer(k)['error']['code'], -32800)
    c.change(URI, text)
    holds(c.at('hover', URI, 1, 5)['contents']['value'], 'def step0')
    assert the_worker(c) != worker


@session
def texts_have_a_process(c):
    """What is asked of a text alone is answered by one process, of whatever document; one that is killed costs at most an answer."""
    texts = {f'file:///nowhere/{k}.sf': f'def f{k}  =  {k}\n' for k in range(3)}

    def formatted(uri):
        m = c.answer(c.start('textDocument/formatting', textDocument={'uri': uri}, options={}))
        return m['result'][0]['newText'] if 'result' in m else m['error']['message']
    for uri, text in texts.items():
        c.open(uri, text)
    for uri in texts:
        same(c.checked(uri), [])
    workers = set(children(c.process.pid))
    for uri, text in texts.items():
        for _ in range(2):
            same(formatted(uri), text.replace('  ', ' '))
    texts_process, = set(children(c.process.pid)) - workers
    os.kill(texts_process, signal.SIGKILL)
    until(lambda: set(children(c.process.pid)) == workers, 'the killed process is waited for')
    same(formatted(uri), text.replace('  ', ' '))
    texts_process, = set(children(c.process.pid)) - workers
    os.kill(texts_process, signal.SIGSTOP)
    k = c.start('textDocument/formatting', textDocument={'uri': uri}, options={})
    c.tell('$/cancelRequest', id=k)
    same(c.answer(k)['error']['code'], -32800)
    k = c.start('textDocument/formatting', textDocument={'uri': uri}, options={})
    same(c.answer(c.start('nobody/knows'))['error']['code'], -32601)  # so the process has been asked
    os.kill(texts_process, signal.SIGKILL)
    same(c.answer(k)['error']['message'], 'minifut failed on this program: it ended by signal 9')
    same(formatted(uri), text.replace('  ', ' '))
    large = 'def  g = 1 -- ' + 10 ** 6 * 'x' + '\n'
    c.change(uri, large)
    same(formatted(uri), large.replace('  ', ' '))


@session
def large_questions(c):
    """More than a socket takes at once."""
    c.open(URI, 'def f (abc: i32) = acb\n')
    span = {'start': {'line': 0, 'character': 20}, 'end': {'line': 0, 'character': 20}}
    for size in (10, 10 ** 5, 10 ** 6):
        m = c.ask('textDocument/codeAction', textDocument={'uri': URI}, range=span, context={'diagnostics': [{'message': 'x' * size}]})
        same([a['title'] for a in m], ['Change to `abc`'], size)


@session
def files_change_behind(c):
    """Imports that change on the disk, and nobody says so."""
    with tempfile.TemporaryDirectory() as d:
        main, lib = f'file://{d}/main.sf', f'{d}/lib.sf'
        where = place(MAIN, 'tw^ice')

        def shown():
            m = c.at('hover', main, *where)
            return m['contents']['value'] if m else ''
        c.open(main, MAIN)
        holds(c.checked(main)[0]['message'], 'there is neither')
        for text in (LIB, LIB.replace('i32', 'i64'), LIB.replace('2 * x', '3 * x'), LIB.replace('x', 'z')):
            write(lib, text)
            holds(shown(), text.split(' = ')[0])
        while c.diagnostics[main]['diagnostics']:  # those of the worker that has answered
            c.receive(10)
        write(f'{d}/new', LIB.replace('x', 'y'))
        os.rename(f'{d}/new', lib)
        holds(shown(), 'twice (y: i32)')
        os.rename(lib, f'{d}/lib.fut')
        holds(shown(), 'twice (y: i32)')
        write(lib, LIB)  # which comes first
        holds(shown(), 'twice (x: i32)')
        os.remove(lib)
        os.remove(f'{d}/lib.fut')
        assert 'twice' not in shown()


@session
def files_change_behind_a_broken_text(c):
    """What is shown is the text before, with what that imported."""
    with tempfile.TemporaryDirectory() as d:
        main, lib, broken = f'file://{d}/main.sf', f'{d}/lib.sf', MAIN.replace('import "lib"', '(')
        write(lib, LIB)
        c.open(main, MAIN)
        same(c.checked(main), [])
        for name in 'xyz':
            write(lib, LIB.replace('x', name))
            c.change(main, broken)
            for _ in range(3):
                holds(c.at('hover', main, *place(broken, 'tw^ice'))['contents']['value'], f'twice ({name}: i32)')
            assert c.checked(main)
            write(lib, LIB.replace('i32', 'i64'))
            holds(c.at('hover', main, *place(broken, 'tw^ice'))['contents']['value'], 'twice (x: i64)')


@session
def other_documents_change(c):
    """References are found in all documents as they are now, not as they were when the worker began."""
    lib, main = 'file:///nowhere/lib.sf', 'file:///nowhere/main.sf'
    c.open(lib, LIB)
    c.open(main, MAIN)
    same(c.checked(lib) + c.checked(main), [])

    def count():
        return len(c.at('references', lib, 0, 5, context={'includeDeclaration': True}))
    same(count(), 2)
    c.change(main, MAIN + 'def g = twice (twice 1)\n')
    same(count(), 4)
    c.close(main)
    same(count(), 1)
    c.open(main, MAIN)
    edits = c.at('rename', lib, 0, 5, newName='double')['documentChanges']
    same(sorted(e['textDocument']['uri'] for e in edits), [lib, main])


@session
def many_documents(c):
    """The number of workers is bounded; each document is answered."""
    uris = [f'file:///nowhere/d{k}.sf' for k in range(25)]
    for k, uri in enumerate(uris):
        c.open(uri, f'def f{k} (x: i32) = x\n')
    for uri in uris:
        same(c.checked(uri), [])
    for _ in range(2):
        for k, uri in enumerate(uris):
            holds(c.at('hover', uri, 0, 5)['contents']['value'], f'def f{k} ')
            assert len(children(c.process.pid)) <= 8
    for uri in uris:
        c.close(uri)
    until(lambda: not children(c.process.pid), 'workers of closed documents end')


@case
def nothing_is_left(minifut):
    """Workers end with their server, however it ends."""
    for end in (lambda c: c.stop(), lambda c: c.process.stdin.close(), lambda c: c.kill()):
        c = Client(minifut)
        for k in range(3):
            c.open(f'file:///nowhere/{k}.sf', program(50))
        for k in range(3):
            same(c.checked(f'file:///nowhere/{k}.sf'), [])
        workers = children(c.process.pid)
        same(len(workers), 3)
        end(c)
        c.process.wait(10)
        until(lambda: not any(map(is_ours, workers)), 'workers end')  # pylint: disable=cell-var-from-loop
