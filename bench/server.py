"""A client of a compiled program that runs as a server (Futhark's server protocol), to time calls of several programs
in turn."""
import os
import subprocess
import tempfile
import threading
from pathlib import Path

from values import read_binary


class ServerError(Exception):
    pass


class Server:
    """A running program. Use as a context: it is stopped in the end. `limit`: seconds that a command may take."""

    def __init__(self, binary, args=(), limit=None, env=None):
        self.limit = limit
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(Path(self.folder.name) / "log", "w+b")
        self.process = subprocess.Popen([str(binary), "--server", *map(str, args)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={**os.environ, **(env or {})})
        self.inputs, self.outputs, self.has_outputs, self.entry = [], 0, False, None
        self.read_reply()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.communicate()
        self.log.close()
        self.folder.cleanup()

    def read_reply(self):
        """The lines of a reply; raises ServerError if it is a failure, or the program ends or exceeds the limit."""
        lines, failed, late = [], False, []
        timer = threading.Timer(self.limit, lambda: (late.append(True), self.process.kill())) if self.limit else None
        if timer:
            timer.start()
        for line in self.process.stdout:
            if line.startswith("%%% OK"):
                break
            failed |= line.startswith("%%% FAILURE")
            lines.append(line.rstrip("\n"))
        else:
            self.log.seek(0)
            last = self.log.read().decode(errors="replace").strip()[-400:]
            raise ServerError(f"more than {self.limit} s" if late else last or "the program ended")
        if timer:
            timer.cancel()
        if failed:
            raise ServerError("\n".join(lines[lines.index("%%% FAILURE") + 1:])[:400])
        return lines

    def ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the reply tells why
        return self.read_reply()

    def choose(self, entry):
        """The entry to call; frees the inputs and results of the one before."""
        types = self.ask("inputs", entry)
        self.free_outputs()
        if self.entry:
            self.ask("free", *[f"in{k}" for k in range(len(self.inputs))])
        self.entry, self.inputs = entry, types
        self.outputs = len(self.ask("outputs", entry))

    def load(self, entry, path):
        """Takes the entry's inputs from a file; they replace those that were there."""
        self.choose(entry)
        self.path = path
        self.restore()

    def load_made(self, entry, maker, path):
        """The entry's inputs are the results of another one, `maker`, whose inputs are in a file: nothing large is
        transferred. The entry must not consume them."""
        self.load(maker, path)
        self.call()
        made = range(self.outputs)
        for k in made:
            self.ask("rename", f"out{k}", f"made{k}")
        self.has_outputs = False
        self.choose(entry)
        for k in made:
            self.ask("rename", f"made{k}", f"in{k}")

    def restore(self):
        pairs = [w for k, t in enumerate(self.inputs) for w in (f"in{k}", t.lstrip("*"))]
        if pairs:
            self.ask("restore", f'"{self.path}"', *pairs)

    def call(self):
        """Calls the entry; the microseconds it took. Its results are kept until the next call."""
        self.free_outputs()
        reply = self.ask("call", self.entry, *[f"out{k}" for k in range(self.outputs)],
                         *[f"in{k}" for k in range(len(self.inputs))])
        self.has_outputs = True
        if any(t.startswith("*") for t in self.inputs):
            self.ask("free", *[f"in{k}" for k in range(len(self.inputs))])
            self.restore()
        return next(float(line.split()[1]) for line in reply if line.startswith("runtime:"))

    def free_outputs(self):
        if self.has_outputs:
            self.ask("free", *[f"out{k}" for k in range(self.outputs)])
            self.has_outputs = False

    def results(self):
        """The results of the last call."""
        path = Path(self.folder.name) / "results"
        self.ask("store", f'"{path}"', *[f"out{k}" for k in range(self.outputs)])
        data = read_binary(path.read_bytes())
        path.unlink()
        return data
