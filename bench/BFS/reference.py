"""Levels of a breadth-first search of an input file. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def levels(source, offsets, targets):
    """Level by level; of the edges out of a level, those to vertices that have none yet."""
    level = np.full(len(offsets) - 1, -1, np.int32)
    at, found = 0, np.array([int(source)])
    while len(found):
        level[found] = at
        at += 1
        starts, degrees = offsets[found], offsets[found + 1] - offsets[found]
        first = np.cumsum(degrees) - degrees
        heads = targets[np.arange(degrees.sum()) + np.repeat(starts - first, degrees)]
        found = np.unique(heads[level[heads] < 0])
    return level


if __name__ == "__main__":
    write_values(sys.argv[2], [levels(*read_values(sys.argv[1]))])
