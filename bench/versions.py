"""Runs every version of a compiled program on every data set: checks the result, times the version.

usage: versions.py BINARY DATASETS [--device D] [--tuning FILE] [--runs N] [--json FILE] [--limit SECONDS]
                   [--tolerance T] [--only-defaults]

DATASETS is a folder of NAME.in with NAME.out beside it (binary or text). Settings tried: the defaults, the
tuning file if given, all thresholds out of reach, and each threshold alone reached on its own path. Times
are medians in microseconds, as the program reports them. Needs NumPy.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from values import difference, read_binary, read_values

NEVER, ALWAYS = 1 << 60, 1


def settings(binary, device):
    out = subprocess.run([binary, *device, "--print-params"], capture_output=True, text=True).stdout
    params = []
    for line in out.splitlines():
        m = re.match(r"(\S+) \(threshold\([^,]*,\s*(.*)\)\)$", line.strip())
        if m:
            params.append((m.group(1), [(s.lstrip("!"), not s.startswith("!")) for s in m.group(2).split()]))
    base = {name: NEVER for name, _ in params}
    if params:
        yield "last", base
    for name, path in params:
        s = dict(base)
        s.update({a: ALWAYS if taken else NEVER for a, taken in path})
        s[name] = ALWAYS
        yield name.split(".")[-1], s


def run(binary, device, source, extra, runs, limit):
    """(results, microseconds of each run, error)"""
    with tempfile.NamedTemporaryFile("r") as times:
        cmd = [binary, *device, "-b", "-t", times.name, *extra]
        if runs > 1:
            cmd += ["-r", str(runs)]
        try:
            r = subprocess.run(cmd, stdin=open(source, "rb"), capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return None, [], f"more than {limit} s"
        if r.returncode:
            return None, [], r.stderr.decode(errors="replace").strip()[-300:]
        return read_binary(r.stdout), [float(t) for t in times.read().split()], None


def measure(a, device, source, want, extra):
    got, times, wrong = run(a.binary, device, source, extra, 1, a.limit)
    if not wrong:
        wrong = difference(got, want, a.tolerance)
    if wrong:
        return {"error": wrong}
    if a.runs > 1 and times[0] < 1e6 * a.limit / (4 * a.runs):
        _, times, wrong = run(a.binary, device, source, extra, a.runs, a.limit)
        if wrong:
            return {"error": wrong}
    return {"median_us": float(np.median(times)), "runs": len(times)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary")
    p.add_argument("datasets")
    p.add_argument("--device")
    p.add_argument("--tuning")
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("--limit", type=float, default=60)
    p.add_argument("--tolerance", type=float, default=1e-3)
    p.add_argument("--json")
    p.add_argument("--only-defaults", action="store_true")
    a = p.parse_args()
    device = ["-d", a.device] if a.device else []
    table = {"default": []}
    if a.tuning:
        table["tuned"] = ["--tuning", a.tuning]
    for label, s in [] if a.only_defaults else settings(a.binary, device):
        table[label] = [x for name, v in s.items() for x in ("--param", f"{name}={v}")]
    results, bad = {}, 0
    print(f"{'data set':16}" + "".join(f"{label:>18}" for label in table))
    for source in sorted(Path(a.datasets).glob("*.in")):
        want = read_values(source.with_suffix(".out"))
        row = {label: measure(a, device, source, want, extra) for label, extra in table.items()}
        results[source.stem] = row
        cells = [f"{m['median_us']:.0f}" if "median_us" in m else "FAILED" for m in row.values()]
        print(f"{source.stem:16}" + "".join(f"{c:>18}" for c in cells), flush=True)
        for label, m in row.items():
            if "error" in m:
                bad += 1
                print(f"    {label}: {m['error']}")
    if a.json:
        Path(a.json).write_text(json.dumps(results, indent=1))
    print(f"{bad} failed" if bad else "all right")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
