"""Cheapest paths of an input file of Pathfinder. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def cheapest(grids):
    best = grids[:, 0].astype(np.int32)
    for i in range(1, grids.shape[1]):
        left = np.concatenate([best[:, :1], best[:, :-1]], axis=1)
        right = np.concatenate([best[:, 1:], best[:, -1:]], axis=1)
        best = grids[:, i].astype(np.int32) + np.minimum(best, np.minimum(left, right))
    return best


if __name__ == "__main__":
    write_values(sys.argv[2], [cheapest(*read_values(sys.argv[1]))])
