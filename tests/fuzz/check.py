"""All that one program of the fuzzer goes through. Each stage is a generator of findings (stage, what is wrong)."""
import math
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import gen
from checks import MPI
from modules import program_text
from oracle import Eval, Failure, TooLong, wrap
from tree import FLOATS, is_scalar, leaves, pat_vars, value_text

MODES = ["incremental", "full", "moderate", "outer"]
NEVER = 1 << 60
# What clang may make of a kernel, but oclgrind does not know: abs, numbers of 65 bits for closed forms of loops.
LACKING = "Undefined external function: llvm\\.|Unsupported constant int size"
# Numbers of 2 bits, which clang makes of x % 4 in loops that become products, have 8 there: what is right without such is right.
PLAIN = "--build-option=-cl-opt-disable"
RACES = ["oclgrind", "--data-races"]
OPENCL = {"MINIFUT_DRIVER": "opencl"}
# How a program is run: options, environment; natively, by PoCL, with the code of GPUs.
SHAPES = [([], {}),
          ([], OPENCL),
          (["--default-group-size=7", "--default-num-groups=5"], {}),
          (["--default-group-size=7", "--default-num-groups=5"], OPENCL),
          (["--default-group-size=1", "--default-num-groups=2"], {**OPENCL, "MINIFUT_CODE": "gpu"}),
          (["--default-group-size=7", "--default-num-groups=5"], {"MINIFUT_HEAP": "16"}),  # heaps that must grow
          (["--default-group-size=8", "--default-num-groups=2"], {**OPENCL, "MINIFUT_CODE": "gpu", "MINIFUT_HEAP": "16"}),
          (["--default-group-size=16", "--default-num-groups=3"], {**OPENCL, "MINIFUT_CODE": "gpu"}),
          (["--default-group-size=64"], {**OPENCL, "MINIFUT_CODE": "gpu", "POCL_WORK_GROUP_METHOD": "repl"})]


def entry_of(p, k):
    """The entry point that the k-th input is for."""
    return next(d for d in p.entries() if d.name == p.inputs[k][0])


def input_leaves(p, k):
    """[(type, dims, value)] of the k-th input."""
    d = entry_of(p, k)
    _, sizes, values = p.inputs[k]
    types = [t for q in d.params for _, t in pat_vars(q)]
    out = []
    for t, v in zip(types, values):
        for u, dims, w in leaves(t, v):
            out.append((u, tuple(x if isinstance(x, int) else sizes[x] for x in dims), w))
    return out


def input_text(p, k):
    return "\n".join(value_text(*leaf) for leaf in input_leaves(p, k)) + "\n"


def expected(p, k, steps=400000):
    """("ok", [(type, nested lists)]) | ("fails", kind) | ("long", None): by the oracle."""
    d = entry_of(p, k)
    _, sizes, values = p.inputs[k]
    ev = Eval(p, steps)
    ev.env.update(sizes)
    try:
        v = ev.call_def(d.name, values)
    except Failure as e:
        return "fails", str(e)
    except TooLong:
        return "long", None
    out = []
    parts = d.body.ty[1:] if not is_scalar(d.body.ty) and d.body.ty[0] == "tup" else [d.body.ty]
    vals = v if len(parts) > 1 or (not is_scalar(d.body.ty) and d.body.ty[0] == "tup") else [v]
    for t, w in zip(parts, vals):
        for u, _, x in leaves(t, w):
            out.append((u, x))
    return "ok", out


TOKEN = re.compile(r"\s*(?:(empty)\(((?:\[\d+\])+)(\w+)\)|([\[\],])|(true|false)|"
                   r"(-?(?:[\d.][\d.e+-]*|f\d+\.(?:inf|nan)))([iuf]\d+)?)")


def parse_values(text):
    """[(type, nested lists)] of output in the text format."""
    at, out = 0, []

    def value():
        nonlocal at
        m = TOKEN.match(text, at)
        if not m:
            raise ValueError(f"unreadable at {text[at:at + 20]!r}")
        at = m.end()
        if m.group(1):
            return m.group(3), []
        if m.group(4) == "[":
            elems, t = [], None
            while True:
                t, v = value()
                elems.append(v)
                m = TOKEN.match(text, at)
                at = m.end()
                if m.group(4) == "]":
                    return t, elems
        if m.group(5):
            return "bool", m.group(5) == "true"
        word, t = m.group(6), m.group(7)
        if "." in word and word.lstrip("-")[0] == "f":
            t = word.lstrip("-")[:3]
            return t, float(word.replace(t + ".", ""))
        return t, nearest(t, word) if t and t in FLOATS else int(word)
    while text[at:].strip():
        out.append(value())
    return out


def nearest(t, word):
    """The float of type t that decimals stand for: they are as few as tell it from others of its type."""
    return wrap(t, float(word))


def flat_shape(v):
    """The shape as far as it shows (to the first 0), for comparison."""
    s = []
    while isinstance(v, list):
        s.append(len(v))
        if not v:
            break
        v = v[0]
    return s


def same_value(a, b):
    if isinstance(a, list) != isinstance(b, list):
        return False
    if isinstance(a, list):
        if len(a) != len(b):
            return all(flat_shape(x)[-1:] == [0] for x in (a, b))  # both have no elements
        return all(same_value(x, y) for x, y in zip(a, b))
    return a == b or (a != a and b != b)


def compare(got, want):
    """None, or what differs."""
    try:
        vals = parse_values(got)
    except (ValueError, AttributeError, IndexError) as e:
        return f"unreadable output ({e}): {got[:200]}"
    if len(vals) != len(want):
        return f"{len(vals)} results, expected {len(want)}"
    for k, ((t, v), (u, w)) in enumerate(zip(vals, want)):
        if t != u:
            return f"result {k} has type {t}, expected {u}"
        if not same_value(v, w):
            return f"result {k} is {str(v)[:300]}, expected {str(w)[:300]}"
    return None


def normal(message):
    """A message without what varies between failures of one kind."""
    message = re.sub(r"0x[0-9a-f]+|\d+", "N", message)
    return re.sub(r"\b[a-z]+N\b", "V", message)[:120]


def renumbered(text):
    """IR text with its variables numbered by first appearance."""
    seen = {}
    return re.sub(r"_(\d+)\b", lambda m: "_" + seen.setdefault(m.group(1), str(len(seen))), text)


class Finding:
    """stage: what was done; text: what came of it; key: what makes two findings the same."""

    def __init__(self, stage, text, command=""):
        self.stage, self.text, self.command = stage, text, command
        line = next((s for s in text.splitlines() if "error" in s or "bug" in s or "rror:" in s), text[:200])
        kind = "result" if line.startswith("result ") else normal(re.sub(r"^\S*\.sf:", "", line))
        self.key = (stage.split(" ")[0], kind)


class Checker:
    shapes = range(len(SHAPES))

    def __init__(self, minifut, folder, quick=False, n_ranks=0):
        self.minifut, self.folder, self.quick, self.n_ranks = str(minifut), Path(folder), quick, n_ranks
        self.asan = os.environ.get("MINIFUT_ASAN")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "prog.sf"
        self.counts = {"versions": 0, "runs": 0, "timeouts": 0, "limits": 0, "optimised": 0}
        self.env = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), POCL_CACHE_DIR=str(self.folder / "pocl"))
        self.slow = {"CC": "cc", "OMPI_CC": "cc", "MPICH_CC": "cc", "CFLAGS": "-O0 -w"}
        if shutil.which("tcc"):  # compiles a host program 20 times as fast
            self.env.update(CC="tcc", OMPI_CC="tcc", MPICH_CC="tcc", CFLAGS="-w -D__int128=long")
        else:
            self.env.update(self.slow)
        self.want, self.entries = {}, {}

    def run(self, cmd, text="", limit=20, env=None):
        """(exit code, output, messages); code None: no end within `limit` seconds of processor time."""
        self.counts["runs"] += 1

        def before():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            p = subprocess.run([str(c) for c in cmd], input=text, capture_output=True, text=True, errors="replace",
                               timeout=30 * limit, env={**self.env, **(env or {})}, cwd=self.folder, preexec_fn=before)
        except subprocess.TimeoutExpired:
            p = None
        if p is None or p.returncode in (-24, -9):
            self.counts["timeouts"] += 1
            return None, "", f"no end within {limit} s"
        return p.returncode, p.stdout, p.stderr

    def tool(self, *args, text="", limit=20):
        result = self.run([self.minifut, *args], text, limit)
        if "error: memory full (vstack)" in result[2]:  # tcc's, of calls with some hundred arguments
            result = self.run([self.minifut, *args], text, limit, self.slow)
        return result

    def outcome(self, stage, k, result, command):
        """What a run of the program on input k should have given."""
        code, out, err = result
        state, want = self.want[k]
        how = f"{command} {' '.join(self.chosen(k))} < {k}.in"
        if code is None:
            return None  # counted
        if code < 0 or "internal" in err or code == 4 or "Sanitizer" in err or "runtime error:" in err:
            return Finding(stage, f"died: code {code}: {err[:1500]}", how)
        if state == "fails":
            site = re.search(r"^Error: (.*)\n(.*prog\.sf:\d+:\d+):$", err, re.M)
            if code != 1 or not site:
                return Finding(stage, f"error expected ({want}), got code {code}: {err[:300]} {out[:300]}", how)
            said = re.sub(r"(?<!\w)-?\d+\b", "N", site.group(1))  # which of several threads is not said
            message = f"{site.group(2)}: {said}"
            if self.errors.setdefault(k, message) != message:
                return Finding(stage, f"error: {message}, the interpreter said {self.errors[k]}", how)
            return None
        if code != 0:
            return Finding(stage, f"code {code}: {err[:1500]}", how)
        wrong = self.compared(k, out)
        return Finding(stage, wrong, how) if wrong else None

    def compared(self, k, out):
        """None, or what is wrong with the output."""
        return compare(out, self.want[k][1])

    def chosen(self, k):
        """The option that chooses the entry point of an input: none for half of those that need none."""
        return [] if len(set(self.entries.values())) == 1 and k % 2 else ["-e", self.entries[k]]

    def program(self, seed):
        return gen.Gen(seed).program()

    def text(self, p):
        return program_text(p)

    def prepare(self, p):
        """Files and expected results; None if the program takes too long for the oracle."""
        self.path.write_text(self.text(p))
        self.want, self.volume = {}, {}
        self.entries = {k: p.inputs[k][0] for k in range(len(p.inputs))}
        for k in range(len(p.inputs)):
            self.volume[k] = sum(max(1, math.prod(dims)) for _, dims, _ in input_leaves(p, k))
            (self.folder / f"{k}.in").write_text(input_text(p, k))
            self.want[k] = expected(p, k)
        self.errors = {}
        if not p.fails and any(s == "fails" for s, _ in self.want.values()):
            return False
        return all(s != "long" for s, _ in self.want.values())

    # --- stages ----------------------------------------------------------------------------------
    def front(self, p):
        code, _, err = self.tool("check", self.path)
        if code != 0:
            yield Finding("check", f"code {code}: {err[:1500]}", "minifut check prog.sf")

    def interpreter(self, p):
        for k in self.want:
            text = (self.folder / f"{k}.in").read_text()
            yield self.outcome("interpreter", k, self.tool("run", *self.chosen(k), self.path, text=text), "minifut run prog.sf")

    def passes(self, rnd):
        """Every pass verified; one read back from text; the meaning before and after flattening, with all versions."""
        code, _, err = self.tool("ir", "--after=clean", "--trace-passes", self.path)
        if code != 0:
            at = err.rfind("-- after ")
            yield Finding("pass", f"code {code}: {err[-1500:] if at < 0 else err[at:][-1500:]}", "minifut ir --after=clean prog.sf")
            return
        texts, now = {"lower": self.tool("ir", "--after=lower", self.path)[1]}, None
        for line in err.splitlines():
            m = re.match(r"-- after (\S+?)(: unchanged)?$", line)
            if m:
                texts[m.group(1)] = texts[now or "lower"] if m.group(2) else ""
                now = m.group(1)
            elif now and (texts[now] or line):
                texts[now] += line + "\n"
        names = list(texts)
        k = rnd.randrange(1, len(names))
        (self.folder / "before.ir").write_text(texts[names[k - 1]])
        code, again, err = self.tool("ir", f"--from={names[k]}", f"--to={names[k]}", "before.ir")
        if code != 0 or renumbered(again).strip() != renumbered(texts[names[k]]).strip():
            yield Finding("readback", f"{names[k]} on text: code {code}: {err[:1000] or 'another result'}",
                          f"minifut ir --from={names[k]} --to={names[k]} on the text before it")
        yield from self.meaning("simplify-hoisted", "incremental", [None])
        yield from self.meaning("flatten", "incremental", [1 << 40, 1, 40])
        yield from self.meaning("flatten", "full", [None])
        yield from self.meaning("clean", rnd.choice(MODES), [1 << 40, 1, 40])

    def meaning(self, name, mode, thresholds):
        """The program interpreted after a pass."""
        for t in thresholds:
            args = ["run", f"--flatten={mode}", f"--after={name}"] + ([f"--threshold={t}"] if t else [])
            for k in self.want:
                r = self.tool(*args, *self.chosen(k), self.path, text=(self.folder / f"{k}.in").read_text())
                f = self.outcome("meaning after " + name, k, r, "minifut " + " ".join(args) + " prog.sf")
                if f:
                    f.key = ("meaning", name, f.key[1])
                    f.replay = ("meaning", name, mode, [t])
                    yield f

    def under_asan(self):
        """The compiler itself under ASan and UBSan."""
        for args in (["compile", "--emit=c"], ["explain"]):
            code, out, err = self.run([self.asan, *args, self.path], limit=60, env={"ASAN_OPTIONS": "detect_leaks=0"})
            if code is not None and (code not in (0, 3) or "runtime error" in err):
                yield Finding("asan", f"code {code}: {err[:2000]}", f"build/asan/minifut {' '.join(args)} prog.sf")

    def compile(self, mode, *more):
        binary = self.folder / f"prog-{mode}"
        code, _, err = self.tool("compile", f"--flatten={mode}", *more, "-o", binary, self.path, limit=60)
        how = " ".join(["minifut compile", f"--flatten={mode}", *more, "prog.sf"])
        if code == 3:
            self.counts["limits"] += 1
            return None, Finding("limit", err[:1000], how)
        if code != 0:
            return None, Finding("compile", f"code {code}: {err[:1500]}", how)
        return binary, None

    def choices(self, binary, rnd):
        """Options for kernels that makers choose: for half of the runs none, else all, none or some of them taken wherever they can run."""
        names = re.findall(r"^(\S+) \(choice\(", self.run([binary, "--print-params"])[1], re.M)
        some = rnd.choice([None, None, None, [1], [NEVER], [1, NEVER]])
        return [f"--param={name}={rnd.choice(some)}" for name in names] if some else []

    def settings(self, binary):
        """[(entry points, [options])] that force each comparison both ways."""
        code, out, err = self.run([binary, "--print-params"])
        params = []
        for line in out.splitlines():
            m = re.match(r"(\S+) \(threshold\([^,]*,\s*(.*)\)\)$", line.strip())
            if m:
                params.append((m.group(1), [(s.lstrip("!"), not s.startswith("!")) for s in m.group(2).split()]))
        base = {n: NEVER for n, _ in params}
        every = set(self.entries.values())
        out = [(every, base)]
        for name, path in params:
            s = dict(base)
            s.update({a: 1 if taken else NEVER for a, taken in path})
            s[name] = 1
            out.append(({name.split(".")[0]} & every or every, s))
        return [(who, [f"--param={n}={v}" for n, v in s.items()]) for who, s in out]

    def execute(self, mode, binary, device, entries, params, shape):
        """Runs one version on the entry points' inputs that are small enough for the device; a finding or None."""
        options, env = SHAPES[shape]
        if device != "pocl" and shape % 2 == 0:  # PoCL 3.1 miscompiles more loops around barriers when their ends are known
            env = {**env, "MINIFUT_SIZED": "1"}
        if device != "pocl":
            env = {**env, **OPENCL}
        if device == "races":
            options = [*options, "--build-option=-DMF_RACES"]
        for k in self.want:
            if self.entries[k] not in entries:
                continue
            if device != "pocl" and (self.volume[k] > 300 or (device == "races" and self.want[k][0] != "ok")):
                continue
            log = self.folder / "log"
            log.unlink(missing_ok=True)
            wrap = {"pocl": [], "oclgrind": ["oclgrind", "--log", log], "races": RACES + ["--log", log]}[device]
            cmd = wrap + [binary, *self.chosen(k), *params, *options]
            r = self.run(cmd, (self.folder / f"{k}.in").read_text(), 60 if device == "pocl" else 20, env)
            how = " ".join([*(f"{a}={b}" for a, b in env.items()), *wrap[:-2], f"./prog-{mode}", *params, *options])
            if device != "pocl" and (r[0] is None or re.search(LACKING, r[2])):
                continue
            said = log.read_text(errors="replace").strip() if log.exists() else ""
            stage = f"run {mode} on {device}"
            f = self.outcome(stage, k, r, how)
            if f and not said and device != "pocl" and "result" in f.text:
                again = self.run([*cmd, PLAIN], (self.folder / f"{k}.in").read_text(), 60, env)
                f = self.outcome(stage, k, again, how)
                self.counts["optimised"] += f is None
            if said and not (f and "result" in f.text):
                f = Finding(stage, f"oclgrind: error: {said[:1500]}", f"{how} < {k}.in")
            if f:
                f.replay = (mode, device, entries, params, shape)
                return f
        return None

    def versions(self, mode, rnd, devices, most=6):
        """The compiled program with thresholds forced both ways, with the code of CPUs and of GPUs."""
        binary, wrong = self.compile(mode)
        if wrong:
            yield wrong
            return
        settings = self.settings(binary)
        if len(settings) > most:
            settings = settings[:1] + rnd.sample(settings[1:], most - 1)
        for entries, params in settings:
            for device in devices:
                self.counts["versions"] += 1
                said = params + self.choices(binary, rnd)
                yield self.execute(mode, binary, device, entries, said, rnd.choice(self.shapes))

    def ranks(self, mode):
        """On several ranks, by MPI: with all shared out that can be; and with what is worth it, which of few elements is
        nothing, so that one input is enough. To start ranks takes half a second."""
        binary, wrong = self.compile(mode, "--mpi")
        if wrong:
            wrong.replay = (mode,)
            yield wrong
            return
        names = re.findall(r"^(\S+\.suff_dist_\d+) ", self.run([binary, "--print-params"])[1], re.M)
        always = [f"--param={name}=1" for name in names]
        for params, inputs in ((always, list(self.want)), ([], list(self.want)[:1]))[not names:]:
            self.counts["versions"] += 1
            for k in inputs:
                cmd = ["mpirun", "-np", self.n_ranks, binary, *self.chosen(k), *params]
                r = self.run(cmd, (self.folder / f"{k}.in").read_text(), 20, MPI)
                how = f"minifut compile --mpi --flatten={mode} prog.sf; mpirun -np {self.n_ranks} ./prog {' '.join(params)}"
                f = self.outcome(f"ranks {mode}", k, r, how)
                if r[0] is None:  # those that wait for others for ever keep processors busy meanwhile
                    f = Finding(f"ranks {mode}", r[2], f"{how} < {k}.in")
                if f:
                    f.replay = (mode,)
                    yield f

    def replay(self, mode, device, entries, params, shape):
        """One setting again, without the parameters that are gone."""
        binary, wrong = self.compile(mode)
        if wrong:
            yield wrong
            return
        known = self.run([binary, "--print-params"])[1]
        yield self.execute(mode, binary, device, entries, [q for q in params if q.split("=")[1] in known], shape)

    def sanitized(self, p, cflags="-O1 -w -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"):
        """The host program under ASan and UBSan, on all inputs."""
        keep = dict(self.env)
        self.env.update(CC="cc", CFLAGS=cflags, ASAN_OPTIONS="detect_leaks=0")
        binary, wrong = self.compile("incremental")
        self.env = keep
        if wrong:
            return
        for k in self.want:
            r = self.run([binary, *self.chosen(k)], (self.folder / f"{k}.in").read_text(), 60, {"ASAN_OPTIONS": "detect_leaks=0"})
            yield self.outcome("sanitized", k, r, f"CFLAGS='{cflags}' minifut compile prog.sf; ./prog")


def first(findings):
    return next((f for f in findings if f), None)
