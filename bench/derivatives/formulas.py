"""What the programs here compute, in terms of whole arrays, for any library of them (libraries.py): `xp` is NumPy, PyTorch or
JAX's module, `lib` what differs between these, and the derivatives.

Each function takes the arguments of the program's entries; VALUES and GRADIENTS have those of each program.
"""
from math import lgamma, log, pi

import numpy as np


def log_sum_exp(xp, x):
    top = xp.amax(x, -1)
    return top + xp.log(xp.exp(x - top[..., None]).sum(-1))


# --- gmm ------------------------------------------------------------------------------------------------------------


def triangular(lib, d, stored):
    """Matrices [k][d][d] of what is stored of them. Rows and columns below the diagonal, column by column."""
    rows, columns = lib.lower(d)
    lower = lib.put(lib.zeros_like(stored, (stored.shape[0], d, d)), rows, columns, stored[:, d:])
    return lower + lib.xp.exp(stored[:, :d])[:, :, None] * lib.eye(d, stored)


def likelihood(lib, xs, gamma, degrees, alphas, means, stored):
    xp, (n, d), k = lib.xp, xs.shape, alphas.shape[0]
    gamma, degrees = float(gamma), int(degrees)
    roots = triangular(lib, d, stored)
    # Q (x - m) is Q x - Q m: products of matrices, and no array of n k d centred points.
    moved = xp.einsum("kij,kj->ki", roots, means)
    parts = xp.einsum("kij,nj->nki", roots, xs) - moved[None]
    densities = alphas + stored[:, :d].sum(1) - 0.5 * (parts * parts).sum(2)
    size = d + degrees + 1
    constant = size * d * (log(gamma) - 0.5 * log(2)) \
        - (0.25 * d * (d - 1) * log(pi) + sum(lgamma(0.5 * size - 0.5 * j) for j in range(d)))
    prior = 0.5 * gamma * gamma * ((xp.exp(stored[:, :d]) ** 2).sum() + (stored[:, d:] ** 2).sum()) \
        - degrees * stored[:, :d].sum() - k * constant
    return log_sum_exp(xp, densities).sum() - n * (log_sum_exp(xp, alphas) + 0.5 * d * log(2 * pi)) + prior


def gmm(lib, alphas, means, stored, xs, gamma, degrees):
    return likelihood(lib, xs, gamma, degrees, alphas, means, stored)


def gmm_gradient(lib, alphas, means, stored, xs, gamma, degrees):
    return lib.vjp(lambda *of: likelihood(lib, xs, gamma, degrees, *of), [alphas, means, stored])


# --- matmul, attention, kmeans ----------------------------------------------------------------------------------------


def matmul(lib, a, b, _):
    return a @ b


def matmul_gradient(lib, a, b, weights):
    return lib.vjp(lambda a, b: a @ b, [a, b], weights)


def attention(lib, queries, keys, values, weights):
    scores = queries @ keys.T / queries.shape[1] ** 0.5
    return (lib.softmax(scores) @ values * weights).sum()


def attention_gradient(lib, queries, keys, values, weights):
    return lib.vjp(lambda *of: attention(lib, *of, weights), [queries, keys, values])


def kmeans(lib, centres, points):
    squares = (points * points).sum(1)[:, None] + (centres * centres).sum(1) - 2 * points @ centres.T
    return lib.xp.amin(squares, 1).sum()


def kmeans_gradient(lib, centres, points):
    return lib.gradient_and_change(lambda c: kmeans(lib, c, points), centres)


# --- ba ---------------------------------------------------------------------------------------------------------------


def cross(xp, a, b):
    return xp.stack([a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1], a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2], a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]], 1)


def rotate(xp, r, x):
    """By the formula of Rodrigues, of rotations that are not zero."""
    angle = xp.sqrt((r * r).sum(1))[:, None]
    axis = r / angle
    c, s = xp.cos(angle), xp.sin(angle)
    return x * c + cross(xp, axis, x) * s + axis * ((axis * x).sum(1)[:, None] * (1 - c))


def errors(lib, seen, camera, x, weight):
    """Of observations, each with its own camera and point."""
    moved = rotate(lib.xp, camera[:, :3], x - camera[:, 3:6])
    flat = moved[:, :2] / moved[:, 2:]
    square = (flat * flat).sum(1)[:, None]
    bent = camera[:, 6:7] * (1 + camera[:, 9:10] * square + camera[:, 10:] * square * square)
    return weight[:, None] * (bent * flat + camera[:, 7:9] - seen)


def ba(lib, cameras, xs, weights, camera_of, point_of, seen):
    return [errors(lib, seen, cameras[camera_of], xs[point_of], weights), 1 - weights * weights]


def ba_gradient(lib, cameras, xs, weights, camera_of, point_of, seen):
    """No observation knows of another: a row of all blocks is one gradient."""
    of = [cameras[camera_of], xs[point_of], weights]
    rows = [lib.vjp(lambda *of: errors(lib, seen, *of)[:, k].sum(), of) for k in range(2)]
    return [*(lib.xp.stack(blocks, 1) for blocks in zip(*rows)), *lib.vjp(lambda w: (1 - w * w).sum(), [weights])]


# --- nbody, stencil, lstm ---------------------------------------------------------------------------------------------


def nbody(lib, places, masses):
    apart = places[:, None] - places
    squares = (apart * apart).sum(2)
    return -0.5 * (masses[:, None] * masses / lib.xp.sqrt(squares + 0.01)).sum()


def nbody_gradient(lib, places, masses):
    return lib.vjp(lambda p: nbody(lib, p, masses), [places])


def stencil(lib, steps, heat, conductivity, measured):
    def step(_, heat):
        up, down = lib.join([heat[:1], heat[:-1]], 0), lib.join([heat[1:], heat[-1:]], 0)
        left, right = lib.join([heat[:, :1], heat[:, :-1]], 1), lib.join([heat[:, 1:], heat[:, -1:]], 1)
        return heat + conductivity * (up + down + left + right - 4 * heat)

    return ((lib.loop(int(steps), step, heat) - measured) ** 2).sum()


def stencil_gradient(lib, steps, heat, conductivity, measured):
    return lib.vjp(lambda *of: stencil(lib, steps, *of, measured), [heat, conductivity])


def lstm(lib, inputs, of_input, of_output, bias, to, to_bias):
    xp, (n, b, d), h = lib.xp, inputs.shape, bias.shape[1]
    sigmoid = lambda x: 1 / (1 + xp.exp(-x))  # noqa: E731
    # What does not depend on the time before, of all times at once.
    ahead = inputs @ of_input.reshape(4 * h, d).T + bias.reshape(4 * h)
    back = of_output.reshape(4 * h, h).T

    def step(t, state):
        output, memory, total = state
        gates = ahead[t] + output @ back
        memory = sigmoid(gates[:, h:2 * h]) * memory + sigmoid(gates[:, :h]) * xp.tanh(gates[:, 2 * h:3 * h])
        output = sigmoid(gates[:, 3 * h:]) * xp.tanh(memory)
        foretold = output @ to.T + to_bias
        return output, memory, total + (log_sum_exp(xp, foretold) - (foretold * inputs[t + 1]).sum(1)).sum()

    zeros = lib.zeros_like(inputs, (b, h))
    return lib.loop(n - 1, step, (zeros, zeros, lib.zeros_like(inputs, ())))[2] / (b * (n - 1))


def lstm_gradient(lib, inputs, *weights):
    return lib.vjp(lambda *of: lstm(lib, inputs, *of), list(weights))


# --- hand -------------------------------------------------------------------------------------------------------------


def matrices(xp, rows):
    return xp.stack([xp.stack(row, -1) for row in rows], -2)


def finger_turn(xp, flexion, abduction):
    """Around the first axis, then around the third."""
    (c, s), (e, t) = (xp.cos(flexion), xp.sin(flexion)), (xp.cos(abduction), xp.sin(abduction))
    return matrices(xp, [[e, -t * c, t * s], [t, e * c, -e * s], [0 * s, s, c]])


def whole_turn(xp, r):
    """Of arrays of one number: PyTorch's tangents of numbers lose their precision."""
    angle = xp.sqrt((r * r).sum()[None] + 1e-12)
    (c, s), (x, y, z) = (xp.cos(angle), xp.sin(angle)), (r[:1] / angle, r[1:2] / angle, r[2:] / angle)
    return matrices(xp, [[c + x * x * (1 - c), x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
                         [y * x * (1 - c) + z * s, c + y * y * (1 - c), y * z * (1 - c) - x * s],
                         [z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)]])[0]


def hand(lib, parameters, offsets, vertices, weights, points, vertex_of):
    xp = lib.xp
    angles = parameters[6:].reshape(5, 4)
    none = 0 * angles[:, 0]
    before, end, turns, places = lib.eye(3, offsets)[None] + 0 * finger_turn(xp, none, none), 0 * offsets[:, 0], [], []
    for j in range(3):
        end = end + xp.einsum("fij,fj->fi", before, offsets[:, j])
        before = before @ (finger_turn(xp, angles[:, 0], angles[:, 1]) if j == 0 else finger_turn(xp, angles[:, j + 1], none))
        turns.append(before)
        places.append(end)
    turns = lib.join([lib.eye(3, offsets)[None], xp.stack(turns, 1).reshape(15, 3, 3)], 0)
    rests = lib.join([lib.zeros_like(offsets, (1, 3)), xp.cumsum(offsets, 1).reshape(15, 3)], 0)
    places = lib.join([lib.zeros_like(offsets, (1, 3)), xp.stack(places, 1).reshape(15, 3)], 0)
    # A mean of motions is a motion: of the turns, and of what they leave of the places.
    moved = xp.einsum("vb,bij,vj->vi", weights, turns, vertices) + weights @ (places - xp.einsum("bij,bj->bi", turns, rests))
    return points - (moved @ whole_turn(xp, parameters[:3]).T + parameters[3:6])[vertex_of]


def hand_gradient(lib, parameters, *others):
    return lib.tangents(lambda p: hand(lib, p, *others), parameters)


# --- option -----------------------------------------------------------------------------------------------------------

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
         7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15])
BARRIERS, STARTS = [2630.635, 8288.0, 840.0], [3758.05, 11840.0, 1200.0]


def quotient(coefficients, x):
    above, below = 0, 0
    for a, b in zip(*(reversed(c) for c in coefficients)):
        above, below = above * x + a, below * x + b
    return above / below


def inverse_normal(xp, p):
    q = p - 0.5
    r = xp.sqrt(-xp.log(0.5 - xp.abs(q)))
    far = xp.where(r <= 5, quotient(MIDDLE, r - 1.6), quotient(TAIL, r - 5))
    return xp.where(xp.abs(q) <= 0.425, q * quotient(SMALL, 0.180625 - q * q), xp.where(q < 0, -far, far))


def sobol(lib, directions, paths, like):
    n = lib.numbers_from_1(paths)
    gray, x = n ^ (n >> 1), 0
    for k in range(directions.shape[1]):
        x = x ^ directions[:, k, None] * ((gray >> k) & 1)
    return lib.float_like(x, like) / 2 ** directions.shape[1]


def bridge(at, weight):
    """The increments' matrix, which is no data of the device's."""
    dates = at.shape[1]
    path = np.zeros((dates, dates), np.float32)
    for i in range(dates):
        row = np.zeros(dates, np.float32)
        row[i] = weight[0, i]
        if i > 0:
            row += weight[2, i] * path[at[2, i] - 1]
            if at[1, i] > 0:
                row += weight[1, i] * path[at[1, i] - 1]
        path[at[0, i] - 1] = row
    return np.diff(path, axis=0, prepend=np.float32(0))


def worst(lib, x):
    return lib.xp.amin(x / lib.array(STARTS)[:, None], -2)


def payoff(lib, contract, discount, fixed, x):
    """x: models, dates, underlyings, paths."""
    xp = lib.xp
    if contract == 1:
        above = x[:, 0, 0] - 4000
        return discount[:, :1] * xp.where(above > 0, above, 0 * above) * fixed[:, :1]
    if contract == 2:
        w = worst(lib, x[:, 4])
        value = discount[:, 4:5] * xp.where(w >= 1, 1750 + 0 * w, xp.where(w > 0.75, 1000 + 0 * w, w * 1000))
        for i, amount in reversed(list(enumerate([1150, 1300, 1450, 1600]))):
            value = xp.where(worst(lib, x[:, i]) >= 1, amount * discount[:, i:i + 1], value)
        return value
    end = x[:, -1]
    touched = (x <= lib.array(BARRIERS)[:, None]).sum(2).sum(1) > 0
    below = touched & ((end < lib.array(STARTS)[:, None]).sum(1) > 0)
    w = worst(lib, end)
    return 100 * discount[:, :1] + discount[:, 1:2] * xp.where(below, 1000 * w, 1000 + 0 * w)


def option(lib, contract, paths, directions, correlations, volatilities, drifts, starts, fixed, discounts, at, weight):
    xp, (_, dates, und) = lib.xp, volatilities.shape
    gauss = inverse_normal(xp, sobol(lib, directions, int(paths), volatilities)).reshape(dates, und, int(paths))
    steps = xp.einsum("ij,jup->iup", lib.array(bridge(at, weight)), gauss)
    noise = xp.einsum("mjk,ikp->mijp", xp.tril(correlations), steps)
    growth = xp.exp(noise * volatilities[..., None] + drifts[..., None])
    return payoff(lib, contract, discounts, fixed, starts[:, None, :, None] * xp.cumprod(growth, 1)).sum(1) / int(paths)


def option_gradient(lib, *args):
    def sum_of(volatilities, starts, discounts):
        return option(lib, *args[:4], volatilities, args[5], starts, args[7], discounts, *args[9:]).sum()

    return lib.vjp(sum_of, [args[4], args[6], args[8]])


# --- locvol -----------------------------------------------------------------------------------------------------------


def shifted(lib, x, by, fill):
    """x[.., i - by], and `fill` where there is none."""
    edge = 0 * x[..., :abs(by)] + fill
    return lib.join([edge, x[..., :-by]], -1) if by > 0 else lib.join([x[..., -by:], edge], -1)


def tridiagonal(lib, a, b, c, y):
    """Along the last axis, by parallel cyclic reduction; without a at the beginning and c at the end."""
    by = 1
    while by < b.shape[-1]:
        before, after = a / shifted(lib, b, by, 1), c / shifted(lib, b, -by, 1)
        b = b - before * shifted(lib, c, by, 0) - after * shifted(lib, a, -by, 0)
        y = y - before * shifted(lib, y, by, 0) - after * shifted(lib, y, -by, 0)
        a, c = -before * shifted(lib, a, by, 0), -after * shifted(lib, c, -by, 0)
        by *= 2
    return y / b


def second_difference(lib, x):
    low, high = x[1:-1] - x[:-2], x[2:] - x[1:-1]
    around = lambda inner: lib.join([0 * x[:1], inner, 0 * x[:1]], 0)  # noqa: E731
    return around(2 / low / (low + high)), around(-2 * (1 / low + 1 / high) / (low + high)), around(2 / high / (low + high))


def turned(x):
    return x.swapaxes(-1, -2)


def locvol(lib, strikes, nx, ny, nt, s0, t, alpha, nu, beta):
    """Arrays are strikes, ny, nx: what the first step is along lies together."""
    xp, (strikes, nx, ny, nt, s0, t) = lib.xp, (int(strikes), int(nx), int(ny), int(nt), float(s0), float(t))
    dx, dy = 20 * alpha * s0 * t ** 0.5 / nx, 10 * nu * t ** 0.5 / ny
    x_at, y_at = xp.floor(s0 / dx), ny // 2
    counted = lambda n: lib.float_like(lib.numbers_from_1(n), alpha) - 1  # noqa: E731
    xs, ys = counted(nx) * dx - x_at * dx + s0, (counted(ny) - y_at) * dy + xp.log(alpha)
    (xl, xm, xu), (yl, ym, yu) = second_difference(lib, xs), second_difference(lib, ys)
    var_y, dt_inv = nu * nu, (nt - 1) / t
    gains = xs - 0.001 * counted(strikes)[:, None, None]
    res = xp.where(gains > 0, gains, 0 * gains) + lib.zeros_like(xs, (strikes, ny, nx))

    def step(k, res):
        var_x = xp.exp(2 * (beta * xp.log(xs) + ys[:, None] - 0.5 * var_y * t * (nt - 2 - k) / (nt - 1)))
        lines = turned(res)
        v = 0.5 * var_y * turned(yl * shifted(lib, lines, 1, 0) + ym * lines + yu * shifted(lib, lines, -1, 0))
        u = dt_inv * res + 0.25 * var_x * (xl * shifted(lib, res, 1, 0) + xm * res + xu * shifted(lib, res, -1, 0)) + v
        u = tridiagonal(lib, -0.25 * var_x * xl, dt_inv - 0.25 * var_x * xm, -0.25 * var_x * xu, u)
        return turned(tridiagonal(lib, -0.25 * var_y * yl, dt_inv - 0.25 * var_y * ym, -0.25 * var_y * yu, turned(dt_inv * u - 0.5 * v)))

    return lib.loop(nt - 1, step, res)[:, y_at, lib.index(x_at)]


def locvol_gradient(lib, *args):
    return lib.vjp(lambda *of: locvol(lib, *args[:6], *of).sum(), list(args[6:]))


# Arguments that no library has on its device, and numbers that it has there.
HOST, NUMBERS = {"option": [9, 10]}, {"locvol": [6, 7, 8]}


def taken(lib, program, args):
    """Arguments of a program as its functions here want them."""
    return [x if k in HOST.get(program, []) else lib.number(x) if k in NUMBERS.get(program, []) else lib.array(x) for k, x in enumerate(args)]
