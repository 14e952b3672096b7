"""One training step of backprop, in double precision but for the start. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values

HIDDEN, ETA, TARGET = 16, 0.3, 0.1


def sobol(direction, start, count):
    n = np.arange(start, start + count, dtype=np.int64)
    gray = n ^ (n >> 1)
    x = np.zeros(count, np.int64)
    for k, d in enumerate(direction):
        x ^= np.where((gray >> k) & 1, int(d), 0)
    return x / (2.0 ** len(direction) + 1)


def squash(x):
    return 1 / (1 + np.exp(-x))


def train(inputs, direction):
    n = int(inputs)
    w1 = sobol(direction, 1, (n + 1) * (HIDDEN + 1)).reshape(n + 1, HIDDEN + 1)
    offset = 1 + w1.size
    w2 = sobol(direction, offset, (HIDDEN + 1) * 2).reshape(HIDDEN + 1, 2)
    units = np.concatenate([[1.0], sobol(direction, offset + w2.size + 1, n)])
    middle = np.concatenate([[1.0], squash(units @ w1[:, 1:])])
    out = squash(middle @ w2[:, 1])
    out_delta = out * (1 - out) * (TARGET - out)
    middle_delta = (middle * (1 - middle) * out_delta * w2[:, 1])[1:]
    w2[:, 1] += ETA * out_delta * middle
    w1[:, 1:] += ETA * np.outer(units, middle_delta)
    return [np.float32(x) for x in (abs(out_delta), np.abs(middle_delta).sum(), w1, w2)]


if __name__ == "__main__":
    write_values(sys.argv[2], train(*read_values(sys.argv[1])))
