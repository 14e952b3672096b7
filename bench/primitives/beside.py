"""Programs on a GPU beside PyTorch, for the benchmarks of this folder that check whole results."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from values import read_binary, write_values  # noqa: E402

RUNS = 15


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


def run(program, device, entry, values):
    """The result; microseconds of a run, of its kernels; bytes of device memory at most."""
    with tempfile.TemporaryDirectory() as folder:
        write_values(f"{folder}/in", values)
        with open(f"{folder}/in", "rb") as f:
            r = subprocess.run([program, "-d", device, "-e", entry, "-b", "-P", "-r", str(RUNS), "-t", f"{folder}/times"], stdin=f,
                               capture_output=True, check=True)
        times = [float(line) for line in Path(f"{folder}/times").read_text().split()]
    said = r.stderr.decode()
    rows = [line.split() for line in said.splitlines() if re.match(r"\w+_\d+ ", line)]
    peak = re.search(r"peak device memory (\d+) bytes", said)
    return read_binary(r.stdout)[0], median(times), sum(float(row[3]) for row in rows) / RUNS, int(peak[1]) if peak else 0
