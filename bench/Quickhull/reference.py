"""The corners of a convex hull, exactly, by Andrew's monotone chain. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values

REACH = 2**29


def generate(rng, n, kind):
    """In a disc (few corners, of which the farthest points of the first turns are some); near a circle, so that most
    points stay for many turns; on a coarse grid: equal points, and many on a line."""
    angle, r = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.random(n))
    if kind == "circle":
        r = 1 - 1e-9 * r
    scale = 3 if kind == "lattice" else REACH
    return [np.rint(scale * r * f(angle)).astype(np.int32) for f in (np.cos, np.sin)]


def half(points):
    """The chain below the points, which are sorted."""
    chain = []
    for x, y, i in points:
        while len(chain) > 1:
            (x0, y0, _), (x1, y1, _) = chain[-2:]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                break
            chain.pop()
        chain.append((x, y, i))
    return chain


def outermost(xs, ys):
    """The numbers of points that may be corners: by columns of equal x, or of a strip, the lowest and the highest, and what
    is at the ends of the strips."""
    if len(xs) < 1000:
        return np.arange(len(xs))
    x, y = xs.astype(np.float64), ys.astype(np.float64)
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    inside = np.ones(len(xs), bool)
    # Inside of the polygon of the points farthest in 64 directions nothing is a corner.
    far = [int(np.argmax(x * np.cos(a) + y * np.sin(a))) for a in angles]
    for p, q in zip(far, far[1:] + far[:1]):
        if (xs[p], ys[p]) != (xs[q], ys[q]):
            inside &= (x[q] - x[p]) * (y - y[p]) - (y[q] - y[p]) * (x - x[p]) > 1e6
    return np.flatnonzero(~inside)


def hull(xs, ys):
    at = outermost(xs, ys)
    points, last = [], None
    for x, y, i in sorted(zip(xs[at].tolist(), ys[at].tolist(), at.tolist())):
        if (x, y) != last:  # of points at one place the first
            points.append((x, y, i))
        last = x, y
    corners = half(points) + half([(-x, -y, i) for x, y, i in reversed(points)])
    return [np.unique(np.array([i for _, _, i in corners], np.int64))]


if __name__ == "__main__":
    write_values(sys.argv[2], hull(*read_values(sys.argv[1])))
