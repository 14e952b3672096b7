"""Inputs of the programs whose rows are of very different lengths: graphs after a power law and grids, texts, sequences. Used
by datasets.py. Needs NumPy."""
import numpy as np


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def rmat(rng, scale, edges):
    """Ends of edges between 2^scale vertices (Chakrabarti, Zhan, Faloutsos, "R-MAT" (2004), the numbers of Graph500): at each
    bit an edge falls into one of the quarters of the matrix. Vertices are numbered at random."""
    tails, heads = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(scale):
        tail = rng.random(edges, np.float32) > 0.76
        head = rng.random(edges, np.float32) > np.where(tail, 0.19 / 0.24, 0.57 / 0.76)
        tails, heads = 2 * tails + tail, 2 * heads + head
    numbers = rng.permutation(1 << scale)
    return 1 << scale, numbers[tails], numbers[heads]


def zipf(rng, vertices, edges):
    """The k-th vertex has 1/k of the heads of the first; tails are anywhere."""
    share = np.cumsum(1 / np.arange(1, vertices + 1))
    heads = np.searchsorted(share / share[-1], rng.random(edges))
    return vertices, rng.integers(0, vertices, edges), rng.permutation(vertices)[np.minimum(heads, vertices - 1)]


def even(rng, vertices, edges):
    """About as many everywhere."""
    return vertices, *rng.integers(0, vertices, (2, edges))


def grid(rng, edge, share):
    """A square of edge x edge vertices, of whose edges a share is there."""
    at = np.arange(edge * edge).reshape(edge, edge)
    tails = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    heads = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    there = rng.random(len(tails)) < share
    return edge * edge, tails[there], heads[there]


GRAPHS = {"rmat": rmat, "zipf": zipf, "even": even, "grid": grid}


def rows(vertices, tails, heads):
    """In CSR form: of each vertex, where edges from it lead to, in order."""
    places = np.sort(tails * vertices + heads)
    return offsets(np.bincount(tails, minlength=vertices)), (places % vertices).astype(np.int32)


def both_ways(vertices, tails, heads):
    return rows(vertices, np.concatenate([tails, heads]), np.concatenate([heads, tails]))


def PageRank(rng, kind, *sizes):
    vertices, tails, heads = GRAPHS[kind](rng, *sizes)
    return [np.float32(0.85), np.float32(1e-6), *rows(vertices, heads, tails)]


def BFS(rng, kind, *sizes):
    """From the vertex with most edges, which is in the largest component."""
    starts, targets = both_ways(*GRAPHS[kind](rng, *sizes))
    return [np.int64(np.argmax(np.diff(starts))), starts, targets]


def Components(rng, kind, *sizes):
    return [*both_ways(*GRAPHS[kind](rng, *sizes))]


def WordCount(rng, count, middle, spread):
    """Lines whose lengths are log-normal around `middle`; words of five letters on average."""
    ends = np.cumsum(1 + rng.lognormal(np.log(middle), spread, 2 * count // middle + 1).astype(np.int64))
    text = rng.integers(ord("a"), ord("z") + 1, count).astype(np.uint8)
    text[rng.random(count, np.float32) < 1 / 6] = ord(" ")
    text[ends[ends < count]] = ord("\n")
    return [text]


def Attention(rng, lengths, width):
    """lengths: (how many, how long) of sequences, which are mixed."""
    mixed = rng.permutation(np.repeat([n for _, n in lengths], [k for k, _ in lengths]))
    queries, keys, values = rng.uniform(-2, 2, (3, mixed.sum(), width)).astype(np.float32)
    return [offsets(mixed), queries, keys, values]


def CG(rng, systems, size):
    """Symmetric random matrices, with eigenvalues up to 0.58 around what is added to their diagonals: the first take three
    times as many turns as the last."""
    a = rng.uniform(-0.5, 0.5, (systems, size, size)) / np.sqrt(size)
    a = np.tril(a) + np.tril(a, -1).transpose(0, 2, 1)
    a += (0.65 + 1.5 * np.arange(systems) / systems)[:, None, None] * np.eye(size)
    return [a.astype(np.float32), rng.uniform(-0.5, 0.5, (systems, size)).astype(np.float32)]
