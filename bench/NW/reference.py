"""Needleman-Wunsch scores of an input file, by antidiagonals. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def scores(penalty, start, prices):
    n = round(len(start) ** 0.5)
    s = start.reshape(n, n).astype(np.int32)
    prices = prices.reshape(n, n).astype(np.int32)
    for wave in range(2, 2 * n - 1):
        y = np.arange(max(1, wave - n + 1), min(n - 1, wave - 1) + 1)
        x = wave - y
        gap = np.maximum(s[y - 1, x], s[y, x - 1]) - penalty
        s[y, x] = np.maximum(s[y - 1, x - 1] + prices[y, x], gap)
    return s.reshape(-1)


if __name__ == "__main__":
    penalty, start, prices = read_values(sys.argv[1])
    write_values(sys.argv[2], [scores(np.int32(penalty), start, prices)])
