"""What cases are: a folder of their own, and how they are entered."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import checks

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MINIFUT = str(Path(os.environ.get("MINIFUT", ROOT / "minifut")).resolve())
EXAMPLES = ROOT / "examples"
USER, USAGE, LIMIT = 1, 2, 3
NEVER = "1000000000000"
QUICK = {"CC": os.environ.get("QUICK_CC", "cc")}  # for programs whose code need not be good
GCC = {"CC": "cc"}  # for what tcc lacks: the suite's compiler is that one, where it is installed

# Programs, names and data that cases of several files use.
GOOD = "entry main (x: i32): i32 = x + 1\n"
WRONG = "entry main (x: i32): i32 = x + true\n"
# Of a folder and a program in it: `*/`, quotes, commands, options, formats, trigraphs, a line break, UTF-8.
HOSTILE = "-d*", """-rf "'$(touch a);`touch b`\n%s%n ??/ @x \\ \u00fc""".replace("/", "_")
MATRICES = "[[1f32, 2], [3, 4]] [[5f32, 6], [7, 8]]"

OPENCL = "opencl"
cases = []  # (name, runs programs, or does so by OPENCL alone, function)


class Failed(Exception):
    pass


class Skipped(Exception):
    """A case cannot be tried for want of what it names."""


class Box:
    """A folder for one case."""

    def __init__(self, path, programs, device):
        self.path = path
        self.programs = programs
        self.driver = {"MINIFUT_DRIVER": "opencl"} if device == OPENCL else {}

    def put(self, name, text):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def files(self):
        return {str(p.relative_to(self.path)) for p in self.path.rglob("*")}

    def binary(self, name):
        return str(self.programs / name)

    def use(self, name):
        """Puts an example and its binary, compiled once, into this folder."""
        shutil.copy(self.programs / name, self.path / name)
        shutil.copy(EXAMPLES / (name + ".sf"), self.path)

    def run(self, args, code, err="", out=None, stdin="", leaves=(), env=None, stdout=subprocess.PIPE):
        """Runs a command; `err` and `out` are regular expressions (err "": nothing may be said), `leaves`
        the files that it may add."""
        before = self.files()
        env = {**os.environ, **self.driver, **{k: str(v) for k, v in (env or {}).items()}}
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        r = subprocess.run(args, input=data, stdout=stdout, stderr=subprocess.PIPE, cwd=self.path,
                           env=env, timeout=300)
        # That memory was refused is no report: it is what the case asks for.
        said = re.sub(r"==\d+==WARNING: AddressSanitizer failed to allocate .*\n", "",
                      checks.timeless(r.stderr.decode(errors="replace")))
        got = (r.stdout or b"").decode(errors="replace")
        shown = " ".join(str(a) for a in args)
        if r.returncode != code:
            raise Failed(f"{shown}: exit code {r.returncode}, not {code}: {said[-500:]}")
        if not re.search(err, said, re.M) if err else said:
            raise Failed(f"{shown}: said {said[-700:]!r}, not {err!r}")
        if "Sanitizer" in said:
            raise Failed(f"{shown}: {said[-1500:]}")
        if out is not None and not re.search(out, got, re.M):
            raise Failed(f"{shown}: printed {got[-500:]!r}, not {out!r}")
        # What a tuning has measured stays, however it ends.
        extra = {f for f in self.files() - before - set(leaves) if not f.endswith(".tuning.log")}
        if extra:
            raise Failed(f"{shown}: left {sorted(extra)}")
        missing = set(leaves) - self.files()
        if missing:
            raise Failed(f"{shown}: did not write {sorted(missing)}")
        return got, said

    def minifut(self, args, *rest, **more):
        return self.run([MINIFUT] + args.split(), *rest, **more)


def case(device):
    def add(f):
        cases.append((f.__name__.replace("_", " "), device, f))
        return f
    return add


def table(prefix, device, rows, f):
    for name, *row in rows:
        cases.append((f"{prefix}: {name}", device, lambda box, row=row: f(box, *row)))
