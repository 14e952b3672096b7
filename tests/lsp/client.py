"""A client of the language server: messages over pipes, and what the server has answered."""
import json
import os
import queue
import subprocess
import threading
import time


class Failed(Exception):
    pass


class Client:
    """A running server. Requests are awaited by default; diagnostics are kept by URI, with their versions."""

    def __init__(self, minifut, initialize=True, related=True, versioned=True, folders=None, encodings=None, **process):
        self.process = subprocess.Popen([minifut, 'lsp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **process)
        self.messages = queue.Queue()
        self.answers, self.diagnostics, self.logs = {}, {}, []
        self.last_id = 0
        self.versions = {}
        self.held = None
        threading.Thread(target=self.read_all, daemon=True).start()
        if initialize:
            text = {'publishDiagnostics': {'relatedInformation': related}, 'rename': {'prepareSupport': versioned},
                    'signatureHelp': {'signatureInformation': {'parameterInformation': {'labelOffsetSupport': True}}}}
            can = {'textDocument': text, 'workspace': {'workspaceEdit': {'documentChanges': versioned}},
                   'general': {'positionEncodings': encodings} if encodings else {}}
            more = {'workspaceFolders': [{'uri': f, 'name': f} for f in folders]} if folders else {}
            self.capabilities = self.ask('initialize', processId=os.getpid(), rootUri=None, capabilities=can, **more)['capabilities']
            self.tell('initialized')

    # --- The wire

    def read_all(self):
        out = self.process.stdout
        while True:
            length = None
            while True:
                line = out.readline()
                if not line:
                    self.messages.put(None)
                    return
                if line == b'\r\n':
                    break
                key, value = line.split(b':')
                if key == b'Content-Length':
                    length = int(value)
            self.messages.put(json.loads(out.read(length).decode('utf-8', 'strict')))

    def write(self, data):
        if self.held is not None:
            self.held += data
            return
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def hold(self):
        """What is sent from now on ..."""
        self.held = b''

    def release(self):
        """... goes at once."""
        data, self.held = self.held, None
        self.write(data)

    def send(self, message):
        body = json.dumps(message).encode()
        self.write(b'Content-Length: %d\r\n\r\n' % len(body) + body)

    def receive(self, timeout=30):
        """Takes the next message; None: the server has ended."""
        try:
            m = self.messages.get(timeout=timeout)
        except queue.Empty:
            raise Failed(f'no message within {timeout} s') from None
        if m is None:
            return None
        if m.get('method') == 'textDocument/publishDiagnostics':
            p = m['params']
            self.diagnostics[p['uri']] = p
        elif m.get('method') == 'window/logMessage':
            self.logs.append(m['params']['message'])
        elif 'id' in m:
            self.answers[json.dumps(m['id'])] = m
        return m

    # --- Requests and notifications

    def tell(self, method, **params):
        self.send({'jsonrpc': '2.0', 'method': method, 'params': params})

    def start(self, method, **params):
        self.last_id += 1
        self.send({'jsonrpc': '2.0', 'id': self.last_id, 'method': method, 'params': params})
        return self.last_id

    def answer(self, request, timeout=30):
        """The whole answer to a request."""
        key = json.dumps(request)
        while key not in self.answers:
            if self.receive(timeout) is None:
                raise Failed(f'the server has ended with {self.process.wait()}')
        return self.answers.pop(key)

    def ask(self, method, **params):
        m = self.answer(self.start(method, **params))
        if 'error' in m:
            raise Failed(f'{method}: {m["error"]}')
        return m['result']

    def error(self, method, **params):
        return self.answer(self.start(method, **params)).get('error', {}).get('code')

    # --- Documents

    def open(self, uri, text):
        self.versions[uri] = 1
        self.tell('textDocument/didOpen', textDocument={'uri': uri, 'languageId': 'sf', 'version': 1, 'text': text})

    def change(self, uri, *changes):
        """Changes are texts, or pairs of a range and a text."""
        self.versions[uri] += 1
        content = [{'text': c} if isinstance(c, str) else {'range': c[0], 'text': c[1]} for c in changes]
        self.tell('textDocument/didChange', textDocument={'uri': uri, 'version': self.versions[uri]}, contentChanges=content)

    def close(self, uri):
        self.tell('textDocument/didClose', textDocument={'uri': uri})

    def at(self, method, uri, line, character, **more):
        return self.ask(f'textDocument/{method}', textDocument={'uri': uri}, position={'line': line, 'character': character}, **more)

    def checked(self, uri, timeout=30):
        """The diagnostics of the document as it is now."""
        end = time.monotonic() + timeout
        while self.diagnostics.get(uri, {}).get('version') != self.versions[uri]:
            if self.receive(end - time.monotonic() if end > time.monotonic() else 0) is None:
                raise Failed(f'the server has ended with {self.process.wait()}')
        return self.diagnostics[uri]['diagnostics']

    def fresh(self, uri, timeout=30):
        """The next diagnostics of the document, whose text may be as before."""
        self.diagnostics.pop(uri, None)
        return self.checked(uri, timeout)

    def stop(self):
        """Ends the server in order; its exit code."""
        self.ask('shutdown')
        self.tell('exit')
        self.process.stdin.close()
        while self.receive() is not None:
            pass
        return self.process.wait(10)

    def kill(self):
        self.process.kill()
        self.process.wait()
