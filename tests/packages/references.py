"""What the programs of this folder mean, in Python: CASES[name]() gives [(entry, arguments, results)].

Nothing here follows the programs' algorithms where Python has something simpler: sorts are `sorted`, maps are
dictionaries, elimination is in fractions."""
import heapq
import math
import random
from fractions import Fraction

import numpy as np

i32, i64, u8, u32, u64 = np.int32, np.int64, np.uint8, np.uint32, np.uint64
f32, f64, i16 = np.float32, np.float64, np.int16
MASK = (1 << 64) - 1


def arr(xs, t, shape=None):
    a = np.array(xs, dtype=t)
    return a.reshape(shape) if shape else a


def ints(r, n, lo, hi):
    return [r.randint(lo, hi) for _ in range(n)]


def halves(r, n, lo=-8, hi=8):
    """Numbers that floats hold exactly."""
    return [r.randint(4 * lo, 4 * hi) / 4 for _ in range(n)]


# --- Numbers ---------------------------------------------------------------------------------------
def complex_cases():
    r = random.Random(1)
    cases = []
    for n in (1, 6):
        a, b = ([complex(x, y) for x, y in zip(halves(r, n), halves(r, n))] for _ in range(2))
        b = [z if z else 1 + 0j for z in b]
        parts = lambda zs: (arr([z.real for z in zs], f64), arr([z.imag for z in zs], f64))
        cases.append(("arithmetic", parts(a) + parts(b), parts([x * y + x / y - x.conjugate() for x, y in zip(a, b)])))
        roots = [np.sqrt(z) for z in a]
        exps = [np.exp(-1j * z.imag) for z in a]
        cases.append(("roots", parts(a), parts(roots) + parts(exps) +
                      (arr([abs(z) for z in a], f64), arr([math.atan2(z.imag, z.real) for z in a], f64))))
    xs = arr([3, 1, -2, 5, 0.5, 4, -1], f64)
    spectrum = np.fft.fft(xs)
    cases.append(("transform", (xs,), (spectrum.real, spectrum.imag)))

    def turns(c):
        z, i = 0j, 0
        while i < 30 and abs(z) ** 2 < 4:
            z, i = z * z + c, i + 1
        return i
    ys, xs = [-1, -0.5, 0, 0.25, 1], [-2.5, -1.75, -0.75, -0.125, 0.375, 1]
    cases.append(("escapes", (arr(ys, f32), arr(xs, f32)), (arr([[turns(complex(x, y)) for x in xs] for y in ys], i32),)))
    return cases


def fractions_solve(a, columns):
    """The columns b of a x = b, and a's determinant, exactly."""
    n = len(a)
    a = [list(map(Fraction, row)) + list(map(Fraction, b)) for row, b in zip(a, columns)]
    det = Fraction(1)
    for i in range(n):
        p = next(k for k in range(i, n) if a[k][i])
        if p != i:
            a[i], a[p], det = a[p], a[i], -det
        det *= a[i][i]
        a[i] = [x / a[i][i] for x in a[i]]
        for k in range(n):
            if k != i:
                a[k] = [x - a[k][i] * y for x, y in zip(a[k], a[i])]
    return [row[n:] for row in a], det


def linalg_cases():
    r = random.Random(2)
    a, b = arr(halves(r, 12), f64, (3, 4)), arr(halves(r, 8), f64, (4, 2))
    cases = [("product", (a, b), (a @ b,))]
    for m in ([[0, 2, 1], [1, 0, 3], [4, 5, 0]], [[2]], [[1, 2, 3, 4], [0, 0, 5, 1], [2, -1, 0, 3], [3, 3, 1, -2]]):
        v = ints(r, len(m), -5, 5)
        x, det = fractions_solve(m, [[y] for y in v])
        cases.append(("solution", (arr(m, f64), arr(v, f64)), (arr([float(y[0]) for y in x], f64), f64(det))))
        p = 10007
        mod = lambda q: q.numerator * pow(q.denominator, -1, p) % p
        eye = [[int(i == j) for j in range(len(m))] for i in range(len(m))]
        inv, det = fractions_solve(m, eye)
        reduced = arr([[y % p for y in row] for row in m], i64)
        cases.append(("inverses", (reduced,), (arr([[mod(y) for y in row] for row in inv], i64), i64(mod(det)))))
        cases.append(("identity", (reduced, arr([y % p for y in v], i64)), (arr(eye, i64), arr([y % p for y in v], i64))))
    return cases


def poly_mul(a, b, m=None):
    out = [0] * (len(a) + len(b))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return [x % m for x in out] if m else out


def value_of(a, x):
    return sum(c * x ** k for k, c in enumerate(a))


def polynomial_cases():
    r = random.Random(3)
    cases = []
    for n, m in ((4, 3), (1, 5), (7, 7)):
        a, b, xs = ints(r, n, 0, 99), ints(r, m, 0, 99), ints(r, m, 0, 9)
        p = 1000003
        cases.append(("products", (arr(a, i64), arr(b, i64)), (arr(poly_mul(a, b), i64), arr(poly_mul(a, b, p), i64))))
        vs = [value_of(a, x) for x in xs]
        mods = arr([v % p for v in vs], i64)
        cases.append(("values", (arr(a, i64), arr(xs, i64)), (mods, mods, arr(vs, i64))))
        x = r.randint(-3, 3)
        cases.append(("slopes", (arr(a, i64), i64(x)), (i64(value_of([k * c for k, c in enumerate(a)][1:], x)),)))
        ys = ints(r, n, 0, 9)
        vs = [value_of(a, y) for y in ys]
        cases.append(("pairs", (arr(a, i64), arr(ys, i64)), (arr(vs, i64), arr([v % 97 for v in vs], i64))))
    return cases


def fixed_cases():
    def root(x, bits):
        one = 1 << bits
        raw = math.floor(x * one + 0.5) if (x * one) % 1 != 0.5 else round(x * one)
        if raw <= 0:
            return 0.0
        y = raw + one
        for _ in range(20):
            y = ((y + (raw << bits) // y) << bits) // (2 * one)
        return y / one
    xs = [0.0, 2.0, 9.0, 0.25, 123.5, 1.0]
    cases = [("roots", (arr(xs, f64),), (arr([root(x, 16) for x in xs], f64), arr([root(x, 8) for x in xs], f64),
                                         np.sqrt(arr(xs, f64))))]
    for n in (1, 8, 10):
        one = 1 << 16
        step = (3 * one << 16) // (n * one)
        total = 0
        for k in range(n):
            x = (k * one * step) >> 16
            total += (((x * x) >> 16) * step) >> 16
        floats = sum((3 / n * k) ** 2 * (3 / n) for k in range(n))
        cases.append(("integrals", (i64(n),), (f64(total / one), f64(floats))))
    a, b = [1.0, 2.5, -1.0, 0.001], [1.0, 2.25, 0.0, 0.0]
    cases.append(("compare", (arr(a, f64), arr(b, f64)),
                  (arr([round(x * 256) < round(y * 256) for x, y in zip(a, b)], bool),
                   arr([round(x * 256) == round(y * 256) for x, y in zip(a, b)], bool))))
    return cases


# --- Random numbers --------------------------------------------------------------------------------
class Minstd:
    def __init__(self, state):
        self.state = state or 1

    def next(self):
        self.state = 48271 * self.state % 2147483647
        return self.state

    def split(self, n):
        return [Minstd((self.state + i * 7919) % 2147483647) for i in range(n)]


def mixed(x):
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & MASK
    return x ^ (x >> 31)


class Xorshift:
    def __init__(self, state):
        self.state = state | 1

    def next(self):
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & MASK
        x ^= x >> 27
        self.state = x
        return x * 2685821657736338717 & MASK

    def split(self, n):
        return [Xorshift(mixed((self.state + i) & MASK)) for i in range(n)]


def uniform(engine):
    return ((engine.next() >> 7) & 0xffffff) / 16777216


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def random_cases():
    cases = []
    for seed in (1, 42, 2147483647):
        engines = Minstd(seed % 2147483647).split(3)
        cases.append(("throws", (i32(seed), i64(3), i64(5)), (arr([[1 + e.next() % 6 for _ in range(5)] for e in engines], i32),)))
        xs = Xorshift(mixed(seed + 1)).split(6)
        cases.append(("bytes", (i32(seed), i64(6)), (arr([10 + signed(e.next()) % 241 for e in xs], u8),)))
        xs = Xorshift(mixed(seed + 1)).split(6)
        cases.append(("units", (i32(seed), i64(6)), (arr([2 * uniform(e) - 1 for e in xs], f64),)))
        e, out = Minstd(seed % 2147483647), []
        for _ in range(4):
            u, v = uniform(e), uniform(e)
            out.append(10 + 2 * math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v))
        cases.append(("normals", (i32(seed), i64(4)), (arr(out, f64),)))
    return cases


# --- Arrays ----------------------------------------------------------------------------------------
def sort_cases():
    r = random.Random(4)
    cases = []
    for n in (0, 1, 5, 16, 33):
        xs = ints(r, n, 0, 255)
        cases.append(("bytes", (arr(xs, u8),), (arr(sorted(xs), u8),)))
        ks, vs = ints(r, n, -3, 3) if n < 30 else ints(r, n, -32768, 32767), list(range(n))
        kvs = sorted(zip(ks, vs), key=lambda kv: kv[0])
        cases.append(("keys", (arr(ks, i16), arr(vs, i32)), (arr([k for k, _ in kvs], i16), arr([v for _, v in kvs], i32))))
        xs, ys = ints(r, n, -100, 100), halves(r, max(1, n // 2))
        cases.append(("merged", (arr(xs, i32), arr(ys, f32)), (arr(sorted(xs), i32), arr(sorted(ys, reverse=True), f32))))
    rows, others = [ints(r, 7, 0, 3) for _ in range(3)], [ints(r, 7, 0, 9) for _ in range(3)]
    want = [[100 * x + y for x, y in sorted(zip(a, b))] for a, b in zip(rows, others)]
    cases.append(("rows", (arr(rows, i32), arr(others, i32)), (arr(want, i32),)))
    return cases


def segments(flags, xs):
    out = []
    for i, (f, x) in enumerate(zip(flags, xs)):
        if f or i == 0:
            out.append([])
        out[-1].append(x)
    return out


def segmented_cases():
    r = random.Random(5)
    cases = []
    for n in (0, 1, 2, 9, 40):
        flags, xs = [r.random() < 0.3 for _ in range(n)], ints(r, n, -9, 9)
        parts = segments(flags, xs)
        scans = [sum(p[:i + 1]) for p in parts for i in range(len(p))]
        cases.append(("scans", (arr(flags, bool), arr(xs, i32)), (arr(scans, i32), arr([sum(p) for p in parts], i32))))
        firsts = [next((x for x in p if x > 0), p[-1]) for p in parts]
        cases.append(("firsts", (arr(flags, bool), arr(xs, f32)), (arr(firsts, f32),)))
        ks = ints(r, n, 0, 4)
        cases.append(("counts", (arr(ks, i64),), (arr([i for i, k in enumerate(ks) for _ in range(k)], i64),)))
        cases.append(("triangles", (arr(ks, i64),), (arr([k * (j + 1) for k in ks for j in range(k)], i64),)))
    return cases


def heap_cases():
    r = random.Random(6)
    cases = []
    for n in (1, 2, 7, 20):
        xs = ints(r, n, -50, 50)
        cases.append(("sorted", (arr(xs, i32),), (arr(sorted(xs), i32),)))
    rows = [ints(r, 9, 0, 20) for _ in range(4)]
    cases.append(("rows", (i64(3), arr(rows, i32)), (arr([heapq.nsmallest(3, row) for row in rows], i32),)))
    periods = [1.5, 2.0, 0.75, 3.25]
    queue = [(p, i) for i, p in enumerate(periods)]
    heapq.heapify(queue)
    out = []
    for _ in range(15):
        time, i = heapq.heappop(queue)
        out.append(i)
        heapq.heappush(queue, (time + periods[i], i))
    cases.append(("simulate", (arr(periods, f32), i64(15)), (arr(out, i64), i64(len(periods)))))
    return cases


def map_cases():
    r = random.Random(7)
    cases = []
    for n in (1, 6, 25):
        ks, vs, qs = ints(r, n, -5, 12), ints(r, n, 0, 99), ints(r, 10, -6, 13)
        m = dict(zip(ks, vs))
        cases.append(("distinct", (arr(ks, i32), arr(vs, i64)), (arr(sorted(m), i32), arr([m[k] for k in sorted(m)], i64))))
        cases.append(("look", (arr(ks, i32), arr(vs, i64), arr(qs, i32)), (arr([m.get(q, -1) for q in qs], i64),)))
        a, b = ints(r, n, 0, 15), ints(r, n, 0, 15)
        both = {**{(k // 4, k % 4): 1 for k in a}, **{(k // 4, k % 4): 2 for k in b}}
        order = sorted(both, key=lambda k: (-k[0], k[1]))
        cases.append(("unions", (arr(a, i32), arr(b, i32)), (arr([100 * k[0] + 10 * k[1] + both[k] for k in order], i32),)))

    def fnv(bytes_, basis, prime, bits):
        for b in bytes_:
            basis = (basis ^ b) * prime % (1 << bits)
        return basis
    texts = [b"hello", b"a\0\xff~z", b"     "]
    cases.append(("hashes", (arr([list(t) for t in texts], u8),),
                  (arr([fnv(t, 2166136261, 16777619, 32) for t in texts], u32),
                   arr([fnv(t, 0xcbf29ce484222325, 0x100000001b3, 64) for t in texts], u64))))
    return cases


def statistics_cases():
    r = random.Random(8)
    cases = []
    for n in (3, 10, 31):
        xs, ys = arr(halves(r, n), f64), arr(halves(r, n), f64)
        d = xs - xs.mean()
        m2, m3, m4 = (np.mean(d ** k) for k in (2, 3, 4))
        cases.append(("moments", (xs,), tuple(map(f64, (xs.mean(), xs.var(ddof=1), xs.std(ddof=1), m3 / m2 ** 1.5, m4 / m2 ** 2)))))
        ps = arr([0, 0.3, 1], f64)
        cases.append(("quantiles", (xs, ps), (np.quantile(xs, ps), f64(np.median(xs)))))
        slope, intercept = np.polyfit(xs, ys, 1)
        cases.append(("fits", (xs, ys), (f64(slope), f64(intercept), f64(np.corrcoef(xs, ys)[0, 1]))))
    table = arr(halves(r, 20), f32, (5, 4))
    cases.append(("columns", (table,), (table.mean(axis=0), np.median(table, axis=0).astype(f32))))
    return cases


def vector_cases():
    r = random.Random(9)
    axis, angles, ps = arr([1, 2, 2], f64), arr([0.5, -2, 3], f64), arr(halves(r, 9), f64, (3, 3))
    k = axis / np.linalg.norm(axis)
    cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    turn = lambda a: np.eye(3) + math.sin(a) * cross + (1 - math.cos(a)) * cross @ cross
    cases = [("rotations", (axis, angles, ps), (np.array([turn(a) @ p for a, p in zip(angles, ps)]),))]
    ps, masses = arr(halves(r, 15), f64, (5, 3)), arr([1, 2, 0.5, 3, 1], f64)
    qs, vs = ps.copy(), np.zeros((5, 3))
    for _ in range(3):
        d = qs[None, :, :] - qs[:, None, :]
        radius = np.sqrt((d ** 2).sum(axis=2) + 0.01)
        vs = vs + 0.1 * (masses[None, :, None] * d / radius[:, :, None] ** 3).sum(axis=1)
        qs = qs + 0.1 * vs
    cases.append(("bodies", (ps, masses, i32(3)), (qs,)))
    xs, ys = arr(halves(r, 6), f32), arr(halves(r, 6), f32)
    cases.append(("planar", (xs, ys), (f32(xs.sum()), f32(math.hypot(xs.sum(), ys.sum())))))
    fives = arr(ints(r, 15, 0, 9), i32, (3, 5))
    cases.append(("fives", (fives,), ((fives + 1).sum(axis=1).astype(i32), fives[:, 3] - fives[:, 0], i64(5))))
    return cases


# --- Sum types -------------------------------------------------------------------------------------
def option_cases():
    r = random.Random(10)
    cases = []
    for n in (1, 8, 15):
        xs, ys = ints(r, n, -20, 20), ints(r, n, 0, 4)
        chained = [100 * x if y in (0, 2) else x // y * 7 // (y - 2) for x, y in zip(xs, ys)]
        cases.append(("ratios", (arr(xs, i32), arr(ys, i32)), (arr(chained, i32), arr([y != 0 for y in ys], bool))))
        evens = [x for x in xs if x % 2 == 0] or [-1]
        cases.append(("first_and_last", (arr(xs, i32),), (i32(evens[0]), i32(evens[-1]))))
        # ys / xs where x > 0
        codes = [2 * (x + y // x) if x > 0 else -5 for x, y in zip(xs, ys)]
        cases.append(("sums", (arr(xs, i32), arr(ys, i32)), (arr(codes, i32), i32(sum(x <= 0 for x in xs)))))
    return cases


def automata_cases():
    import re
    words = ["12", "-3", "4.", "4.25", "-", ".5", "1a", "", "-0.0", "--1", "1.2.3", "007"]
    width = max(map(len, words))
    codes = [list(w.ljust(width).encode()) for w in words]
    fits = [bool(re.fullmatch(r"-?\d+(\.\d*)?", w)) for w in words]
    cases = [("are_numbers", (arr(codes, u8), arr([len(w) for w in words], i64)), (arr(fits, bool),))]
    text, where, out = 'a "b#" # c "\nd"\n#" #', 0, []
    for c in text:
        if where == 0:
            where = {"#": 2, '"': 1}.get(c, 0)
        elif c == ('"' if where == 1 else "\n"):
            where = 0
        out.append(where)
    cases.append(("marks", (arr(list(text.encode()), u8),), (arr(out, i64),)))
    for text in ("", "a(b[c]d)[]", "(", ")(", "(]", "([)]", "((x)(y[z]))", "[()", "x", "())(()"):
        open_, good = [], True
        for c in text:
            if c in "([":
                open_.append(c)
            elif c in ")]":
                good = good and bool(open_) and open_.pop() + c in ("()", "[]")
        cases.append(("balanced", (arr(list(text.encode()), u8),), (np.bool_(good and not open_),)))
    return cases


def expression_cases():
    # Kind of token and its number, as expressions.sf reads them.
    formulas = [
        ([(1, 0)], lambda x: x, lambda x: 1),
        ([(0, 3), (1, 0), (3, 0), (6, 0), (1, 0), (4, 0), (0, 7), (5, 0)], lambda x: 3 * x * x + x - 7, lambda x: 6 * x + 1),
        ([(1, 0), (2, 0), (7, 0), (0, 2), (5, 1)], lambda x: 2 + x, lambda x: 1),
        ([(1, 0), (0, 1), (4, 0), (1, 0), (0, 1), (5, 0), (6, 0), (3, 0)],
         lambda x: (x * x - 1) ** 2, lambda x: 4 * x * (x * x - 1)),
    ]
    xs = [0.0, 1.0, -2.0, 0.5]
    cases = []
    for tokens, f, df in formulas:
        args = (arr([k for k, _ in tokens], i32), arr([x for _, x in tokens], f64), arr(xs, f64))
        cases.append(("values", args, (arr([f(x) for x in xs], f64),)))
        cases.append(("slopes", args, (arr([f(x) for x in xs], f64), arr([df(x) for x in xs], f64))))
    return cases


def neighbours(cells, i, j):
    h, w = len(cells), len(cells[0])
    return [cells[(i + a) % h][(j + b) % w] for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]


def life(cells):
    def next_(c, around):
        n = sum(x > 0 for x in around)
        return min(9, c + 1) if c and n in (2, 3) else 1 if not c and n == 3 else 0
    return [[next_(c, neighbours(cells, i, j)) for j, c in enumerate(row)] for i, row in enumerate(cells)]


def wires(cells):
    def next_(c, around):
        return {0: 0, 2: 3, 3: 1}.get(c, 2 if around.count(2) in (1, 2) else 1)
    return [[next_(c, neighbours(cells, i, j)) for j, c in enumerate(row)] for i, row in enumerate(cells)]


def cell_cases():
    r = random.Random(11)
    cases = []
    for name, rule, top in (("lives", life, 1), ("currents", wires, 3)):
        for h, w, steps in ((6, 7, 4), (3, 3, 1), (8, 5, 12)):
            start = cells = [ints(r, w, 0, top) for _ in range(h)]
            for _ in range(steps):
                cells = rule(cells)
            cases.append((name, (i32(steps), arr(start, u8)), (arr(cells, u8),)))
    for rounds in range(4):
        parts = [-1]
        for _ in range(rounds):
            parts = [q for p in parts for q in ([1, -1, -1] if p < 0 else [2 * p])]
        cases.append(("grow", (i32(rounds),), (arr(parts, i32), i64(len(parts)))))
    return cases


CASES = {
    "automata": automata_cases,
    "cells": cell_cases,
    "complex": complex_cases,
    "expressions": expression_cases,
    "fixed": fixed_cases,
    "heaps": heap_cases,
    "linalg": linalg_cases,
    "maps": map_cases,
    "options": option_cases,
    "polynomials": polynomial_cases,
    "random": random_cases,
    "segmented": segmented_cases,
    "sorts": sort_cases,
    "statistics": statistics_cases,
    "vectors": vector_cases,
}
