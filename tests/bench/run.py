"""The runners of bench/: what they compute, and two commits measured side by side on small sizes.
usage: run.py MINIFUT"""
import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / folder) for folder in ("bench", "bench/primitives", "bench/ranks", "bench/derivatives", "tests")]
from checks import check, need_modules, summary  # noqa: E402

need_modules("numpy", n=20)
import compare  # noqa: E402
import compile_time  # noqa: E402
import first  # noqa: E402
import formulas  # noqa: E402
import inputs  # noqa: E402
import libraries  # noqa: E402
import loops  # noqa: E402
import numpy as np  # noqa: E402
import programs  # noqa: E402
import ratios  # noqa: E402
import scale  # noqa: E402
import tunings  # noqa: E402
from cases import CASES  # noqa: E402
from values import difference, read_binary, write_values  # noqa: E402


def shell(*cmd, stdin=None):
    r = subprocess.run([str(c) for c in cmd], stdin=stdin, capture_output=True)
    check(r.returncode == 0, f"{cmd}: {r.stderr.decode()}")
    return r.stdout


def interpreted(minifut, case, entry, path):
    with open(path, "rb") as inputs:
        return shell(minifut, "run", "-b", "-e", entry, ROOT / f"bench/primitives/{case.program}.sf", stdin=inputs)


def test_cases(minifut, place):
    """What NumPy expects is what the programs mean: their inputs and their results."""
    for case in {(c.name, c.sizes): c for c in (case.scaled(12) for case in CASES)}.values():
        write_values(place / "sizes", [np.int64(d) for d in case.sizes])
        (place / "made").write_bytes(interpreted(minifut, case, case.maker, place / "sizes"))
        got = read_binary(interpreted(minifut, case, case.entry, place / "made"))
        got = [g[case.sample(*case.sizes)] if g.ndim else g for g in got]
        want = case.expected(*case.sizes)
        what = f"{case.name} {case.shape()}"
        check(not (wrong := difference(got, want, case.tolerance)), f"{what}: {wrong}")
        check(difference([g + g.dtype.type(1) for g in got], want, case.tolerance), f"{what}: a wrong result passes")
        check(0 < case.moved(*case.sizes, want), f"{what}: bytes")


def test_loops(minifut, place):
    """The C loops compute what NumPy expects."""
    functions = loops.build_loops(place)
    for case, name in loops.wanted("", 12):
        write_values(place / "sizes", [np.int64(d) for d in case.sizes])
        inputs = read_binary(interpreted(minifut, case, case.maker, place / "sizes"))
        want = case.expected(*case.sizes)
        loop = loops.Loop(getattr(functions, name), case, inputs, want)
        loop.call()
        check(not (wrong := difference(loop.results, want, case.tolerance)), f"{case.name} in C: {wrong}")


def test_derivatives(minifut, place):
    """The formulas of the peers are the programs: values and gradients, these by difference quotients of NumPy."""
    sizes = {"gmm": (7, 3, 4), "matmul": (3, 4, 5), "attention": (4, 5, 3), "kmeans": (9, 3, 2), "ba": (2, 4, 5), "hand": (4, 5), "lstm": (4, 2, 3, 4),
             "nbody": (5,), "stencil": (4, 5, 3), "option": (2, 20), "locvol": (24, 20, 6, 5)}
    check(list(sizes) == inputs.PROGRAMS, "programs of inputs.py")
    lib = libraries.NumPy()
    for program, shape in sizes.items():
        data = getattr(inputs, program)(*shape)
        write_values(place / "in", data)
        for entry in ("value", "gradient"):
            with open(place / "in", "rb") as given:
                got = read_binary(shell(minifut, "run", "-b", "-e", entry, ROOT / f"bench/derivatives/{program}.sf", stdin=given))
            want = getattr(formulas, program if entry == "value" else f"{program}_gradient")(lib, *formulas.taken(lib, program, data))
            want = [np.asarray(w) for w in (want if isinstance(want, (list, tuple)) else [want])]
            wrong = [np.linalg.norm(g - w) / np.linalg.norm(w) for g, w in zip(got, want)]
            check([g.shape for g in got] == [w.shape for w in want] and max(wrong) < 1e-3, f"{program} {entry}: {wrong}")


def row(name, old, new):
    times = lambda t: {"runtimes": t} if isinstance(t, list) else {"error": t}
    return {"program": name, "dataset": "D", "mode": "untuned", "old": times(old), "new": times(new)}


def test_ratios(place):
    check(ratios.middle([1000, 14, 15, 14, 15, 1, 14, 15]) == 14.5, "middle")
    unsure = row("unsure", [10, 10, 20, 20], [5, 10, 20, 30])
    check(ratios.cells(unsure)[2:] == ["1.000", "0.50-1.50"], ratios.cells(unsure))
    rows = ratios.Rows(place / "rows.json")
    for r in (row("half", [10] * 4, [5] * 4), row("slow", [10] * 4, [20] * 4), row("broken", [10], "no device"),
              row("even", [100.0], [102.0])):
        rows.add(r)
    check(abs(ratios.geomean(rows.rows) - 1.02 ** (1 / 3)) < 1e-9, "geometric mean")
    text = ratios.table(rows.rows)
    for line in ("slower by more than 3 %: 1 rows\n- slow D untuned: 2.000\n- broken D untuned, new FAILED: no device",
                 "geometric mean 1.007 of 3 rows"):
        check(line in text, f"{line!r} in\n{text}")
    again = {how: ratios.Rows(place / "rows.json", again=how) for how in (None, "slower", "all")}
    kept = {how: [name for name in ("half", "slow", "broken") if r.has(name, "D", "untuned")]
            for how, r in again.items()}
    check(kept == {None: ["half", "slow"], "slower": ["half"], "all": []}, kept)
    rows.add(row("slow", [10] * 4, [10] * 4))
    check([r["program"] for r in rows.rows] == ["half", "slow", "broken", "even"], "a row keeps its place")


def test_thresholds(place):
    report = ("main: 2 thresholds, 1 data set, 3 runs, 0.1 s\nthresholds (...):\n  main.suff_outer_par_0               "
              "32768   any value will do\n  main.suff_intra_par_1               never   1 data set: 3 < t <= never\n")
    (place / "P.json").write_text(json.dumps({"tuning": {"report": report}}))
    want = f"main.suff_outer_par_0=32768\nmain.suff_intra_par_1={1 << 62}\n"
    check(compare.thresholds(place / "P.json") == want, compare.thresholds(place / "P.json"))


def test_side_by_side(minifut, place):
    """Two folders of the same commit."""
    python, bench, made = sys.executable, ROOT / "bench", place / "made-primitives"
    shell(python, bench / "primitives/run.py", "prepare", "--minifut", minifut, "--only", "row sums,sparse", made)
    few = ["--runs", 3, "--seconds", 0.01, "--json", place / "p.json"]
    text = shell(python, bench / "primitives/run.py", "run", "--scale", 12, "--only", "row sums", *few, made, made).decode()
    check("row sums" in text and "ceilings: " in text and "geometric mean" in text and "FAILED" not in text, text)
    text = shell(python, bench / "primitives/loops.py", "--scale", 12, "--runs", 3, "--only", "sums,copy,31", made).decode()
    check("row sums" in text and "rows: 0 .. 31" in text and "geometric mean" in text, text)
    made = place / "made-programs"
    shell(python, bench / "suite.py", "--minifut", minifut, "prepare", "--binaries", "--modes", "untuned", made,
          "mapscan")
    few[-1] = place / "c.json"
    for fleets in (1, 3):
        text = shell(python, bench / "compare.py", "--small", "--work", place, "--modes", "untuned", "--again", "all",
                     "--fleets", fleets, *few, made, made, "mapscan").decode()
        rows = json.loads((place / "c.json").read_text())["rows"]
        check(len(rows) == 4 and all(map(ratios.ratio, rows)), text)
        check(all(len(r["old"]["runtimes"]) >= fleets for r in rows), text)


def test_tunings(minifut, place):
    """Two in a row; whether the tuned program is faster is not asked here."""
    cells = [{"runtimes": [us]} for us in (100.0, 110.0, 115.0, 116.0)]
    line, slower = tunings.row_of("D", dict(zip(("untuned", "again", "1", "2,3"), cells)))
    check(slower == ["2,3"] and line.endswith("again: 1.10  1: 1.15  2,3: 1.16   <-- SLOWER"), line)
    line, slower = tunings.row_of("D", {"untuned": cells[0], "again": cells[0], "1": {"error": "no"}})
    check(slower == ["failed"] and "FAILED: no" in line, line)
    check(tunings.regret("a 1.0 us 2.0 us 0.50x 1.5 %\nb 1 us 1 us 1.00x  0.0 % (same)\n") == 1.5, "the greatest regret")
    (place / "t.tuning").write_text("-- found on X\nmain.suff_outer_par_0=7\n")
    text = tunings.settings(place / "t.tuning")
    check(text == "main.suff_outer_par_0=7\n", "settings without comments")
    made = tunings.settings_of([text, "", text])
    check(made == {"untuned": {}, "again": {}, "1,3": {"main.suff_outer_par_0": "7"}}, made)
    r = subprocess.run([sys.executable, ROOT / "bench/tunings.py", "--small", "--work", place / "w", "--minifut", minifut,
                        "--prebuilt", place / "made-programs", "--rounds", "2", "--runs", "2", "--json", place / "t.json",
                        "mapscan"], capture_output=True, text=True)
    kept = json.loads((place / "t.json").read_text())[0]
    check(r.returncode in (0, 1) and "FAILED" not in r.stdout and r.stdout.startswith("expected results of 4"), r.stdout + r.stderr)
    check(len(kept["seconds"]) == len(kept["tunings"]) == 2 and len(kept["datasets"]) == 4, kept)


def test_first_result(minifut, place):
    """With cold caches, and again after a measurement of the same program, which is kept."""
    suite, results = ROOT / "bench/suite.py", place / "first"
    common = ["--small", "--work", place / "w", "--results", results, "mapscan"]
    shell(sys.executable, suite, "--minifut", minifut, "run", "--modes", "untuned", "--runs", 1, *common)
    text = shell(sys.executable, suite, "--minifut", minifut, "first", *common).decode()
    check("] mapscan " in text and "first result " in text and "all right" in text, text)
    kept = json.loads((results / "mapscan.json").read_text())
    check(kept["first_result"]["seconds"] > 0 and len(kept["datasets"]) == 4, kept)
    line = first.line("P", "D", {"seconds": 2.5})
    check(line.endswith("2.50 s   <-- asked: 2.0 s"), line)
    check("<--" not in first.line("P", "D", {"seconds": 1.5}), "asked is 2 s")
    check("FAILED: no" in first.line("P", "D", {"error": "no"}), "a failure is one")


def test_flags():
    """What is timed is compiled as users have it."""
    text = (ROOT / "pipeline/binary.c").read_text()
    flags = re.findall(r'"(.*?)"', re.search(r"static const char \*const all\[\] = \{(.*?)\}", text, re.S)[1])
    exact = re.search(r'#define EXACT "(.*)"', text)[1]
    check({*flags, exact} - {"-w"} == set(programs.KERNELS), f"{flags} and {programs.KERNELS}")


def test_text_size(minifut):
    script = ROOT / "bench/text_size.py"
    lines = shell(sys.executable, script, "--minifut", minifut, "--old", minifut, "mapscan", "matmul").decode().splitlines()
    check(len(lines) == 3 and all(line.endswith(" 1.000") for line in lines[:2]), lines)
    check(lines[2] == "geometric mean 1.000 of 2 programs; asked: 1.5", lines)
    whole = len(shell(minifut, "compile", "--emit=c", ROOT / "examples/mapscan.sf")) / 1e3
    own = float(lines[0].split()[1])
    check(20 < own < whole - 200, f"the runtime is left out: {own} of {whole} kB")


def test_compile_time(minifut, place):
    runner = ROOT / "bench/compile_time.py"
    lines = shell(runner, minifut, ROOT / "examples/dotprod.sf").decode().splitlines()
    check(len(lines) == 2 and lines[0].endswith(" examples/dotprod.sf") and lines[1].startswith("1 programs in "), lines)
    r = subprocess.run([runner, minifut, place / "missing.sf"], capture_output=True, text=True)
    check(r.returncode == 1 and "<-- exit code 1\n1 programs" in r.stdout, r.stdout)
    names = [p.stem for p in compile_time.generated(place)]
    check(names == ["2000_lines", "nest_of_8", "nest_of_5_with_siblings"], names)
    check(sum(1 for _ in compile_time.programs()) > 500, "programs to measure")


def test_shapes(minifut, place):
    """All shapes are compared with NumPy; an operator whose entries are another's is found wrong."""
    script, folder = ROOT / "bench/shapes.py", place / "shapes"
    shell(sys.executable, script, "prepare", "--only", "affine_i32", "--minifut", minifut, folder)
    options = ["-d", "native", "--elements", "12", "--step", "6", "--runs", "1", folder]
    lines = shell(sys.executable, script, "run", "--json", place / "shapes.json", *options).decode().splitlines()
    rows = json.loads((place / "shapes.json").read_text())["rows"]
    kinds = {"plain_f32": ["maps", "transpositions"], "affine_i32": ["rows", "columns", "row_scans", "column_scans"]}
    want = [(s, e, [1 << k, 1 << (12 - k)]) for s, all_of_it in kinds.items() for e in all_of_it for k in (0, 6, 12)]
    check(sorted((r["subject"], r["entry"], r.get("shape")) for r in rows) == sorted(want), rows)
    check(lines[0].startswith("a call ") and lines[-1].startswith("18 shapes, "), lines)
    (folder / "affine_i64").symlink_to("affine_i32")
    r = subprocess.run([sys.executable, script, "run", "--only", "affine_i64", *options], capture_output=True, text=True)
    check(r.returncode == 1 and r.stdout.count("FAILED") == 4, r.stdout)


def test_library_calls(minifut):
    """The program checks its products itself."""
    out = shell(sys.executable, ROOT / "bench/library_calls.py", "--minifut", minifut, "--calls", "200").decode()
    numbers = re.fullmatch(r"200 calls: ([\d.]+) us each when waited for, ([\d.]+) when not; kernels ([\d.]+); beside them -?[\d.]+\n",
                           out)
    check(numbers and all(float(n) > 0 for n in numbers.groups()), out)


class Calls:
    """A server whose calls take the times of the threshold that is set, a little more each time."""

    def __init__(self, times):
        self.times, self.n = times, 0

    def ask(self, _command, _name, value):
        self.set = value

    def call(self):
        self.n += 1
        return self.times[self.set] * (1 + 0.01 * (self.n % 3))


def test_settings():
    """Settings take turns until it is certain how far the first one is from the best, or for as many rounds as are allowed."""
    spec = importlib.util.spec_from_file_location("ranks_beside", ROOT / "bench/ranks/beside.py")
    beside = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside)

    def told(times, most=50):
        ways = {"tuned": {"t": 5}, "shared": {"t": 1}, "alone": {"t": 9}}
        rounds = beside.in_turns(argparse.Namespace(least=4, most=most), Calls(times), ways)
        return len(rounds["tuned"]), beside.of_best(rounds)[0]

    rounds, ratio = told({5: 10, 1: 30, 9: 10.1})
    check(rounds == 4 and abs(ratio - 0.99) < 0.03, f"the best one: {rounds} {ratio}")
    rounds, ratio = told({5: 30, 1: 20, 9: 40})
    check(rounds == 4 and abs(ratio - 1.5) < 0.03, f"another one: {rounds} {ratio}")
    rounds, ratio = told({5: 21, 1: 20, 9: 40}, most=9)
    check(rounds == 9 and abs(ratio - beside.NEAR) < 0.03, f"one at the bound: {rounds} {ratio}")


def test_scale(place):
    """Times that follow the model are found to do so, and where they go on to; what a program says of its exchanges is read."""
    said = "total 3.0 us\nexchanged rows beside: 20 times, 40960 bytes from others, 18.5 us each\nexchanged numbers: 3 times, 24 bytes from\n"
    check(scale.exchanges(said) == {"rows beside": [20, 40960], "numbers": [3, 24]}, f"exchanges: {scale.exchanges(said)}")
    link, work = np.array([3.0, 2.0, 0.001]), {"exchanges": (0, 0), "plate": (500, 1e6), "power": (2000, 4e5)}
    cases = []
    for name, kind, times, size in ("exchanges", "numbers", 1000, 8000), ("exchanges", "rows beside", 1000, 4000), \
            ("exchanges", "whole arrays", 100, 4000000), ("plate", "rows beside", 50, 10000), ("power", "whole arrays", 20, 2000000):
        case = {"program": name if name == "exchanges" else "programs", "entry": name, "bytes": 0, "exchanges": {kind: [times, size]}}
        alike, shared = work[name]
        case["us"] = {str(p): alike + shared / p + float(scale.features(case, p) @ link) + (p == 1) for p in (1, 2, 4, 8)}
        cases.append(case)
    (place / "scale.json").write_text(json.dumps({"device": "none", "cases": cases}))
    told = shell(sys.executable, ROOT / "bench/ranks/scale.py", "model", place).decode()
    check("an exchange: 3.0 us, 2.0 us a message, 1.00 GB/s" in told, told)
    check("Largest error of programs: 0 %." in told, told)
    rows = dict(re.findall(r"^\| (plate|power) \| ([\d. |]+) \| (?:what|rows|whole)", told, re.M))
    alone, many = 1000500, 500 + 1e6 / 1024 + 50 * 3 + 50 * 2 * 11 + 10
    check(rows["plate"].split(" | ")[-1] == f"{alone / many:.1f}", f"plate on 1024: {told}")
    check("<polyline" in (place / "scale.svg").read_text() and (place / "scale.md").read_text() == told, "what it writes")
    cases[3]["us"]["8"] *= 1.5
    (place / "scale.json").write_text(json.dumps({"device": "none", "cases": cases}))
    told = shell(sys.executable, ROOT / "bench/ranks/scale.py", "model", place).decode()
    check(int(re.search(r"programs: (\d+) %", told)[1]) > 5, "a time that does not follow the model")


def test_native_launches(place):
    """It compiles behind the runtime's text, by a compiler that can leave it at that: how long it takes is for whoever asks."""
    source = place / "launches.c"
    source.write_bytes(shell("sh", ROOT / "runtime/bundle.sh") + (ROOT / "bench/native_launches.c").read_bytes())
    r = subprocess.run(["cc", "-fsyntax-only", source], capture_output=True, text=True)
    check(r.returncode == 0, r.stderr)


def main():
    minifut = Path(sys.argv[1]).resolve()
    os.environ["CFLAGS"] = "-O0"  # no time is judged here, and the runtime of each program takes the C compiler ten seconds
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        test_cases(minifut, place)
        test_loops(minifut, place)
        test_derivatives(minifut, place)
        test_ratios(place)
        test_thresholds(place)
        test_side_by_side(minifut, place)
        test_tunings(minifut, place)
        test_first_result(minifut, place)
        test_flags()
        test_text_size(minifut)
        test_compile_time(minifut, place)
        test_shapes(minifut, place)
        test_library_calls(minifut)
        test_native_launches(place)
        test_settings()
        test_scale(place)
    sys.exit(summary())


if __name__ == "__main__":
    main()
