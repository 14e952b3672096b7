"""Data sets that the paper's artifact does not hold, from fixed seeds, with the shapes of its table 1; train-* are those
to tune on. usage: datasets.py FOLDER [--small] [PROGRAM...]: writes FOLDER/PROGRAM/NAME.in. With --small: shapes
for a CPU. Needs NumPy."""
import argparse
import importlib.util
from pathlib import Path

import numpy as np

from BFAST import reference as bfast
from irregular import CG, BFS, Attention, Components, PageRank, WordCount  # noqa: F401 (looked up by name)
from values import write_values

# name -> arguments of the program's generator; (full size, small)
SHAPES = {
    "matmul": ({f"train-k20n{n:02}": (20, n) for n in range(11)} | {f"k25n{n:02}": (25, n) for n in range(11)},
               {"train-k12n00": (12, 0), "train-k12n05": (12, 5), "k14n02": (14, 2), "k14n06": (14, 6)}),
    "mapscan": ({"D1": (65536, 64), "D2": (16, 262144), "train-D1": (32768, 128), "train-D2": (32, 131072)},
                {"D1": (128, 3), "D2": (2, 700), "train-D1": (64, 8), "train-D2": (4, 400)}),
    "NN": ({"D1": (1, 855280), "D2": (4096, 128), "train-D1": (1, 800000), "train-D2": (3584, 128)},
           {"D1": (1, 3000), "D2": (8, 128), "train-D1": (1, 2500), "train-D2": (6, 128)}),
    "Pathfinder": ({"D1": (1, 100, 100000), "D2": (391, 100, 256), "train-D1": (1, 100, 90000),
                    "train-D2": (350, 100, 256)},
                   {"D1": (1, 20, 900), "D2": (7, 20, 32), "train-D1": (1, 20, 700), "train-D2": (5, 20, 32)}),
    "NW": ({"D1": (2049,), "train-D1": (1793,), "train-D2": (897,)},
           {"D1": (70,), "train-D1": (50,)}),
    "LUD": ({"D1": (256,), "D2": (2048,), "train-D1": (288,), "train-D2": (1792,)},
            {"D1": (40,), "D2": (100,), "train-D1": (70,)}),
    "SRAD": ({}, {"D1": (1, 24, 18), "D2": (6, 16, 16), "train-D1": (1, 20, 20), "train-D2": (4, 16, 16)}),
    "BFAST": ({"D1": (16384, 256, 128, 3, 23, 0.25), "D2": (32, 8192, 4096, 3, 365, 0.125),
               "train-D1": (12288, 320, 160, 3, 23, 0.25), "train-D2": (24, 7168, 3584, 3, 365, 0.125)},
              {"D1": (40, 64, 36, 2, 12, 0.25), "D2": (3, 400, 200, 3, 46, 0.25), "train-D1": (32, 72, 40, 2, 12, 0.25),
               "train-D2": (2, 360, 180, 3, 46, 0.25)}),
    "PageRank": ({"D1": ("rmat", 20, 1 << 24), "D2": ("zipf", 1 << 20, 1 << 24), "D3": ("even", 1 << 20, 1 << 24),
                  "train-D1": ("rmat", 19, 1 << 23), "train-D3": ("even", 1 << 19, 1 << 23)},
                 {"D1": ("rmat", 6, 300), "D2": ("zipf", 50, 400), "train-D1": ("rmat", 5, 100)}),
    "BFS": ({"D1": ("rmat", 20, 1 << 23), "D2": ("grid", 1000, 0.9), "train-D1": ("rmat", 19, 1 << 22),
             "train-D2": ("grid", 700, 0.9)},
            {"D1": ("rmat", 6, 200), "D2": ("grid", 12, 0.9), "train-D1": ("rmat", 5, 60)}),
    "Components": ({"D1": ("rmat", 20, 1 << 23), "D2": ("grid", 2000, 0.5), "train-D1": ("rmat", 19, 1 << 22),
                    "train-D2": ("grid", 1400, 0.5)},
                   {"D1": ("rmat", 6, 50), "D2": ("grid", 12, 0.5), "train-D1": ("rmat", 5, 40)}),
    "WordCount": ({"D1": (1 << 26, 60, 0.5), "D2": (1 << 26, 100, 3), "D3": (1 << 26, 1 << 22, 1),
                   "train-D1": (1 << 25, 50, 0.5), "train-D3": (1 << 25, 1 << 21, 1)},
                  {"D1": (3000, 20, 0.5), "D2": (4000, 20, 2), "train-D1": (2000, 20, 0.5)}),
    "Attention": ({"D1": (((64, 512),), 64), "D2": (((3, 4096), (20, 500), (300, 32)), 64), "train-D1": (((48, 512),), 64),
                   "train-D2": (((2, 4096), (30, 500), (200, 32)), 64)},
                  {"D1": (((4, 8),), 8), "D2": (((1, 40), (2, 1), (5, 4)), 8), "train-D1": (((3, 8),), 8)}),
    "CG": ({"D1": (4, 2048), "D2": (64, 512), "D3": (1024, 64), "train-D1": (6, 1536), "train-D3": (900, 64)},
           {"D1": (2, 30), "D2": (12, 8), "train-D1": (2, 24)}),
    "LocVolCalib": ({}, {"small": (4, 8, 16, 5), "large": (6, 16, 16, 4), "train-small": (3, 8, 16, 4)}),
    # Of these the reference makes the data sets.
    "KMeans": ({"few": (1 << 21, 16, 4, 2.5), "many": (1 << 18, 1024, 16, 4.0), "train-few": (1 << 20, 20, 4, 2.5),
                "train-many": (1 << 17, 1024, 16, 4.0)},
               {"few": (2000, 5, 3, 1.0), "many": (900, 60, 4, 1.0), "train-few": (1500, 4, 3, 1.0)}),
    "Quickhull": ({"disc": (1 << 23, "disc"), "circle": (1 << 20, "circle"), "train-disc": (1 << 21, "disc"),
                   "train-circle": (1 << 19, "circle")},
                  {"disc": (3000, "disc"), "circle": (500, "circle"), "train-disc": (2000, "disc")}),
    "Quicksort": ({"random": (1 << 23, "random"), "few": (1 << 22, "few"), "nearly": (1 << 22, "nearly"),
                   "train-random": (1 << 21, "random"), "train-nearly": (1 << 20, "nearly")},
                  {"random": (2000, "random"), "nearly": (1500, "nearly"), "train-random": (1000, "random")}),
    "Neighbours": ({"gas": (1 << 20, 48, 0), "drops": (1 << 17, 32, 1.5), "train-gas": (1 << 19, 40, 0),
                    "train-drops": (1 << 16, 24, 1.5)},
                   {"gas": (1500, 6, 0), "drops": (1200, 8, 0.6), "train-gas": (1000, 5, 0)}),
}


def matmul(rng, k, n):
    """2^n x 2^m and 2^m x 2^n, m = k - 2n. Around 0: sums of 2^25 positive numbers leave the precision of f32 when
    a single thread adds them up."""
    rows, inner = 1 << n, 1 << (k - 2 * n)
    return [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((rows, inner), (inner, rows))]


def mapscan(rng, m, n):
    return [rng.integers(-100, 100, (m, n)).astype(np.int32)]


def NN(rng, batches, points):
    lats = rng.uniform(7, 64, (batches, points)).astype(np.float32)
    lngs = rng.uniform(0, 358, (batches, points)).astype(np.float32)
    return [np.int64(100), np.float32(30), np.float32(90), lats, lngs]


def Pathfinder(rng, batches, rows, columns):
    return [rng.integers(0, 10, (batches, rows, columns)).astype(np.int32)]


def NW(rng, edge):
    start = np.zeros((edge, edge), np.int32)
    start[0] = start[:, 0] = -10 * np.arange(edge)
    return [np.int32(10), start.reshape(-1), rng.integers(-10, 11, edge * edge).astype(np.int32)]


def LUD(rng, n):
    a = rng.uniform(-1, 1, (n, n))
    return [(a + n * np.eye(n)).astype(np.float32)]


def SRAD(rng, images, rows, columns):
    return [rng.integers(1, 256, (images, rows, columns)).astype(np.uint8)]


def series(rng, pixels, times, history, freq):
    """A season, a trend and noise; a jump in half of the pixels after the history; about half of the values missing."""
    t = np.arange(times)
    column = lambda low, high: rng.uniform(low, high, (pixels, 1))
    y = column(0.3, 0.6) + column(-0.1, 0.1) * t / times + rng.normal(0, 0.1, (pixels, times))
    y += column(0.1, 0.3) * np.sin(2 * np.pi * (t / freq + column(0, 1)))
    y -= column(0.2, 0.4) * (rng.random((pixels, 1)) < 0.5) * (t > column(history, times))
    return np.where(rng.random((pixels, times)) < column(0.3, 0.7), np.nan, y).astype(np.float32)


def BFAST(rng, pixels, times, history, harmonics, freq, hfrac):
    """Pixels whose result hangs on rounding are drawn again."""
    settings = [np.int32(1), np.int64(harmonics), np.int64(history), np.float32(freq), np.float32(hfrac),
                np.float32(2.4), np.arange(1, times + 1, dtype=np.int32)]
    images = series(rng, pixels, times, history, freq)
    again = np.arange(pixels)
    while len(again := again[bfast.doubtful(*settings, images[again])]):
        images[again] = series(rng, len(again), times, history, freq)
    return [*settings, images]


def LocVolCalib(_rng, strikes, nx, ny, nt):
    return [*(np.int64(x) for x in (strikes, nx, ny, nt)), *(np.float32(x) for x in (0.03, 5, 0.2, 0.6, 0.5))]


def reference_of(program):
    path = Path(__file__).resolve().parent / program / "reference.py"
    spec = importlib.util.spec_from_file_location(f"reference_{program}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generate(program, folder, small):
    """Writes the program's data sets that are not there yet; the names of all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    sets = SHAPES.get(program, ({}, {}))[small]
    make = globals().get(program) or reference_of(program).generate if sets else None
    for name, shape in sets.items():
        path = folder / f"{name}.in"
        if not path.exists():
            rng = np.random.default_rng([ord(c) for c in program + name])
            write_values(path, make(rng, *shape))
    return list(sets)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--small", action="store_true")
    p.add_argument("programs", nargs="*")
    a = p.parse_intermixed_args()
    for program in a.programs or SHAPES:
        generate(program, a.folder / program, a.small)


if __name__ == "__main__":
    main()
