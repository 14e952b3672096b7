"""What the programs here compute, in terms of whole arrays, for any library of them (libraries.py): `xp` is NumPy, PyTorch or
JAX's module, `lib` what differs between these, and the derivatives.

Each function takes the arguments of the program's entries; VALUES and GRADIENTS have those of each program.
"""
from math import lgamma, log, log2, pi, ceil


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
