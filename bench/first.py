"""The time to a program's first result with cold caches: how long it takes from its start until it has ended, when
every kernel that it needs must be built. Used by suite.py."""
import os
import tempfile
import time
from statistics import median

from programs import shell
from values import read_binary

# Seconds that are asked for on an H100.
ASKED = 2.0
RUNS = 3


def cold_environment(folder):
    """Where this project, PoCL and NVIDIA's driver would keep what they have built: all of it empty."""
    return {**os.environ, "XDG_CACHE_HOME": folder, "POCL_CACHE_DIR": folder, "CUDA_CACHE_PATH": folder}


def first_result(binary, options, source, limit, wrong):
    """{"seconds": median of some runs} or {"error": ...}. wrong(results): None or what is wrong with them."""
    times = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as cold, open(source, "rb") as inputs:
            start = time.monotonic()
            code, out, message = shell([binary, *options, "-b", "-e", "main"], limit, stdin=inputs,
                                       env=cold_environment(cold))
            times.append(time.monotonic() - start)
        error = message.strip()[-300:] or f"exit code {code}" if code else wrong(read_binary(out))
        if error:
            return {"error": error}
    return {"seconds": median(times)}


def line(program, dataset, first):
    """What suite.py prints of it."""
    if "error" in first:
        return f"{program:14} {dataset:16} first result FAILED: {first['error']}"
    late = f"   <-- asked: {ASKED:.1f} s" if first["seconds"] > ASKED else ""
    return f"{program:14} {dataset:16} first result {first['seconds']:.2f} s{late}"
