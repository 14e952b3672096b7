"""Data sets of the paper's figure 2: matrices 2^n x 2^m and 2^m x 2^n with m = k - 2n, so that the work is
2^k for every n. usage: sweep.py FOLDER K [N...]   (default N: 0 .. 10). Expected results in double
precision by NumPy. Values are between -1 and 1: sums of 2^25 positive values would leave the precision
of f32 when a single thread adds them up."""
import struct
import sys
from pathlib import Path

import numpy as np


def write(path, values):
    with open(path, "wb") as f:
        for v in values:
            f.write(b"b\x02" + bytes([v.ndim]) + b" f32" + struct.pack(f"<{v.ndim}q", *v.shape))
            f.write(np.ascontiguousarray(v, "<f4").tobytes())


def main():
    folder, k = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for n in [int(x) for x in sys.argv[3:]] or range(11):
        rng = np.random.default_rng(100 * k + n)
        rows, inner = 1 << n, 1 << (k - 2 * n)
        a = rng.uniform(-1, 1, (rows, inner)).astype(np.float32)
        b = rng.uniform(-1, 1, (inner, rows)).astype(np.float32)
        want = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
        write(folder / f"k{k}n{n:02}.in", [a, b])
        write(folder / f"k{k}n{n:02}.out", [want])


if __name__ == "__main__":
    main()
