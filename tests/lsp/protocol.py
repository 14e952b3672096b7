"""The wire, the life of a server, what is wrong with messages."""
import json

from cases import case, holds, same, session
from client import Client, Failed
from program import program

URI = 'file:///nowhere/p.sf'
GOOD = 'def f (x: i32): i32 = x\n'


@session
def offers(c):
    for name in ('hover', 'definition', 'references', 'documentHighlight', 'documentSymbol'):
        same(c.capabilities[name + 'Provider'], True, name)
    for name in ('workspaceSymbol', 'documentFormatting', 'inlayHint', 'foldingRange', 'selectionRange'):
        same(c.capabilities[name + 'Provider'], True, name)
    same(c.capabilities['renameProvider'], {'prepareProvider': True})
    same(c.capabilities['codeActionProvider'], {'codeActionKinds': ['quickfix']})
    same(c.capabilities['textDocumentSync']['change'], 2, 'kind of changes')
    same(c.capabilities['positionEncoding'], 'utf-16')


@case
def order_of_life(minifut):
    c = Client(minifut, initialize=False)
    same(c.error('textDocument/hover'), -32002)
    c.ask('initialize', capabilities={})
    same(c.error('initialize', capabilities={}), -32600)
    same(c.error('no/such/method'), -32601)
    c.tell('no/such/notification')
    c.tell('$/setTrace', value='off')
    c.ask('shutdown')
    same(c.error('textDocument/hover'), -32600)
    c.tell('exit')
    same(c.process.wait(10), 0)


@case
def ends_without_shutdown(minifut):
    c = Client(minifut)
    c.tell('exit')
    same(c.process.wait(10), 1)
    c = Client(minifut)
    c.process.stdin.close()
    same(c.process.wait(10), 1)


@session
def ids_are_given_back(c):
    for key in ('seven', 7, 'é"\\'):
        c.send({'jsonrpc': '2.0', 'id': key, 'method': 'no'})
        same(c.answer(key)['error']['code'], -32601)


@session
def broken_messages(c):
    """Each is answered by an error or passed over, and the next message is understood."""
    def frame(body):
        return b'Content-Length: %d\r\n\r\n' % len(body) + body
    ask = json.dumps({'jsonrpc': '2.0', 'id': 'x', 'method': 'no'}).encode()
    broken = [
        frame(b'{"jsonrpc": '), frame(b''), frame(b'[' * 5000), frame(b'{} {}'), frame(b'\xff\xfe\x00'), frame(b'null'), frame(b'17'),
        frame(b'[{"id": 1}]'), frame(b'{"id": 3}'), frame(b'{"method": 3, "id": {}}'), frame(b'"\\ud800'),
        b'Content-Length: 99999999999999999999999\r\n\r\n{}', b'Content-Length: 4000000000\r\n\r\n{}', b'Content-Length: -1\r\n\r\n',
        b'Content-Length: x\r\n\r\n', b'Content-Length:\r\n\r\n', b'\r\n\r\n', b'Content-Type: y\r\n\r\n', b'nonsense\r\n', b'\0' * 70,
        b'{"id": 1, "method": "shutdown"}\r\n', b'x' * 100000, b'x: ' + b'y' * 100000 + b'\r\n']
    for b in broken:
        c.write(b + frame(ask))
        try:
            same(c.answer('x', 20)['error']['code'], -32601)
        except Failed as e:
            raise Failed(f'after {b[:60]!r}: {e}') from None
        c.answers.clear()
    c.write(b'Content-Length: -1\r\n{"id": "20')  # behind which nothing comes for now
    same(c.answer(None, 20)['error']['code'], -32700)
    c.write(frame(ask))
    same(c.answer('x', 20)['error']['code'], -32601)
    c.answers.clear()
    c.write(frame(b'{"jsonrpc": '))
    same(c.answer(None)['error']['code'], -32700)
    c.write(frame(b'{"id": "\xff\xed\xa0\x80", "method": "no\xc3"}'))  # the client takes UTF-8 only
    same(c.answer('????')['error']['code'], -32601)
    c.write(frame(b'{"id": 3}'))
    same(c.answer(3)['error']['code'], -32600)


@session
def pieces_of_messages(c):
    """Bytes come as they like; the header may have other lines, and other capitals."""
    body = json.dumps({'jsonrpc': '2.0', 'id': 'x', 'method': 'no'}).encode()
    head = b'content-length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n' % len(body)
    for byte in head + body:
        c.write(bytes([byte]))
    same(c.answer('x')['error']['code'], -32601)
    c.write((head + body) * 50)
    for _ in range(50):
        same(c.answer('x')['error']['code'], -32601)


@session
def wrong_parameters(c):
    c.open(URI, GOOD)
    at = {'textDocument': {'uri': URI}, 'position': {'line': 0, 'character': 0}}
    for wrong in ({}, {'textDocument': 3}, {'textDocument': {'uri': 3}}, {'textDocument': {'uri': 'file:///other'}},
                  {**at, 'position': 'x'}, {**at, 'position': {'line': -1, 'character': 0}}, {**at, 'position': {'line': '1', 'character': 0}}):
        same(c.error('textDocument/hover', **wrong), -32602, str(wrong))
    c.send({'jsonrpc': '2.0', 'id': 'a', 'method': 'textDocument/hover', 'params': [1]})
    same(c.answer('a')['error']['code'], -32602)
    for n, wrong in (('didOpen', {}), ('didOpen', {'textDocument': {'uri': URI}}), ('didChange', {}), ('didClose', {}),
                     ('didChange', {'textDocument': {'uri': 'file:///other'}, 'contentChanges': []}),
                     ('didChange', {'textDocument': {'uri': URI, 'version': 1}}),
                     ('didChange', {'textDocument': {'uri': URI, 'version': 1}, 'contentChanges': [{}, 3, {'text': 4}]})):
        before = len(c.logs)
        c.tell('textDocument/' + n, **wrong)
        while len(c.logs) == before:
            c.receive()
    for far in ({'line': 10 ** 9, 'character': 0}, {'line': 0, 'character': 1e300}, {'line': 1e300, 'character': 4.5}):
        c.ask('textDocument/hover', textDocument={'uri': URI}, position=far)
    holds(c.at('hover', URI, 0, 4)['contents']['value'], 'def f')
