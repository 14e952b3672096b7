#!/usr/bin/env python3
"""Times products of f16, and of f32 rounded to tf32, with sums of f32 (halves.sf) on a GPU, beside PyTorch's, and checks them against f64.

    CFLAGS=-O1 minifut compile --portable --fast-math -o halves bench/primitives/halves.sf
    python3 bench/primitives/halves.py ./halves [-d DEVICE]

Of each shape: microseconds of a run and of its kernels (medians of 15), TFLOP/s of the latter, the relative error, PyTorch's microseconds."""
import argparse

import torch

from beside import of_torch, run

SHAPES = [("plain", 0, 4096, 4096, 4096), ("second_turned", 0, 4096, 4096, 4096), ("first_turned", 0, 4096, 4096, 4096),
          ("layer", 0, 4096, 4096, 4096), ("plain", 0, 8192, 8192, 8192), ("plain", 0, 1024, 1024, 1024), ("plain", 0, 2048, 2048, 2048),
          ("batch", 64, 256, 256, 256), ("plain", 0, 4096, 128, 4096), ("plain", 0, 128, 32768, 128), ("plain", 0, 1000, 1000, 1000),
          ("plain", 0, 1003, 1001, 999), ("full", 0, 4096, 4096, 4096),
          ("full_turned", 0, 4096, 4096, 4096), ("full", 0, 1024, 1024, 1024)]


def given(entry, a, b, bias):
    a = a.mT if entry in ("first_turned", "full_turned") else a
    b = b.mT if entry in ("second_turned", "full_turned") else b
    return [x.contiguous().cpu().numpy() for x in ([a, b, bias] if entry == "layer" else [a, b])]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("-d", "--device", default="NVIDIA")
    args = options.parse_args()
    torch.manual_seed(16)
    torch.backends.cuda.matmul.allow_tf32 = True
    print(f"{'product':32} {'run':>8} {'kernels':>8} {'TFLOP/s':>8} {'error':>8} {'PyTorch':>8}")
    for entry, z, m, k, n in SHAPES:
        batch = [z] if z else []
        elem = torch.float32 if entry.startswith("full") else torch.float16
        a, b, bias = (torch.randn(*s, device="cuda").to(elem) for s in ([*batch, m, k], [*batch, k, n], [n]))
        got, us, kernels, _ = run(args.program, args.device, entry, given(entry, a, b, bias))
        want = a.double() @ b.double()
        want = torch.relu(want + bias.double()) if entry == "layer" else want
        error = float((torch.from_numpy(got.copy()).cuda().double() - want).norm() / want.norm())
        del want
        shape = f"{entry} {str(z) + ' x ' if z else ''}{m} x {k} x {n}"
        print(f"{shape:32} {us:8.1f} {kernels:8.1f} {2e-6 * max(z, 1) * m * k * n / kernels:8.0f} {error:8.1e} {of_torch(lambda: a @ b):8.1f}", flush=True)


if __name__ == "__main__":
    main()
