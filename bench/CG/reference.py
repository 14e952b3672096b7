"""Solutions of the linear systems of an input file, in double precision, by elimination. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def solve(matrices, sides):
    return np.stack([np.linalg.solve(a.astype(np.float64), b) for a, b in zip(matrices, sides)]).astype(np.float32)


if __name__ == "__main__":
    write_values(sys.argv[2], [solve(*read_values(sys.argv[1]))])
