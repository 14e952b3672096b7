"""Solutions of the linear systems of an input file, in double precision, by elimination. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def solve(matrices, sides):
    return np.stack([np.linalg.solve(a.astype(np.float64), b) for a, b in zip(matrices, sides)]).astype(np.float32)


def check(values, results):
    """None, or what is wrong. Small parts of a solution differ by more than what the loop leaves of the right side."""
    matrices, sides = (x.astype(np.float64) for x in values)
    got = results[0].astype(np.float64)
    if got.shape != sides.shape:
        return f"shape {got.shape} instead of {sides.shape}"
    left = np.linalg.norm(sides - np.einsum("kij,kj->ki", matrices, got), axis=1)
    worst = np.max(left / np.linalg.norm(sides, axis=1), initial=0)
    return None if worst <= 1e-4 else f"{worst:.1e} of a right side is left"


if __name__ == "__main__":
    write_values(sys.argv[2], [solve(*read_values(sys.argv[1]))])
