"""Calibration of a local volatility model, in double precision, its tridiagonal systems solved by elimination
(not by scans). usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def second_difference(x):
    """Coefficients at each point of a grid, zero at its ends: 3 x n."""
    low, high = np.diff(x)[:-1], np.diff(x)[1:]
    d = np.zeros((3, len(x)))
    d[0, 1:-1] = 2 / low / (low + high)
    d[1, 1:-1] = -2 * (1 / low + 1 / high) / (low + high)
    d[2, 1:-1] = 2 / high / (low + high)
    return d


def apply(d, u):
    """The operator along the last axis."""
    r = d[1] * u
    r[..., 1:] += d[0, 1:] * u[..., :-1]
    r[..., :-1] += d[2, :-1] * u[..., 1:]
    return r


def tridag(a, b, c, y):
    """Solves along the last axis by forward elimination and back substitution."""
    a, b, c = (np.broadcast_to(v, y.shape) for v in (a, b, c))
    b, y = b.copy(), y.copy()
    for i in range(1, y.shape[-1]):
        f = a[..., i] / b[..., i - 1]
        b[..., i] -= f * c[..., i - 1]
        y[..., i] -= f * y[..., i - 1]
    y[..., -1] /= b[..., -1]
    for i in range(y.shape[-1] - 2, -1, -1):
        y[..., i] = (y[..., i] - c[..., i] * y[..., i + 1]) / b[..., i]
    return y


def calibrate(strikes, nx, ny, nt, s0, t, alpha, nu, beta):
    nx, ny, nt = int(nx), int(ny), int(nt)
    dx, dy = 20 * alpha * s0 * np.sqrt(t) / nx, 10 * nu * np.sqrt(t) / ny
    at_x, at_y = int(np.float32(s0) / np.float32(dx)), ny // 2
    xs = (np.arange(nx) - at_x) * dx + s0
    ys = (np.arange(ny) - at_y) * dy + np.log(alpha)
    of_x, of_y = second_difference(xs), second_difference(ys)
    u = np.maximum(xs[None, :, None] - 0.001 * np.arange(int(strikes))[:, None, None], 0)
    u = np.broadcast_to(u, (int(strikes), nx, ny)).copy()
    times = t * np.arange(nt) / (nt - 1)
    for g in range(nt - 2, -1, -1):
        per = 1 / (times[g + 1] - times[g])
        var_x = np.exp(2 * (beta * np.log(xs)[:, None] + ys - 0.5 * nu**2 * times[g]))  # nx x ny
        var_y = nu**2
        v = 0.5 * var_y * apply(of_y, u)
        ut = u.transpose(0, 2, 1)  # strikes x ny x nx
        w = var_x.T
        r = per * ut + 0.25 * w * apply(of_x, ut) + v.transpose(0, 2, 1)
        r = tridag(-0.25 * w * of_x[0], per - 0.25 * w * of_x[1], -0.25 * w * of_x[2], r)
        y = per * r.transpose(0, 2, 1) - 0.5 * v
        u = tridag(-0.25 * var_y * of_y[0], per - 0.25 * var_y * of_y[1], -0.25 * var_y * of_y[2], y)
    return u[:, at_x, at_y].astype(np.float32)


if __name__ == "__main__":
    write_values(sys.argv[2], [calibrate(*(x.item() for x in read_values(sys.argv[1])))])
