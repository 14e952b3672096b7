#!/usr/bin/env python3
"""Times attention of f16 (attention.sf) on a GPU, beside PyTorch's scaled_dot_product_attention, and checks it against f64.

    CFLAGS=-O1 minifut compile --portable -o attention bench/primitives/attention.sf
    python3 bench/primitives/attention.py ./attention [-d DEVICE]

Of each shape (heads of all batches x rows x keys x width): microseconds of a run and of its kernels (medians of 15), TFLOP/s of the latter, the relative error, MB on the device at most beyond arguments and results, PyTorch's
microseconds."""
import argparse

import torch

from beside import of_torch, run

SHAPES = [("plain", 64, 4096, 4096, 64), ("plain", 64, 4096, 4096, 128), ("behind", 64, 4096, 4096, 64), ("behind", 64, 4096, 4096, 128),
          ("plain", 256, 1024, 1024, 64), ("plain", 64, 1000, 1003, 64),
          ("plain", 64, 4096, 4096, 96), ("plain", 1024, 128, 128, 64)]


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
        got, us, kernels, peak = run(args.program, args.device, entry, [x.cpu().numpy() for x in (q, k, v)])
        want = in_f64(q, k, v)
        error = float((torch.from_numpy(got.copy()).cuda().double() - want).norm() / want.norm())
        more = (peak - sum(x.numel() * 2 for x in (q, k, v)) - got.nbytes) / 1e6
        del want
        beside = of_torch(lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None]))
        shape = f"{entry} {heads} x {n} x {m} x {d}"
        print(f"{shape:32} {us:8.1f} {kernels:8.1f} {4e-6 * heads * n * m * d / kernels:8.0f} {error:8.1e} {more:8.1f} {beside:8.1f}", flush=True)


if __name__ == "__main__":
    main()
