"""How programs scale over ranks: measured where there are processors or devices, and a model of it beyond.

    scale.py run --ranks 1,2,4 --out FOLDER       measures bench/ranks here, --threads of the processor a rank (or -d DEVICE)
    scale.py model FOLDER                         table and pictures of what was measured, and of the model up to 1024 ranks
        --picture FILE                            ... which goes there
        --latency US --bandwidth GB/s             ... with another link than the one that was measured

The model is LogGP's: an exchange takes o + L m + bytes / B, of bytes that a rank gets, with m messages one after the other: log2(p) to ask
whether all are there, which brings numbers along; one more for rows beside, log2(p) more for whole arrays. What is computed takes A + C / p. o, L, B come
from `exchanges.sf`; A and C of each program from its own times, less what its exchanges take. How many exchanges there
are, and of how many bytes, the program says itself (`-P`), with two ranks: rows beside and numbers are as many for any
number of ranks, of whole arrays a rank gets (p - 1) / p. Needs NumPy.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from math import ceil, log2
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from report import line, svg, text  # noqa: E402
from values import write_values  # noqa: E402

KINDS = ["numbers", "rows beside", "whole arrays"]
MOST = 1024


def floats(*shape):
    return np.random.default_rng(1).random(shape, dtype=np.float32)


def spread(n, w):
    return np.random.default_rng(2).integers(0, n, (n, w))


# Program, entry, sizes by `scale` (1: a processor takes about a second), arguments by them.
CASES = [
    ("exchanges", "numbers", lambda s: [floats(1000), np.int32(1000)]),
    ("exchanges", "beside", lambda s: [floats(1000), np.int32(1000)]),
    ("exchanges", "wholes", lambda s: [floats(1000), np.int32(1000)]),
    ("exchanges", "wholes", lambda s: [floats(1 << 22), np.int32(20)]),
    ("programs", "plate", lambda s: [np.int32(50), floats(int(2000 * s), 4000)]),
    ("programs", "bodies", lambda s: [np.int32(2), *floats(3, int(20000 * s ** 0.5))]),
    ("programs", "means", lambda s: [np.int32(10), np.int64(20), floats(int(500000 * s), 4)]),
    ("programs", "power", lambda s: [np.int32(20), spread(int(500000 * s), 8), floats(int(500000 * s), 8)]),
    ("programs", "kept", lambda s: [np.random.default_rng(3).integers(0, 100, int(30000000 * s), dtype=np.int32)]),
]
IS_LINK = "exchanges"


# --- Measuring ------------------------------------------------------------------------------------------------------


def thresholds(program):
    names = subprocess.run([program, "--print-params"], capture_output=True, text=True, env=environment(1)).stdout
    return re.findall(r"^(\S*suff_dist_\d+)", names, re.M)


def environment(threads):
    native = {"MINIFUT_DRIVER": "native", "MINIFUT_THREADS": str(threads)} if threads else {}
    return {**os.environ, **native, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def start(args, program, entry, ranks, path, *more):
    """Standard error of a run with everything shared out."""
    always = [word for name in thresholds(program) for word in ("--param", f"{name}=1")]
    device = ["-d", args.device] if args.device else []
    command = ["mpirun", "-np", ranks, *(["--oversubscribe"] if args.oversubscribe else []), program, "-e", entry, "-n", *device, *always, *more]
    with open(path, "rb") as data:
        done = subprocess.run([str(c) for c in command], stdin=data, capture_output=True, text=True, env=environment(args.threads))
    if done.returncode:
        sys.exit(f"{program} -e {entry} on {ranks} ranks: {done.stderr}")
    return done.stderr


def exchanges(said):
    """Of one run, how often and how many bytes, by kind."""
    lines = re.findall(r"^exchanged ([a-z ]+): (\d+) times, (\d+) bytes", said, re.M)
    return {kind: [int(times), int(size)] for kind, times, size in lines}


def measure(args):
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    results = []
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        for program in {program for program, _, _ in CASES}:
            if args.programs:
                continue
            subprocess.run([args.minifut, "compile", "--mpi", "-o", place / program, HERE / f"{program}.sf"], check=True)
        for program, entry, data in CASES:
            write_values(place / "in", data(args.scale))
            built = Path(args.programs or place) / program
            case = {"program": program, "entry": entry, "bytes": (place / "in").stat().st_size, "us": {}}
            for ranks in args.ranks:
                start(args, built, entry, ranks, place / "in", "-r", args.runs, "-t", place / "times")
                case["us"][ranks] = min(int(t) for t in (place / "times").read_text().split())
            case["exchanges"] = exchanges(start(args, built, entry, 2, place / "in", "-P"))
            results.append(case)
            print(case, flush=True)
    (out / "scale.json").write_text(json.dumps({"device": args.device or f"{args.threads} threads a rank", "cases": results}, indent=1) + "\n")


# --- The model ------------------------------------------------------------------------------------------------------


def messages(kind, p):
    """One after the other, of an exchange."""
    steps = ceil(log2(p))
    return {"numbers": steps, "rows beside": steps + 1, "whole arrays": 2 * steps}[kind]


def got(exchanged, p):
    """How often, and bytes that a rank of p gets in all, by kind; what was seen was with two ranks."""
    for kind, (times, size) in exchanged.items():
        yield kind, times, size * (2 * (p - 1) / p if kind == "whole arrays" else p - 1 if kind == "numbers" else 1)


def features(case, p):
    """What o, L and 1 / B are multiplied with."""
    if p == 1:
        return np.zeros(3)
    total = np.zeros(3)
    for kind, times, size in got(case["exchanges"], p):
        total += [times, times * messages(kind, p), size]
    return total


def fit_positive(rows, times):
    """Least squares of relative errors, without negative numbers: what would be one is left out."""
    rows, times = np.array(rows, float), np.array(times, float)
    used = list(range(rows.shape[1]))
    while True:
        found = np.zeros(rows.shape[1])
        weighted = rows[:, used] / times[:, None]
        found[used] = np.linalg.lstsq(weighted, np.ones(len(times)), rcond=None)[0]
        if all(found >= 0):
            return found
        used.remove(min(used, key=lambda k: found[k]))


def link_of(cases):
    """o, L in us, us a byte."""
    rows, times = [], []
    for case in cases:
        if case["program"] != IS_LINK:
            continue
        for p, us in case["us"].items():
            if int(p) > 1:
                rows.append(features(case, int(p)))
                times.append(us)
    return fit_positive(rows, times)


def compute_of(case, link):
    """A and C."""
    rows, times = [], []
    for p, us in case["us"].items():
        rows.append([1, 1 / int(p)])
        times.append(max(us - features(case, int(p)) @ link, us * 0.05))
    return fit_positive(rows, times)


def modelled(case, link, compute, p):
    """Time by what it goes into."""
    parts = {"what all do": compute[0], "what is shared out": compute[1] / p}
    for kind, times, size in got(case["exchanges"], p):
        if p > 1:
            parts[kind] = np.array([times, times * messages(kind, p), size]) @ link
    return parts


COLORS = ["#4080c0", "#c08030", "#208040", "#a04080", "#606060"]


def picture(title, curves, dots, most):
    """Speed-ups over ranks, both in powers of two. curves: {name: [(ranks, speed-up)]}."""
    left, top, wide, high = 60, 40, 460, 300
    top_power = int(log2(most))

    def at(p, s):
        return left + wide * log2(p) / top_power, top + high - high * max(log2(max(s, 0.5)), 0) / top_power

    parts = [text(left + wide / 2, 24, title, size=13)]
    for k in range(0, top_power + 1, 2):
        x, y = at(2 ** k, 2 ** k)
        parts += [line(left, y, left + wide, y), text(x, top + high + 18, str(2 ** k)), text(left - 8, y + 4, str(2 ** k), "end")]
    parts += [line(*at(1, 1), *at(most, most), "#999999"), text(left + wide / 2, top + high + 38, "ranks; speed-up upwards")]
    for n, (name, points) in enumerate(curves.items()):
        color = COLORS[n % len(COLORS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(p, s) for p, s in points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{at(p, s)[0]:.1f}" cy="{at(p, s)[1]:.1f}" r="4" fill="{color}"/>' for p, s in dots[name]]
        parts.append(text(left + wide + 12, top + 14 + 20 * n, name, "start"))
        parts.append(line(left + wide - 12, top + 10 + 20 * n, left + wide + 8, top + 10 + 20 * n, color))
    return svg(left + wide + 110, top + high + 52, parts)


def model(args):
    folder = Path(args.folder)
    found = json.loads((folder / "scale.json").read_text())
    cases = found["cases"]
    link = link_of(cases)
    told = f"an exchange: {link[0]:.1f} us, {link[1]:.1f} us a message, {1e-3 / link[2] if link[2] else float('inf'):.2f} GB/s"
    lines = [f"Measured: {found['device']}; {told}.", ""]
    worst, curves, dots = 0, {}, {}
    other = link.copy()
    if args.latency:
        other[:2] = 0, args.latency
    if args.bandwidth:
        other[2] = 1e-3 / args.bandwidth
    lines += ["| program | ranks | measured ms | model ms | error |", "|---|---|---|---|---|"]
    for case in cases:
        name = case["entry"] + (f" {case['bytes']} B" if case["program"] == IS_LINK else "")
        compute = np.zeros(2) if case["program"] == IS_LINK else compute_of(case, link)
        for p, us in case["us"].items():
            if case["program"] == IS_LINK and int(p) == 1:
                continue
            told = sum(modelled(case, link, compute, int(p)).values())
            worst = max(worst, abs(told / us - 1)) if case["program"] != IS_LINK else worst
            lines.append(f"| {name} | {p} | {us / 1e3:.2f} | {told / 1e3:.2f} | {100 * (told / us - 1):+.0f} % |")
    lines += ["", f"Largest error of programs: {100 * worst:.0f} %.", ""]
    lines += ["Model, with the link as it is:" if not (args.latency or args.bandwidth) else
              f"Model, with a link of {args.latency or link[1]:.1f} us and {args.bandwidth or 1e-3 / link[2]:.1f} GB/s:", "",
              "| program | " + " | ".join(str(2 ** k) for k in range(0, 11, 2)) + " ranks | what takes most of the time at 1024 |", "|---" * 8 + "|"]
    for case in cases:
        if case["program"] == IS_LINK:
            continue
        compute = compute_of(case, link)
        alone = sum(modelled(case, other, compute, 1).values())
        curves[case["entry"]] = [(2 ** k, alone / sum(modelled(case, other, compute, 2 ** k).values())) for k in range(11)]
        measured_alone = min(us for p, us in case["us"].items() if int(p) == 1)
        dots[case["entry"]] = [(int(p), measured_alone / us) for p, us in case["us"].items()]
        parts = modelled(case, other, compute, MOST)
        limit = max(parts, key=parts.get)
        speed = dict(curves[case["entry"]])
        lines.append(f"| {case['entry']} | " + " | ".join(f"{speed[2 ** k]:.1f}" for k in range(0, 11, 2)) + f" | {limit} |")
    (folder / "scale.md").write_text("\n".join(lines) + "\n")
    Path(args.picture or folder / "scale.svg").write_text(picture("Speed-up by the model; dots are measured", curves, dots, MOST))
    print("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--minifut", default="./minifut")
    run.add_argument("--programs", help="a folder with exchanges and programs, compiled with --mpi")
    run.add_argument("--ranks", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    run.add_argument("--threads", type=int, default=1, help="of the processor a rank; 0: whatever device -d or the machine gives")
    run.add_argument("--oversubscribe", action="store_true")
    run.add_argument("-d", "--device")
    run.add_argument("--scale", type=float, default=1)
    run.add_argument("--runs", type=int, default=5)
    run.add_argument("--out", required=True)
    of = commands.add_parser("model")
    of.add_argument("folder")
    of.add_argument("--picture", help="where that goes (default: FOLDER/scale.svg)")
    of.add_argument("--latency", type=float)
    of.add_argument("--bandwidth", type=float)
    args = parser.parse_args()
    if args.command == "run":
        measure(args)
    else:
        model(args)


if __name__ == "__main__":
    main()
