#!/usr/bin/env python3
"""Times attention of f16 (attention.sf) on a GPU, beside PyTorch's scaled_dot_product_attention, and checks it against f64.

    CFLAGS=-O1 minifut compile --portable -o attention bench/primitives/attention.sf
    python3 bench/primitives/attention.py ./attention [-d DEVICE]

Of each shape (heads of all batches x rows x keys x width): microseconds of a run and of its kernels (medians of 15), TFLOP/s of the latter, the relative error, MB on the device at most beyond arguments and results, PyTorch's
microseconds."""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from values import read_binary, write_values  # noqa: E402

RUNS = 15
SHAPES = [("plain", 64, 4096, 4096, 64), ("plain", 64, 4096, 4096, 128), ("behind", 64, 4096, 4096, 64), ("behind", 64, 4096, 4096, 128),
          ("plain", 256, 1024, 1024, 64), ("plain", 64, 1000, 1003, 64),
          ("plain", 64, 4096, 4096, 96), ("plain", 1024, 128, 128, 64)]


def median(xs):
    return sorted(xs)[len(xs) // 2]


def of_torch(f):
    """Microseconds by events of the device."""
    times = []
    for _ in range(RUNS + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        f()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end))
    return median(times[3:])


def run(program, options, entry, values):
    """The result; microseconds of a run, of its kernels; bytes of memory at most."""
    with tempfile.TemporaryDirectory() as folder:
        write_values(f"{folder}/in", [x.cpu().numpy() for x in values])
        with open(f"{folder}/in", "rb") as f:
            r = subprocess.run([program, *options, "-e", entry, "-b", "-P", "-r", str(RUNS), "-t", f"{folder}/times"], stdin=f,
                               capture_output=True, check=True)
        times = [float(line) for line in Path(f"{folder}/times").read_text().split()]
    said = r.stderr.decode()
    rows = [line.split() for line in said.splitlines() if re.match(r"\s*\w+_\d+ +\d", line)]
    peak = re.search(r"peak device memory (\d+) bytes", said)
    return read_binary(r.stdout)[0], median(times), sum(float(row[3]) for row in rows) / RUNS, int(peak[1]) if peak else 0


def in_f64(q, k, v):
    """Head by head, to fit."""
    out = []
    for qi, ki, vi in zip(q, k, v):
        s = (qi.double() @ ki.double().mT) / q.shape[-1] ** 0.5
        out.append(s.softmax(-1) @ vi.double())
    return torch.stack(out)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("-d", "--device", default="NVIDIA")
    options.add_argument("-n", "--first", type=int, default=len(SHAPES), help="so many shapes")
    args = options.parse_args()
    torch.manual_seed(16)
    print(f"{'attention':32} {'run':>8} {'kernels':>8} {'TFLOP/s':>8} {'error':>8} {'more MB':>8} {'PyTorch':>8}")
    for entry, heads, n, m, d in SHAPES[:args.first]:
        q, k, v = (torch.randn(heads, rows, d, device="cuda").half() for rows in (n, m, m))
        got, us, kernels, peak = run(args.program, ["-d", args.device], entry, (q, k, v))
        want = in_f64(q, k, v)
        error = float((torch.from_numpy(got.copy()).cuda().double() - want).norm() / want.norm())
        more = (peak - sum(x.numel() * 2 for x in (q, k, v)) - got.nbytes) / 1e6
        del want
        beside = of_torch(lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None]))
        shape = f"{entry} {heads} x {n} x {m} x {d}"
        print(f"{shape:32} {us:8.1f} {kernels:8.1f} {4e-6 * heads * n * m * d / kernels:8.0f} {error:8.1e} {more:8.1f} {beside:8.1f}", flush=True)


if __name__ == "__main__":
    main()
