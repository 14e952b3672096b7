"""Product of the two matrices of an input file, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


if __name__ == "__main__":
    a, b = read_values(sys.argv[1])
    write_values(sys.argv[2], [(a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)])
