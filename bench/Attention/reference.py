"""Attention within sequences of an input file, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def attention(offsets, queries, keys, values):
    """Sequence by sequence, in pieces of 1024 queries."""
    result = np.zeros((len(queries), values.shape[1]), np.float32)
    for begin, end in zip(offsets[:-1], offsets[1:]):
        k, v = keys[begin:end].astype(np.float64), values[begin:end].astype(np.float64)
        for at in range(begin, end, 1024):
            piece = slice(at, min(at + 1024, end))
            scores = queries[piece].astype(np.float64) @ k.T / np.sqrt(k.shape[1])
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            result[piece] = weights @ v / weights.sum(axis=1, keepdims=True)
    return result


if __name__ == "__main__":
    write_values(sys.argv[2], [attention(*read_values(sys.argv[1]))])
