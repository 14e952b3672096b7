"""k-means in double precision, the means by sums of the points in order. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def generate(rng, n, k, d, noise):
    """Clusters of unequal sizes, the largest a sixth of 16, a twentieth of 1024, around centres in a cube; the start is off
    by some noise. The last centre has none."""
    share = 1 / np.arange(3, k + 2)
    cluster = rng.choice(k - 1, n, p=share / share.sum())
    true = rng.uniform(-10, 10, (k, d))
    points = true[cluster] + rng.normal(0, noise, (n, d))
    start = true + rng.uniform(-1, 1, (k, d))
    start[k - 1] = 1000
    return [np.int32(20), start.astype(np.float32), points.astype(np.float32)]


def nearest(centres, points):
    """The nearest centre of each point, and how far it is from there (squared)."""
    lengths = (centres**2).sum(1)
    at, far = [], []
    for block in np.array_split(points, len(points) * len(centres) // 2**24 + 1):
        parts = lengths - 2 * block @ centres.T
        at.append(parts.argmin(1))
        far.append(parts.min(1) + (block**2).sum(1))
    return np.concatenate(at), np.concatenate(far)


def cluster(limit, start, points):
    centres, points = start.astype(np.float64), points.astype(np.float64)
    k, turns, at = len(centres), 0, None
    while turns < int(limit):
        before, at = at, nearest(centres, points)[0]
        sizes = np.bincount(at, minlength=k)
        sums = np.stack([np.bincount(at, column, k) for column in points.T], 1)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        turns += 1
        if before is not None and np.array_equal(before, at):
            break
    return [centres.astype(np.float32), sizes.astype(np.int64), np.int32(turns)]


def check(values, results):
    """None, or what is wrong. A few points between two clusters may be in either of them, and take a turn more."""
    limit, _, points = values
    centres, sizes, turns = results
    want, want_sizes, _ = cluster(*values)
    if centres.shape != want.shape or sizes.shape != want_sizes.shape:
        return f"shapes {centres.shape}, {sizes.shape} instead of {want.shape}"
    if not 1 < turns <= limit or sizes.sum() != len(points):
        return f"{turns} turns, {sizes.sum()} points"
    if np.abs(sizes - want_sizes).max() > 4 + 2e-3 * want_sizes.max():
        return "other sizes"
    # How far a centre moves if a few points between it and another one change sides.
    most = 1e-3 + 20 / np.maximum(1, want_sizes)[:, None]
    if not np.all(np.abs(centres - want) <= np.where(want_sizes[:, None] > 0, most, 0)):
        return "other centres"
    cost, least = (nearest(c.astype(np.float64), points.astype(np.float64))[1].sum() for c in (centres, want))
    return None if abs(cost - least) <= 1e-3 * least else f"a mean distance of {cost} instead of {least}"


if __name__ == "__main__":
    write_values(sys.argv[2], cluster(*read_values(sys.argv[1])))
