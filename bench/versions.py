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
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

NEVER, ALWAYS = 1 << 60, 1
TYPES = {"  i8": "i1", " i16": "<i2", " i32": "<i4", " i64": "<i8", "  u8": "u1", " u16": "<u2", " u32": "<u4",
         " u64": "<u8", " f32": "<f4", " f64": "<f8", "bool": "?"}


def read_binary(data):
    """The values of a binary stream."""
    values, at = [], 0
    while True:
        while at < len(data) and data[at:at + 1].isspace():
            at += 1
        if at == len(data):
            return values
        if data[at:at + 1] != b"b":
            raise ValueError(f"no binary value at byte {at}")
        rank = data[at + 2]
        dtype = np.dtype(TYPES[data[at + 3:at + 7].decode()])
        at += 7
        shape = struct.unpack_from(f"<{rank}q", data, at)
        at += 8 * rank
        count = int(np.prod(shape)) if rank else 1
        values.append(np.frombuffer(data, dtype, count, at).reshape(shape))
        at += count * dtype.itemsize


def read_text(text):
    """Values of a text file, enough for expected results: arrays and scalars of numbers."""
    text = re.sub(r"--[^\n]*", "", text)
    text = re.sub(r"(?<=[0-9.])(i8|i16|i32|i64|u8|u16|u32|u64|f32|f64)\b", "", text)
    values, decoder, at = [], json.JSONDecoder(), 0
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(np.asarray(value))
        while at < len(text) and text[at].isspace():
            at += 1
    return values


def read_values(path):
    data = Path(path).read_bytes()
    return read_binary(data) if data.lstrip()[:1] == b"b" else read_text(data.decode())


def difference(got, want, tolerance):
    """None if equal, else what differs."""
    if len(got) != len(want):
        return f"{len(got)} results instead of {len(want)}"
    for k, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape:
            return f"result {k}: shape {g.shape} instead of {w.shape}"
        if g.dtype.kind == "f":
            scale = np.maximum(np.abs(w), np.max(np.abs(w), initial=0) * 1e-3) + 1e-30
            worst = np.max(np.abs(g.astype(np.float64) - w) / scale, initial=0)
            if not worst <= tolerance:
                return f"result {k}: relative difference {worst:.2g}"
        elif not np.array_equal(g, w):
            return f"result {k}: {np.sum(g != w)} elements differ"
    return None


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
