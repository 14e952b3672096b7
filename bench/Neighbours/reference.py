"""Forces between near particles in double precision: of few between all of them. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def generate(rng, n, cells, spread):
    """A gas, or (spread > 0) three quarters of it in drops of that width."""
    at = rng.uniform(0, cells, (3, n))
    if spread:
        drops = rng.uniform(1, cells - 1, (3, 4))
        wet = 3 * n // 4
        near = drops[:, rng.choice(4, wet, p=[0.6, 0.2, 0.15, 0.05])] + rng.normal(0, spread, (3, wet))
        at[:, :wet] = np.clip(near, 0, cells * (1 - 1e-6))
        at = at[:, rng.permutation(n)]
    return [np.int64(cells), *at.astype(np.float32)]


def effect(some, others):
    """Energy and force of some particles by others, of which each may be one itself."""
    away = some[:, None] - others
    rest = np.maximum(0, 1 - (away**2).sum(2))
    return np.concatenate([(rest**2).sum(1)[:, None] - 1, (4 * rest[:, :, None] * away).sum(1)], 1)


def forces(cells, xs, ys, zs):
    particles = np.array([xs, ys, zs], np.float64).T
    results = np.zeros((len(particles), 4))
    if len(particles) <= 2000:
        results[:] = effect(particles, particles)
        return list(results.astype(np.float32).T)
    # In columns of cells: what is near is a row of each of the nine columns around.
    cells = int(cells)
    at = np.clip(particles.astype(int), 0, cells - 1)
    key = (at[:, 0] * cells + at[:, 1]) * (cells + 2) + at[:, 2] + 1
    order = np.argsort(key, kind="stable")
    ends = np.searchsorted(key[order], np.arange(cells * cells * (cells + 2) + 1))
    for x, y, z in np.unique(at, axis=0):
        columns = [(i * cells + j) * (cells + 2) + z for i in range(max(0, x - 1), min(cells, x + 2))
                   for j in range(max(0, y - 1), min(cells, y + 2))]
        others = np.concatenate([order[ends[c]:ends[c + 3]] for c in columns])
        here = (x * cells + y) * (cells + 2) + z + 1
        own = order[ends[here]:ends[here + 1]]
        for part in np.array_split(own, len(own) * len(others) // 2**20 + 1):
            results[part] = effect(particles[part], particles[others])
    return list(results.astype(np.float32).T)


if __name__ == "__main__":
    write_values(sys.argv[2], forces(*read_values(sys.argv[1])))
