"""usage: run.py [SEED=1] [N=50] [MINUTES=0] [KEEP=FOLDER] [BYTES=PROGRAM] [FAILURES=20] [RANKS=N] [derivatives | nests] [quick | device] [nocompile] [noshrink]

N random programs from SEED on, or as many as MINUTES allow (N=0); then BYTES, bytes.c compiled, for a while.
quick: four of five programs are not compiled, no PoCL, no sanitizers; device: all are, and run on the OpenCL device alone, a GPU perhaps; nocompile: none is. RANKS: all are, and run on N ranks by MPI
instead. derivatives: those of derivatives.py; nests: of nests.py. MINIFUT, MINIFUT_ASAN: the
compiler, and one built with sanitizers. Failures are left in FOLDER (tests/fuzz/failures). See tests/README.md."""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import check  # noqa: E402
import checks  # noqa: E402
import derivatives  # noqa: E402
import nests  # noqa: E402
import shrink  # noqa: E402


class Totals:
    def __init__(self):
        self.programs = self.rejected = self.slow = 0
        self.failures = {}


def stages(c, p, seed):
    """The stages of a program, from cheap to dear; each a function that yields findings."""
    rnd = random.Random(seed)
    yield "front", lambda: c.front(p)
    yield "interpreter", lambda: c.interpreter(p)
    if c.n_ranks:
        yield "ranks", lambda: c.ranks(check.MODES[seed % 4])
        return
    if isinstance(c, derivatives.Checker):
        yield from stages_of_derivatives(c, p, seed, rnd)
        return
    if isinstance(c, nests.Checker):
        yield from stages_of_nests(c, p, seed, rnd)
        return
    if "device" in sys.argv:
        for mode in ["incremental", check.MODES[1 + seed % 3]]:
            yield mode, lambda mode=mode: c.versions(mode, rnd, ["pocl"], 4)
        return
    yield "passes", lambda: c.passes(rnd)
    if c.asan and seed % 4 == 1:
        yield "asan", c.under_asan
    if "nocompile" in sys.argv or (c.quick and seed % 5):
        return
    device = ["races"] if seed % 4 == 0 else ["oclgrind"]
    for mode in ["incremental", check.MODES[1 + seed % 3]] if checks.need("oclgrind") else []:
        yield mode, lambda mode=mode: c.versions(mode, rnd, device)
    if seed % 12 == 7 and not c.quick:
        yield "pocl", lambda: c.versions(check.MODES[seed // 12 % 4], rnd, ["pocl"], 3)
    if seed % 16 == 5 and not c.quick:
        yield "sanitized", lambda: c.sanitized(p)


def stages_of_derivatives(c, p, seed, rnd):
    """All runs are native: what matters here comes before kernels are made."""
    if seed % 4 == 0:
        yield "passes", lambda: c.passes(rnd)
    if c.asan and seed % 8 == 1:
        yield "asan", c.under_asan
    if "nocompile" in sys.argv or (c.quick and seed % 5):
        return
    for mode in ["incremental", check.MODES[1 + seed % 3]]:
        yield mode, lambda mode=mode: c.versions(mode, rnd, ["pocl"], 4)
    if seed % 16 == 5 and not c.quick:
        yield "sanitized", lambda: c.sanitized(p)


def stages_of_nests(c, p, seed, rnd):
    """Every version natively, then with the code of GPUs: what matters here is what kernels make of arrays' orders."""
    if seed % 4 == 0 or "nocompile" in sys.argv:
        yield "passes", lambda: c.passes(rnd)
    if c.asan and seed % 8 == 1:
        yield "asan", c.under_asan
    if "nocompile" in sys.argv or (c.quick and seed % 2):
        return
    mode = check.MODES[seed // 2 % 4] if seed % 2 else "incremental"
    yield mode, lambda: c.natively(mode, rnd)
    if seed % 3 == 0 and not c.quick and checks.has_opencl():
        yield f"{mode} for GPUs", lambda: c.for_gpus(mode, rnd)
    if seed % 16 == 5 and not c.quick:
        yield "sanitized", lambda: c.sanitized(p)


def fuzz_one(c, seed, totals):
    """None, or (program, finding, stage)."""
    p = c.program(seed)
    totals.programs += 1
    if not c.prepare(p):
        totals.slow += 1
        return None
    for name, stage in stages(c, p, seed):
        f = check.first(stage())
        if f and f.stage == "limit":
            totals.failures.setdefault(("limit", f.key[1]), []).append(seed)
            return None
        if f:
            return p, f, name
    return None


def again(c, name, finding):
    """A test for shrinking: does a program fail in the same way?"""
    def test(p):
        try:
            if not c.prepare(p):
                return None
            if name != "front" and check.first(c.front(p)):
                return None
            if name == "front":
                f = check.first(c.front(p))
            elif name == "interpreter":
                f = check.first(c.interpreter(p))
            elif getattr(finding, "replay", ("",))[0] == "meaning":
                f = check.first(c.interpreter(p)) or check.first(c.meaning(*finding.replay[1:]))
            elif name == "passes":
                f = check.first(c.interpreter(p)) or check.first(c.passes(random.Random(1)))
            elif name == "asan":
                f = check.first(c.under_asan())
            elif name == "sanitized":
                f = check.first(c.sanitized(p))
            elif name == "ranks":
                f = check.first(c.interpreter(p)) or check.first(c.ranks(*finding.replay))
            elif hasattr(finding, "replay"):
                f = check.first(c.interpreter(p)) or check.first(c.replay(*finding.replay))
            else:
                f = check.first(c.versions(name, random.Random(1), ['oclgrind'], 1))
        except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError, RecursionError, AttributeError, OverflowError):
            return None  # shrunk into something that the oracle cannot run
        return f if f and f.key == finding.key else None
    return test


def keep(folder, c, p, f, seed):
    """Leaves a failing program."""
    at = folder / f"seed-{seed}"
    at.mkdir(parents=True, exist_ok=True)
    (at / "prog.sf").write_text(c.text(p))
    lines = [f"seed {seed}, stage {f.stage}", f"reproduce: {f.command}", f.text, ""]
    for k in range(len(p.inputs)):
        (at / f"{k}.in").write_text(check.input_text(p, k))
        try:
            state, want = check.expected(p, k)
            lines.append(f"expected of {k}.in: {state} {want}")
        except Exception as e:
            lines.append(f"oracle: {e!r}")
    (at / "README").write_text("\n".join(lines) + "\n")
    return at


def bytes_stage(program, seed, n, seconds, folder):
    """Mutated text and bytes: how many passed and failed."""
    passed = failed = 0
    files = [str(p) for p in sorted(ROOT.glob("*/**/*.sf")) if "failures" not in p.parts and "build" not in p.parts]
    irs = [str(p) for p in sorted(ROOT.glob("tests/**/*.ir"))]
    with tempfile.TemporaryDirectory() as tmp:
        data = corpus_of_values(tmp, seed)
        for target, corpus, weight in [("program", files, 3), ("ir", irs, 1), ("values", data, 1)]:
            folder.mkdir(parents=True, exist_ok=True)
            r = subprocess.run([program, target, str(seed), str(n * weight), str(int(seconds * weight / 5)), str(folder),
                                *corpus], capture_output=True, text=True)
            *lines, last = r.stdout.splitlines() or ["0 passed, 1 failed"]
            print("\n".join([f"bytes, {target}: {last}", *lines]), flush=True)
            passed += int(last.split()[0])
            failed += int(last.split()[2])
    return passed, failed


def corpus_of_values(folder, seed):
    """Files of values in both formats."""
    rnd, out = random.Random(seed), []
    texts = ["1 -2i64 0x1Fu8 1.5 1e3f32 f32.nan -f64.inf true", "[1, 2, 3] [[1i8], [2i8]] empty([0][3]i32)",
             '"text" [] -- comment\n [true, false]', "[[[1.5f32, 2], [3, f32.inf]], [[0, 1], [2, 3]]]"]
    for k in range(20):
        path = Path(folder) / f"v{k}"
        if k < len(texts):
            path.write_text(texts[k])
        else:
            dims = [rnd.randint(0, 4) for _ in range(rnd.randint(0, 3))]
            size, name = rnd.choice([(1, b"  i8"), (4, b" i32"), (8, b" i64"),
                                    (4, b" f32"), (8, b" f64"), (1, b"bool")])
            body = bytes(rnd.randint(0, 1) for _ in range(size * math.prod(dims)))
            path.write_bytes(b"b\x02" + bytes([len(dims)]) + name + \
                             b"".join(struct.pack("<Q", d) for d in dims) + body)
        out.append(str(path))
    return out


def main():
    opts = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
    quick = "quick" in sys.argv
    seed, n, minutes = int(opts.get("SEED") or 1), int(opts.get("N") or 0), float(opts.get("MINUTES") or 0)
    if not n and not minutes:
        n = 50
    folder = Path(opts.get("KEEP") or HERE / "failures")
    minifut = os.path.abspath(os.environ.get("MINIFUT", ROOT / "minifut"))
    totals, start, said = Totals(), time.time(), time.time()
    most = int(opts.get("FAILURES") or 20)
    with tempfile.TemporaryDirectory() as tmp:
        kind = derivatives.Checker if "derivatives" in sys.argv else nests.Checker if "nests" in sys.argv else check.Checker
        c = kind(minifut, tmp, quick, int(opts.get("RANKS") or 0))
        s = seed
        share = 0.9 if opts.get("BYTES") else 1
        while (not n or s < seed + n) and (not minutes or time.time() - start < share * minutes * 60):
            found = fuzz_one(c, s, totals)
            if found:
                p, f, name = found
                new = f.key not in totals.failures
                totals.failures.setdefault(f.key, []).append(s)
                if new:
                    if "noshrink" not in sys.argv:
                        p, f = shrink.shrink(p, f, again(c, name, f), 60)
                    at = keep(folder, c, p, f, s)
                    print(f"FAIL seed {s} ({name}): {f.text[:300]}\n  {at}", flush=True)
                if sum(k[0] != "limit" for k in totals.failures) >= most:
                    break
            if time.time() - said > 60:
                said = time.time()
                print(f"... {totals.programs} programs, {c.counts['versions']} versions", flush=True)
            s += 1
    more_passed, more_failed = 0, 0
    if opts.get("BYTES"):
        more_passed, more_failed = bytes_stage(os.path.abspath(
            opts["BYTES"]), seed, 0 if minutes else 400, minutes * 6, folder)
    failed = sum(len(v) for k, v in totals.failures.items() if k[0] != "limit")
    for k, v in totals.failures.items():
        print(f"{len(v)} x {k[0]}: {k[1:]} (seeds {v[:6]})")
    print(f"{totals.programs} programs, {c.counts['versions']} versions, {c.counts['runs']} runs; {totals.slow} too long for "
          f"the oracle or not fit, {c.counts['timeouts']} timeouts, {c.counts['limits']} refused, "
          f"{c.counts['optimised']} wrong by oclgrind alone, optimised; {time.time() - start:.0f} s")
    checks.ending(totals.programs - failed + more_passed, failed + more_failed)
    sys.exit(failed + more_failed > 0)


if __name__ == "__main__":
    main()
