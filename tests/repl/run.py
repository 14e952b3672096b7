#!/usr/bin/env python3
"""`minifut eval` and `minifut repl`: values, types and messages of expressions; dialogues from a file; dialogues on a terminal.

usage: tests/repl/run.py [MINIFUT]

Terminals are real ones (pty): keys are sent, what is shown is read without what moves the cursor."""
import ctypes.util
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
sys.dont_write_bytecode = True
import checks  # noqa: E402
from checks import check  # noqa: E402

MINIFUT = str(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MINIFUT", ROOT / "minifut")).resolve())

PROGRAM = """import "shapes"
local def square (x: i32) = x * x
type t = #small i32 | #none
module M = { def z = 4i32 }
def seven = 7i32
def grade (x: t) = match x case #small n -> square n case #none -> 0
entry main (xs: []i32) = map square xs
"""
SHAPES = "def side = 3i32\nlocal def hidden = 1i32\n"


# --- eval -------------------------------------------------------------------------------------------------------

# Arguments; the exit code; standard output, and what standard error has (a regular expression; "": nothing).
EVAL = [
    (["f32.sum [1,2,3]"], 0, "6.0f32\n", ""),
    (["1", "2 + 2", "[1.5, 2]"], 0, "1i32\n4i32\n[1.5f64, 2.0f64]\n", ""),
    (["(1, 2u8)"], 0, "(1i32, 2u8)\n", ""),
    (["{x = 1, y = [1.5]}"], 0, "{x = 1i32, y = [1.5f64]}\n", ""),
    (["#some 3 : #some i32 | #none"], 0, "#some 3i32\n", ""),
    (["zip [1, 2] [true, false]"], 0, "[(1i32, true), (2i32, false)]\n", ""),
    (["filter (> 5) [1, 2]"], 0, "empty([0]i32)\n", ""),
    (["()"], 0, "()\n", ""),
    (["vjp (\\x -> x * x) 3f32 1f32"], 0, "6.0f32\n", ""),
    (["iota 2000 |> map (% 7) |> i64.sum"], 0, "5995i64\n", ""),
    (["let x = 3 in x"], 0, "3i32\n", ""),
    (["trace 3"], 0, "3i32\n", "trace: 3i32"),
    (["-t", "map (+ 1) [1, 2]"], 0, "[2]i32\n", ""),
    (["--type", "\\x -> x + 1i32", "f32.sum"], 0, "i32 -> i32\n[]f32 -> f32\n", ""),
    (["f32.sum"], 1, "", r"<expression>:1:1: error: functions have no text form; this is of type `\[\]f32 -> f32`\n +f32.sum\n +\^~+"),
    (["(1, \\x -> x + 1)"], 1, "", "functions have no text form"),
    (["[]"], 1, "", r"its type has to be said .*`\[0\]a`"),
    (["???"], 1, "", "Hole: a value of type `a`"),
    (["1 +"], 1, "", "<expression>:1:3: error: the expression ends too early: expected an expression after this"),
    (["let x = 3"], 1, "", "is the `in` of a `let` missing"),
    (["def f x = x"], 1, "", "<expression>:1:1: error: unexpected `def`, expected an expression"),
    (["1 2 def"], 1, "", "<expression>:1:5: error: unexpected `def`"),
    ([""], 1, "", "the expression ends too early"),
    (['"abc'], 1, "", "unterminated string"),
    (["x + 1"], 1, "", "<expression>:1:1: error: unknown name `x`"),
    (["1 + true"], 1, "", "<expression>:1:"),
    (["replicate 3 1 : [4]i32"], 1, "", "sizes `4` and `3`"),
    (["1 / 0"], 1, "", r"Error: division by zero\n<expression>:1:1:\n +1 / 0\n +\^~~~~"),
    (["1", "[1][2]", "3"], 1, "1i32\n3i32\n", r"Index \[2\] out of bounds.*\n<expression 2>:1:1:"),
    (["(" * 5000], 1, "", "error: "),
    (["1" + "+1" * 50000], 3, "", "limitation: program is nested too deeply"),
    ([], 2, "", "which expression?"),
    (["--nonsense", "1"], 2, "", "nonsense"),
    (["-1", "-(2 * 3)", "-t", "- 1.5"], 0, "i32\ni32\nf64\n", ""),
    (["-1", "- 2i64"], 0, "-1i32\n-2i64\n", ""),
    (["-f", "prog.sf", "main [1, 2]", "square seven", "M.z", "grade #none", "side"], 0, "[1i32, 4i32]\n49i32\n4i32\n0i32\n3i32\n", ""),
    (["-f", "prog.sf", "hidden"], 1, "", "`hidden` is `local` to `shapes.sf`"),
    (["--file=prog.sf", "-t", "grade"], 0, r"(#none | #small i32) -> i32" + "\n", ""),
    (["-f", "wrong.sf", "1"], 1, "", r"^wrong.sf:1:\d+: error"),
    (["-f", "none.sf", "1"], 1, "", "cannot read `none.sf`"),
]


def run_eval(folder):
    for args, code, out, err in EVAL:
        r = subprocess.run([MINIFUT, "eval", *args], capture_output=True, text=True, cwd=folder, timeout=60)
        what = " ".join(args)[:80]
        check(r.returncode == code, f"eval {what}: exit code {r.returncode}, not {code}: {r.stderr[-300:]}")
        check(r.stdout == out, f"eval {what}: {r.stdout!r}, not {out!r}")
        check(re.search(err, r.stderr) if err else not r.stderr, f"eval {what}: said {r.stderr[-400:]!r}, not {err!r}")


# --- Dialogues from a file --------------------------------------------------------------------------------------

# Each a name, what is typed, and what comes: the lines of standard output, or, where some begin with `~`, what it has in this order, these
# being regular expressions; `!REGEX`: a message has it.
DIALOGUES = [
    ("definitions", """
let x = 3
x + 1
def f (a: i32) =
  a * x

f 4
let x = 10
(f 4, x)
let x = x + 1
x
""", ["def x: i32", "4i32 : i32", "def f (a: i32): i32", "12i32 : i32", "def x: i32", "(12i32, 10i32) : (i32, i32)", "def x: i32", "11i32 : i32"]),
    ("all kinds", """
type t 'a = #node a a | #leaf
let v : t i32 = #node 1 2
v
module type number = { type n val one : n val add : n -> n -> n }
module twice (N: number) = { def two = N.one `N.add` N.one }
module ints = { type n = i32 def one = 1i32 def add (a: i32) b = a + b }
module T = twice ints
T.two
open { def inside = 5i32 }
inside
import "shapes"
side
local def mine = 8i32
mine
entry e (x: i32) = x + mine
e 1
def fact (n: i32): i32 = if n <= 0 then 1 else n * fact (n - 1)
fact 5
""", ["type t 'a = #node a a | #leaf", "def v: t i32", "#node 1i32 2i32 : #leaf | #node i32 i32", "module type number", "module twice", "module ints", "module T",
      "2i32 : i32", "5i32 : i32", "3i32 : i32", "def mine: i32", "8i32 : i32", "entry e (x: i32): i32", "9i32 : i32", "def fact (n: i32): i32", "120i32 : i32"]),
    ("sizes of values", """
let n = 2i64
let ys = replicate n 3i32
zip ys (iota n)
let s = filter (> 2) (iota 6)
length s
map2 (+) s s
let sums = map (\\i -> if i == 1 then #one i else #none : #one i64 | #none) (iota n)
sums
let nested = [(1i32, [true, false]), (2, [false, false])]
nested[0].1
let unit = ()
unit
""", ["def n: i64", "def ys: [n]i32", "[(3i32, 0i64), (3i32, 1i64)] : [n](i32, i64)", "def s: []i64", "3i64 : i64", "[6i64, 8i64, 10i64] : []i64",
      "def sums: [n](#none | #one i64)", "[#none, #one 1i64] : [n](#none | #one i64)", "def nested: [2](i32, [2]bool)", "[true, false] : [2]bool", "def unit: ()", "() : ()"]),
    ("values there and back", """
let nan = f32.nan
let half = 1.5f16
(nan, half, -5i8 : i8, true)
let e = [] : [0][3]i32
e
let u = replicate 3 ()
length u
let sa = [#a [1, 2], #b] : [](#a [2]i32 | #b)
sa
let sc = #a (filter (> 1) [1, 2, 3]) : #a []i32 | #b
match sc case #a xs -> i32.sum xs case #b -> 7
let k = 3i64
let m = replicate (k + 1) 0i32
let k = 9i64
zip m (indices m)
let t = ((1, 2u8), {a = true, b = [(1, 2)]})
t.1.b[0].1
let r = {f = \\x -> x + 1i32, y = 2i32}
r.f r.y
module M : { type t val x : t val f : t -> i32 } = { type t = i32 def x = 3i32 def f (y: t) = y }
let a = M.x
M.f a
let w = [1f32, 2]
vjp (\\x -> f32.sum (map2 (*) w x)) [1, 1] 1
let ys = copy w with [0] = 9
(w, ys)
""", ["def nan: f32", "def half: f16", "(f32.nan, 1.5f16, -5i8, true) : (f32, f16, i8, bool)", "def e: [0][3]i32", "empty([0][3]i32) : [0][3]i32", "def u: [3]()", "3i64 : i64",
      "def sa: [2](#a [2]i32 | #b)", "[#a [1i32, 2i32], #b] : [2](#a [2]i32 | #b)", "def sc: #a []i32 | #b", "5i32 : i32", "def k: i64", "def m: [k + 1]i32", "def k: i64",
      "[(0i32, 0i64), (0i32, 1i64), (0i32, 2i64), (0i32, 3i64)] : [k + 1](i32, i64)", "def t: ((i32, u8), {a: bool, b: [1](i32, i32)})", "2i32 : i32",
      "def r: {f: i32 -> i32, y: i32}", "3i32 : i32", "module M", "def a: i32", "3i32 : i32", "def w: [2]f32", "[1.0f32, 2.0f32] : [2]f32", "def ys: [2]f32",
      "([1.0f32, 2.0f32], [9.0f32, 2.0f32]) : ([2]f32, [2]f32)"]),
    ("values are computed once", """
let x = trace 3i32
x + x
def f (y: i32) = y + x
f 1
""", ["def x: i32", "6i32 : i32", "def f (y: i32): i32", "4i32 : i32", "!<input 1>:1:9: trace: 3i32"]),
    ("what is wrong changes nothing", """
let good = 1i32
let bad = [1][3]
bad
def good : i32 = true
good
1 / 0
[1, 2][good + 1]
)
def f (x: i32) = (x

let (a, b) = 3

good
""", ["def good: i32", "1i32 : i32", "1i32 : i32", r"!Index \[3\] out of bounds.*\n<input 2>:1:11:", "!<input 3>:1:1: error: unknown name `bad`", "!<input 4>:1:18: error",
      r"!division by zero\n<input 6>:1:1:", "!<input 8>:1:1: error: unexpected `\\)`", "!<input 9>:1:19: error: .*ends too early: expected `\\)`", "!is the `in` of a `let` missing"]),
    ("warnings once", """
def f (q: *i32) = 3i32
f 1
f 2
""", ["def f (q: *i32): i32", "3i32 : i32", "3i32 : i32", "!`\\*` has no effect"]),
    ("what goes on", """
1 +
2
let t =
  let a = 1
  in a + 1

if true
then 3
else 4
-- a comment

5 -- behind it
""", ["3i32 : i32", "def t: i32", "3i32 : i32", "5i32 : i32"]),
    ("large", """
iota 10000
:all iota 12
tabulate_2d 40 40 (\\i j -> i * j)
replicate 2000 (1i32, #a : #a | #b)
"%s"
""" % ("a" * 100000), ["[0i64, 1i64, 2i64, ..., 9997i64, 9998i64, 9999i64] : [10000]i64", "[0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64]",
        "[[0i64, 0i64, 0i64, ..., 0i64, 0i64, 0i64], [0i64, 1i64, 2i64, ..., 37i64, 38i64, 39i64], [0i64, 2i64, 4i64, ..., 74i64, 76i64, 78i64], ..., "
        "[0i64, 37i64, 74i64, ..., 1369i64, 1406i64, 1443i64], [0i64, 38i64, 76i64, ..., 1406i64, 1444i64, 1482i64], [0i64, 39i64, 78i64, ..., 1443i64, 1482i64, 1521i64]] : [40][40]i64",
        "[(1i32, #a), (1i32, #a), (1i32, #a), ..., (1i32, #a), (1i32, #a), (1i32, #a)] : [2000](i32, #a | #b)", "[97u8, 97u8, 97u8, ..., 97u8, 97u8, 97u8] : [100000]u8"]),
    ("odd bytes", b'\n\x00\x01\xff\n1\x00 2\n"\xff\xfe"\n"abc\n2\n', ["[255u8, 254u8] : [2]u8", "2i32 : i32", "!unexpected byte 0x00", "!unexpected byte 0xff", "!unterminated string"]),
    ("commands", """
let xs = iota 4
def f 'a (x: a) = x
:type map (+ 1) xs
:ty f
:list
:type
:nonsense
:explain def
:q
never
""", ["def xs: [4]i64", "def f 'a (x: a): a", "map (+ 1) xs : [4]i64", "f : a -> a", "def xs: [4]i64", "def f 'a (x: a): a", "!:type: which expression?", "!unknown command ':nonsense'", "!unexpected `def`"]),
    ("names", """
:doc length
-- | One more.
def up (x: i32) = x + 1
:doc up
module M = { module N = { def deep = 1u8 } def up (x: i8) = x }
:list M.N
:do M.up
:doc nobody
:list nobody
:list f16
""", ["~^length: \\[n\\]a -> i64\n\\w+", "def up (x: i32): i32\n", "def up (x: i32): i32\nOne more.\n", "module M\ndef deep: u8\ndef up (x: i8): i8\nf16.+: ", "\nf16.sqrt: f16 -> f16\n",
      "!unknown name `nobody`", "!unknown module `nobody`"]),
    ("explain", """
let xs = iota 1000
def scale [n] (k: i64) (ys: [n]i64) = map (* k) ys
:explain scale
:explain map (+ 1) xs
:explain i64.sum
:explain \\(zss: [][]f32) -> map f32.sum zss
def poly 'a (x: a) = x
:explain poly
""", ["def xs: [1000]i64", "def scale [n] (k: i64) (ys: [n]i64): *[n]i64", "~entry scale\n(?: .*\n)+?.*for each of n ", "~entry it\n(?: .*\n)+?.*for each of 1000 ", "~entry it\n(?: .*\n)+?.*all n in parallel, reduced",
      "~entry it\n(?: .*\n)+?.*suff_outer_par_0", "def poly 'a (x: a): a", "!an entry point cannot be polymorphic"]),
    ("files", """
let before = 1i32
:load none.sf
before
:load wrong.sf
before
:load odd.sf
:load prog.sf
square seven
side
before
let mine = seven + 1
:reload
mine
:load
mine
""", ["def before: i32", "1i32 : i32", "1i32 : i32", "49i32 : i32", "3i32 : i32", "def mine: i32", "def mine: i32", "8i32 : i32", "def mine: i32", "8i32 : i32",
      "!cannot read `none.sf`", "!wrong.sf:1:", "!unknown name `before`", "!odd.sf:1:.*has no effect"]),
]


def compare(out, wants):
    """What is wrong with an output; None: nothing."""
    if not any(w.startswith("~") for w in wants):
        lines = out.splitlines()
        wrong = [(a, b) for a, b in zip(lines, wants) if a != b]
        return f"{wrong[0][0]!r}, not {wrong[0][1]!r}" if wrong else None if len(lines) == len(wants) else f"{len(lines)} lines, not {len(wants)}: {lines}"
    at = 0
    for want in wants:
        found = re.compile(want[1:] if want.startswith("~") else re.escape(want)).search(out, at)
        if not found:
            return f"no {want!r} in {out[at:]!r}"
        at = found.end()
    return None


def run_dialogues(folder):
    for name, text, wants in DIALOGUES:
        data = text if isinstance(text, bytes) else text.encode()
        r = subprocess.run([MINIFUT, "repl"], input=data, capture_output=True, cwd=folder, timeout=60)
        out, said = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
        failing = [w for w in wants if w.startswith("!") and "trace" not in w and "no effect" not in w]
        wrong = compare(out, [w for w in wants if not w.startswith("!")])
        check(wrong is None, f"{name}: {wrong}; said {said[-300:]!r}")
        for w in wants:
            if w.startswith("!"):
                check(re.search(w[1:], said), f"{name}: said {said[-700:]!r}, not {w[1:]!r}")
        check(failing or r.returncode == 0, f"{name}: exit code {r.returncode}")
        if name == "warnings once":
            check(said.count("warning") == 1, f"{name}: {said!r}")
        if name == "values are computed once":
            check(said.count("trace") == 1, f"{name}: {said!r}")


def run_page(folder):
    """What docs/commands.md shows of both; a line of dots stands for whatever there is up to the end."""
    page = (ROOT / "docs" / "commands.md").read_text()
    shown = re.search(r"## minifut eval\n.*?\n```\n(\$.*?)```\n", page, re.S)[1]
    for command, out in re.findall(r"\$ minifut (.*)\n((?:[^$].*\n)*)", shown):
        r = subprocess.run([MINIFUT, *shlex.split(command)], capture_output=True, text=True, timeout=60)
        check(r.stdout == out, f"docs/commands.md: {command}: {r.stdout!r} {r.stderr!r}")
    shown = re.search(r"## minifut repl\n.*?\n```\n(> .*?)```\n", page, re.S)[1]
    typed = re.findall(r"^[>.] ?(.*)\n", shown, re.M)
    r = subprocess.run([MINIFUT, "repl"], input="\n".join(typed), capture_output=True, text=True, cwd=folder, timeout=60)
    want = re.sub(r"^[>.].*\n", "", shown, flags=re.M).split(" " * 8 + "...\n")
    check(r.stdout.startswith(want[0]) and want[1:] == [""], f"docs/commands.md: {r.stdout!r}, not {want}")


def run_many(folder):
    """A session of many definitions, that of a program among its arguments; what imported files were is kept."""
    lines = [f"def f{i} [n] (xs: [n]f32) (k: f32): f32 = f32.sum (map (* k) xs) + {f'f{i - 1} xs k' if i else '0'}" for i in range(60)]
    lines += [f"let a{i} = f{i} [1, 2] 2" for i in range(0, 60, 20)] + ["a0", "a40"]
    r = subprocess.run([MINIFUT, "repl", "prog.sf"], input="\n".join(lines), capture_output=True, text=True, cwd=folder, timeout=120)
    check(r.stdout.endswith("6.0f32 : f32\n246.0f32 : f32\n") and r.returncode == 0, f"many definitions: {r.stdout[-300:]} {r.stderr[-300:]}")
    with subprocess.Popen([MINIFUT, "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder) as p:
        Path(folder, "mended.sf").write_text("def part =\n")
        p.stdin.write(b"let before = 2i32\n:load mended.sf\nbefore\n")
        p.stdin.flush()
        check([p.stdout.readline(), p.stdout.readline()] == [b"def before: i32\n", b"2i32 : i32\n"], "a file that is wrong changes nothing")
        Path(folder, "mended.sf").write_text("def part = 5i32\n")
        p.stdin.write(b":reload\n(part, before)\n")
        p.stdin.close()
        check(p.stdout.read() == b"def before: i32\n(5i32, 2i32) : (i32, i32)\n", "the same, mended and read again")
    r = subprocess.run([MINIFUT, "repl", "wrong.sf"], input="1\n", capture_output=True, text=True, cwd=folder, timeout=60)
    check(r.returncode == 1 and not r.stdout, f"repl of a wrong program: {r}")
    r = subprocess.run([MINIFUT, "repl", "a", "b"], capture_output=True, text=True, cwd=folder, timeout=60)
    check(r.returncode == 2, f"repl of two programs: {r}")
    program = str(ROOT / "examples" / "matmul.sf")
    r = subprocess.run([MINIFUT, "repl", program], input=":explain main\n", capture_output=True, text=True, timeout=60)
    want = subprocess.run([MINIFUT, "explain", program], capture_output=True, text=True, timeout=60)
    check(r.stdout == want.stdout, f":explain main is what `minifut explain` says: {r.stdout[:300]}")
    imported = Path(folder, "later.sf")
    imported.write_text("def later = 1i32\n")
    with subprocess.Popen([MINIFUT, "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as p:
        p.stdin.write(b'import "later"\n1\n')
        p.stdin.flush()
        check(p.stdout.readline() == b"1i32 : i32\n", "an import is followed by an answer")
        imported.write_text("def later = true +\n")
        p.stdin.write(b"later\n")
        p.stdin.close()
        check(p.stdout.read() == b"1i32 : i32\n", "an imported file that changes")


# --- Terminals --------------------------------------------------------------------------------------------------

UP, TAB, ENTER, INTERRUPT, END = "\x1b[A", "\t", "\r", "\x03", "\x04"


class Terminal:
    """A dialogue on a terminal."""

    def __init__(self, folder, term="xterm", args=()):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM=term, HOME=str(folder), XDG_STATE_HOME=f"{folder}/state", LC_ALL="C")
            os.execv(MINIFUT, [MINIFUT, "repl", *args])
        self.shown = ""
        self.expect("or :help\n")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                more = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return False
            self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>(]B?|\r|\x07", "", more)
            return more != ""
        return False

    def expect(self, regex, what=None, seconds=20):
        """Waits until it is shown; what comes behind is for the next time."""
        until = time.monotonic() + seconds
        while not (found := re.search(regex, self.shown)) and time.monotonic() < until:
            self.read(0.1)
        check(found, f"terminal: no {regex!r} ({what or ''}): {self.shown[-500:]!r}")
        self.shown = self.shown[found.end():] if found else ""

    def ask(self, keys, regex, what=None):
        self.type(keys)
        self.expect(regex, what or keys)

    def leave(self):
        """By Ctrl-D, at a prompt: before that the terminal makes something else of it."""
        self.expect("> ")
        self.type(END)
        self.end()

    def end(self, code=0):
        """Waits for its end."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                check(os.waitstatus_to_exitcode(status) == code, f"terminal: ended by {status}")
                break
        else:
            check(False, f"terminal: does not end: {self.shown!r}")
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def children(pid):
    r = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(p) for p in r.stdout.split()]


FOREVER = "loop x = 0 while true do x + 1" + ENTER


def interrupt(t, how):
    """Ends an evaluation that has no end."""
    t.type(FOREVER)
    until = time.monotonic() + 20
    while not (busy := children(t.pid)) and time.monotonic() < until:
        t.read(0.02)
    time.sleep(0.1)
    how(busy)


def run_plain_terminal(folder):
    """Where lines cannot be edited."""
    t = Terminal(folder, term="dumb")
    t.ask("1 + 1" + ENTER, "2i32 : i32\n> ")
    t.ask("def f (x: i32) =" + ENTER, "\\n\\. ")
    t.ask("x + 1" + ENTER, "def f .*\n> ")
    interrupt(t, lambda _: t.type(INTERRUPT))
    t.expect("interrupted\n> ")
    t.ask("7 + (" + ENTER, "\\n\\. ")
    t.ask(INTERRUPT, "> ")
    t.ask("f 7" + ENTER, "8i32 : i32\n")
    t.leave()


def run_editing(folder):
    t = Terminal(folder)
    t.ask("23\x01" + "1" + ENTER, "123i32 : i32", "Ctrl-A")
    t.ask(UP + ENTER, "123i32 : i32", "the line before")
    t.ask("1 + 1" + INTERRUPT, "\\^C", "a line is given up")
    t.ask("5" + ENTER, "\n5i32 : i32", "the line that was given up is gone")
    t.ask('"\u00e9x' + "\x7f" + '"' + ENTER, r"\[195u8, 169u8\] : \[2\]u8", "characters of several bytes")
    t.ask("f32.su" + TAB + " [1,2]" + ENTER, "3.0f32 : f32", "completion of a member")
    t.ask("let speed = 4" + ENTER, "def speed: i32")
    t.ask("spe" + TAB + " + 1" + ENTER, "5i32 : i32", "completion of a definition")
    t.ask("let p = {height = 1, width = 2}" + ENTER, "def p: ")
    t.ask("p.hei" + TAB + ENTER, "1i32 : i32", "completion of a field")
    t.ask("f64.lo" + TAB, "log10 +log1p", "what may be meant")
    t.ask("\x15:ty" + TAB + "speed" + ENTER, "speed : i32", "completion of a command")
    t.ask(":load pro" + TAB + ENTER + "seven" + ENTER, "7i32 : i32", "completion of a file")
    t.ask("M." + TAB + ENTER, "4i32 : i32", "completion of a module's member")
    t.ask("def g (velocity: i32) =" + ENTER, "\\n\\. ", "a text goes on")
    t.ask("velo" + TAB + " + 1" + ENTER, r"def g \(velocity: i32\): i32", "completion of a parameter")
    t.ask(UP + ENTER, r"def g \(velocity: i32\): i32", "both lines come back as one")
    t.ask("(1 +" + ENTER, "\\n\\. ")
    t.ask(ENTER, "ends too early", "an empty line ends a text")
    t.ask("(1 +" + ENTER, "\\n\\. ")
    t.ask(INTERRUPT, "> ", "so does an interrupt")
    t.ask("\x12spee" + ENTER, "unknown name|def speed|4i32|5i32|speed : i32", "search in the history")
    interrupt(t, lambda _: t.type(INTERRUPT))
    t.expect("interrupted", "an evaluation is interrupted")
    interrupt(t, lambda busy: os.kill(busy[0], signal.SIGKILL))
    t.expect("ended by a signal: Killed", "an evaluation is killed")
    t.ask("g 1" + ENTER, "2i32 : i32", "the session goes on")
    t.ask("'" + "x" * 3000 + INTERRUPT, "\\^C", "a long line")
    t.ask("9" + ENTER, "\n9i32 : i32", "behind a long line")
    t.leave()
    check("speed" in Path(folder, "state/minifut/history").read_text(), "the history is kept")
    t = Terminal(folder, args=["prog.sf"])
    t.ask(UP + ENTER, "9i32 : i32", "the history of the time before")
    t.expect("> ")
    before = termios.tcgetattr(t.fd)[3]
    os.kill(t.pid, signal.SIGTERM)
    t.read(0.5)
    check(not before & termios.ICANON and termios.tcgetattr(t.fd)[3] & termios.ICANON, "a terminal is as it was behind a signal")
    t.end(-signal.SIGTERM)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("prog.sf", PROGRAM), ("shapes.sf", SHAPES), ("wrong.sf", "def f = 1 + true\n"), ("odd.sf", "def f (q: *i32) = 3i32\n")):
            Path(folder, name).write_text(text)
        run_eval(folder)
        run_dialogues(folder)
        run_page(folder)
        run_many(folder)
        run_plain_terminal(folder)
        if ctypes.util.find_library("edit"):
            run_editing(folder)
        else:
            checks.skip("libedit2", 30)
    sys.exit(checks.summary())


if __name__ == "__main__":
    main()
