"""What run.py measures: entry points of the programs beside it, sizes, expected results by NumPy, and what work that
is."""
import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Callable, NamedTuple

import numpy as np

# --- The inputs of input.sf ------------------------------------------------------------------------------------------


def bits(at):
    """Of an array of indices, which is overwritten."""
    x = at
    for shift, factor in ((16, 0x7feb352d), (15, 0x846ca68b)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    x ^= x >> np.uint32(16)
    return x


def made(start, shape, dtype, number):
    """An array of number(bits) at the indices from `start`: piece by piece in the caches, on all cores."""
    n, piece = int(np.prod(shape)), 1 << 18
    result = np.empty(n, dtype)

    def fill(at):
        end = min(n, at + piece)
        result[at:end] = number(bits(np.arange(start + at, start + end, dtype=np.uint32)))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(0, n, piece)))
    return result.reshape(shape)


def real(start, *shape):
    return made(start, shape, np.float32, lambda x: (x >> np.uint32(8)) / np.float32(1 << 24) - np.float32(0.5))


@lru_cache(1)
def whole(*shape):
    return made(0, shape, np.float32, lambda x: (x >> np.uint32(28)) - np.float32(7.5))


# --- Expected results: functions of the sizes, a list of arrays each. Sums of whole numbers are exact. ----------------


def total(n):
    return [whole(n).sum()]


def prefixes(n):
    return [np.cumsum(whole(n))]


def positive(n):
    xs = whole(n)
    return [xs[xs > 0]]


def row_sums(n, m):
    return [whole(n, m).sum(axis=1)]


def roots_kept(n, m):
    return [np.sqrt(np.maximum(whole(n, m), 0)).sum(axis=1, dtype=np.float64).astype(np.float32)]


def sums_kept(n, m):
    return [np.maximum(whole(n, m), 0).sum(axis=1, dtype=np.float64).astype(np.float32)]


def row_prefixes(n, m):
    return [np.cumsum(whole(n, m), axis=1)]


def transposed(n, m):
    return [np.ascontiguousarray(whole(n, m).T)]


def counts(n, k, key):
    return [np.bincount(made(0, (n,), np.int64, key), minlength=k).astype(np.int32)]


def spread_counts(n, k):
    return counts(n, k, lambda x: x % np.uint32(k))


def hot_counts(n, k):
    return counts(n, k, lambda x: np.where(x >> np.uint32(28) == 0, x % np.uint32(k), 3))


def product(n, m, p):
    return batched_product(1, n, m, p)[0]


def batched_product(b, n, m, p):
    xs, ys = real(0, b, n, m), real(b * n * m, b, m, p)
    return [np.matmul(xs.astype(np.float64), ys.astype(np.float64)).astype(np.float32)]


def line_means(n):
    xs = np.pad(real(0, n), 1, "edge")
    return [0.25 * xs[:-2] + 0.5 * xs[1:-1] + 0.25 * xs[2:]]


def plane_means(n, m):
    xs = np.pad(real(0, n, m), 1, "edge")
    around = xs[:-2, 1:-1] + xs[2:, 1:-1] + xs[1:-1, :-2] + xs[1:-1, 2:]
    return [0.5 * xs[1:-1, 1:-1] + 0.125 * around]


def incremented(n):
    return [real(0, n) + np.float32(1)]


def same(n):
    return [real(0, n)]


def heated(n, steps):
    xs, ws = real(0, n), (real(n, n) + np.float32(0.5)) / np.float32(4)
    for _ in range(steps):
        xs[1:-1] = xs[1:-1] + ws[1:-1] * (xs[:-2] - 2 * xs[1:-1] + xs[2:])
    return [xs]


def soft_maxima(n, m):
    xs = whole(n, m)
    es = np.exp(xs - xs.max(axis=1, keepdims=True))
    return [es / es.sum(axis=1, keepdims=True)]


def column_sums(n, m):
    return [whole(n, m).sum(axis=0)]


def largest(n):
    xs = whole(n)
    return [xs.max(), xs.argmax()]


def moments(n):
    xs = whole(n)
    mean = xs.sum() / n
    return [mean.astype(np.float32), ((xs * xs).sum(dtype=np.float64) / n - mean * mean).astype(np.float32)]


def solutions(n, m):
    """Of the tridiagonal systems, by elimination; columns of all systems at once."""
    lower, main, upper, right = (real(k * n * m, n, m).T for k in range(4))
    main = main + np.float32(2)
    result, ratio = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
    for i in range(m):
        pivot = main[i] - (lower[i] * ratio[i - 1] if i else 0)
        ratio[i] = upper[i] / pivot
        result[i] = (right[i] - (lower[i] * result[i - 1] if i else 0)) / pivot
    for i in reversed(range(m - 1)):
        result[i] -= ratio[i] * result[i + 1]
    return [result.T]


def solutions_constant(n, m):
    """... with the same coefficients everywhere."""
    right = real(3 * n * m, n, m)
    result, ratio = np.empty((m, n), np.float64), np.empty(m)
    for i in range(m):
        pivot = 2 - (-0.25 * ratio[i - 1] if i else 0)
        ratio[i] = 0.5 / pivot
        result[i] = (right[:, i] - (-0.25 * result[i - 1] if i else 0)) / pivot
    for i in reversed(range(m - 1)):
        result[i] -= ratio[i] * result[i + 1]
    return [result.T.astype(np.float32)]


def in_order(n):
    return [np.sort(made(0, (n,), np.uint32, lambda x: x))]


def drawn(n):
    xs, turns = made(0, (n,), np.uint32, lambda x: x), np.zeros(n, np.int32)
    at = np.flatnonzero(xs & 15)
    for _ in range(64):
        x = xs[at]
        for left, by in ((True, 13), (False, 17), (True, 5)):
            x = x ^ (x << np.uint32(by) if left else x >> np.uint32(by))
        xs[at] = x
        turns[at] += 1
        at = at[(x & 15) != 0]
    return [turns]


def offsets(points, kind):
    """Where rows begin, of which each kind has some: see ragged.sf."""
    n = (max(1, points // 256), max(1, points // 256), 1, 64, max(1, points // 16), points, points)[kind]
    i = np.arange(n, dtype=np.int64)
    widths = (lambda: np.full(n, 256), lambda: points * 3 // (35 * (1 + i * 40503 % n)), lambda: np.full(n, points),
              lambda: points * (i + 1) ** 3 // 4326400,
              lambda: made(0, (n,), np.int64, lambda x: x % np.uint32(32)), lambda: np.full(n, 1),
              lambda: np.where(i == points // 3, points, 0))[kind]()
    return np.concatenate(([0], np.cumsum(widths)))


def sums_between(offs, values):
    before = np.concatenate(([0], np.cumsum(values, dtype=np.float64)))
    return [(before[offs[1:]] - before[offs[:-1]]).astype(np.float32)]


def ragged_product(points, kind):
    offs, k = offsets(points, kind), max(1, points // 16)
    columns = made(1, (offs[-1],), np.int32, lambda x: x % np.uint32(k))
    return sums_between(offs, whole(int(offs[-1])) * whole(k)[columns])


def ragged_sums(points, kind):
    offs = offsets(points, kind)
    return sums_between(offs, whole(int(offs[-1])))


def ragged_turned(points, kind):
    offs = offsets(points, kind)
    row = np.repeat(np.arange(len(offs) - 1), np.diff(offs))
    back = offs[row + 1] - 1 - np.arange(offs[-1])
    return sums_between(offs, whole(int(offs[-1])) * (1 + row % 8) * (1 + back % 2))


def ragged_peaks(points, kind):
    offs = offsets(points, kind)
    sums = np.concatenate((np.cumsum(whole(int(offs[-1])), dtype=np.float64), [-np.inf]))
    largest = np.maximum.reduceat(sums, np.minimum(offs[:-1], offs[-1])) - np.concatenate(([0], sums))[offs[:-1]]
    return [np.where(offs[:-1] < offs[1:], np.maximum(largest, 0), 0).astype(np.float32)]


def system(m, n, number):
    i = np.arange(n)
    at = np.minimum(i[:, None], i) * n + np.maximum(i[:, None], i)
    values = real(number * n * n, n * n)[at] / np.sqrt(n) + np.diag(np.full(n, 0.62 + 0.5 * number / m))
    return values, real(number * n, n)


def solved(m, n):
    return [np.stack([np.linalg.solve(*system(m, n, s)) for s in range(m)]).astype(np.float32)]


def solved_alone(n):
    return [solved(1, n)[0][0]]


def running_rows(n, m):
    return [np.cumsum(whole(n, m), axis=0)]


def running_sums(n, m):
    return [np.cumsum(whole(n, m).sum(axis=1, dtype=np.float64)).astype(np.float32)]


def turned_all(n, m):
    by = np.cumsum(made(0, (n,), np.int64, lambda x: x % np.uint32(m)))
    return [((np.arange(m) + by[:, None]) % m).astype(np.int32)]


def turned_once(n, m):
    by = made(0, (n,), np.int64, lambda x: x % np.uint32(m)).sum()
    return [((np.arange(m) + by) % m).astype(np.int32)]


def matrix_products(n, m):
    return products_of([made(k * n * m, (n, m), np.uint32, lambda x: x) for k in range(4)])


def products_of(xs):
    """Neighbours in pairs, until one of each segment is left; an odd one waits."""
    while xs[0].shape[1] > 1:
        even = xs[0].shape[1] & ~1
        (a, b, c, d), (e, f, g, h) = ([x[:, k:even:2] for x in xs] for k in range(2))
        pairs = a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h
        xs = [np.concatenate((y, x[:, even:]), axis=1) for x, y in zip(xs, pairs)]
    return [x[:, 0] for x in xs]


def made_sums(n, m):
    js = np.arange(m, dtype=np.int32) * np.int32(3)
    return [np.array([(np.int32(i) ^ js).sum(dtype=np.int32) for i in range(n)], np.int32)]


def kept_sum(dtype):
    def expected(n):
        xs = made(0, (n,), np.int32, lambda x: x >> np.uint32(20)).astype(dtype) * dtype(2)
        return [xs.sum(dtype=dtype), xs]
    return expected


def counted_sums(dtype):
    def expected(n, m):
        first = np.arange(n, dtype=np.int64) * m
        exact = first * m + m * (m - 1) // 2
        return [exact.astype(dtype)]
    return expected


def counted_products(n, m):
    x = np.arange(n * m, dtype=np.uint32).reshape(n, m)
    return products_of([x, np.ones_like(x), np.ones_like(x), x])


def draws(numbers, steps):
    x = numbers.astype(np.uint32)
    for _ in range(steps):
        x = x * np.uint32(1664525) + np.uint32(1013904223)
    return (x >> np.uint32(12)).astype(np.int32)


def drawn_sum(n, steps):
    return [draws(np.arange(n), steps).sum(dtype=np.int32)]


def drawn_sums(n, m, steps):
    return [draws(np.arange(n * m), steps).reshape(n, m).sum(axis=1, dtype=np.int32)]


def longest_runs(n, m):
    xs = made(0, (n, m), np.int32, lambda x: x >> np.uint32(24))
    at = np.broadcast_to(np.arange(m, dtype=np.int32), (n, m))
    begins = np.ones((n, m), bool)
    begins[:, 1:] = xs[:, 1:] < xs[:, :-1]
    start = np.maximum.accumulate(np.where(begins, at, 0), axis=1)
    return [(at - start + 1).max(axis=1).astype(np.int32)]


def byte_sums(n, k):
    keys = made(0, (n,), np.int64, lambda x: x % np.uint32(k))
    return [np.bincount(keys, weights=keys & 255, minlength=k).astype(np.int64).astype(np.uint8)]


def short_maxima(n, k):
    keys = made(0, (n,), np.int64, lambda x: x % np.uint32(k))
    result = np.full(k, -32768, np.int16)
    present = np.bincount(keys, minlength=k) > 0
    result[present] = np.arange(k).astype(np.int16)[present]
    return [result]


def aligned(blocks):
    """Antidiagonals of the matrix, one after the other."""
    n = blocks * 32 + 1
    score = np.zeros((n, n), np.int32)
    score[0], score[:, 0] = -10 * np.arange(n), -10 * np.arange(n)
    price = made(0, (n, n), np.int32, lambda x: (x % np.uint32(21)).astype(np.int32) - 10)
    for d in range(2, 2 * n - 1):
        y = np.arange(max(1, d - n + 1), min(d, n))
        x = d - y
        best = np.maximum(score[y - 1, x], score[y, x - 1]) - 10
        score[y, x] = np.maximum(best, score[y - 1, x - 1] + price[y, x])
    return [score.reshape(-1)]


def words(n, m):
    return made(0, (n, m), np.int32, lambda x: x)


def reversed_rows(n, m):
    return [words(n, m)[:, ::-1]]


def gathered_rows(n, m):
    return [words(n, m)[(5 * np.arange(n) + 1) % n]]


def scanned_back(n, m):
    return [np.cumsum(words(n, m), axis=1, dtype=np.int32)[:, ::-1]]


def row_scan_sums(n, m):
    return [np.cumsum(whole(n, m), axis=1).sum(axis=1)]


def softened(n):
    return [np.log(1 + np.exp(real(0, n)))]


def waves(n):
    xs = real(0, n).astype(np.float64)
    return [(np.exp(np.sin(xs)) + np.cos(xs)).astype(np.float32)]


def every(n):
    """The bodies whose accelerations are checked: 64 of them."""
    return slice(None, None, max(1, n // 64))


def accelerations(n):
    bodies = [real(k * n, n).astype(np.float64) for k in range(4)]
    place, masses = np.array(bodies[:3]), bodies[3] + 1
    result = []
    for at in place[:, every(n)].T:
        d = place - at[:, None]
        result.append(d @ (masses * ((d * d).sum(axis=0) + 0.01) ** -1.5))
    return list(np.array(result, np.float32).T)


def chains(n, steps):
    """x * 0.9375 + 1, four times a step, from x + 0, x + 1, ... x + 7."""
    x, shrunk = real(0, n).astype(np.float64), 0.9375 ** (4 * steps)
    return [(8 * 16 * (1 - shrunk) + shrunk * (8 * x + 28)).astype(np.float32)]


# --- Cases -----------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """An entry of a program on results of another entry, the maker, whose arguments are the sizes."""

    name: str
    program: str
    entry: str
    maker: str
    expected: Callable
    moved: Callable  # elements of 4 bytes that must be read or written, from sizes and expected results
    sizes: tuple
    operations: Callable = lambda *sizes: 0
    sample: Callable = lambda *sizes: slice(None)  # of the results, that is compared
    tolerance: float = 1e-4  # relative; sums of positive and negative numbers lose more
    asked: float = None  # microseconds on an H100 that are asked for

    def shape(self):
        return " x ".join(f"2^{d.bit_length() - 1}" if d >= 4096 and d & (d - 1) == 0 else str(d) for d in self.sizes)

    def scaled(self, scale):
        """With each size divided by 2^scale, but not below 16."""
        if not scale:
            return self
        return self._replace(sizes=tuple(max(min(d, 16), d >> scale) for d in self.sizes), asked=None)


def out(results):
    return sum(r.size for r in results)


def matrices(b, n, m, p):
    return b * (n * m + m * p + n * p)


ROWS = (1 << 20, 16), (1 << 16, 256), (1 << 12, 4096), (1 << 8, 65536), (16, 1 << 20)


def of_rows(name, entry, expected, asked=None, shapes=ROWS):
    return [Case(name, "rows", entry, "input", expected, lambda n, m, got: n * m + out(got), s, asked=asked)
            for s in shapes]


def of_kept(name, entry, expected, asked=None):
    """Rows of which about half is kept: read once."""
    return [Case(name, "kept", entry, "input", expected, lambda n, m, got: n * m + out(got), s, asked=asked) for s in ROWS[1:]]


def of_products(name, *sizes, teraflops=None, asked=None):
    operations = lambda n, m, p: 2 * n * m * p
    return [Case(name, "product", "main", "input", product, lambda n, m, p, got: matrices(1, n, m, p), s, operations,
                 tolerance=1e-2, asked=operations(*s) / teraflops / 1e6 if teraflops else asked) for s in sizes]


def of_array(name, program, entry, maker, expected, *sizes, asked=None, **more):
    """`asked` is of the first of the sizes."""
    return [Case(name, program, entry, maker, expected, lambda *a: int(np.prod(a[:-1])) + out(a[-1]), s,
                 asked=None if k else asked, **more) for k, s in enumerate(sizes)]


def of_bodies(n, asked=None):
    return Case("n-body", "nbody", "main", "input", accelerations, lambda n, got: 7 * n, (n,), lambda n: 20 * n * n,
                every, 1e-2, asked)


RAGGED = ("256 each", "1 / k", "one", "64 growing", "0 .. 31", "1 each", "one of all")


def of_ragged(name, entry, maker, expected, arrays, points, asked):
    """Rows of all kinds; per point so many arrays are read, per row an offset and what it gives."""
    return [Case(f"{name}, rows: {kind}", "ragged", entry, maker, expected,
                 lambda n, k, got: arrays * n + 3 * out(got), (points, k), asked=t)
            for k, (kind, t) in enumerate(zip(RAGGED, asked))]


def of_sort(name, entry):
    """What must move is each key in and out once; a pass for some of the bits moves that again."""
    return Case(name, "sort", entry, "input", in_order, lambda n, got: 2 * n, (1 << 24,), tolerance=0, asked=5000)


# Twice what the prototypes of the series take.
FIGURE_2 = [2 * t for t in (93, 50, 29, 11.7, 9.4, 9.9, 10.8, 11.1, 10.6, 6.8, 5.3)]


def of_keys(name, maker, expected, *sizes, entry="main"):
    return [Case(name, "histogram", entry, maker, expected, lambda n, k, got: n + k, s) for s in sizes]


# What memory and arithmetic can do: measured first.
CEILINGS = [
    *of_array("copy", "map", "copied", "input", same, (1 << 28,)),
    Case("multiply-adds", "peak", "main", "input", chains, lambda n, steps, got: 2 * n, (1 << 20, 1024),
         lambda n, steps: 64 * n * steps),
]

CASES = [
    *CEILINGS,
    *of_array("map", "map", "main", "input", incremented, (1 << 26,)),
    *of_array("exp and log", "map", "softened", "input", softened, (1 << 26,)),
    *of_array("exp, sin and cos", "map", "waves", "input", waves, (1 << 26,)),
    *of_array("turns", "turns", "main", "input", drawn, (1 << 24,)),
    *of_array("sum", "sum", "main", "input", total, (1 << 28,), (1 << 24,), (1 << 20,), asked=400),
    *of_array("largest", "numbers", "largest", "input", largest, (1 << 26,)),
    *of_array("mean and variance", "numbers", "moments", "input", moments, (1 << 26,)),
    *of_array("scan", "scan", "main", "input", prefixes, (1 << 28,), (1 << 24,), (1 << 20,), asked=850),
    *of_array("filter", "filter", "main", "input", positive, (1 << 26,), (1 << 24,), (1 << 20,), asked=350),
    of_sort("radix sort", "main"),
    of_sort("radix sort in blocks", "blocks"),
    *of_rows("row sums", "sums", row_sums, 35),
    *of_ragged("sparse product", "product", "input", ragged_product, 2, 1 << 24, [175] * 5 + [240, 350]),
    *of_ragged("ragged sums", "sums", "row_input", ragged_sums, 1, 1 << 24, [42] * 5 + [130, 84]),
    *of_ragged("ragged maps, turned", "turned", "row_input", ragged_turned, 3, 1 << 24, [117] * 5 + [245, 159]),
    *of_ragged("ragged scans, largest", "peaks", "row_input", ragged_peaks, 3, 1 << 24, [127] * 5 + [225, 169]),
    *of_kept("filter in rows", "sums", roots_kept, 60),
    *of_kept("condition in rows", "masked", roots_kept, 60),
    *of_kept("filter and scan in rows", "scans", sums_kept),
    *(Case("conjugate gradients", "conjugate", "main", "input", solved, lambda m, n, got: m * n * n, size, tolerance=1e-2)
      for size in ((4, 2048), (64, 512), (1024, 64))),
    *(Case("conjugate gradients, one call", "conjugate", "single", "single_input", solved_alone, lambda n, got: n * n, (n,),
           tolerance=1e-2) for n in (2048, 512)),
    *of_array("running rows, a loop", "operators", "running_rows", "input", running_rows, (100_000, 1000), (10_000_000, 10)),
    *of_array("running rows, a map", "operators", "by_rows", "input", running_rows, (100_000, 1000)),
    *of_array("permutations, all products", "operators", "turned", "turns", turned_all, (100_000, 256)),
    *of_array("permutations, the product", "operators", "turned_once", "turns", turned_once, (100_000, 256)),
    *of_array("running sums of rows", "operators", "running_sums", "input", running_sums, (100_000, 1000)),
    *of_array("running sums of loops", "operators", "running_loops", "input", running_sums, (100_000, 1000)),
    *(Case("products of 2 x 2", "operators", "products", "matrices", matrix_products, lambda n, m, got: 4 * n * m, s,
           tolerance=0) for s in ((1, 10_000_000), (10, 1_000_000))),
    *(Case(f"sums that keep {name}", "sum", f"kept_{name}", "word_input", kept_sum(t), lambda n, got, t=t: n + n * t().itemsize / 4,
           (100_000_000,), tolerance=1e-6) for name, t in (("bytes", np.int8), ("words", np.int32), ("doubles", np.float64))),
    *(Case(f"counted {name}", "computed", name, "sizes", counted_sums(t), lambda n, m, got: n, s, lambda n, m: n * m, tolerance=1e-9)
      for name, t in (("bytes", np.int8), ("words", np.int32), ("doubles", np.float64)) for s in ROWS),
    *(Case("counted products", "computed", "products", "sizes", counted_products, lambda n, m, got: 4 * n, s,
           lambda n, m: 12 * n * m, tolerance=0) for s in ROWS[::2]),
    *(Case("drawn", "computed", "drawn", "sizes", drawn_sum, lambda n, m, got: 1, s, lambda n, m: 2 * n * m, tolerance=0)
      for s in ((100_000, 1000), (1000, 10_000), (10_000_000, 10))),
    Case("drawn in rows", "computed", "drawn_rows", "row_sizes", drawn_sums, lambda n, m, k, got: n, (64, 1000, 1000),
         lambda n, m, k: 2 * n * m * k, tolerance=0),
    *of_array("longest runs", "computed", "runs", "steps", longest_runs, *ROWS[::2]),
    *of_array("rows reversed", "moves", "reversed", "input", reversed_rows, *ROWS),
    *of_array("rows gathered", "moves", "gathered", "input", gathered_rows, *ROWS),
    *of_array("rows scanned, reversed", "moves", "scanned", "input", scanned_back, *ROWS),
    *of_array("sums of scans", "rows", "scan_sums", "input", row_scan_sums, (1_000_000, 6)),
    Case("waves", "waves", "solved", "blocks", aligned, lambda b, got: 2 * out(got), (64,), tolerance=0, asked=1727),
    Case("computed sums", "operators", "made", "sizes", made_sums, lambda n, m, got: n, (100_000, 1000),
         lambda n, m: 3 * n * m, tolerance=0),
    *of_rows("row scans", "scans", row_prefixes, 60),
    *of_rows("softmax", "softmax", soft_maxima, shapes=ROWS[:4]),
    *of_rows("column sums", "column_sums", column_sums, shapes=ROWS[::2]),
    *of_rows("transposition", "transposed", transposed, 60),
    *of_rows("transposition", "transposed", transposed, shapes=[s for n, m in ((2, 1 << 23), (4, 1 << 22), (100, 167772))
                                                                for s in ((n, m), (m, n))]),
    *(Case("tridag, constant", "tridag", "constant", "sides", solutions_constant, lambda n, m, got: 2 * n * m, s)
      for s in ((65536, 256), (1 << 20, 16))),
    Case("tridag", "tridag", "main", "input", solutions, lambda n, m, got: 5 * n * m, (65536, 256), asked=150),
    *of_keys("histogram", "spread_keys", spread_counts, (1 << 24, 64), (1 << 24, 1 << 20)),
    *of_keys("one hot bin", "hot_keys", hot_counts, (1 << 24, 1024)),
    *(case for k in (16, 256, 60_000, 1_000_000)
      for name, entry, expected in (("sums of 8 bits", "bytes", byte_sums), ("maxima of 16 bits", "shorts", short_maxima))
      for case in of_keys(name, "spread_keys", expected, (1 << 24, k), entry=entry)),
    *of_products("product", (4096, 4096, 4096), (4095, 4095, 4095), teraflops=42),
    *of_products("product", (2048, 2048, 2048), teraflops=38),
    *of_products("product", (1024, 1024, 1024), teraflops=30),
    *(case for n, asked in enumerate(FIGURE_2)
      for case in of_products("figure 2", (1 << n, 1 << 25 - 2 * n, 1 << n), asked=asked)),
    *of_products("tall product", (32, 1 << 15, 32)),
    *of_products("flat product", (1024, 32, 1024)),
    Case("batched product", "product", "batched", "batched_input", batched_product,
         lambda b, n, m, p, got: matrices(b, n, m, p), (256, 128, 128, 128), lambda b, n, m, p: 2 * b * n * m * p,
         tolerance=1e-2),
    *of_array("stencil, 3 points", "stencil", "line", "line_input", line_means, (1 << 26,)),
    *of_array("stencil, 5 points", "stencil", "plane", "plane_input", plane_means, (8192, 8192), asked=230),
    Case("rotations", "stencil", "rotated", "rotated_input", heated, lambda n, steps, got: 3 * n * steps, (1 << 24, 16)),
    of_bodies(1000), of_bodies(10_000), of_bodies(100_000, 20 * 100_000**2 / 30e6),
]
