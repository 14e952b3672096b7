"""LU decomposition without pivoting, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def lud(a, block=64):
    a = a.astype(np.float64)
    n = len(a)
    for s in range(0, n, block):
        e = min(s + block, n)
        for k in range(s, e):
            a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:e] -= np.outer(a[k + 1:, k], a[k, k + 1:e])
            a[k + 1:e, e:] -= np.outer(a[k + 1:e, k], a[k, e:])
        a[e:, e:] -= a[e:, s:e] @ a[s:e, e:]
    return a.astype(np.float32)


if __name__ == "__main__":
    write_values(sys.argv[2], [lud(read_values(sys.argv[1])[0])])
