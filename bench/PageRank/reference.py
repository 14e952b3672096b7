"""PageRank of an input file, in double precision. usage: reference.py IN OUT"""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from values import read_values, write_values


def ranks(damping, _enough, offsets, sources):
    """Until nothing changes: further than the program goes."""
    n, damping = len(offsets) - 1, float(damping)
    pages = np.repeat(np.arange(n), np.diff(offsets))
    links = np.bincount(sources, minlength=n)
    rank, change = np.full(n, 1 / n), 1.0
    while change > 1e-12:
        given = np.where(links > 0, rank / np.maximum(links, 1), 0)
        lost = rank[links == 0].sum()
        new = (1 - damping + damping * lost) / n + damping * np.bincount(pages, given[sources], n)
        rank, change = new, np.abs(new - rank).sum()
    return rank.astype(np.float32)


if __name__ == "__main__":
    write_values(sys.argv[2], [ranks(*read_values(sys.argv[1]))])
