"""Cases: `minifut run --compiled` is like `minifut run`, and leaves no file behind."""
import os
import platform
import re
import shutil
import signal
import subprocess

from box import EXAMPLES, GOOD, HERE, MATRICES, MINIFUT, QUICK, USAGE, USER, WRONG, Failed, Skipped, case, table
from ended import wait_until, while_cc_works
from generated import FAILS, told
from printing import TEXT


def run(box, args, code, err="", stdin="", **env):
    """What it prints. No file may stay, in the folder for temporary ones, either."""
    (box.path / "tmp").mkdir(exist_ok=True)
    return box.minifut(f"run --compiled {args}", code, err, stdin=stdin, env={"TMPDIR": box.path / "tmp", **QUICK, **env})[0]


# --- As interpreted -------------------------------------------------------------------------------------

ENTRIES = "entry main (x: i32): i32 = x + 1\nentry twice [n] (xs: [n]i32): ([n]i32, i64) = (map (* 2) xs, n)\n"
MANY = "[" + ", ".join(str(i) for i in range(5000)) + "]"


def as_interpreted(box, text, args, stdin):
    box.put("p.sf", text)
    got, want = run(box, f"{args} p.sf", 0, stdin=stdin), box.minifut(f"run {args} p.sf", 0, stdin=stdin)[0]
    if got != want or not want:
        raise Failed(f"printed {got!r}, not {want!r}")


table("run compiled", True, [
    ("matrices", (EXAMPLES / "matmul.sf").read_text(), "", MATRICES),
    ("in binary", (EXAMPLES / "matmul.sf").read_text(), "-b", MATRICES),
    ("text", TEXT, "--text", ""),
    ("no text", TEXT, "", ""),
    ("main of several", ENTRIES, "", "41"),
    ("one of several", ENTRIES, "-e twice", MANY),
    ("binary data", ENTRIES, "-e twice", b"b\x02\x01 i32" + (2).to_bytes(8, "little") + b"\1\0\0\0\2\0\0\0"),
    ("the only entry point", "entry f (x: f64): f64 = f64.sqrt x\n", "", "2f64"),
    ("in another mode", ENTRIES, "--flatten=full -e twice", MANY),
    ("after a pass", ENTRIES, "--after=flatten -e twice", MANY),
], as_interpreted)


@case(True)
def run_compiled_from_a_pass(box):
    box.put("p.sf", ENTRIES)
    box.put("p.ir", box.minifut("ir --after=flatten p.sf", 0)[0])
    got = run(box, "--from=simplify-seg -e twice p.ir", 0, stdin="[1, 2]")
    if got != "[2i32, 4i32]\n2i64\n":
        raise Failed(f"printed {got!r}")


# --- Failures ---------------------------------------------------------------------------------------------

def fails(box, entry, stdin, err):
    shutil.copy(HERE / "fails.sf", box.path)
    if run(box, f"-e {entry} fails.sf", USER, told(err), stdin=stdin):
        raise Failed("there are results")


table("run compiled, failure", True, [(e, e, x, m) for e, x, m in FAILS if e in ("div_map", "index_reduce", "host_index")], fails)


@case(True)
def run_compiled_on_wrong_data(box):
    box.put("p.sf", ENTRIES)
    run(box, "-e twice p.sf", USER, r"^p: argument 1 \(xs: \[\]i32\): standard input:1:1: expected", stdin="hello")


def not_run(box, text, args, code, err, env):
    box.put("p.sf", text)
    (box.path / box.put("broken", '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho no program >"$2"\n')).chmod(0o755)
    if run(box, args, code, err, stdin="1", **env):
        raise Failed("there are results")


table("not run compiled", False, [
    ("wrong", WRONG, "p.sf", USER, r"^p.sf:1:\d+: error: ", {}),
    ("no entry point", "def f (x: i32) = x\n", "p.sf", USER, "^the program has no entry point$", {}),
    ("no such entry point", ENTRIES, "-e once p.sf", USER, "^there is no entry point `once`; there are `main`, `twice`$", {}),
    ("none chosen", ENTRIES.replace("main", "next"), "p.sf", USER, "^none of the entry points is `main`; choose one with -e", {}),
    ("too early a pass", GOOD, "--after=fuse p.sf", USER, "code is made from the SEG dialect: pass flatten is missing", {}),
    ("no C compiler", GOOD, "p.sf", USER, "^minifut: the C compiler failed on .*/program.c; is a C compiler installed", {"CC": "/none"}),
    ("a C compiler that fails", GOOD, "p.sf", USER, "^minifut: the C compiler failed on .*/program.c", {"CC": "false"}),
    ("a C compiler that makes none", GOOD, "p.sf", USER, "^minifut: cannot run the program that was built: Exec format error$",
     {"CC": "./broken"}),
    ("no folder", GOOD, "p.sf", USER, "^minifut: cannot make a folder /none/.*: No such file or directory$", {"TMPDIR": "/none"}),
    ("a threshold", GOOD, "--threshold=3 p.sf", USAGE, "^minifut: --threshold is the interpreter's: it does not go with --compiled", {}),
    ("two forms of results", GOOD, "-b --text p.sf", USAGE, "^minifut: -b and --text do not go together", {}),
    ("a name for it", GOOD, "-o p p.sf", USAGE, "unknown option '-o'", {}),
], not_run)


@case(True)
def input_is_not_for_the_C_compiler(box):
    box.put("p.sf", GOOD)
    (box.path / box.put("cc", '#!/bin/sh\ncat >/dev/null\nexec ${QUICK_CC:-cc} "$@"\n')).chmod(0o755)
    got = run(box, "p.sf", 0, stdin="41", CC="./cc")
    if got != "42i32\n":
        raise Failed(f"printed {got!r}")


# --- By tcc --------------------------------------------------------------------------------------------------

# Its own steps in memory, counts of bits and products of 128 bits; threads that wait for each other, and one that fails.
BY_TCC = """entry counted (n: i64): [4]i64 =
  hist (+) 0 4 (map (% 4) (iota n)) (map (\\i -> i64.i32 (i64.popc i - i64.clz i + i64.ctz (i + 1))) (iota n))
entry high (x: u64) (y: i64): (u64, i64, i64) = (u64.mul_hi x x, i64.mul_hi y y, i64.mul_hi y (-3))
entry running (n: i64): i64 = i64.maximum (map2 (*) (iota n) (scan (+) 0 (map (% 3) (iota n))))
entry divided [n] (xs: [n]i32) (k: i32): i32 = i32.sum (map (/ k) xs)
"""


def need_tcc():
    if platform.machine() != "x86_64" or not shutil.which("tcc"):
        raise Skipped("tcc on x86-64")


@case(True)
def by_tcc(box):
    need_tcc()
    box.put("p.sf", BY_TCC)
    for flags in ("", "--portable "):
        box.minifut(f"compile --force {flags}p.sf", 0, leaves=["p", "p.c"], env={"CC": "tcc"})
        for entry, stdin in (("counted", "100000"), ("high", "18446744073709551557u64 -9223372036854775807"), ("running", "1000000")):
            want, _ = box.minifut(f"run -e {entry} p.sf", 0, stdin=stdin)
            box.run(["./p", "-e", entry, "--threads=3"], 0, stdin=stdin, out="^" + re.escape(want) + "$")
        box.run(["./p", "-e", "divided", "--threads=3"], USER, "division by zero", stdin=MANY + " 0")


@case(True)
def libraries_are_not_for_tcc(box):
    need_tcc()
    box.put("p.sf", GOOD)
    box.minifut("compile --library p.sf", 0, leaves=["p.c", "p.h", "p.json"])
    box.run(["tcc", "-c", "p.c"], 1, "tcc has no variables of a thread, which libraries need")


# --- Signals ----------------------------------------------------------------------------------------------

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
table("run compiled, ended while it is built", False,
      [(sig.name, "run --compiled p.sf", sig, GOOD, 1, False) for sig in SIGNALS], while_cc_works)


def ended(box, sig):
    """The process is the program by then."""
    box.put("p.sf", "entry main (x: i32): i32 = loop y = x while y != 0 do y * 3 + 2 * y\n")
    tmp = box.path / "tmp"
    tmp.mkdir()
    p = subprocess.Popen([MINIFUT, "run", "--compiled", "p.sf"], cwd=box.path, stdin=subprocess.PIPE,
                         env={**os.environ, "TMPDIR": str(tmp)})
    p.stdin.write(b"1")
    p.stdin.close()

    def begun():
        if p.poll() is not None:
            raise Failed(f"the program has ended with {p.returncode}")
        try:
            return os.readlink(f"/proc/{p.pid}/exe").endswith(" (deleted)")
        except FileNotFoundError:  # it is about to be another one, or ended
            return False

    try:
        wait_until(begun, "the program does not begin")
        left = list(tmp.iterdir())
        p.send_signal(sig)
        code = p.wait(timeout=60)
    finally:
        p.kill()
    if left or code != -sig:
        raise Failed(f"left {left}, exit code {code}")


table("run compiled, ended", True, [(sig.name, sig) for sig in (*SIGNALS, signal.SIGKILL)], ended)


# --- Memory -----------------------------------------------------------------------------------------------

@case(True)
def strips_keep_less(box):
    """With a nest for a loop, its derivative needs less memory the deeper the nest is, for the same numbers."""
    steps = "loop ys = xs for i < k do map2 (\\x y -> f32.sin (x * y)) xs (rotate 1 ys)"
    entries = [f"entry deep{n} [m] (k: i64) (xs: [m]f32) = vjp (\\xs -> {strips} {steps}) xs xs"
               for n, strips in enumerate(("", "#[stripmine(2)]", "#[stripmine(3)]"))]
    box.put("p.sf", "\n".join(entries) + "\n")
    box.minifut("compile p.sf", 0, leaves=("p", "p.c"), env=QUICK)
    peaks, results = [], set()
    for n in range(3):
        given = "1000i64 [" + ", ".join(f"0.{i:03}f32" for i in range(100)) + "]"
        out, err = box.run([box.path / "p", "-e", f"deep{n}", "-D"], 0, "Peak device memory", stdin=given,
                           env={"MINIFUT_DRIVER": "native"})
        peaks.append(int(re.search(r"Peak device memory: (\d+)", err)[1]))
        results.add(out)
    # 1000 turns of 400 bytes; 32 strips of 32 turns; 16 of 64, of 8 times 8
    for peak, turns in zip(peaks, (1000, 64, 32)):
        if not turns * 400 <= peak <= (turns + 30) * 512:
            raise Failed(f"{peaks} bytes for all turns, two loops, and three")
    if len(results) != 1:
        raise Failed("the results differ")


@case(False)
def no_size_without_iterations(box):
    """What an iteration would compute as a size may be below 0 where there is none: derivatives must not ask for such arrays."""
    box.put("p.sf", """entry main [n][m] (xs: [n]f64) (ys: [m]f64): [n]f64 =
  let largest (xs: [n]f64) = if n >= 1 then f64.maximum (map (* 1) xs[1:n]) else 0.5
  in vjp (\\xs -> map (\\y -> map (\\_ -> copy (map (+ y) ys) with [0] = largest xs) (iota n)) ys) xs (map (\\_ -> map (const ys) xs) ys)
""")
    for xs, ys, want in (("empty([0]f64)", "[1f64]", "empty([0]f64)"), ("[1f64]", "[1f64]", r"\[0.0f64\]"), ("[1f64, 2]", "[3f64]", r"\[0.0f64, 6.0f64\]")):
        box.minifut("run p.sf", 0, out=f"^{re.escape(want) if want[0] == 'e' else want}$", stdin=f"{xs} {ys}")
