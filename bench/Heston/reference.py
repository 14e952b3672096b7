"""Calibration of an input file of Heston, in double precision, or the error of given parameters (if the input
begins with an array). usage: reference.py IN OUT"""
import sys
from datetime import date
from math import erf
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values

LOWER, UPPER = np.array([1e-6, 1e-6, -1, 1e-4, 1e-4]), np.array([1, 1, 0, 4, 2.0])
MODULUS = 2147483647


def normal(x):
    return 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def psi_heston(h, t, xi):
    v0, theta, rho, kappa, eta = h
    d0 = kappa - 1j * rho * eta * xi
    d = np.sqrt(d0 * d0 + eta * eta * xi * (1j + xi))
    a = d0 - d
    g = a / (d0 + d)
    e = np.exp(-d * t)
    inner = kappa * theta / eta**2 * (a * t - 2 * np.log((1 - g * e) / (1 - g)))
    return np.exp(inner + v0 / eta**2 * a * (1 - e) / (1 - g * e))


def days(number):
    return date(number // 10000, number // 100 % 100, number % 100).toordinal()


class Quotes:
    def __init__(self, nb_points, today, maturities, strikes, volatilities):
        new = np.concatenate([[True], maturities[1:] != maturities[:-1]])
        self.which = np.cumsum(new) - 1
        self.times = np.array([(days(int(m)) - days(int(today))) / 365 for m in maturities[new]])
        self.points, weights = np.polynomial.laguerre.laggauss(10 if nb_points == 10 else 20)
        self.weights = weights * np.exp(self.points)
        t, k, vol = self.times[self.which], strikes.astype(float), volatilities.astype(float)
        self.strikes = k
        plain = (t <= 0) | (vol <= 1e-15)
        s = np.where(plain, 1, vol * np.sqrt(np.maximum(t, 0)))
        d1 = s / 2 - np.log(k) / s
        vega = np.maximum(0.1, np.sqrt(np.maximum(t, 0)) * np.exp(-d1 * d1 / 2) / np.sqrt(2 * np.pi))
        self.prices = np.where(plain, np.maximum(0, 1 - k), normal(d1) - k * normal(d1 - s))
        self.vegas = np.where(plain, 0.1, vega)
        self.waves = np.exp(-1j * np.outer(np.log(k), self.points)) * self.weights

    def error(self, h):
        t = self.times[:, None]
        eps = 1e-2
        across = psi_heston(h, t, eps - 1j) - psi_heston(h, t, -eps - 1j)
        along = psi_heston(h, t, 1j * (eps - 1)) - psi_heston(h, t, 1j * (-eps - 1))
        sigma2 = 0.5 * (across - 1j * along).imag / (t * eps)
        xi = self.points - 1j
        psi_bs = np.exp(-0.5 * t * sigma2 * xi * (1j + xi))
        coefficients = (psi_bs - psi_heston(h, t, xi)) / (self.points * xi)
        integral = np.einsum("qp,qp->q", self.waves, coefficients[self.which]).real
        s = np.sqrt(sigma2 * t)[self.which, 0]
        k = self.strikes
        d1 = s / 2 - np.log(k) / s
        p = integral / np.pi + normal(d1) - k * normal(d1 - s)
        p = np.maximum(np.maximum(0, 1 - k), np.minimum(1, p))
        return np.sum(((p - self.prices) / self.vegas) ** 2)

    def in_percent(self, f):
        return np.float32(np.sqrt(f * 10000 / len(self.strikes)))


def advance(x):
    return 48271 * x % MODULUS


def engine(x, k):
    for _ in range(2):
        k = (((k >> 16) ^ k) * 0x45D9F3B) & 0xFFFFFFFF
    return advance(x ^ (k >> 16) ^ k)


class Random:
    def __init__(self, x):
        self.x = x

    def real(self):
        self.x = advance(self.x)
        return self.x / MODULUS

    def below(self, n, *others):
        while True:
            last = MODULUS - MODULUS % n
            self.x = advance(self.x)
            while self.x >= last:
                self.x = advance(self.x)
            r = self.x // (last // n)
            if r not in others:
                return r


def mutate(xs, best, weight, k, random):
    n = len(xs)
    a = random.below(n, k)
    b = random.below(n, k, a)
    c = random.below(n, k, a, b)
    start = best if random.real() <= 0.5 else a
    always = random.below(5)
    v = xs[k].copy()
    for j in range(5):
        r = random.real()
        new = xs[start, j] + weight * (xs[b, j] - xs[c, j])
        if j == always or (r <= 0.9 and LOWER[j] <= new <= UPPER[j]):
            v[j] = new
    return v


def evolve(np_, max_calls, objective):
    x = advance(1 ^ 0x123 ^ 0x1555)
    xs = []
    for k in range(np_):
        random = Random(engine(x, k))
        xs.append([lo + (hi - lo) * random.real() for lo, hi in zip(LOWER, UPPER)])
    xs = np.array(xs)
    fs = np.array([objective(v) for v in xs])
    best = int(np.nanargmin(fs))
    f, calls = fs[best], np_
    while calls < max_calls and f > 0:
        random = Random(x)
        r = random.real()
        x = random.x
        vs = np.array([mutate(xs, best, 0.5 + 0.5 * r, k, Random(engine(x, k))) for k in range(np_)])
        gs = np.array([objective(v) for v in vs])
        k = int(np.nanargmin(gs))
        if gs[k] < f or (gs[k] == f and k < best):
            f, best = gs[k], k
        better = gs < fs
        xs[better], fs[better] = vs[better], gs[better]
        x, calls = advance(x), calls + np_
    return xs[best], f, calls


def calibrate(max_global, nb_points, np_, today, maturities, strikes, volatilities):
    quotes = Quotes(int(nb_points), today, maturities, strikes, volatilities)
    x, f, calls = evolve(int(np_), int(max_global), quotes.error)
    v0, theta, rho, kappa, eta = (np.float32(v) for v in x)
    return [quotes.in_percent(f), np.int32(calls), v0, theta, kappa, eta, rho]


def error(parameters, *rest):
    v0, theta, kappa, eta, rho = parameters.astype(float)
    quotes = Quotes(20, *rest)
    return [quotes.in_percent(quotes.error([v0, theta, rho, kappa, eta]))]


def check(values, results):
    """None, or what is wrong with a calibration: how well the search does depends on the last digits of sums, but the
    error must be that of the parameters, evaluations must be counted, and something must have been found."""
    with np.errstate(all="ignore"):
        max_global, nb_points, np_, *rest = values
        percent, calls, *parameters = results
        quotes = Quotes(int(nb_points), *rest)
        v0, theta, kappa, eta, rho = (float(p) for p in parameters)
        want = quotes.in_percent(quotes.error([v0, theta, rho, kappa, eta]))
        start = quotes.in_percent(quotes.error([0.04, 0.04, -0.5, 0.01, 0.4]))
    if not abs(percent - want) <= 0.01 * want:
        return f"error {percent} instead of {want} for these parameters"
    if calls != -(-int(max_global) // int(np_)) * int(np_):
        return f"{calls} evaluations"
    return None if max_global < 1000 or want < start else "no better than the usual first guess"


if __name__ == "__main__":
    np.seterr(all="ignore")
    values = read_values(sys.argv[1])
    write_values(sys.argv[2], error(*values) if values[0].ndim else calibrate(*values))
