#!/usr/bin/env python3
"""The primitives on a CPU against plain C loops (loops.c, by the C compiler with -O3 -march=native, one thread but for
the sparse product), in turns: microseconds of both, their ratio, and its geometric mean. Checks every result of both.

    run.py prepare FOLDER               binaries
    loops.py [-d DEVICE] FOLDER

Each loop writes the same memory again and again. Times are the least of all turns: what else the machine does only adds
to them.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from math import exp, log
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from cases import CASES, RAGGED  # noqa: E402
from ratios import grid  # noqa: E402
from server import Server, ServerError  # noqa: E402
from values import difference, read_binary, write_values  # noqa: E402

LINES = [(1 << 20,), (1 << 22,), (1 << 24,)]
# A case's name, the function in loops.c, sizes.
ROWS = [
    ("copy", "copied", LINES),
    ("multiply-adds", "chains", [(1 << 20, 64)]),
    ("map", "incremented", LINES),
    ("exp and log", "softened", LINES),
    ("exp, sin and cos", "waves", LINES),
    ("sum", "sum", LINES),
    ("scan", "scan", LINES),
    ("filter", "filter", LINES),
    ("row sums", "row_sums", None),
    ("row scans", "row_scans", None),
    ("transposition", "transposed", None),
    ("histogram", "histogram", None),
    ("one hot bin", "histogram", None),
    ("product", "product", [(1024, 1024, 1024), (2048, 2048, 2048)]),
    ("tall product", "product", None),
    ("flat product", "product", None),
    ("batched product", "batched", None),
    ("stencil, 3 points", "line", LINES),
    ("stencil, 5 points", "plane", [(1024, 1024), (4096, 4096)]),
    ("n-body", "bodies", [(1 << 13,)]),
    *((f"sparse product, rows: {kind}", "sparse_product", [(1 << 22, k)]) for k, kind in enumerate(RAGGED)),
]

LEAST_US = 0.5  # of what a server, which tells whole microseconds, says is 0


def wanted(only, scale):
    """[(case, function in loops.c)]; where a row has no sizes, those of cases.py."""
    rows = []
    for name, function, sizes in ROWS:
        cases = [case for case in CASES if case.name == name]
        if sizes:
            cases = [cases[0]._replace(sizes=s) for s in sizes]
        rows += [(case.scaled(scale), function) for case in cases
                 if not only or any(word in name for word in only.split(","))]
    return rows


def build_loops(place):
    path = place / "loops.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-shared", "-fPIC", "-o", path,
                    HERE / "loops.c", "-lm", "-lpthread"], check=True)
    return ctypes.CDLL(str(path))


class Loop:
    """A function of loops.c on the inputs and sizes of a case (a ragged one: its number of rows); its results have the shapes
    of `like`."""

    def __init__(self, function, case, inputs, like):
        sizes = like[0].shape if case.program == "ragged" else case.sizes
        self.results = [np.zeros(g.shape, g.dtype) for g in like]
        arrays = [x for x in inputs if x.ndim] + self.results
        self.inputs, self.function = inputs, function
        self.args = [ctypes.c_int64(n) for n in sizes] + [ctypes.c_void_p(x.ctypes.data) for x in arrays]

    def call(self):
        start = time.perf_counter_ns()
        self.function(*self.args)
        return (time.perf_counter_ns() - start) / 1e3


def inputs_of(server, place):
    """What the server's entry is called with."""
    path = place / "inputs"
    server.ask("store", f'"{path}"', *[f"in{k}" for k in range(len(server.inputs))])
    return read_binary(path.read_bytes())


def check(case, got, want, who):
    got = [g[case.sample(*case.sizes)] if g.ndim else g for g in got]
    wrong = difference(got, want, case.tolerance)
    if wrong:
        raise ServerError(f"{who}: {wrong}")


def measure(a, case, server, function, place):
    """The least microseconds of the program and of the loop."""
    write_values(place / "sizes", [np.int64(d) for d in case.sizes])
    server.load_made(case.entry, case.maker, place / "sizes")
    server.call()  # builds kernels
    want, results = case.expected(*case.sizes), server.results()
    loop = Loop(function, case, inputs_of(server, place), results)
    check(case, results, want, "the program")
    loop.call()
    check(case, loop.results, want, "the loop")
    times, end = [], time.monotonic() + a.seconds
    while len(times) < a.least or (time.monotonic() < end and len(times) < a.runs):
        times.append((server.call(), loop.call()))
    return [max(min(t), LEAST_US) for t in zip(*times)]


def run(a):
    lines, ratios, servers = [], [], {}
    with tempfile.TemporaryDirectory() as place:
        loops = build_loops(Path(place))
        for case, name in wanted(a.only, a.scale):
            program = a.folder.resolve() / case.program
            if program not in servers:
                servers[program] = Server(program, ["-d", a.device] if a.device else [])
            ours, plain = measure(a, case, servers[program], getattr(loops, name), Path(place))
            ratios.append(ours / plain)
            lines.append([case.name, case.shape(), f"{ours:.0f}", f"{plain:.0f}", f"{ours / plain:.2f}"])
            if a.verbose:
                print(*lines[-1], sep="\t", flush=True)
    for server in servers.values():
        server.stop()
    print(grid(["primitive", "shape", "us", "C, us", "ratio"], lines))
    mean = exp(sum(map(log, ratios)) / len(ratios))
    print(f"\ngeometric mean {mean:.2f} of {len(ratios)} rows, at most {max(ratios):.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-d", "--device")
    p.add_argument("--only", default="", metavar="WORD,...", help="primitives with one of these words in their names")
    p.add_argument("--scale", type=int, default=0, help="divides all sizes by 2^SCALE")
    p.add_argument("--runs", type=int, default=200, help="turns of one row (default: %(default)s)")
    p.add_argument("--seconds", type=float, default=1, help="for these turns, if slow (default: %(default)s)")
    p.add_argument("--least", type=int, default=3, help="turns, however slow (default: %(default)s)")
    p.add_argument("--verbose", "-v", action="store_true", help="each row when it is measured")
    p.add_argument("folder", type=Path)
    run(p.parse_args())


if __name__ == "__main__":
    main()
