#!/usr/bin/env python3
"""f16 against NumPy's float16, whose + - * / and conversions round once: all numbers through operations of one operand, a million
pairs through those of two (fewer where they take long), by the interpreter and by compiled programs: on the processor by gcc and
tcc, on OpenCL as code of CPUs and of GPUs. The same bits everywhere, but those of NaN.

usage: tests/soft/run.py MINIFUT"""
import functools
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "bench")]
import checks  # noqa: E402
from values import read_binary, write_values  # noqa: E402

np.seterr(all="ignore")
MANY, SOME = 1000000, 100000
RANDOM = np.random.default_rng(16)
ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
HALVES = (ALL[:-1].astype(np.float64) + ALL[1:].astype(np.float64)) / 2  # ties of neighbours
EDGES = ALL[[0, 1, 2, 0x3fe, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x4200, 0x7bfe, 0x7bff, 0x7c00, 0x7e00]]


def some(n):
    """n numbers of all sizes, half of them of like sizes; the first are each edge with each other one, as which of a pair."""
    xs = RANDOM.integers(0, 1 << 16, n, dtype=np.uint16).view(np.float16).copy()
    xs[::2] = RANDOM.normal(0, 8, len(xs[::2])).astype(np.float16)
    return xs


def pairs(n):
    xs, ys, zs = some(n), some(n), some(n)
    signed = np.concatenate([EDGES, -EDGES])
    k = len(signed)
    xs[:k * k], ys[:k * k] = np.repeat(signed, k), np.tile(signed, k)
    # Sums that are halves but for a little: what rounds a product and a sum twice errs.
    m = k * k + 4 * 2048
    a = (np.arange(2048) + 1024).astype(np.float16)
    xs[k * k:m] = np.tile(a, 4)
    ys[k * k:m] = np.repeat(np.array([1.5, 0.5, 1 / 1024 + 1, 2.0 ** -14]).astype(np.float16), 2048)
    zs[k * k:m] = RANDOM.choice(np.array([2.0 ** -24, -(2.0 ** -24), 1, 2048]).astype(np.float16), m - k * k)
    return xs, ys, zs


def of_pairs(xs, ys, zs):
    product = xs * ys
    wide = [v.astype(np.float64) for v in (xs, ys, zs)]
    return [xs + ys, xs - ys, product, xs / ys, np.fmod(xs, ys), np.where((xs < ys) | np.isnan(ys), xs, ys),
            np.where((xs > ys) | np.isnan(ys), xs, ys), np.copysign(xs, ys), xs < ys,
            xs <= ys, xs == ys, xs != ys, np.where(xs == ys, ys, np.nextafter(xs, ys)), (wide[0] * wide[1] + wide[2]).astype(np.float16), product + zs,
            zs - product]


def of_each(bits):
    xs = bits.view(np.float16)
    return [bits, np.sqrt(xs), -xs, np.abs(xs), np.float16(1) / xs, np.floor(xs), np.ceil(xs), np.rint(xs), np.trunc(xs),
            np.where(xs == 0, xs, np.sign(xs)), np.isnan(xs), np.isinf(xs), xs.astype(np.float32), xs.astype(np.float64), xs != 0]


def whole(xs, t):
    """Cut towards zero, then the nearest end; 0 of what is not finite."""
    ends = np.iinfo(t)
    lo, hi = max(ends.min, -70000), min(ends.max, 70000)
    return np.clip(np.trunc(np.where(np.isfinite(xs), xs, 0).astype(float)), lo, hi).astype(t)


def of_wholes(xs, ys):
    return [v.astype(np.float64).astype(np.float16) for v in
            (xs, ys, xs.astype(np.int32), ys.astype(np.uint32), xs.astype(np.int16), ys.astype(np.uint16), xs.astype(np.int8),
             ys.astype(np.uint8), (xs > 0).astype(np.int8))]


def functions(xs):
    x = xs.astype(np.float64)
    erf = np.array([math.erf(v) for v in x])
    fs = [np.exp(x), np.log(x), np.sin(x), np.tanh(x), x ** 1.5, np.cbrt(x), 1 / np.sqrt(x), np.arctan2(x, 2), np.hypot(x, 3),
          np.log2(x), np.exp2(x), erf]
    return [f.astype(np.float16) for f in fs]


@functools.cache
def cases(n):
    """Entry points, what they are given, what is wanted, and by how many units it may be missed."""
    floats = np.concatenate([HALVES, np.nextafter(HALVES, np.inf), np.nextafter(HALVES, -np.inf), RANDOM.normal(0, 1, n),
                             [65519.999999, 65520, 1e300, -1e300, 2.0 ** -25, -(2.0 ** -25), 2.0 ** -1074, np.inf, -np.inf, np.nan]])
    singles = floats.astype(np.float32)
    beside = np.concatenate([singles, np.nextafter(HALVES.astype(np.float32), np.float32(np.inf)),
                             np.nextafter(HALVES.astype(np.float32), np.float32(-np.inf))])
    floats = np.concatenate([floats, beside[len(singles):].astype(np.float64)])
    ints = np.concatenate([np.arange(-70000, 70000), RANDOM.integers(-(1 << 63), (1 << 63) - 1, 1000), [(1 << 63) - 1, -(1 << 63)]])
    naturals = ints.view(np.uint64)
    bits = ALL.view(np.uint16)
    xs, ys, zs = pairs(n)
    whole_types = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
    return [("pairs", [xs, ys, zs], of_pairs(xs, ys, zs), 0),
            ("each", [bits], of_each(bits), 0),
            ("to_whole", [ALL], [whole(ALL, t) for t in whole_types], 0),
            ("from_floats", [beside, floats], [beside.astype(np.float16), floats.astype(np.float16)], 0),
            ("from_whole", [ints, naturals], of_wholes(ints, naturals), 0),
            ("functions", [ALL], functions(ALL), 1)]


def differs(got, want, units):
    """None, or the first element that is another number; by more than so many units in the last place, of floats."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if got.dtype.kind != "f":
        wrong = got != want
    else:
        word = f"i{got.dtype.itemsize}"
        wrong = (got.view(word) != want.view(word)) & ~(np.isnan(got) & np.isnan(want))
        if units:
            apart = np.abs(got.view(word).astype(np.int64) - want.view(word).astype(np.int64))
            wrong &= (apart > units) | (np.isnan(got) != np.isnan(want))
    at = np.flatnonzero(wrong)
    return None if len(at) == 0 else f"[{at[0]}]: {got[at[0]]!r} instead of {want[at[0]]!r}; {len(at)} differ"


def try_out(name, command, env, n):
    """All cases by a command, to which the entry point and the paths of input and output are added."""
    for entry, given, want, units in cases(n):
        with tempfile.TemporaryDirectory() as folder:
            write_values(f"{folder}/in", given)
            with open(f"{folder}/in", "rb") as f:
                r = subprocess.run([*command, "-b", "-e", entry], stdin=f, capture_output=True, env={**os.environ, **env}, check=False)
        got = read_binary(r.stdout) if r.returncode == 0 else []
        checks.check(len(got) == len(want), f"{name}: {entry}: {r.stderr.decode()}")
        for k, (g, w) in enumerate(zip(got, want)):
            wrong = differs(g, w, units)
            checks.check(not wrong, f"{name}: {entry}: result {k}: {wrong}")


def main():
    minifut = os.path.abspath(sys.argv[1])
    try_out("interpreter", [minifut, "run", str(HERE / "f16.sf")], {}, SOME)
    with tempfile.TemporaryDirectory() as folder:
        compilers = ["gcc"] + (["tcc"] if checks.need("tcc") else [])
        for cc in compilers:
            r = subprocess.run([minifut, "compile", "-o", f"{folder}/{cc}", str(HERE / "f16.sf")], capture_output=True, text=True,
                               env={**os.environ, "CC": cc}, check=False)
            checks.check(r.returncode == 0 and not r.stderr, f"{cc}: {r.stderr}")
            try_out(cc, [f"{folder}/{cc}"], {"MINIFUT_DRIVER": "native"}, MANY if cc == "gcc" else SOME)
        for code in ("cpu", "gpu"):
            if checks.need_opencl():
                try_out(f"OpenCL, code of {code}s", [f"{folder}/{compilers[-1]}"], {"MINIFUT_DRIVER": "opencl", "MINIFUT_CODE": code}, SOME)
    return checks.summary()


sys.exit(main())
