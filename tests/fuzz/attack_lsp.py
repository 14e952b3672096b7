"""Sessions of the language server that no editor would have: documents changed at random, messages with members that are
missing or of other types, positions anywhere, requests out of order, frames that are cut or lie about their length."""
import copy
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lsp"))
import mutated  # noqa: E402
from client import Client, Failed  # noqa: E402

PER_SERVER = 200  # sessions
ODD = [None, True, -1, 0, 2**31, -2**31, 1e308, "", "x", "\ud83d", [], {}, [[]], {"line": -1}, "file:///", "file://%", [None] * 50, "a" * 5000]
METHODS = [*mutated.METHODS, "didOpen", "didChange", "didClose", "didSave", "rangeFormatting"]
OTHERS = ["initialize", "initialized", "$/cancelRequest", "$/setTrace", "workspace/didChangeConfiguration", "workspace/symbol",
          "workspace/didChangeWatchedFiles", "workspace/didChangeWorkspaceFolders", "window/workDoneProgress/cancel", "nothing", ""]


def messages(r, texts, k):
    """Messages of a session, well-formed at first."""
    uri, text = r.choice([f"file:///nowhere/{k}.sf", "untitled:x", f"file:///nowhere/{r.randrange(3)}.sf"]), r.choice(texts)
    out = [{"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "languageId": "sf", "version": 1, "text": text}}}]
    for version in range(2, 2 + r.randrange(1, 6)):
        i, j, new = mutated.mutate(r, text, texts)
        at = mutated.position(text, r.randrange(len(text) + 1))
        kind = r.randrange(4)
        if kind == 0:
            change = {"text": new} if r.randrange(3) == 0 else \
                {"range": {"start": mutated.position(text, i), "end": mutated.position(text, j)}, "text": new}
            out.append({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}})
        elif kind == 3:
            out.append({"method": r.choice(OTHERS[1:]), "id": r.choice([f"{k}.{version}", f"{k}.s", None]), "params": {"id": r.randrange(9), "query": new,
                        "event": {"added": [{"uri": uri, "name": "x"}], "removed": [{"uri": "file:///nowhere", "name": "y"}]}}})
        else:
            out.append({"id": r.choice([f"{k}.{version}", f"{k}.a", 2**40]), "method": "textDocument/" + r.choice(METHODS),
                        "params": {"textDocument": {"uri": uri}, "position": at, "context": {"includeDeclaration": True},
                                   "range": {"start": at, "end": mutated.position(text, j)}, "positions": [at, at], "newName": new,
                                   "options": {"tabSize": 2}}})
    return out + [{"method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}}]


def places(value, path=()):
    """All places in a value, as paths."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def spoil(r, message):
    """Another value, or none, at a place of the message."""
    path = r.choice([p for p in places(message) if p] or [()])
    part = message
    for key in path[:-1]:
        part = part[key]
    if not path:
        return copy.deepcopy(r.choice(ODD))
    if r.randrange(4) == 0:
        del part[path[-1]]
    else:
        part[path[-1]] = copy.deepcopy(r.choice(ODD))
    return message


def wire(r, texts, k):
    """The bytes of a session; can the same server go on behind it?"""
    data, whole = b"", True
    session = messages(r, texts, k)
    if r.randrange(3) == 0:
        r.shuffle(session)
    for m in session:
        for _ in range(r.choice([0, 0, 0, 1, 1, 2])):
            m = spoil(r, m)
        if isinstance(m, dict) and r.randrange(9):
            m["jsonrpc"] = "2.0"
        body = json.dumps(m, ensure_ascii=bool(r.randrange(2))).encode("utf-8", "surrogatepass")
        if r.randrange(12) == 0:  # broken JSON, or other bytes
            at = r.randrange(len(body) + 1)
            body = body[:at] + r.choice([b"", b"\xff\xfe", b"\0", b"}", b'"', b"[" * 3000]) + body[at + r.randrange(3):]
        length, end = b"%d" % len(body), b"\r\n\r\n"
        if r.randrange(150) == 0:
            whole = False
            length = r.choice([b"-1", b"99999999999999999999", b"x", b"", b"%d" % (len(body) + 5), b"%d" % max(0, len(body) - 3), b"1e3"])
            end = r.choice([b"\r\n\r\n", b"\n\n", b"\r\n", b"\r\nX: y\r\n\r\n"])
        data += b"Content-Length: " + length + end + body
    return data, whole


def alone(minifut, data, env, rnd):
    """A server for bytes behind which nothing is sure; what is wrong with how it ends."""
    if rnd.randrange(2):
        data = data[:rnd.randrange(len(data) + 1)]
    try:
        p = subprocess.run([minifut, "lsp"], input=data, capture_output=True, timeout=120, env=env)
    except subprocess.TimeoutExpired:
        return "it does not end"
    said = p.stderr.decode(errors="replace")
    return said[:3000] or f"exit code {p.returncode}" if p.returncode not in (0, 1) or "Sanitizer" in said or "runtime error" in said else None


def ended(c, errors, env):
    """Ends the server as editors do; what is wrong with that."""
    try:
        c.ask("shutdown")
        c.tell("exit")
        code = c.process.wait(120)
    except (Failed, OSError, subprocess.TimeoutExpired) as e:
        code = str(e)
    said = Path(errors).read_text(errors="replace")
    return None if code == 0 and "Sanitizer" not in said and "runtime error" not in said else f"{code}: {said[:3000]}"


def batch(minifut, seed, first, n, env, texts):
    """Sessions of one server: yields what is wrong, with the session's number and bytes."""
    with tempfile.NamedTemporaryFile("w+", suffix=".err") as errors:
        c = Client(minifut, stderr=errors, env=env)
        for k in range(first, first + n):
            r = random.Random(f"{seed} {k}")
            data = b""
            try:
                if r.randrange(3) == 0:
                    for said, text in mutated.one(c, r, texts, k):
                        yield k, said, text.encode(errors="replace")
                    continue
                data, whole = wire(r, texts, k)
                if not whole:
                    said = alone(minifut, data, env, r)
                    if said:
                        yield k, said, data
                    continue
                c.write(data)
                c.error("nothing/at/all")  # it has answered all of them
                for m in list(c.answers.values()) + list(c.diagnostics.values()):
                    if "minifut failed" in json.dumps(m):  # the session that asked, if its number is there
                        yield k, f"{json.dumps(m)[:2000]}; seen in session {k}", data
                c.answers.clear()
                c.diagnostics.clear()
            except (Failed, OSError) as e:
                yield k, f"{e}: {Path(errors.name).read_text(errors='replace')[:3000]}", data
                c.process.kill()
                c = Client(minifut, stderr=errors, env=env)
        said = ended(c, errors.name, env)
        if said:
            yield first, f"one of {n} sessions: {said}", b""


def attack(tools, seed, n):
    """Yields (number, what is wrong, its input)."""
    texts = [re.sub("[\ud800-\udfff]", "", t) for t in mutated.corpus() if len(t) < 1500]
    for first in range(0, n, PER_SERVER):
        env = tools.environment(leaks=True)
        for k, said, data in batch(tools.asan, seed, first, min(PER_SERVER, n - first), env, texts):
            # Jobs have ten seconds, which on a machine with much else to do is no hang: is it so again?
            if "it took more than" not in said or any(batch(tools.asan, seed, k, 1, env, texts)):
                yield k, said, data
