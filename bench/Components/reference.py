"""Connected components of an input file: the least vertex of each one. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def components(offsets, targets):
    """Union and find, edge by edge."""
    n = len(offsets) - 1
    parents = list(range(n))

    def root(v):
        while parents[v] != v:
            parents[v] = v = parents[parents[v]]
        return v

    tails = np.repeat(np.arange(n), np.diff(offsets))
    once = tails < targets
    for tail, head in zip(tails[once].tolist(), targets[once].tolist()):
        a, b = root(tail), root(head)
        parents[max(a, b)] = min(a, b)
    return np.array([root(v) for v in range(n)], np.int32)


if __name__ == "__main__":
    write_values(sys.argv[2], [components(*read_values(sys.argv[1]))])
