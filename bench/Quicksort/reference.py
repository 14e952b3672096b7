"""Sorted numbers, by NumPy's merge sort. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def generate(rng, n, kind):
    """Any numbers; many of few; in order but for some, with long runs of equal ones."""
    if kind == "few":
        return [rng.integers(0, 1 + n // 100, n).astype(np.int32)]
    if kind == "nearly":
        xs = np.arange(n) // 10
        some = rng.integers(0, n, n // 100)
        xs[some] = rng.integers(0, n // 10 + 1, len(some))
        return [xs.astype(np.int32)]
    return [rng.integers(-2**31, 2**31, n).astype(np.int32)]


if __name__ == "__main__":
    write_values(sys.argv[2], [np.sort(read_values(sys.argv[1])[0].astype(np.int32), kind="stable")])
