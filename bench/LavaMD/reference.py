"""Potentials and forces of an input file of lavaMD, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def forces(alpha, box_at, near_at, near_count, v, x, y, z, q):
    a2 = 2 * float(alpha) ** 2
    rv = np.stack([v, x, y, z]).astype(np.float64)
    out = np.zeros_like(rv)
    for box in range(len(box_at)):
        mine = rv[:, box, :, None]
        for k in range(int(near_count[box]) + 1):
            other = box if k == 0 else int(near_at[k - 1, box])
            theirs = rv[:, box_at[other], None, :]
            r2 = mine[0] + theirs[0] - np.sum(mine[1:] * theirs[1:], axis=0)
            u = np.exp(-a2 * r2) * q[box_at[other]].astype(np.float64)
            out[0, box] += u.sum(axis=1)
            for d in (1, 2, 3):
                out[d, box] += (2 * u * (mine[d] - theirs[d])).sum(axis=1)
    return [o.astype(np.float32) for o in out]


if __name__ == "__main__":
    alpha, _, _, _, box_at, _, _, _, near_at, near_count, *rest = read_values(sys.argv[1])
    write_values(sys.argv[2], forces(alpha, box_at, near_at, near_count, *rest))
