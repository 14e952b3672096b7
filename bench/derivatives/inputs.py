"""The inputs that compare.py measures with: seeded, in single precision. `tiny` takes well below a second on a processor."""
from collections import namedtuple

import numpy as np

F = np.float32


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=F)


def gmm(n, k, d):
    stored = normal(3, k, d * (d + 1) // 2) * F(0.3 / d ** 0.5)
    return [normal(1, k), normal(2, k, d), stored, normal(4, n, d), F(1), np.int64(0)]


def matmul(n, m, p):
    return [normal(1, n, m), normal(2, m, p), normal(3, n, p)]


def attention(n, m, d):
    return [normal(1, n, d), normal(2, m, d), normal(3, m, d), normal(4, n, d)]


def kmeans(n, k, d):
    return [normal(1, k, d), normal(2, n, d)]


class Case(namedtuple("Case", "program data sizes")):
    def arguments(self):
        return globals()[self.program](*self.sizes)


# Sizes of the three sets of data.
SIZES = {
    "gmm": [(1000, 10, 16), (10000, 100, 64), (100000, 200, 64)],
    "matmul": [(256, 256, 256), (2048, 2048, 2048), (4096, 4096, 4096)],
    "attention": [(256, 256, 32), (4096, 4096, 64), (16384, 16384, 64)],
    "kmeans": [(5000, 16, 8), (494019, 35, 35), (100000, 1024, 64)],
}
PROGRAMS = list(SIZES)
CASES = [Case(program, data, sizes) for program, all_sizes in SIZES.items() for data, sizes in zip(["tiny", "small", "large"], all_sizes)]
