"""Prices of an input file of OptionPricing, in double precision, a few thousand paths at a time.
usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values

SMALL = ([3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
          45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727],
         [1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077,
          21213.794301586595867, 39307.89580009271061, 28729.085735721942674, 5226.495278852854561])
MIDDLE = ([1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
           1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4],
          [1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
           0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9])
TAIL = ([6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123,
         0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
        [1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
         7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-5])


def quotient(coefficients, x):
    above, below = coefficients
    return np.polyval(above[::-1], x) / np.polyval(below[::-1], x)


def inverse_normal(p):
    q = p - 0.5
    r = np.sqrt(-np.log(np.maximum(0.5 - np.abs(q), 1e-30)))
    far = np.where(r <= 5, quotient(MIDDLE, r - 1.6), quotient(TAIL, r - 5))
    return np.where(np.abs(q) <= 0.425, q * quotient(SMALL, 0.180625 - q * q), np.copysign(far, q))


def sobol(directions, first, count):
    n = np.arange(first, first + count)
    gray = n ^ (n >> 1)
    x = np.zeros((len(directions), count), np.int64)
    for k in range(directions.shape[1]):
        x ^= np.where((gray >> k) & 1, directions[:, k, None], 0)
    return x / 2.0 ** directions.shape[1]


def increments(at, weight, gauss):
    """gauss: dates x underlyings x paths."""
    path = np.zeros_like(gauss)
    for i in range(len(gauss)):
        v = weight[0, i] * gauss[i]
        if i > 0:
            v = v + weight[2, i] * path[at[2, i] - 1]
            if at[1, i] > 0:
                v = v + weight[1, i] * path[at[1, i] - 1]
        path[at[0, i] - 1] = v
    return np.diff(path, axis=0, prepend=0)


def worst(x):
    return np.min(x / np.array([3758.05, 11840, 1200])[:, None], axis=0)


def payoff(contract, discount, fixed, x):
    """x: dates x underlyings x paths."""
    if contract == 1:
        return discount[0] * np.maximum(0, (x[0, 0] - 4000) * fixed[0])
    if contract == 2:
        w = worst(x[4])
        value = discount[4] * np.where(w >= 1, 1750, np.where(w > 0.75, 1000, w * 1000))
        for i, amount in reversed(list(enumerate([1150, 1300, 1450, 1600]))):
            value = np.where(worst(x[i]) >= 1, amount * discount[i], value)
        return value
    barrier = np.array([2630.635, 8288, 840])[:, None]
    touched = np.any(x <= barrier, axis=(0, 1))
    below = touched & np.any(x[-1] < np.array([3758.05, 11840, 1200])[:, None], axis=0)
    return 100 * discount[0] + discount[1] * np.where(below, 1000 * worst(x[-1]), 1000)


def price(contract, paths, directions, correlations, volatilities, drifts, starts, fixed, discounts, at, weight):
    models, dates, und = volatilities.shape
    total, chunk = np.zeros(models), max(1, 4000000 // (dates * und))
    for first in range(0, int(paths), chunk):
        count = min(chunk, int(paths) - first)
        gauss = inverse_normal(sobol(directions.astype(np.int64), first + 1, count))
        steps = increments(at, weight.astype(float), gauss.reshape(dates, und, count))
        for m in range(models):
            noise = np.einsum("jk,dkp->djp", np.tril(correlations[m]), steps)
            growth = np.exp(noise * volatilities[m][..., None] + drifts[m][..., None])
            x = starts[m][:, None] * np.cumprod(growth, axis=0)
            total[m] += payoff(contract, discounts[m], fixed[m], x).sum()
    return (total / int(paths)).astype(np.float32)


if __name__ == "__main__":
    write_values(sys.argv[2], [price(*read_values(sys.argv[1]))])
