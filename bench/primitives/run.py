#!/usr/bin/env python3
"""Primitives, one construct each, in the shapes that decide how it is mapped: microseconds, bytes and operations a
second, and how near that is to what the device can do. Checks every result.

    run.py prepare [--minifut COMPILER] FOLDER        binaries, for a machine without flex and bison
    run.py run [-d DEVICE] [--json FILE] FOLDER       all rows
    run.py run [-d DEVICE] [--json FILE] OLD NEW      two commits side by side, with the ratio of their times

Programs make their own inputs on the device (input.sf). Where each FOLDER has a PROGRAM.tuning, it is measured as well.
Bytes are those that must move, operations those of the plain algorithm; both rates are NEW's. % is that of the time in
which the device could do it: the ceilings are the best copy or map and the best chains of multiply-adds of the run,
unless given; "asked" are the microseconds that a row should take on an H100. What is in the JSON file is kept.
"""
import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import ratios  # noqa: E402
import turns  # noqa: E402
from cases import CASES, CEILINGS  # noqa: E402
from programs import build_c, emit_c  # noqa: E402
from ratios import SIDES  # noqa: E402
from values import difference, write_values  # noqa: E402


def chosen(a):
    """{program: its cases that are wanted}; the ceilings always are."""
    cases = {}
    for case in CASES:
        if not a.only or case in CEILINGS or any(word in case.name for word in a.only.split(",")):
            cases.setdefault(case.program, []).append(case)
    return cases


def prepare(a):
    """A binary for each program; the number of those that did not compile."""
    a.folder.mkdir(parents=True, exist_ok=True)

    def one(program):
        try:
            emit_c(a.minifut.resolve(), HERE / f"{program}.sf", "incremental", a.folder / f"{program}.c")
            build_c(a.folder / f"{program}.c", a.portable)
        except RuntimeError as e:
            print(f"{program}: {str(e).strip()}")
            return 1
        return 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(one, chosen(a)))


# --- Measurements ---------------------------------------------------------------------------------------------------


def contenders(a, program):
    """{(side, mode): (binary, options)}"""
    device = turns.device_options(a)
    made = {(side, "untuned"): (folder / program, device) for side, folder in a.sides.items()}
    tuning = {side: folder / f"{program}.tuning" for side, folder in a.sides.items()}
    if all(path.exists() for path in tuning.values()):
        made |= {(side, "tuned"): (a.sides[side] / program, [*device, "--tuning", path])
                 for side, path in tuning.items()}
    return made


def measure(a, case, fleet, place):
    """The times of the contenders, and bytes and operations of the case."""
    sizes, want = place / "sizes", case.expected(*case.sizes)
    write_values(sizes, [np.int64(d) for d in case.sizes])
    wrong = lambda got: difference([g[case.sample(*case.sizes)] if g.ndim else g for g in got], want, case.tolerance)
    got = turns.measure(a, fleet, lambda server: server.load_made(case.entry, case.maker, sizes), wrong)
    return got, {"bytes": 4 * case.moved(*case.sizes, want), "operations": case.operations(*case.sizes)}


def measure_program(a, program, cases, rows, place):
    """Adds the rows of a program's cases; those that there was no time for, as text."""
    made, left = contenders(a, program), []
    modes = list(dict.fromkeys(mode for _, mode in made))
    with turns.Fleet(made, a.limit) as fleet:
        for case in cases:
            key = case.name, case.shape()
            if all(rows.has(*key, mode) for mode in modes):
                continue
            if time.monotonic() > a.end:
                left.append(" ".join(key))
                continue
            got, facts = measure(a, case, fleet, place)
            for mode in modes:
                rows.add({"program": key[0], "dataset": key[1], "mode": mode, "asked": case.asked, **facts} |
                         {side: got[side, mode] for side in a.sides})
            print(".", end="", flush=True)
    return left


def run(a):
    rows, left = ratios.Rows(a.json, a.sides, a.again), []
    a.end = time.monotonic() + a.budget
    with tempfile.TemporaryDirectory() as place:
        for program, cases in chosen(a).items():
            left += measure_program(a, program, [case.scaled(a.scale) for case in cases], rows, Path(place))
    print("\n\n" + table(a, rows.rows))
    if left:
        print(f"no time for {len(left)} cases: {', '.join(left)}")
    return bool(ratios.failures(rows.rows))


# --- Table ----------------------------------------------------------------------------------------------------------


def best_rate(rows, what):
    """The highest rate of `what` a microsecond of any side."""
    return max((row[what] / t for row in rows for side in SIDES if (t := ratios.time_of(row, side))), default=None)


def ceilings(a, rows):
    """Bytes and operations a microsecond: what is given, else the best of the rows that ask for nothing else."""
    some = [row for row in rows if row["program"] in ("copy", "map", "multiply-adds")]
    return {"bytes": a.gbs and a.gbs * 1e3 or best_rate(some, "bytes"),
            "operations": a.gflops and a.gflops * 1e3 or best_rate(some, "operations")}


def line(row, side, top):
    """Bytes, GB/s, GFLOP/s, % of the ceiling."""
    t = ratios.time_of(row, side)
    rate = lambda what: f"{row[what] / t / 1e3:.0f}" if t and row[what] else "-"
    share = max((row[what] / t / top[what] for what in top if t and top[what]), default=None)
    return [f"{row['bytes'] / 1e6:.1f}", rate("bytes"), rate("operations"), f"{100 * share:.0f}" if share else "-"]


def asked(row):
    """The microseconds that are asked for."""
    return ratios.short(row["asked"]) if row.get("asked") else ""


def table(a, rows):
    top, last = ceilings(a, rows), list(a.sides)[-1]
    both = len(a.sides) == 2
    header = ["primitive", "shape", "mode", *(ratios.HEADER if both else ["us"]), "asked", "MB", "GB/s", "GFLOP/s", "%"]
    lines = [[row["program"], row["dataset"], row["mode"],
              *(ratios.cells(row) if both else [ratios.micro(row, last)]), asked(row), *line(row, last, top)]
             for row in rows]
    ends = ", ".join(f"{top[what] / 1e3:.0f} {unit}" for what, unit in (("bytes", "GB/s"), ("operations", "GFLOP/s"))
                     if top[what])
    return f"{ratios.grid(header, lines)}\n\nceilings: {ends}\n{ratios.summary(rows)}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    only = {"default": "", "metavar": "WORD,...", "help": "primitives with one of these words in their names"}
    q = commands.add_parser("prepare")
    q.add_argument("--only", **only)
    q.add_argument("--minifut", type=Path, default=HERE.parent.parent / "minifut", help="the compiler")
    q.add_argument("--portable", action="store_true", help="binaries for other machines, too")
    q.add_argument("folder", type=Path)
    q = commands.add_parser("run")
    turns.add_options(q, runs=200, seconds=0.25, least=4)
    ratios.add_options(q)
    q.add_argument("--only", **only)
    q.add_argument("--scale", type=int, default=0, help="divides all sizes by 2^SCALE, for a CPU")
    q.add_argument("--gbs", type=float, help="the device's GB/s")
    q.add_argument("--gflops", type=float, help="the device's GFLOP/s")
    q.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    a = p.parse_args()
    if a.command == "prepare":
        return prepare(a) > 0
    if len(a.folders) > 2:
        p.error("more than two folders")
    a.sides = dict(zip(SIDES[-len(a.folders):], (folder.resolve() for folder in a.folders)))
    return run(a)


if __name__ == "__main__":
    sys.exit(main())
