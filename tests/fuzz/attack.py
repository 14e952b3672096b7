#!/usr/bin/env python3
"""Hostile clients and damaged files, under AddressSanitizer, UBSan and LeakSanitizer: what minifut and its programs are given
by others must not crash them, leak, or hang.

usage: attack.py [PART...] [SEED=1] [N=...] [KEEP=FOLDER]

    lsp      sessions of the language server (N=20000)
    server   scripts of a program's server protocol (20000)
    tuning   tuning files and logs, each read by the compiler, and files by a library (5000)
    cache    damaged entries of a cache of kernels (2000)
    library  calls of a library with errors between (100000)

Without PART all of them. N: so many instead, of each part; N=quick: a five-hundredth. Environment: MINIFUT, the compiler (./minifut),
MINIFUT_ASAN, one built with sanitizers (as MINIFUT: crashes are seen, no more), and BYTES, bytes.c with them; where none of them is set,
those that `make fuzz` builds. What goes wrong is left in FOLDER (tests/fuzz/failures). Last line: `N passed, N failed`."""
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import attack_lsp  # noqa: E402
import attack_server  # noqa: E402

FLAGS = "-g -O1 -w -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
LIBS = ["-lm", "-ldl", "-lpthread"]


class Tools:
    """What is attacked, built when it is first asked for."""

    def __init__(self, folder):
        self.folder = folder
        known = {"MINIFUT": ROOT / "minifut", "MINIFUT_ASAN": ROOT / "build/asan/minifut", "BYTES": ROOT / "build/asan/fuzz/bytes"}
        given = {k: os.environ[k] for k in known if os.environ.get(k)} or known
        self.minifut = os.path.abspath(given.get("MINIFUT", known["MINIFUT"]))
        self.asan = os.path.abspath(given.get("MINIFUT_ASAN", self.minifut))
        self.bytes = os.path.abspath(given.get("BYTES", ROOT / "build/fuzz/bytes"))
        self.built = {}

    def environment(self, leaks):
        """PoCL's compiler takes the signals' stack of a thread away, and drivers keep what they have until the end."""
        asan = f"use_sigaltstack=0:fast_unwind_on_malloc=0:allocator_may_return_null=1:detect_leaks={int(leaks)}"
        return {**os.environ, "ASAN_OPTIONS": asan,
                "LSAN_OPTIONS": f"suppressions={ROOT}/tests/library/leaks.txt:print_suppressions=0"}

    def make(self, name, *commands):
        if name not in self.built:
            for c in commands:
                subprocess.run(c, cwd=self.folder, check=True, env={**os.environ, "CFLAGS": FLAGS})
            self.built[name] = str(self.folder / name)
        return self.built[name]

    @property
    def program(self):
        return self.make("program", [self.minifut, "compile", "-o", "program", HERE / "attack.sf"])

    @property
    def client(self):
        cc = [os.environ.get("CC", "cc"), "-std=gnu11", *FLAGS.split(), "-I."]
        return self.make("client", [self.minifut, "compile", "--library", "-o", "attack", HERE / "attack.sf"],
                         [*cc, "-o", "client", HERE / "attack_client.c", "attack.c", *LIBS])

    def run(self, command, seconds):
        """A program that says how many passed and failed; what is wrong."""
        try:
            r = subprocess.run([str(c) for c in command], capture_output=True, timeout=seconds, cwd=self.folder, env=self.environment(leaks=True))
        except subprocess.TimeoutExpired as e:
            return f"it does not end: {(e.stdout or b'')[-2000:]!r}"
        out = (r.stdout + r.stderr).decode(errors="replace")
        return f"exit code {r.returncode}: {out[:4000]}" if r.returncode or " 0 failed" not in out else None


# --- The parts: each yields (number, what is wrong, its input) ---------------------------------------------------

def library(tools, seed, n):
    for k in range(0, n, 10000):  # a process each
        said = tools.run([tools.client, "calls", seed + k, min(10000, n - k)], 3600)
        if said:
            yield k, said, b""


def cache(tools, seed, n):
    """Kernels that are texts are kept: those of OpenCL's devices."""
    by_opencl = {**os.environ, "MINIFUT_DRIVER": "opencl"}
    if subprocess.run([tools.minifut, "devices"], env=by_opencl, capture_output=True).returncode != 0:
        print("cache: no OpenCL device, nothing is attacked")
        return
    with tempfile.TemporaryDirectory(dir=tools.folder) as folder:
        for k in range(0, n, 200):
            said = tools.run(["env", "MINIFUT_DRIVER=opencl", tools.client, "cache", seed + k, min(200, n - k), folder], 3600)
            if said:
                yield k, said, b""


TUNING = ["scale.suff_outer_par_0=5\n", "-- thresholds and sizes\n-- device: a device\n-- program: 0123456789abcdef\nscale.group_size=64\n",
          "scale.item_elems=4\nnobody=3\n\n  default_group_size = 128 -- all\n", "default_threshold=0\nproduct.suff_intra_par_1=9223372036854775807\n"]
CONTEXT = "0123456789abcdef"
LOGS = [f"# {CONTEXT}: main on a device\n{CONTEXT} a 5/never ok 0.25 0.01 12 main.p_0:7:1,main.p_1:3:0 main.p_0:0.5:0.01 - 0000000000000000\n",
        f"forget {CONTEXT}\n{CONTEXT} %2d 1+64/0 failed 0 0 1 - - out%20of%20memory 0000000000000000\n",
        f"{CONTEXT} b 5 cut 1e300 nan 1 - - - 0000000000000000\n{CONTEXT} b 5 wrong inf -1 99999999999 x:1:1 - - 0000000000000000"]


def spoilt(r, texts):
    data = r.choice(texts).encode()
    for _ in range(r.randrange(1, 5)):
        at, other = r.randrange(len(data) + 1), r.choice(texts).encode()
        piece = r.choice([b"", b"=", b"\n", b"-", b"--", b"\0", b"\xff", b"%", b"%2", b":", b",", b" ", b"99999999999999999999", b"1e999", b"nan",
                          b"a" * 5000, other[:r.randrange(len(other))]])
        data = data[:at] + piece + data[at + r.randrange(6):]
    return data


def tuning(tools, seed, n):
    r = random.Random(seed)
    for target, texts in (("tuning", TUNING), ("log", LOGS)):
        files = []
        for k, text in enumerate(texts):
            files.append(tools.folder / f"{target}{k}")
            files[-1].write_text(text)
        said = tools.run([tools.bytes, target, seed, n, 0, tools.folder, *files], 7200)
        if said:
            yield 0, f"{target}: {said}", b""
    for first in range(0, n, 100):
        files = [tools.folder / f"t{k}" for k in range(min(100, n - first))]
        for f in files:
            f.write_bytes(spoilt(r, TUNING))
        said = tools.run([tools.client, "tuning", *files], 1200)
        if said:
            yield first, said, b"\n".join(b"-- file\n" + f.read_bytes() for f in files)


PARTS = {"lsp": (attack_lsp.attack, 20000), "server": (attack_server.attack, 20000), "tuning": (tuning, 5000), "cache": (cache, 2000),
         "library": (library, 100000)}


def main():
    opts = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
    parts = [a for a in sys.argv[1:] if "=" not in a] or list(PARTS)
    seed, keep = int(opts.get("SEED") or 1), Path(opts.get("KEEP") or HERE / "failures")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        tools = Tools(Path(tmp))
        for part in parts:
            f, n = PARTS[part]
            n = n // 500 if opts.get("N") == "quick" else int(opts.get("N") or n)
            start, wrong = time.monotonic(), 0
            for k, said, data in f(tools, seed, n):
                wrong += 1
                keep.mkdir(parents=True, exist_ok=True)
                path = keep / f"{part}-{seed}-{k}"
                path.write_bytes(data)
                print(f"{path}: {said}", flush=True)
            print(f"{part}: {n} attacks, {wrong} failed, {time.monotonic() - start:.0f} s", flush=True)
            passed += n - wrong
            failed += wrong
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
