"""Nearest neighbours of an input file, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def distances(lat, lng, lats, lngs):
    return np.hypot(float(lat) - lats.astype(float), float(lng) - lngs.astype(float))


def nearest(k, lat, lng, lats, lngs):
    d = distances(lat, lng, lats, lngs)
    at = np.argsort(d, axis=1, kind="stable")[:, :int(k)]
    return [at.astype(np.int64), np.take_along_axis(d, at, axis=1).astype(np.float32)]


def check(values, results):
    """None, or what is wrong. Points at nearly the same distance may change places."""
    want = nearest(*values)[1]
    at, got = results
    if at.shape != want.shape or got.shape != want.shape:
        return f"shapes {at.shape}, {got.shape} instead of {want.shape}"
    if not np.allclose(got, want, rtol=1e-4, atol=1e-6):
        return "other distances"
    if any(len(set(row)) != len(row) for row in at):
        return "the same point twice"
    there = np.take_along_axis(distances(*values[1:]), at, axis=1)
    return None if np.allclose(there, got, rtol=1e-4, atol=1e-6) else "points at other distances than given"


if __name__ == "__main__":
    write_values(sys.argv[2], nearest(*read_values(sys.argv[1])))
