"""The inputs that compare.py measures with: seeded, in single precision. `tiny` takes well below a second on a processor."""
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from values import read_values  # noqa: E402

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


def ba(cameras, points, observations):
    draw = np.random.default_rng(5)
    near = lambda value, spread, *shape: (value + spread * draw.standard_normal(shape)).astype(F)  # noqa: E731
    of = np.concatenate([near(0, 0.3, cameras, 3), near(0, 0.5, cameras, 3), near(1, 0.1, cameras, 1), near(0, 0.1, cameras, 2),
                         near(0, 0.01, cameras, 2)], 1)
    return [of, near([0, 0, 8], 0.5, points, 3), near(1, 0.1, observations), draw.integers(0, cameras, observations),
            draw.integers(0, points, observations), near(0, 0.2, observations, 2)]


def hand(vertices, points):
    draw = np.random.default_rng(6)
    weights = draw.random((vertices, 16), dtype=F) ** 4
    offsets = (np.array([0, 1, 0.1]) + 0.2 * draw.standard_normal((5, 3, 3))).astype(F)
    return [normal(7, 26) * F(0.3), offsets, normal(8, vertices, 3), weights / weights.sum(1, keepdims=True), normal(9, points, 3),
            draw.integers(0, vertices, points)]


def nbody(n):
    return [normal(1, n, 3), np.random.default_rng(2).random(n, dtype=F)]


def stencil(n, m, steps):
    return [np.int32(steps), normal(1, n, m), F(0.2) * np.random.default_rng(2).random((n, m), dtype=F), normal(3, n, m)]


def lstm(times, batch, d, h):
    weights = [normal(k, *shape) * F(h ** -0.5) for k, shape in enumerate([(4, h, d), (4, h, h), (4, h), (d, h), (d,)])]
    return [normal(9, times, batch, d), *weights]


def option(contract, paths):
    """A contract as it is in the small cases, on more paths."""
    args = read_values(HERE.parent / f"OptionPricing/data/contract{contract}.in")
    return [args[0], np.int32(paths), *args[2:]]


def locvol(strikes, nx, ny, nt):
    """With few strikes none is on the grid of prices, and there is no gradient but rounding."""
    return [*(np.int64(x) for x in (strikes, nx, ny, nt)), *(F(x) for x in (0.03, 5, 0.2, 0.6, 0.5))]


class Case(namedtuple("Case", "program data sizes")):
    def arguments(self):
        return globals()[self.program](*self.sizes)


# Sizes of the three sets of data.
SIZES = {
    "gmm": [(1000, 10, 16), (10000, 100, 64), (100000, 200, 64)],
    "matmul": [(256, 256, 256), (2048, 2048, 2048), (4096, 4096, 4096)],
    "attention": [(256, 256, 32), (4096, 4096, 64), (16384, 16384, 64)],
    "kmeans": [(5000, 16, 8), (494019, 35, 35), (100000, 1024, 64)],
    "ba": [(30, 1000, 5000), (372, 47423, 204472), (1936, 649673, 5213733)],
    "hand": [(544, 1000), (544, 100000), (10000, 1000000)],
    "lstm": [(5, 16, 16, 16), (20, 1024, 300, 192), (300, 1024, 80, 256)],
    "nbody": [(500,), (8192,), (32768,)],
    "stencil": [(64, 64, 10), (2048, 2048, 50), (4096, 4096, 100)],
    "option": [(2, 1000), (2, 1 << 20), (3, 1 << 20)],
    "locvol": [(24, 20, 16, 8), (16, 32, 256, 256), (128, 256, 32, 64)],
}
PROGRAMS = list(SIZES)
CASES = [Case(program, data, sizes) for program, all_sizes in SIZES.items() for data, sizes in zip(["tiny", "small", "large"], all_sizes)]
