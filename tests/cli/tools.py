"""Cases: tune and bench."""
import fcntl
import gzip
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

import checks
from box import GCC, HOSTILE, MATRICES, MINIFUT, USER, WRONG, Failed, case, table


# --- tune and bench --------------------------------------------------------------------------------------------

def folder(box, files):
    (box.path / "d").mkdir()
    for name, text in files.items():
        box.put("d/" + name, text)


def tool(box, what, files, args, code, err):
    box.use("matmul")
    if files is not None:
        folder(box, files)
    box.put("bad.tuning", "main.suff_outer_par_0=many\n")
    box.put("odd.tuning", "main.nobody=5\n")
    box.minifut(f"{what} --skip-compilation matmul.sf d {args}", code, err)


GOOD_OUT = "[[19f32, 22], [43, 50]]"
for what in ("tune", "bench"):
    table(what, True, [
        ("no folder", what, None, "", USER, f"{what}: cannot read folder d: No such file"),
        ("empty folder", what, {}, "", USER, f"{what}: d holds no data sets"),
        ("only other files", what, {"a.txt": "1", "b.out": "2"}, "", USER, "d holds no data sets"),
        ("truncated", what, {"a.in": MATRICES[:-2]}, "", USER, "d/a.in.*expected ',' or '\\]', got end of input"),
        ("mistyped", what, {"a.in": MATRICES.replace("5f32", "5i32")}, "", USER,
         "d/a.in: .*expected f32, got a literal of type i32"),
        ("too few values", what, {"a.in": "[[1f32]]"}, "", USER, "d/a.in: .*expected a value, got end of input"),
        ("too many values", what, {"a.in": MATRICES + " 3"}, "", USER, "d/a.in: data after the last input of main"),
        ("sizes that disagree", what, {"a.in": "[[1f32]] [[1f32],[2]]"}, "", USER,
         r"argument 2 \(yss\): size m is 2 here, but 1 before"),
        ("broken gzip", what, {"b.in.gz": gzip.compress(MATRICES.encode(), mtime=0)[:25]}, "", USER, "d/b.in.gz"),
        ("mistyped result", what, {"a.in": MATRICES, "a.out": "[[1i32]]"}, "", USER,
         "d/a.out:1:3: expected f32, got a literal of type i32"),
        ("result of another shape", what, {"a.in": MATRICES, "a.out": "[[19f32, 22]]"}, "", USER,
         r"wrong result 0: a value of type \[2\]\[2\]f32, expected \[1\]\[2\]f32"),
        ("wrong result", what, {"a.in": MATRICES, "a.out": GOOD_OUT.replace("43", "44")}, "", USER,
         r"wrong result 0: \[1\]\[0\]: 43.0f32, expected 44.0f32"),
        ("two results", what, {"a.in": MATRICES, "a.out": GOOD_OUT + " 1"}, "", USER,
         "d/a.out: data after the last result of main"),
        ("no such device", what, {"a.in": MATRICES}, "-d nonesuch", USER, "no device matches"),
        ("no such entry point", what, {"a.in": MATRICES}, "-e nobody", USER, "has no entry point 'nobody'"),
    ], tool)
table("tune", True, [
    ("unwritable file", "tune", {"a.in": MATRICES}, "-o matmul.sf/t", USER, "cannot write matmul.sf/t: Not a directory"),
    ("file is a folder", "tune", {"a.in": MATRICES}, "-o d", USER, "cannot write d: Is a directory"),
    ("no folder for the file", "tune", {"a.in": MATRICES}, "-o none/t", USER, "cannot write none/t: No such file"),
    ("no weights", "tune", {"a.in": MATRICES}, "--weights none", USER, "cannot read none: No such file"),
    ("weight of nothing", "tune", {"a.in": MATRICES, "w": "a 1\n\nb 2\n"}, "--weights d/w", USER,
     "d/w:3: there is no data set b"),
    ("no weight", "tune", {"a.in": MATRICES, "w": "a much\n"}, "--weights d/w", USER,
     "d/w:1: expected a data set's name and its weight"),
    ("weights of nought", "tune", {"a.in": MATRICES, "w": "a 0\n"}, "--weights d/w", USER, "d/w: no data set has a weight"),
    ("unwritable JSON", "tune", {"a.in": MATRICES}, "--json none/t", USER, "cannot write none/t: No such file"),
    ("unwritable page", "tune", {"a.in": MATRICES}, "--report d", USER, "cannot write d: Is a directory"),
], tool)
table("bench", True, [
    ("broken tuning file", "bench", {"a.in": MATRICES}, "--tuning bad.tuning", USER,
     "bad.tuning:1: expected name=number"),
    ("unknown name in the tuning file", "bench", {"a.in": MATRICES}, "--tuning odd.tuning", 0,
     "warning: odd.tuning: the program has no parameter main.nobody"),
    ("missing tuning file", "bench", {"a.in": MATRICES}, "--tuning none", USER, "cannot read none: No such file"),
    ("unwritable page", "bench", {"a.in": MATRICES}, "--report none/x", USER, "cannot write none/x: No such file"),
    ("unwritable JSON", "bench", {"a.in": MATRICES}, "--json none/x", USER, "cannot write none/x: No such file"),
], tool)


@case(False)
def tune_a_missing_program(box):
    box.put("d/a.in", "1")
    box.minifut("tune p.sf d", USER, "tune: cannot read p.sf")
    box.minifut("bench p.sf d", USER, "bench: cannot read p.sf")


@case(False)
def tune_a_wrong_program(box):
    box.put("p.sf", WRONG)
    box.put("d/a.in", "1")
    box.minifut("tune p.sf d", USER, r"^p.sf:1:\d+: error: ")


@case(True)
def bench_says_WRONG(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES, "a.out": GOOD_OUT.replace("43", "44"), "b.in": MATRICES, "b.out": GOOD_OUT})
    box.minifut("bench --skip-compilation --json r.json matmul.sf d", USER, "a: wrong result",
                out=r"^a +WRONG(.|\n)*^b .*right", leaves=["r.json"])


@case(True)
def bench_goes_on_after_a_broken_data_set(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES[:-3], "b.in.gz": gzip.compress(MATRICES.encode(), mtime=0),
                 "b.out": GOOD_OUT})
    box.minifut("bench --skip-compilation matmul.sf d", USER, "a: d/a.in: ", out=r"^a +FAILS(.|\n)*^b .*right")


MADE = """
-- ==
%s
type pair 'a = {first: a, second: [2]a}
type~ sized = {k: f32, xs: []i64}
entry twice (n: i64): ([n]i64, i64) = (iota n, n)
entry up_to (n: i64) = iota n
entry bytes (xs: []u8) = map i64.u8 xs
entry sized (s: sized): sized = {k = s.k * 2, xs = map (+ 1) s.xs}
entry xs_of (s: sized) = map (+ i64.f32 s.k) s.xs
entry of_pair (p: (i32, f64)) = [i64.i32 p.0, i64.f64 p.1]
entry eat (xs: *[]i64) = xs with [0] = 5
entry down (k: i64) = [1 / k]
entry main [n] (xs: [n]i64) (k: i64) = i64.sum xs + k
entry eats (xs: *[]i64) (ys: []i64) = (xs with [0] = ys[1], i64.sum ys)
entry one (p: (i32, f64)) = p.0
"""
SCRIPTS = {
    "main": [
        ("twice 10", "55i64"), ("(up_to 5, 7)", "17i64"), ("let n = 10 in (up_to n, 3)", "48i64"),
        ("let (xs, n) = twice 4 in (xs, n)", "10i64"), ('$loaddata "two.data"', "8i64"),
        ('let (a, b) = $loaddata "two.data" in (a, b)', "8i64"), ('(bytes ($loadbytes "h.txt"), 1)', "210i64"),
        ('(bytes "hi", -- a comment\n-- 1)', "210i64"), ("([1, 2, 3], 4i8)", "10i64"),
        ("let s = sized {k = 2, xs = [1i64, 2]} in (xs_of s, 0)", "13i64"), ("(xs_of {xs = [1], k = 2.5}, 0)", "3i64"),
        ("(of_pair (3, 4.5), 1)", "8i64"), ("(eat (up_to 3), 1)", "9i64")],
    "eats": [("let a = up_to 3 in (a, a)", "[1i64, 1, 2] 3i64")],
    "one": [("(7, 1)", "7i32")],
}
BAD_SCRIPTS = [
    ("f 3", "p.sf:4:19: script input: `f` is no entry point of the program"),
    ("twice 1 2", "p.sf:4:19: script input: `twice` takes 1 argument, not 2"),
    ("(1.5, 2)", "p.sf:4:19: script input: this is of type f64, but \\[\\]i64 is needed"),
    ("(up_to true, 3)", "p.sf:4:26: script input: this is of type bool, but i64 is needed"),
    ("(up_to 128u8, 3)", "p.sf:4:26: script input: this is of type u8, but i64 is needed"),
    ("up_to 4", "p.sf:4:19: script input: this is of type \\[\\]i64, but `main` takes 2 inputs"),
    ("(1, 2, 3)", r"p.sf:4:19: script input: this is of type \(i32, i32, i32\), but `main` takes 2 inputs"),
    ("let (a, b, c) = twice 5 in (a, 2)", r"p.sf:4:35: script input: this is of type \(\[\]i64, i64\), for 3 names"),
    ("let a = 1 in (a 2, 3)", "p.sf:4:33: script input: `a` is no function"),
    ("(xs_of {k = 3}, 2)", r"p.sf:4:26: script input: this is of type \{k: i32\}, but sized is needed"),
    ("(xs_of (1, [2]), 2)", r"p.sf:4:26: script input: this is of type .*, but sized is needed"),
    ("(down 0, 2)", r"p.sf:4:20: script input: down failed: Error: division by zero \(p.sf:31:24\)"),
    ("let a = up_to 3 in let b = eat a in (a, 1)", "p.sf:4:19: script input: making an input failed: Variable was consumed"),
    ('(bytes ($loaddata "torn.data"), 2)', "p.sf:4:27: script input: torn.data:1:.*got end of input"),
]


@case(True)
def scripts_make_inputs(box):
    """By the program's server, in bench and tune; as the interpreter has them in `minifut test`."""
    for name, text in (("two.data", "[1i32, 2] 5i16"), ("h.txt", "hi"), ("torn.data", "[1")):
        box.put(name, text)
    cases = ["-- entry: %s\n" % entry + "\n".join(f"-- script input {{ {exp} }} output {{ {out} }}" for exp, out in some)
             for entry, some in SCRIPTS.items()]
    box.put("p.sf", MADE % "\n".join(cases))
    box.minifut("compile p.sf", 0, leaves=["p", "p.c"], env={"CFLAGS": "-O0"})
    n = sum(map(len, SCRIPTS.values()))
    box.minifut("test -i p.sf", 0, out=f"^{n + 1} passed, 0 failed")
    for entry, some in SCRIPTS.items():
        box.minifut(f"bench --skip-compilation -e {entry} p.sf", 0, out=r"(.*\bright\n){%d}" % len(some))
    box.minifut("tune --skip-compilation p.sf", 0, out="^main: .*, %d data sets" % len(SCRIPTS["main"]), leaves=["p.sf.tuning"])
    for exp, wrong in BAD_SCRIPTS:
        box.put("p.sf", MADE % f"-- entry: main\n-- script input {{ {exp} }}\n-- script input {{ twice 3 }} output {{ 6i64 }}")
        box.minifut("bench --skip-compilation p.sf", USER, wrong, out="FAILS(.|\n)*right")


@case(True)
def scripts_are_not_profiled(box):
    """What makes the inputs is no part of a run: memory, kernels and transfers are those of the same inputs as values."""
    box.put("p.sf", """-- ==
-- "script" script input { (made 1000000, 7) }
-- "values" input { [499999500000i64] 7i64 }
entry made (n: i64) = [i64.sum (scan (+) 0 (map (% 2) (iota n)))]
entry main (xs: []i64) (k: i64) = map (+ k) xs
""")
    box.minifut("profile --json r.json --trace t.json p.sf", 0, leaves=["p", "p.c", "r.json", "t.json"], env={"CFLAGS": "-O0"})
    script, values = json.loads((box.path / "r.json").read_text())["datasets"]
    for what in (lambda d: d["peak_bytes"] < 200000, lambda d: d["results"]["bytes"], lambda d: [k["name"] for k in d["kernels"]]):
        if what(script) != what(values):
            raise Failed(f"{what(script)}, not {what(values)}")
    if "_made" in (box.path / "t.json").read_text():
        raise Failed("the script's kernels are in the trace")


# Entry points with what their kernels must move and compute, on the inputs: bytes, operations on floats.
WORK = """
-- ==
-- entry: mapped
-- input { [1f32, 2f32, 3f32] [4f32, 5f32, 6f32] }
entry mapped [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (\\x y -> f32.exp x * y + 1) xs ys
-- ==
-- entry: fused
-- input { [1f32, 2f32, 3f32] }
entry fused [n] (xs: [n]f32): f32 = f32.sum (map (\\x -> f32.fma x x 1) xs)
-- ==
-- entry: looped
-- input { 7 [1f32, 2f32, 3f32] }
entry looped [n] (k: i32) (xs: [n]f32): [n]f32 = map (\\x -> loop x for _i < k do f32.sqrt (x + 1)) xs
-- ==
-- entry: branched
-- input { 7 [1f32, 2f32] }
entry branched [n] (k: i32) (xs: [n]f32): [n]f32 =
  map (\\x -> if x > 1 then loop x for _i < k do x * x + 1 else loop x for _i < k do x - 1) xs
-- ==
-- entry: while_looped
-- input { [1f64, 2f64] }
entry while_looped [n] (xs: [n]f64): [n]f64 = map (\\x -> loop x while x < 100 do x * 2 + 1) xs
-- ==
-- entry: gathered
-- input { [1f32, 2f32, 3f32, 4f32, 5f32] [4i64, 0i64] }
-- input { [1f32, 2f32] [1i64, 0i64, 1i64] }
entry gathered [n] [k] (xs: [n]f32) (is: [k]i64): [k]f32 = map (\\i -> xs[i]) is
-- ==
-- entry: neighbours
-- input { [1f32, 2f32, 3f32] }
entry neighbours [n] (xs: [n]f32): [n]f32 =
  tabulate n (\\i -> xs[i64.max 0 (i - 1)] + xs[i] + xs[i64.min (n - 1) (i + 1)])
-- ==
-- entry: product
-- input { [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]] [[1f32], [2f32], [3f32]] }
entry product [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
-- ==
-- entry: counted
-- input { [0i64, 2i64, 2i64, 9i64] }
entry counted [n] (is: [n]i64): [3]i32 = hist (+) 0 3 is (replicate n 1)
-- ==
-- entry: put
-- input { [0i64, 2i64] [5f32, 6f32] }
entry put [n] (is: [n]i64) (xs: [n]f32): [4]f32 = scatter (replicate 4 0) is xs
-- ==
-- entry: turned
-- input { [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]] }
entry turned [n][m] (xss: [n][m]f32): [m][n]f32 = copy (transpose xss)
-- ==
-- entry: nothing
-- input { empty([0]f32) empty([0]f32) }
entry nothing [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (+) xs ys
"""
WORKS = {"mapped": [(3 * 12, 3 * 3)], "fused": [(3 * 4 + 4, 3 * 3)], "looped": [(3 * 8, 7 * 2 * 3)],
         "branched": [(2 * 8, 7 * 2 * 2)], "while_looped": [(2 * 16, 2 * 2)],
         "gathered": [(2 * (4 + 8 + 4), 0), (8 + 3 * (8 + 4), 0)], "neighbours": [(3 * 8, 3 * 2)],
         "product": [(4 * (6 + 3 + 2), 2 * 6)], "counted": [(3 * 4 * 2 + 4 * 8, 0)], "put": [(2 * (8 + 4 + 4), 0)],
         "nothing": [(0, 0)], "turned": [(0, 0)]}


@case(True)
def bench_roofline_counts_work(box):
    box.put("w.sf", WORK)
    for entry, want in WORKS.items():
        skip = "--skip-compilation" if entry != "mapped" else ""
        made = ["w", "w.c"] if entry == "mapped" else []
        heading = r"^ceilings: 1 GB/s, 0.002 GFLOP/s(.|\n)*^  kernel +launches +us +us lost +MB +GB/s +MFLOP +GFLOP/s +%"
        box.minifut(f"bench {skip} --roofline --gbs 1 --gflops 0.002 --json r.json -e {entry} w.sf", 0, out=heading,
                    leaves=["r.json", *made] if made else [])
        report = json.loads((box.path / "r.json").read_text())
        tables = [d["roofline"] for d in report["datasets"].values()]
        own = [[r for r in rows if not r["kernel"].startswith("mf_")] for rows in tables]
        got = [(sum(r["bytes"] for r in rows if r["place"]), sum(r["operations"] for r in rows)) for rows in own]
        if got != want:
            raise Failed(f"{entry}: {got}, not {want}: {tables}")
        copies = [sum(r["bytes"] for r in rows if r["place"].startswith("built-in")) for rows in tables]
        if entry in ("turned", "put") and copies != [2 * 4 * 6 if entry == "turned" else 4 * 4]:
            raise Failed(f"{entry}: built-in kernels move {copies} bytes: {tables}")
        for rows in tables:
            if rows != sorted(rows, key=lambda r: -r["lost_us"]):
                raise Failed(f"{entry}: not in order: {rows}")
        for r in sum(own, []):
            least = max(r["bytes"] / 1e3, r["operations"] / 2)
            if (abs(r["lost_us"] - max(0, r["us"] - least)) > 0.01 or
                    abs(r["share"] * r["us"] - least) > 0.001 * (1 + least + r["share"])):
                raise Failed(f"{entry}: {r}")


@case(True)
def bench_roofline_measures_ceilings(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES, "a.out": GOOD_OUT})
    out, _ = box.minifut("bench --skip-compilation --roofline --gflops 123 --json r.json matmul.sf d", 0,
                         out=r"^ceilings: [0-9.]+ GB/s, 123 GFLOP/s(.|\n)*^a .*right(.|\n)*matmul.sf:8:[0-9]+$",
                         leaves=["r.json"])
    top = json.loads((box.path / "r.json").read_text())["ceilings"]
    if not 0.001 < top["gbs"] < 1e5 or top["gflops"] != 123:
        raise Failed(f"ceilings {top}")


@case(True)
def tune_writes_and_bench_reads(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES, "a.out": GOOD_OUT})
    box.put("matmul.sf.tuning", "other.suff_outer_par_0=7\nnonsense\n")
    box.minifut("tune --skip-compilation --only=thresholds matmul.sf d", USER, "matmul.sf.tuning is there and was not made by")
    box.minifut("tune --skip-compilation --only=thresholds --force matmul.sf d", 0, "matmul.sf.tuning:2: .*written anew",
                out="4 thresholds, 1 data set")
    text = (box.path / "matmul.sf.tuning").read_text()
    lines = [line for line in text.splitlines() if line.startswith("main")]
    if len(lines) > 4 or not all(re.fullmatch(r"main\.suff_(outer|intra)_par_[0-3]=\d+", line) for line in lines):
        raise Failed(f"the tuning file holds {text!r}")
    box.minifut("bench --skip-compilation matmul.sf d", 0, "no parameter other.suff_outer_par_0", out="^a .*right")
    if not re.match(r"-- thresholds and sizes of matmul.sf, .* on d\n-- device: .+\n-- program: [0-9a-f]{16}\n", text):
        raise Failed(f"the tuning file begins {text[:300]!r}")


@case(True)
def tune_on_a_terminal(box):
    """A line that changes, never wider than the terminal, and is gone in the end."""
    box.use("matmul")
    folder(box, {"a.in": MATRICES})
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    p = subprocess.Popen([MINIFUT, "tune", "--skip-compilation", "matmul.sf", "d"], cwd=box.path, stderr=its,
                         stdout=subprocess.PIPE)
    os.close(its)
    out, said = p.communicate(timeout=120)[0], b""
    try:
        while more := os.read(ours, 4096):
            said += more
    except OSError:  # its end
        pass
    os.close(ours)
    first, *lines, last = said.decode().split("\r\x1b[K")
    last = checks.timeless(last)
    if p.returncode or b"written to" not in out or first or last or max(map(len, lines)) > 59:
        raise Failed(f"{p.returncode}: {said!r}")
    if not re.fullmatch(r"\[1/\d+\] a: trying .*; \d+ (s|min) gone", lines[0]) or "; best so far " not in "".join(lines):
        raise Failed(f"showed {lines}")


@case(True)
def tuning_holds_for_a_program_and_a_device(box):
    """What is tuned is taken without a word, but not on another device or by a changed program."""
    box.use("matmul")
    folder(box, {"a.in": MATRICES})
    box.minifut("tune --skip-compilation matmul.sf d", 0, out="written to", leaves=["matmul.sf.tuning"])
    tuned = ["./matmul", "--tuning", "matmul.sf.tuning"]
    box.run(tuned, 0, stdin=MATRICES)
    text = (box.path / "matmul.sf.tuning").read_text()
    bench = "bench --skip-compilation matmul.sf d"
    box.minifut(bench, 0, out="^a .*versions agree")
    box.put("matmul.sf.tuning", re.sub(r"^-- device: .*", "-- device: Abacus %s", text, flags=re.M))
    box.minifut(bench, 0, "^minifut bench: warning: matmul.sf.tuning: tuned on another device: Abacus %s\n$", out="^a .*x")
    box.run(tuned, 0, "^matmul.sf.tuning:2: warning: tuned on another device: Abacus %s\n$", stdin=MATRICES)
    box.put("matmul.sf.tuning", text)
    source = (box.path / "matmul.sf").read_text()
    box.put("matmul.sf", "-- Moved.\n" + source)
    box.minifut("compile matmul.sf", 0, env={"CFLAGS": "-O0"}, leaves=["matmul.c"])
    box.run(tuned, 0, stdin=MATRICES)
    box.put("matmul.sf", source.replace("map2 (*)", "map2 (\\x y -> x * y * x)"))
    box.minifut("compile matmul.sf", 0, env={"CFLAGS": "-O0"})
    box.run(tuned, 0, "^matmul.sf.tuning:3: warning: tuned for another version of the program\n$", stdin=MATRICES)
    box.minifut(bench, 0, "^minifut bench: warning: matmul.sf.tuning: tuned for another version of the program\n$")


ONE = "entry one [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss\n"
# The same entry, written otherwise and elsewhere, beside others.
MOVED = """-- A comment.
entry zero [n] (xs: [n]i32): i32 = reduce (*) 1 xs
entry one [k][l] (yss: [k][l]i32): [k]i32 =
  map (\\ys -> reduce (+) 0 ys) yss
"""


@case(True)
def measurements_hold_for_an_entry(box):
    """What else the program does is of no account; a tuning is of the program as it was, which is not warned of here."""
    folder(box, {"a.in": "[[1, 2], [3, 4]]"})
    out = {}
    for name, text in ("first", ONE), ("moved", MOVED), ("changed", MOVED.replace("(+) 0", "(+) 1")):
        box.put("p.sf", text)
        out[name], _ = box.minifut("tune -e one p.sf d", 0, leaves=["p", "p.c", "p.sf.tuning"], env={"CFLAGS": "-O0"})
    again = {name: "of the measurements are from p.sf.tuning.log" in text for name, text in out.items()}
    if again != {"first": False, "moved": True, "changed": False}:
        raise Failed(f"measured before: {again}")
    log = [line for line in (box.path / "p.sf.tuning.log").read_text().splitlines() if line.startswith("#")]
    if len(log) != 2:
        raise Failed(f"the log is of {log}")


@case(True)
def tune_goes_on_after_broken_data_sets(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES, "b.in": MATRICES[:-3], "c.in": "[[1f32]] [[1f32],[2]]", "d.in": MATRICES})
    box.minifut("tune --skip-compilation --only=thresholds matmul.sf d", USER, r"d/b.in.*: left out\n(.|\n)*no version runs on c: left out",
                out="4 thresholds, 2 data sets(.|\n)*written to", leaves=["matmul.sf.tuning"])


@case(True)
def hostile_names_everywhere(box):
    sub, name = HOSTILE
    path = f"{sub}/{name}.sf"
    box.put(path, "-- ==\n-- input { [1] } output { [10] }\n-- input { [0] } error: "
            "entry main [n] (xs: [n]i32) = map (\\x -> 10 / x) xs\n".replace("error: ", "error: by zero\n"))
    box.put(f"{sub}/{name}/{name}.in", "[1, 2]")
    box.put(f"{sub}/{name}/{name}.out", "[10, 5]")
    tmp = box.path / "a b$(touch c)"
    tmp.mkdir()
    env = GCC | {"TMPDIR": tmp, "CFLAGS": "-O0"}
    made = [f"{sub}/{name}.c", f"{sub}/{name}_.c", f"{sub}/{name}_"]
    box.run([MINIFUT, "compile", "-o", f"{sub}/{name}_", "--", path], 0, leaves=made[1:], env=env)
    box.run([str(box.path / made[2])], USER, "^Error: division by zero\n" + re.escape(path.replace("\n", "?")) + r":4:\d+:$",
            stdin="[0]")
    box.run([MINIFUT, "test", "--", path], 0, out="^6 passed", env=env)
    data = f"{sub}/{name}"
    box.path.joinpath(f"{sub}/p").mkdir()
    shutil.copy(box.path / path, box.path / sub / "p" / f"{name}.sf")
    path = f"{sub}/p/{name}.sf"
    box.run([MINIFUT, "tune", "--only=thresholds", "--", path, data], 0, out="1 data set", env=env,
            leaves=[f"{sub}/p/{name}", f"{sub}/p/{name}.c", path + ".tuning"])
    box.run([MINIFUT, "bench", "--skip-compilation", "--json", "r.json", "--", path, data], 0, out="right", env=env,
            leaves=["r.json"])
    if json.loads((box.path / "r.json").read_text())["program"] != path:
        raise Failed("the report has another program")


@case(True)
def tune_by_every_strategy(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES, "b.in": MATRICES, "weights": "a 0.5\n\nb 2\n"})
    box.minifut("tune --skip-compilation --only=thresholds --strategy=all --objective=sum --weights d/weights matmul.sf d", 0,
                out=r"^monotone +\d+ runs .* a .* b .*\nexhaustive: 5 combinations of paths, of 10 paths\n"
                    r"exhaustive +\d+ runs .* a .* b .*\nstochastic +\d+ runs .* a .* b (.|\n)*written to", leaves=["matmul.sf.tuning"])


@case(True)
def tune_an_entry_with_a_long_name(box):
    name = "ab" * 200
    box.put("p.sf", f"-- ==\n-- entry: {name}\n-- input {{ [[1, 2], [3, 4]]}}\n"
            f"entry {name} [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss\n")
    box.minifut("tune p.sf", 0, out=r"(\d) thresholds(.|\n)*same versions|x", leaves=["p", "p.c", "p.sf.tuning"],
                env={"CFLAGS": "-O0"})
    lines = [line for line in (box.path / "p.sf.tuning").read_text().splitlines() if not line.startswith("-- ")]
    if not all(re.fullmatch(rf"{name}\.suff_(outer|intra)_par_\d=\d+", line) for line in lines):
        raise Failed("the tuning file has other thresholds")
    box.minifut("bench --skip-compilation p.sf", 0, out="versions agree")


@case(True)
def a_long_comment_in_a_tuning_file(box):
    box.use("matmul")
    folder(box, {"a.in": MATRICES})
    box.put("matmul.sf.tuning", "-- " + "x = y " * 1000 + "\nmain.suff_outer_par_0=1\n")
    box.minifut("bench --skip-compilation matmul.sf d", 0, out="versions agree")


@case(True)
def the_star_of_devices(box):
    shown = box.minifut("devices", 0)[0]
    box.run([box.binary("matmul"), "-D"], 0, "Using device: " + re.escape(re.findall(r"^\* (.*)$", shown, re.M)[0]),
            stdin=MATRICES)


def interrupted(box, what, sig):
    """Stops a tool in the middle of its runs."""
    box.use("mapscan")
    (box.path / "d").mkdir()
    with open(box.path / "d/a.in", "wb") as f:
        subprocess.run([MINIFUT, "dataset", "-b", "-g", "[3000][3000]i32"], stdout=f, check=True)
    box.put("mapscan.sf.tuning", "main.suff_outer_par_0=7\n")
    (box.path / "tmp").mkdir()
    before = box.files()
    p = subprocess.Popen([MINIFUT, what, "--skip-compilation", "mapscan.sf", "d"], cwd=box.path,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": "tmp"})
    deadline = time.monotonic() + 60
    while not list((box.path / "tmp").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)  # until its session is open
    time.sleep(0.3)
    p.send_signal(sig)
    _, err = p.communicate(timeout=120)
    if p.returncode != USER or b"interrupted" not in err:
        raise Failed(f"exit code {p.returncode}: {err.decode()[-500:]}")
    if (box.path / "mapscan.sf.tuning").read_text() != "main.suff_outer_par_0=7\n":
        raise Failed("the tuning file was changed")
    if box.files() - {"mapscan.sf.tuning.log"} != before:
        raise Failed(f"left {sorted(box.files() - before)}")


table("interrupted", True, [(f"{w} {s.name}", w, s) for w in ("tune", "bench")
                            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)], interrupted)


OWN = """-- ==
-- input { [1f32, 2, 3, 4, 5] } output { [3f32, 7] }
def block : i64 = #[param(block)] 4
entry main (xs: []f32) : []f32 =
  let n = length xs / block
  in map f32.sum (unflatten (take (n * block) xs :> [n * block]f32))
"""


@case(True)
def parameters_of_the_program_itself(box):
    """`#[param(block)]`: listed, set by option and file, and by nobody else: bench takes it from the file, tune keeps it."""
    box.put("p.sf", OWN)
    box.put("p.sf.tuning", "block=2\n")
    box.minifut("compile p.sf", 0, leaves=["p", "p.c"])
    box.run(["./p", "--print-params"], 0, out=r"^block \(user\)$")
    xs = "[1f32, 2, 3, 4, 5]"
    box.run(["./p"], 0, out=r"^\[10.0f32\]$", stdin=xs)
    box.run(["./p", "--param", "block=3"], 0, out=r"^\[6.0f32\]$", stdin=xs)
    box.run(["./p", "--tuning", "p.sf.tuning"], 0, out=r"^\[3.0f32, 7.0f32\]$", stdin=xs)
    box.run(["./p", "--param", "blok=3"], USER, "unknown tuning parameter: blok; did you mean 'block'", stdin=xs)
    box.run(["./p", "--param", "block=-3"], USER, "expected NAME=INT", stdin=xs)
    box.minifut("run p.sf", 0, out=r"^\[10.0f32\]$", stdin=xs)
    box.minifut("bench --skip-compilation p.sf", 0, out="right")
    box.minifut("tune --skip-compilation -q p.sf", 0, out="written to p.sf.tuning")
    if "block=2\n" not in (box.path / "p.sf.tuning").read_text():
        raise Failed("tune did not keep block=2")
    box.put("none.tuning", "")
    box.minifut("bench --skip-compilation p.sf --tuning none.tuning", USER, "wrong result", out="WRONG")
