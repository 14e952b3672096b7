#!/usr/bin/env python3
"""Nests over shapes: reductions and scans of rows and of columns, transpositions and maps of so many elements in every split,
of 1 to 4 values of 8 to 64 bits, by operators that commute and that do not, each beside the time that its bytes take.

usage: shapes.py prepare [--portable] [--only REGEX] --minifut MINIFUT FOLDER
       shapes.py run [-d DEVICE] [--only REGEX] [--entry REGEX] [--param NAME=VALUE] [--elements LOG] [--step LOG] [--json FILE] FOLDER

`prepare` makes a program for each operator and type (SUBJECTS) and compiles it into FOLDER. `run` takes each of them in shapes of
2^k x 2^(elements-k), k by steps, and prints how many times as long a call takes as it may: as one of a single element and what the
bytes take at the speed of a map over as many; those above 2 are marked. Each shape of 2^12 elements is compared with NumPy first."""
import argparse
import json
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np

import turns
from server import Server, ServerError
from values import difference, write_values

HERE = Path(__file__).resolve().parent
TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
CHECKED = 12  # log of the elements that are compared
NAMES = "xyzw"
SLOW = 2


def added(p, q):
    return tuple(x + y for x, y in zip(p, q))


def affine(p, q):
    return p[0] * q[0], q[0] * p[1] + q[1]


def product(p, q):
    return (p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3], p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3])


# Operator: (values, types, its text for a type, neutral values, the same on tuples of NumPy's arrays)
OPERATORS = {
    "sum": (1, list(TYPES), "\\a b -> a + b", "0", added),
    "max": (1, ["i32", "f32"], "T.max", "T.lowest", lambda p, q: (np.maximum(p[0], q[0]),)),
    "last": (1, ["i8", "i32", "f32", "f64"], "\\a b -> if b == 0 then a else b", "0",
             lambda p, q: (np.where(q[0] == 0, p[0], q[0]),)),
    "sums2": (2, ["i64", "f32"], "\\(a, b) (c, d) -> (a + c, b + d)", "(0, 0)", added),
    "sums3": (3, ["f32"], "\\(a, b, c) (d, e, f) -> (a + d, b + e, c + f)", "(0, 0, 0)", added),
    "sums4": (4, ["i16", "f32"], "\\(a, b, c, d) (e, f, g, h) -> (a + e, b + f, c + g, d + h)", "(0, 0, 0, 0)", added),
    "affine": (2, ["i32", "i64"], "\\(a, b) (c, d) -> (a * c, c * b + d)", "(1, 0)", affine),
    "matrix": (4, ["i32", "i64"], "\\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)",
               "(1, 0, 0, 1)", product)}
SUBJECTS = [f"{name}_{t}" for name, o in OPERATORS.items() for t in o[1]] + [f"plain_{t}" for t in ("i8", "i16", "f32", "f64")]


def parts(subject):
    name, t = subject.split("_")
    return name, t, OPERATORS[name] if name in OPERATORS else (1, [t], None, None, None)


def source(subject):
    """The program: an entry that makes arrays, and those that are measured."""
    name, t, (n, _, op, neutral, _) = parts(subject)
    many = str(n) if n > 2 else ""
    zipped, unzipped = ("", "") if n == 1 else (f"zip{many} ", f"unzip{many} ")
    rows = [f"{v}s" for v in NAMES[:n]]
    arrays = [f"{v}ss" for v in NAMES[:n]]
    given = " ".join(f"({a}: [n][m]{t})" for a in arrays)

    def results(dims):
        return f"{dims}{t}" if n == 1 else "(" + ", ".join([f"{dims}{t}"] * n) + ")"

    def mapped(body, turned):
        args = " ".join(f"(transpose {a})" if turned else a for a in arrays)
        return f"map{n if n > 1 else ''} (\\{' '.join(rows)} -> {body}) {args}"

    def made(k):
        return f"tabulate_2d n m (\\i j -> {t}.i64 (i64.u32 (bits ((i * m + j) * 4 + {k}) >> 28) - 8))"

    text = [(HERE / "primitives/input.sf").read_text(),
            f"entry made (n: i64) (m: i64): {results('[n][m]')} = ({', '.join(made(k) for k in range(n))})"]
    if not op:
        return "\n".join(text + [f"entry maps [n][m] {given}: [n][m]{t} = map (map (+ 1)) xss",
                                 f"entry transpositions [n][m] {given}: [m][n]{t} = copy (transpose xss)"]) + "\n"
    op, neutral = op.replace("T.", f"{t}."), neutral.replace("T.", f"{t}.")
    if n == 1:
        neutral = neutral if "." in neutral else neutral + t
    row = f"({zipped}{' '.join(rows)})" if n > 1 else rows[0]
    reduced, scanned = f"reduce ({op}) {neutral} {row}", f"{unzipped}(scan ({op}) {neutral} {row})"
    back = ("transpose r" if n == 1 else "(" + ", ".join(f"transpose r.{k}" for k in range(n)) + ")")
    text += [f"entry rows [n][m] {given}: {results('[n]')} = {unzipped}({mapped(reduced, False)})",
             f"entry columns [n][m] {given}: {results('[m]')} = {unzipped}({mapped(reduced, True)})",
             f"entry row_scans [n][m] {given}: {results('[n][m]')} = {unzipped}({mapped(scanned, False)})",
             f"entry column_scans [n][m] {given}: {results('[n][m]')} =",
             f"  let r = {unzipped}({mapped(scanned, True)}) in {back}"]
    return "\n".join(text) + "\n"


def entries(subject):
    return ["maps", "transpositions"] if subject.startswith("plain") else ["rows", "columns", "row_scans", "column_scans"]


# --- What is right ---------------------------------------------------------------------------------

def bits(i):
    """As in primitives/input.sf."""
    x = i.astype(np.uint32)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7feb352d)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846ca68b)
    return x ^ (x >> np.uint32(16))


def scanned(op, arrays):
    """Along the last axis, in steps that double."""
    d = 1
    while d < arrays[0].shape[-1]:
        later = op([a[..., :-d] for a in arrays], [a[..., d:] for a in arrays])
        arrays = [np.concatenate([a[..., :d], x], axis=-1) for a, x in zip(arrays, later)]
        d *= 2
    return arrays


def expected(subject, entry, n, m):
    _, t, (values, _, _, _, op) = parts(subject)
    number = np.arange(n * m).reshape(n, m) * 4
    arrays = [((bits(number + k) >> np.uint32(28)).astype(np.int64) - 8).astype(TYPES[t]) for k in range(values)]
    if entry == "maps":
        return [arrays[0] + TYPES[t](1)]
    if entry == "transpositions":
        return [arrays[0].T]
    turned = entry.startswith("column")
    with np.errstate(over="ignore"):
        found = scanned(op, [a.T if turned else a for a in arrays])
    if entry in ("rows", "columns"):
        return [a[..., -1] for a in found]
    return [a.T if turned else a for a in found]


# --- Measuring -------------------------------------------------------------------------------------

def moved(subject, entry, n, m):
    """Bytes that are read and written."""
    _, t, (values, *_) = parts(subject)
    results = {"rows": n, "columns": m}.get(entry, n * m)
    return values * np.dtype(TYPES[t]).itemsize * (n * m + results)


def load(server, entry, place, n, m):
    path = place / "shape"
    write_values(path, [np.int64(n), np.int64(m)])
    server.load_made(entry, "made", path)


def check(server, subject, entry, place, shape):
    load(server, entry, place, *shape)
    server.call()
    wrong = difference(server.results(), expected(subject, entry, *shape), 1e-5)
    if wrong:
        raise ServerError(f"{shape}: {wrong}")


def times(a, server, entry, place, shape):
    load(server, entry, place, *shape)
    server.call()
    first = server.call()
    runs = max(a.least, min(a.runs, int(1e6 * a.seconds / max(first, 1))))
    return median([first] + [server.call() for _ in range(runs)])


def splits(log, step):
    return [(1 << k, 1 << (log - k)) for k in range(0, log + 1, step)]


def speed(a, place):
    """Microseconds of a call on one element, and bytes a microsecond of a map."""
    with Server(a.folder / "plain_f32", turns.device_options(a), a.limit) as server:
        shape = (1 << a.elements // 2, 1 << (a.elements + 1) // 2)
        least, all_of_it = (times(a, server, "maps", place, s) for s in ((1, 1), shape))
    return least, moved("plain_f32", "maps", *shape) / max(all_of_it - least, 1e-3)


def measure(a, place, subject, least, rate):
    rows = []
    params = [word for setting in a.param for word in ("--param", setting)]
    with Server(a.folder / subject, turns.device_options(a) + params, a.limit) as server:
        for entry in filter(re.compile(a.entry).search, entries(subject)):
            try:
                for shape in splits(CHECKED, a.step):
                    check(server, subject, entry, place, shape)
                for shape in splits(a.elements, a.step):
                    time = times(a, server, entry, place, shape)
                    may = least + moved(subject, entry, *shape) / rate
                    rows.append({"subject": subject, "entry": entry, "shape": shape, "us": time, "ratio": time / may})
            except ServerError as e:
                rows.append({"subject": subject, "entry": entry, "error": str(e)})
    return rows


def tell(rows, least, rate):
    print(f"a call {least:.0f} us, a map {rate / 1000:.0f} GB/s")
    for r in rows:
        if "error" in r:
            print(f"{r['subject']:12} {r['entry']:16} FAILED: {r['error'][:200]}")
    timed = sorted((r for r in rows if "us" in r), key=lambda r: -r["ratio"])
    for r in timed:
        mark = "  above 2" if r["ratio"] > SLOW else ""
        print(f"{r['subject']:12} {r['entry']:16} {'%d x %d' % r['shape']:>20} {r['us']:10.0f} us {r['ratio']:8.2f}{mark}")
    slow = sum(r["ratio"] > SLOW for r in timed)
    print(f"{len(timed)} shapes, {slow} above {SLOW}, geometric mean {np.exp(np.mean([np.log(r['ratio']) for r in timed])):.2f}")


def prepare(a):
    a.folder.mkdir(parents=True, exist_ok=True)

    def make(subject):
        path = a.folder / f"{subject}.sf"
        path.write_text(source(subject))
        portable = ["--portable"] if a.portable else []
        subprocess.run([a.minifut, "compile", *portable, "-o", a.folder / subject, path], check=True)

    with ThreadPoolExecutor(2) as pool:  # plain_f32 tells how fast memory is
        list(pool.map(make, [s for s in SUBJECTS if re.search(a.only, s) or s == "plain_f32"]))


def run(a):
    rows = []
    with tempfile.TemporaryDirectory() as place:
        least, rate = speed(a, Path(place))
        for subject in SUBJECTS:
            if re.search(a.only, subject) and (a.folder / subject).exists():
                rows += measure(a, Path(place), subject, least, rate)
    tell(rows, least, rate)
    if a.json:
        a.json.write_text(json.dumps({"call": least, "rate": rate, "rows": rows}, indent=1))
    return any("error" in r for r in rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    for name in ("prepare", "run"):
        c = commands.add_parser(name)
        c.add_argument("--only", default="")
        c.add_argument("folder", type=Path)
        if name == "prepare":
            c.add_argument("--portable", action="store_true")
            c.add_argument("--minifut", required=True)
        else:
            turns.add_options(c, runs=10, seconds=0.1, least=1)
            c.add_argument("--elements", type=int, default=24)
            c.add_argument("--step", type=int, default=2)
            c.add_argument("--entry", default="", help="of a program, those that match")
            c.add_argument("--param", action="append", default=[], help="such as a version that is forced")
            c.add_argument("--json", type=Path)
    a = p.parse_args()
    raise SystemExit(prepare(a) if a.command == "prepare" else run(a))


main()
