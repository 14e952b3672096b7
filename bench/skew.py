#!/usr/bin/env python3
"""How far guards of ragged nests are from the best version, on random inputs: rows from 1 to 2^22, on average 1 to 2^14 points
long, of four kinds: about equal, anything up to twice the mean, lengths after Zipf, one row beside empty ones. Each input runs
untuned, with the rows' version and the flat one forced, and with what a tuning on five others found, all in one process.

usage: skew.py [-d DEVICE] --minifut MINIFUT [--inputs N] [--seed S] [--most POINTS] [--json FILE] [--prebuilt BINARY] [ENTRY...]

ENTRY: of primitives/ragged.sf, on offsets and values: sums (default), turned, peaks. --most: points of an input. Results of
all contenders are compared. Of each input: rows, points, the longest row, the least time, and how many times as long the others
take; behind all, the largest ratio of untuned, and of tuned to the best, from which --clock microseconds (default 0) are taken off
before they count. Calls of 20 us differ by half from one time to the next whatever they do, so contenders take turns of a few."""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

import turns
from server import Server
from values import difference, write_values

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "primitives/ragged.sf"
TUNED_ON = 5
FORCED = {"rows": 1, "flat": 10**15}


def lengths(rng, rows, mean, kind):
    if kind == "equal":
        return np.full(rows, mean)
    if kind == "uniform":
        return rng.integers(0, 2 * mean + 1, rows)
    if kind == "Zipf":
        share = 1 / np.arange(1, rows + 1)
        return rng.permutation((share / share.sum() * rows * mean).astype(np.int64))
    one = np.zeros(rows, np.int64)
    one[rng.integers(rows)] = rows * mean
    return one


def draw(rng, k, most):
    """A name, and the lengths of rows."""
    kind = ["equal", "uniform", "Zipf", "one"][k % 4]
    rows = int(2 ** rng.uniform(0, 22))
    mean = max(1, min(int(2 ** rng.uniform(0, 14)), most // rows))
    return f"{kind} {rows} x {mean}", lengths(rng, rows, mean, kind)


def write(path, rng, sizes):
    """Small whole numbers: sums are exact in any order."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    write_values(path, [offsets, rng.integers(-8, 8, int(offsets[-1])).astype(np.float32)])


def tune(a, entry, place, rng):
    """The file that a tuning on five inputs makes, and its seconds."""
    data = place / f"{entry}-training"
    data.mkdir()
    for k in range(TUNED_ON):
        _, sizes = draw(rng, k, a.most)
        write(data / f"d{k}.in", rng, sizes)
    tuning = place / f"{entry}.tuning"
    program = place / PROGRAM.name
    for source in (PROGRAM, PROGRAM.with_name("input.sf")):
        (place / source.name).write_text(source.read_text())
    start = time.monotonic()
    device = ["-d", a.device] if a.device else []
    subprocess.run([a.minifut, "tune", "-q", *device, "-e", entry, "-o", tuning, program, data], check=True,
                   capture_output=True)
    return tuning, time.monotonic() - start


def settings(entry, tuning):
    """{contender: {tuning parameter: what it is set to}}; 0: as if nobody had said anything."""
    threshold = f"{entry}.suff_outer_par_0"
    found = dict(line.strip().split("=") for line in tuning.read_text().splitlines() if "=" in line and line[0] != "#")
    made = {"untuned": {}, "tuned": found} | {name: {threshold: value} for name, value in FORCED.items()}
    names = {name for s in made.values() for name in s}
    return {contender: {name: s.get(name, 0) for name in names} for contender, s in made.items()}


class InTurn:
    """A fleet (turns.py) that is one process: calls of processes differ by more than those of versions."""

    def __init__(self, a, binary, programs):
        self.a, self.binary, self.programs, self.running = a, binary, programs, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.drop()

    def server(self, name):
        if not self.running:
            self.running = Server(self.binary, turns.device_options(self.a), self.a.limit)
        for param, value in self.programs[name].items():
            self.running.ask("set_tuning_param", param, value)
        return self.running

    def drop(self, _=None):
        if self.running:
            self.running.stop()
        self.running = None


def one_input(a, fleet, entry, place, name, sizes, rng):
    path = place / "input"
    write(path, rng, sizes)
    first = []

    def wrong(got):
        first.append(got)
        return difference(got, first[0], 1e-5)

    times = turns.measure(a, fleet, lambda server: server.load(entry, path), wrong)
    row = {"name": name, "rows": len(sizes), "points": int(sizes.sum()), "longest": int(sizes.max())}
    for contender, t in times.items():
        row[contender] = median(t["runtimes"]) if "runtimes" in t else None
        if "error" in t:
            row["error"] = f"{contender}: {t['error']}"
    return row


def ratio(a, row, name):
    best = min(row[x] for x in FORCED if row[x])
    return max(row[name] - a.clock, 1) / best if row[name] else float("inf")


def tell(a, entry, rows, seconds):
    print(f"{entry}: tuned on {TUNED_ON} inputs in {seconds:.0f} s")
    print(f"{'':24} {'longest':>9} {'best':>9} {'untuned':>8} {'tuned':>8} {'rows':>8} {'flat':>8}")
    for r in rows:
        best = min(r[x] for x in FORCED if r[x])
        others = " ".join(f"{r[x] / best:8.2f}" if r[x] else "       -" for x in ("untuned", "tuned", *FORCED))
        print(f"{r['name']:24} {r['longest']:9} {best:9.1f} {others} {r.get('error', '')}")
    for name in ("untuned", "tuned"):
        worst = max(rows, key=lambda r: ratio(a, r, name))
        print(f"{name}: at most {ratio(a, worst, name):.2f} times the best ({worst['name']})")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(p, runs=300, seconds=0.05, least=1)
    p.set_defaults(rounds=30)
    p.add_argument("--minifut", required=True)
    p.add_argument("--inputs", type=int, default=60)
    p.add_argument("--seed", type=int, default=32)
    p.add_argument("--most", type=int, default=1 << 22)
    p.add_argument("--clock", type=float, default=0)
    p.add_argument("--json", type=Path)
    p.add_argument("--prebuilt", type=Path)
    p.add_argument("entries", nargs="*", default=["sums"])
    a = p.parse_args()
    done = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        binary = a.prebuilt or place / "ragged"
        if not a.prebuilt:
            subprocess.run([a.minifut, "compile", "-o", binary, PROGRAM], check=True, capture_output=True)
        for entry in a.entries:
            rng = np.random.default_rng(a.seed)
            tuning, seconds = tune(a, entry, place, rng)
            with InTurn(a, binary, settings(entry, tuning)) as fleet:
                done[entry] = [one_input(a, fleet, entry, place, *draw(rng, k, a.most), rng) for k in range(a.inputs)]
            tell(a, entry, done[entry], seconds)
    if a.json:
        a.json.write_text(json.dumps(done, indent=1))


main()
