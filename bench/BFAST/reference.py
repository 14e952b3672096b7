"""Breaks in time series, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def design(trend, k, freq, span, mapping):
    """Terms of the model: K x N."""
    t = mapping.astype(np.float64)
    rows = [np.ones_like(t)] + ([t / span] if trend > 0 else [])
    for harmonic in range(1, int(k) + 1):
        angle = 2 * np.pi * harmonic * t / float(freq)
        rows += [np.sin(angle), np.cos(angle)]
    return np.array(rows)


def pixel(x, y, n, hfrac, bounds):
    """Observations in the history, sigma, process, bound and time (since the history) of each observation after it;
    None in place of sigma if there are too few observations."""
    at = np.flatnonzero(~np.isnan(y))
    history = int(np.sum(at < n))
    h = int(np.float32(hfrac) * np.float32(history))
    after = at[history:] - n
    if history <= len(x) or h < 1:
        return history, None, np.zeros(0), np.zeros(0), after
    seen = x[:, at]
    beta = np.linalg.lstsq(seen[:, :history].T, y[at[:history]], rcond=None)[0]
    errors = y[at] - beta @ seen
    sigma = np.sqrt(np.sum(errors[:history]**2) / (history - len(x)))
    sums = np.concatenate([[0], np.cumsum(errors)])
    ends = np.arange(history + 1, len(at) + 1)
    process = (sums[ends] - sums[ends - h]) / (sigma * np.sqrt(history))
    return history, sigma, process, bounds[after], after


def pixels(trend, k, n, freq, hfrac, lam, mapping, images):
    n, span = int(n), float(mapping[int(n) - 1])
    x = design(trend, k, freq, span, mapping)
    ratio = mapping[n:] / span
    bounds = float(lam) * np.sqrt(np.where(ratio > np.e, np.log(ratio), 1))
    return (pixel(x, y, n, hfrac, bounds) for y in images.astype(np.float64))


def monitor(*values):
    rows = []
    for history, sigma, process, bounds, after in pixels(*values):
        if sigma is None:
            rows.append((history, 0, -1, 0))
            continue
        broken = np.flatnonzero(np.abs(process) > bounds)
        rows.append((history, sigma, after[broken[0]] if len(broken) else -1, process.mean() if len(process) else 0))
    valid, sigma, first, mean = zip(*rows)
    return [np.array(valid, np.int64), np.array(sigma, np.float32), np.array(first, np.int64),
            np.array(mean, np.float32)]


def doubtful(*values):
    """Of each pixel, whether rounding might move its first break or change its mean: the process comes near its
    bound up to there, or its values cancel out."""
    result = []
    for _, sigma, process, bounds, _ in pixels(*values):
        broken = np.flatnonzero(np.abs(process) > bounds)
        upto = broken[0] + 1 if len(broken) else len(process)
        near = np.abs(np.abs(process[:upto]) / bounds[:upto] - 1) < 2e-3
        result.append(bool(np.any(near)) or len(process) > 0 and abs(process.mean()) < 0.05)
    return np.array(result)


if __name__ == "__main__":
    write_values(sys.argv[2], monitor(*read_values(sys.argv[1])))
