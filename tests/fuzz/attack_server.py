"""Scripts of the server protocol: commands that fit together, most of them with something wrong."""
import os
import random
import select
import struct
import subprocess
import tempfile
import time
from pathlib import Path

PER_SERVER = 500  # scripts
TYPES = ["i32", "i64", "f32", "f64", "bool", "[]i32", "[]i64", "[]f32", "[]f64", "[][]f32", "point", "[]point", "shape", "[]shape", "u8", "()",
         "(f32, i64)", "nothing", '"[]point"']
ENTRIES = {"scale": ["f32", "[]f32"], "pick": ["[]i32", "[]i64"], "bump": ["[]i32", "i64", "i32"], "divide": ["i64", "i64"],
           "product": ["[][]f32", "[]f32"], "mirror": ["[]point"], "shape": ["i32", "point"], "area": ["shape"], "count": ["i64"]}
RESULTS = {"mirror": 2}
VARS = [f"v{i}" for i in range(8)]
WORDS = ["0", "1", "-1", "99999999999999999999", "x", "y", "dot", "line", "none", "2", '"', '""', "%s%n", "\x01", "\u00fc" * 200, "main", "/", ".",
         "missing", "/dev/null", "/dev/zero", "pipe", "out"]
COMMANDS = {  # what follows each, a letter a word: Variable, Type, Entry, File, Number, Word; + some more of the last
    "types": "", "entry_points": "", "inputs": "E", "outputs": "E", "output": "E", "free": "V+", "rename": "VV", "clear": "", "report": "",
    "profile": "", "timeline": "", "device": "", "tuning_origin": "", "entry_key": "E", "tuning_param_value": "W", "copy": "VV", "digest": "V+",
    "pause_profiling": "", "unpause_profiling": "", "set_tuning_param": "WN", "tuning_params": "E", "tuning_param_class": "W", "attributes": "E",
    "kind": "T", "type": "V", "rank": "T", "elemtype": "T", "shape": "V", "index": "VVN+", "set": "VVN+", "new_array": "VTV+", "fields": "T",
    "project": "VVW", "new": "VTV+", "zip": "VTV+", "unzip": "VVV", "variants": "T", "variant": "V", "construct": "VTWV+", "destruct": "VV+",
    "store": "FV+", "restore": "FVT+", "turns": "F", "time_parts": "W", "clear_profile": "", "nothing": "W+"}


def binary(name, dims, data):
    return b"b\x02" + bytes([len(dims)]) + name.rjust(4).encode() + b"".join(struct.pack("<q", d) for d in dims) + data


def put_files(folder):
    """Data of the types, whole and not."""
    files = {}
    for n in (0, 1, 5):
        files[f"f32_{n}"] = binary("f32", [n], struct.pack(f"<{n}f", *range(n)))
        files[f"i32_{n}"] = binary("i32", [n], struct.pack(f"<{n}i", *range(n)))
        files[f"i64_{n}"] = binary("i64", [n], struct.pack(f"<{n}q", *range(n)))
        files[f"m_{n}"] = binary("f32", [n, 2], struct.pack(f"<{2 * n}f", *range(2 * n)))
    files |= {"n": b"3i64", "k": b"1i32", "x": b"1.5f32", "text": b"[1i32, 2, 3] -- c\n 4i32", "cut": binary("i32", [9], b"1234"),
              "huge": binary("f64", [2**61], b""), "negative": binary("i64", [-1], b""), "rank": b"b\x02\xff i32" + b"\1" * 64, "empty": b"",
              "odd": b"[[1i32], [2, 3]]"}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe")
    return sorted(files)


FITS = {"[]f32": "f32_", "[]i32": "i32_", "[]i64": "i64_", "[][]f32": "m_"}
SCALARS = {"i64": "n", "i32": "k", "f32": "x"}


def fitting(r):
    """A call with arguments of its types, which are made before: lines."""
    entry = r.choice(sorted(ENTRIES))
    lines, args = [], []
    for i, t in enumerate(ENTRIES[entry]):
        name = VARS[i]
        if t in SCALARS:
            lines.append(f"restore {SCALARS[t]} {name} {t}")
        elif t in FITS:
            lines.append(f"restore {FITS[t]}{r.choice([0, 1, 5])} {name} {t}")
        elif t == "point":
            lines += ["restore x v6 f32", "restore n v7 i64", f"new {name} point v6 v7"]
        elif t == "[]point":
            lines += ["restore f32_5 v6 []f32", f"restore i64_{r.choice([1, 5, 5])} v7 []i64", f"zip {name} []point v6 v7"]
        else:
            lines += ["restore x v5 f32", "restore n v6 i64", "new v7 point v5 v6",
                      f"construct {name} shape {r.choice(['dot v7', 'none', 'line v7 v1'])}"]
        args.append(name)
    outs = [f"v{4 + i}" for i in range(RESULTS.get(entry, 1))]
    lines += [f"free {' '.join(o for o in outs if o not in args)}", f"call {entry} {' '.join(outs + args)}", f"store out {outs[0]}"]
    return lines


def word(r, kind, files):
    if kind == "V":
        return r.choice(VARS)
    if kind == "N":
        return r.choice(["0", "1", "4", "5", "-1", "9223372036854775807"])
    return r.choice({"T": TYPES, "E": sorted(ENTRIES), "F": files + ["out", "missing", "pipe", "/dev/zero"], "W": WORDS}[kind])


def any_command(r, files):
    name = r.choice(sorted(COMMANDS))
    kinds = COMMANDS[name]
    if kinds.endswith("+"):
        kinds = kinds[:-1] + kinds[-2] * r.randrange(4)
    words = [name] + [word(r, k, files) for k in kinds]
    if name == "restore" and r.randrange(2):
        words += [r.choice(VARS), r.choice(TYPES)]
    if r.randrange(6) == 0:
        words.insert(r.randrange(len(words) + 1), r.choice(WORDS))
    if r.randrange(6) == 0:
        words.pop(r.randrange(len(words)))
    return " ".join(words)


def script(r, files):
    lines = fitting(r) if r.randrange(3) else []
    for _ in range(r.randrange(1, 10)):
        lines.insert(r.randrange(len(lines) + 1), any_command(r, files))
    text = "\n".join(lines).encode("utf-8", "replace")
    for _ in range(r.choice([0, 0, 0, 1, 3])):
        at = r.randrange(len(text) + 1)
        text = text[:at] + r.choice([b"", b"\0", b"\n", b" ", b"\xff", b'"', b"x" * 3000]) + text[at + r.randrange(2):]
    return text + b"\n" + "".join(f"free {v}\n" for v in VARS).encode()


class Server:
    def __init__(self, program, folder, env):
        self.errors = open(folder / "errors", "w+")
        self.p = subprocess.Popen([program, "--server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder, env=env)
        self.n = 0

    def answers(self, data, seconds=120):
        """Sends the lines; False if it does not come to their end."""
        self.n += 1
        fence, got, end = f"fence{self.n}".encode(), b"", time.monotonic() + seconds
        data += b"\n" + fence + b"\n"
        out, to = self.p.stdout.fileno(), self.p.stdin.fileno()
        os.set_blocking(to, False)
        while not (fence in got and got.rstrip().endswith(b"%%% OK")):
            readable, writable, _ = select.select([out], [to] if data else [], [], max(0, end - time.monotonic()))
            if not readable and not writable:
                return False
            try:
                if writable:
                    data = data[os.write(to, data):]
            except OSError:
                return False
            if readable:
                piece = os.read(out, 1 << 16)
                if not piece:
                    return False
                got = got[-200:] + piece
        return True

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self, kill=False):
        """What is wrong with how it ends."""
        if kill:
            self.p.kill()
        self.p.stdin.close()
        try:
            code = self.p.wait(120)
        except subprocess.TimeoutExpired:
            self.p.kill()
            code = "it does not end"
        said = self.said()
        self.errors.close()
        self.p.stdout.close()
        return None if code == 0 and "Sanitizer" not in said and "runtime error" not in said else f"{code}: {said[-3000:]}"


def attack(tools, seed, n):
    """Yields (number, what is wrong, its input)."""
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        files = put_files(folder)
        server, env = None, tools.environment(leaks=True)
        for k in range(n):
            server = server or Server(tools.program, folder, env)
            text = script(random.Random(f"{seed} {k}"), files)
            if not server.answers(text):
                late = server.p.poll() is None
                yield k, ("no answer: " if late else "") + str(server.end(kill=late)), text
                server = None
            elif (k + 1) % PER_SERVER == 0 or k == n - 1:
                said, server = server.end(), None
                if said:
                    yield k, f"one of the last {PER_SERVER} scripts: {said}", b""
