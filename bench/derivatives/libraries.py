"""Array libraries as formulas.py sees them: NumPy, whose derivatives are difference quotients (for small inputs, in double
precision), PyTorch and JAX. Each has `xp`, its module, and

    vjp(f, xs, seed)            what `seed`, or 1, times f(*xs) changes by with each of xs
    gradient_and_change(f, x)   the gradient of f at x, and how that changes if all of x change by 1
    tangents(f, x)              how f(x) changes with each number of a vector x, one row for each
"""
import importlib.util

import numpy as np


class Library:
    def softmax(self, x):
        parts = self.xp.exp(x - self.xp.amax(x, -1)[..., None])
        return parts / parts.sum(-1)[..., None]

    def join(self, parts, axis):
        return self.xp.concatenate(parts, axis)

    def loop(self, turns, body, state):
        for i in range(turns):
            state = body(i, state)
        return state

    def lower(self, d):
        """Rows and columns of what is below a diagonal, column by column."""
        columns, rows = np.triu_indices(d, 1)
        return self.indices(rows), self.indices(columns)


class NumPy(Library):
    name, xp, step = "numpy", np, 1e-5

    def array(self, x):
        return np.asarray(x).astype(np.float64) if np.asarray(x).dtype.kind == "f" else np.asarray(x)

    def number(self, x):
        return np.array(x, np.float64)

    def index(self, x):
        return int(x)

    def numbers_from_1(self, n):
        return np.arange(1, n + 1)

    def float_like(self, x, like):
        return x.astype(np.float64)

    def indices(self, x):
        return x

    def numpy(self, x):
        return np.asarray(x)

    def zeros_like(self, x, shape):
        return np.zeros(shape, x.dtype)

    def eye(self, d, like):
        return np.eye(d, dtype=like.dtype)

    def put(self, x, rows, columns, values):
        x = x.copy()
        x[:, rows, columns] = values
        return x

    def add_at(self, x, at, values):
        x = x.copy()
        np.add.at(x, at, values)
        return x

    def change(self, f, xs, k, at):
        """How f changes with one number."""
        around = [[x.copy() for x in xs] for _ in range(2)]
        around[0][k][at] += self.step
        around[1][k][at] -= self.step
        return (f(*around[0]) - f(*around[1])) / (2 * self.step)

    def vjp(self, f, xs, seed=1):
        out = [np.zeros(x.shape) for x in xs]
        for k, x in enumerate(xs):
            for at in np.ndindex(x.shape):
                out[k][at] = np.sum(seed * self.change(f, xs, k, at))
        return out

    def gradient_and_change(self, f, x):
        gradient = self.vjp(f, [x])[0]
        self.step, step = 1e-3, self.step
        change = (self.vjp(f, [x + self.step])[0] - self.vjp(f, [x - self.step])[0]) / (2 * self.step)
        self.step = step
        return [gradient, change]

    def tangents(self, f, x):
        return np.stack([self.change(f, [x], 0, at) for at in np.ndindex(x.shape)])


class Torch(Library):
    def __init__(self, double=False):
        import torch
        self.xp, self.torch, self.name = torch, torch, "torch"
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.float = torch.float64 if double else torch.float32

    def array(self, x):
        x = np.asarray(x)
        if not x.ndim:
            return x
        return self.torch.tensor(x, device=self.device, dtype=self.float if x.dtype.kind == "f" else None)

    def number(self, x):
        return self.torch.tensor(float(x), device=self.device, dtype=self.float)

    def index(self, x):
        return x.long()

    def numbers_from_1(self, n):
        return self.torch.arange(1, n + 1, device=self.device)

    def float_like(self, x, like):
        return x.to(like.dtype)

    def indices(self, x):
        return self.torch.tensor(x, device=self.device)

    def numpy(self, x):
        return x.detach().cpu().numpy()

    def wait(self, results):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def zeros_like(self, x, shape):
        return self.torch.zeros(shape, dtype=x.dtype, device=self.device)

    def eye(self, d, like):
        return self.torch.eye(d, dtype=like.dtype, device=self.device)

    def softmax(self, x):
        return self.torch.softmax(x, -1)

    def put(self, x, rows, columns, values):
        x[:, rows, columns] = values
        return x

    def add_at(self, x, at, values):
        return x.index_add(0, at, values)

    def vjp(self, f, xs, seed=None):
        xs = [x.detach().requires_grad_() for x in xs]
        return list(self.torch.autograd.grad(f(*xs), xs, seed))

    def gradient_and_change(self, f, x):
        x = x.detach().requires_grad_()
        gradient, = self.torch.autograd.grad(f(x), x, create_graph=True)
        change, = self.torch.autograd.grad(gradient.sum(), x)
        return [gradient.detach(), change]

    def tangents(self, f, x):
        unit = self.torch.eye(x.shape[0], dtype=x.dtype, device=self.device)
        return self.torch.func.vmap(lambda u: self.torch.func.jvp(f, (x,), (u,))[1])(unit)

    def prepared(self, function):
        return lambda *args: function(self, *args)

    def compiled(self, function):
        return self.torch.compile(lambda *args: function(self, *args))


class Jax(Library):
    def __init__(self):
        import jax
        import jax.numpy
        jax.config.update("jax_default_matmul_precision", "float32")
        self.jax, self.xp, self.name = jax, jax.numpy, "jax"

    def array(self, x):
        x = np.asarray(x)
        return self.xp.asarray(x) if x.ndim else x

    def number(self, x):
        return self.xp.asarray(x, self.xp.float32)

    def index(self, x):
        return x.astype(self.xp.int32)

    def numbers_from_1(self, n):
        return self.xp.arange(1, n + 1)

    def float_like(self, x, like):
        return x.astype(like.dtype)

    def indices(self, x):
        return x

    def numpy(self, x):
        return np.asarray(x)

    def wait(self, results):
        self.jax.block_until_ready(results)

    def zeros_like(self, x, shape):
        return self.xp.zeros(shape, x.dtype)

    def eye(self, d, like):
        return self.xp.eye(d, dtype=like.dtype)

    def put(self, x, rows, columns, values):
        return x.at[:, rows, columns].set(values)

    def add_at(self, x, at, values):
        return x.at[at].add(values)

    def loop(self, turns, body, state):
        return self.jax.lax.scan(lambda state, i: (body(i, state), None), state, self.xp.arange(turns))[0]

    def vjp(self, f, xs, seed=None):
        value, back = self.jax.vjp(f, *xs)
        return list(back(self.xp.ones_like(value) if seed is None else seed))

    def gradient_and_change(self, f, x):
        return list(self.jax.jvp(self.jax.grad(f), (x,), (self.xp.ones_like(x),)))

    def tangents(self, f, x):
        return self.jax.vmap(lambda u: self.jax.jvp(f, (x,), (u,))[1])(self.xp.eye(x.shape[0], dtype=x.dtype))

    def prepared(self, function):
        """What is not on the device is a constant."""
        made = []

        def run(*args):
            fixed = {k: a for k, a in enumerate(args) if isinstance(a, (np.ndarray, np.generic))}
            if not made:
                made.append(self.jax.jit(lambda *moving: function(self, *mixed(fixed, moving, len(args)))))
            return made[0](*[a for k, a in enumerate(args) if k not in fixed])

        return run


def mixed(fixed, moving, count):
    moving = iter(moving)
    return [fixed[k] if k in fixed else next(moving) for k in range(count)]


def has(name):
    return importlib.util.find_spec(name) is not None
