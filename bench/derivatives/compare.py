#!/usr/bin/env python3
"""Gradients against those of PyTorch, eager and compiled, and of JAX with jit, on the same device: times of the value and of the
gradient of each program here, and whether all gradients are alike.

    compare.py prepare FOLDER              compiles the programs (for another machine: --portable)
    compare.py run --programs FOLDER       measures; on a machine without network, with NumPy and what there is of the two libraries
        --only gmm,ba --data small,large   some of the programs, some sets of data
        --peers torch,compiled,jax         some of the libraries
        --out FILE                         the times as JSON

Times are medians in microseconds: of programs what they say themselves, of libraries until the device is done. Results are
measured against those of a library in double precision, by the norm of what differs.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from math import exp, log
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent)]
import formulas  # noqa: E402
import libraries  # noqa: E402
from inputs import CASES, PROGRAMS  # noqa: E402
from server import Server, ServerError  # noqa: E402
from values import write_values  # noqa: E402

ENTRIES = ["value", "gradient"]
WHATS = ["minifut", "torch", "compiled", "jax"]
LEAST_US = 0.5  # of what a server, which tells whole microseconds, says is 0


def as_list(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def function_of(program, entry):
    return getattr(formulas, program if entry == "value" else f"{program}_gradient")


# --- Measuring --------------------------------------------------------------------------------------------------------


def median_of(args, call):
    """Microseconds, after a call that builds what is built at first."""
    call()
    times, end = [], time.monotonic() + args.seconds
    while len(times) < 3 or (len(times) < args.runs and time.monotonic() < end):
        times.append(call())
    return max(statistics.median(times), LEAST_US)


def of_program(args, program, entry, path):
    """Time and results."""
    with Server(Path(args.programs) / program, ["-d", args.device] if args.device else [], limit=args.limit) as server:
        server.load(entry, path)
        us = median_of(args, server.call)
        return us, server.results()


def of_library(args, lib, function, program, data):
    data = formulas.taken(lib, program, data)
    results = []

    def call():
        results.clear()
        lib.wait(None if lib.name == "jax" else results)
        start = time.perf_counter_ns()
        results.extend(as_list(function(*data)))
        lib.wait(results)
        return (time.perf_counter_ns() - start) / 1e3

    us = median_of(args, call)
    return us, [lib.numpy(x) for x in results]


def error_of(got, want):
    """The largest relative error of a result, by norms."""
    if [g.shape for g in got] != [w.shape for w in want]:
        return float("inf")
    norms = [(np.linalg.norm((g.astype(np.float64) - w).ravel()), np.linalg.norm(w.astype(np.float64).ravel())) for g, w in zip(got, want)]
    return max(float(d / n) if n else float(d) for d, n in norms)


def attempt(row, name, run):
    """What `run` gives; None, and why in the row, if that fails."""
    try:
        return run()
    except Exception as e:  # noqa: BLE001  of a library, whatever it is
        row.setdefault("failed", {})[name] = f"{type(e).__name__}: {e}"[:300]
        return None


def peers(args):
    """{name: (library, how it prepares a function)} of those that are here."""
    found = {}
    for name in args.peers.split(","):
        try:
            lib = {"torch": libraries.Torch, "compiled": libraries.Torch, "jax": libraries.Jax}[name]()
            found[name] = lib, lib.compiled if name == "compiled" else lib.prepared
        except ImportError:
            print(f"no {name} here", file=sys.stderr)
    return found




def reference(args, program, entry, data):
    if not args.peers or not libraries.has("torch"):
        return None
    lib = libraries.Torch(double=True)
    results = as_list(function_of(program, entry)(lib, *formulas.taken(lib, program, data)))
    return [lib.numpy(x) for x in results]


def forget():
    """What libraries keep of memory."""
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()
        if hasattr(sys.modules["torch"], "_dynamo"):
            sys.modules["torch"]._dynamo.reset()


def measure(args, case, found, place):
    row = {"program": case.program, "data": case.data, "sizes": case.sizes, "us": {}, "errors": {}}
    data = case.arguments()
    write_values(place / "in", data)
    wanted = {entry: attempt(row, f"reference {entry}", lambda: reference(args, case.program, entry, data)) for entry in ENTRIES}
    forget()
    runs = {"minifut": lambda entry: of_program(args, case.program, entry, place / "in")}
    for name, (lib, prepared) in found.items():
        runs[name] = lambda entry, lib=lib, prepared=prepared: of_library(args, lib, prepared(function_of(case.program, entry)), case.program, data)
    for name, run in runs.items():
        for entry in ENTRIES:
            got = attempt(row, f"{name} {entry}", lambda: run(entry))
            forget()
            if not got:
                continue
            row["us"].setdefault(name, {})[entry] = got[0]
            wanted[entry] = wanted[entry] or got[1]
            row["errors"].setdefault(name, {})[entry] = error_of(got[1], wanted[entry])
    return row


# --- Tables -----------------------------------------------------------------------------------------------------------


def short(us):
    return "-" if us is None else f"{us:.0f}" if us >= 100 else f"{us:.1f}"


def ratio(a, b):
    return a / b if a and b else None


def cell(number):
    return "-" if number is None else f"{number:.2f}"


def mean(numbers):
    numbers = [log(x) for x in numbers if x]
    return exp(sum(numbers) / len(numbers)) if numbers else None


def figures(row, names):
    """Value, gradient, their ratio, and of each peer its gradient and how often ours goes into that."""
    us = {name: row["us"].get(name, {}) for name in ["minifut", *names]}
    own = us["minifut"].get("gradient")
    numbers = [us["minifut"].get("value"), own, ratio(own, us["minifut"].get("value"))]
    for name in names:
        theirs = us[name].get("gradient")
        numbers += [theirs, ratio(theirs, us[name].get("value")), ratio(theirs, own)]
    return numbers


def table(rows, names, tolerance):
    heads = ["program", "data", "value us", "gradient us", "ratio"]
    for name in names:
        heads += [f"{name} us", "its ratio", "/ ours"]
    lines = ["| " + " | ".join([*heads, ""]) + " |", "|---" * (len(heads) + 1) + "|"]
    all_figures = [figures(row, names) for row in rows]
    for row, numbers in zip(rows, all_figures):
        times = [0, 1, *range(3, len(numbers), 3)]
        wrong = [f"{name} {entry} {e:.1g}" for name, by in row["errors"].items() for entry, e in by.items() if not e <= tolerance]
        failed = [f"{name}: {why.splitlines()[0][:60]}" for name, why in row.get("failed", {}).items()]
        cells = [short(x) if k in times else cell(x) for k, x in enumerate(numbers)]
        lines.append("| " + " | ".join([row["program"], row["data"], *cells, "; ".join(wrong + failed)]) + " |")
    means = [mean(column) for column in zip(*all_figures)]
    shown = [cell(m) if k == 2 or k > 2 and k % 3 != 0 else "" for k, m in enumerate(means)]
    lines.append("| " + " | ".join(["geometric mean", "", *shown, ""]) + " |")
    return "\n".join(lines)


# --- Commands ---------------------------------------------------------------------------------------------------------


def prepare(args):
    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for program in args.only.split(",") if args.only else PROGRAMS:
        how = ["--portable"] if args.portable else []
        subprocess.run([args.minifut, "compile", *how, "-o", folder / program, HERE / f"{program}.sf"], check=True)


def chosen(args):
    return [c for c in CASES if (not args.only or c.program in args.only.split(",")) and (not args.data or c.data in args.data.split(","))]


def run(args):
    found, rows = peers(args) if args.peers else {}, []
    names = [name for name in WHATS[1:] if name in found]
    with tempfile.TemporaryDirectory() as place:
        if not args.programs:
            args.programs, args.folder, args.portable = place, place, False
            prepare(args)
        for case in chosen(args):
            rows.append(measure(args, case, found, Path(place)))
            print(table(rows[-1:], names, args.tolerance).splitlines()[2], flush=True)
            if args.out:
                Path(args.out).write_text(json.dumps(rows, indent=1) + "\n")
    print()
    print(table(rows, names, args.tolerance))
    # Where no library has room for double precision, all are measured against the program.
    return any(not e <= args.tolerance for row in rows for by in row["errors"].values() for e in by.values()) \
        or any(what.startswith("minifut") for row in rows for what in row.get("failed", {}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_prepare, of_run = commands.add_parser("prepare"), commands.add_parser("run")
    for command in of_prepare, of_run:
        command.add_argument("--minifut", default="./minifut")
        command.add_argument("--only")
    of_prepare.add_argument("folder")
    of_prepare.add_argument("--portable", action="store_true", help="for other processors of this kind, too")
    of_run.add_argument("--programs", help="a folder with compiled programs; else they are compiled first")
    of_run.add_argument("--data", help="sets of data: tiny, small, large")
    of_run.add_argument("--peers", default="torch,compiled,jax")
    of_run.add_argument("-d", "--device", help="of the programs")
    of_run.add_argument("--runs", type=int, default=20)
    of_run.add_argument("--seconds", type=float, default=2, help="for the runs of one entry, after three")
    of_run.add_argument("--limit", type=float, default=120, help="seconds for one call of a program")
    of_run.add_argument("--tolerance", type=float, default=1e-3)
    of_run.add_argument("--out")
    args = parser.parse_args()
    if args.command == "prepare":
        prepare(args)
    else:
        sys.exit(1 if run(args) else 0)


if __name__ == "__main__":
    main()
