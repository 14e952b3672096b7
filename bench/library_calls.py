#!/usr/bin/env python3
"""What a call of a library costs beside its kernels (library_calls.c): 64x64 matrix products on data that are on the device.
Kernels' times are those that the device tells.

usage: library_calls.py [-d DEVICE] [--calls N] (--minifut MINIFUT [--make BINARY] | --binary BINARY)

--make builds the program there and stops; --binary runs one that was built elsewhere."""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def build(minifut, binary):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([minifut, "compile", "--library", "-o", f"{folder}/matmul", HERE.parent / "examples/matmul.sf"],
                       check=True)
        subprocess.run(["cc", "-O2", "-I", folder, "-o", binary, HERE / "library_calls.c", f"{folder}/matmul.c",
                        "-lm", "-ldl", "-lpthread"], check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-d", "--device", default="")
    p.add_argument("--calls", type=int, default=10000)
    p.add_argument("--minifut")
    p.add_argument("--make")
    p.add_argument("--binary")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binary = a.binary or a.make or f"{folder}/calls"
        if not a.binary:
            build(a.minifut, binary)
        if a.make:
            return
        out = subprocess.run([binary, a.device, str(a.calls)], check=True, capture_output=True, text=True).stdout
    r = json.loads(out)
    kernels = [e for e in r["report"]["events"] if e["provenance"]]
    each = sum(e["duration"] for e in kernels) / max(e["runs"] for e in kernels)
    print(f"{r['calls']} calls: {r['waited']:.1f} us each when waited for, {r['queued']:.1f} when not; kernels {each:.1f}; "
          f"beside them {r['waited'] - each:.1f}")


main()
