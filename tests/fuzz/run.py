"""usage: run.py [SEED=1] [N=0] [MINUTES=0] [KEEP=folder] [quick]

N programs from SEED on, or as many as MINUTES allow. See tests/README.md."""
import os
import random
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import gen  # noqa: E402
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
    yield "passes", lambda: c.passes(rnd)
    if "nocompile" in sys.argv or (c.quick and seed % 5):
        return
    device = ["races"] if seed % 4 == 0 else ["oclgrind"]
    for mode in ["incremental", check.MODES[1 + seed % 3]]:
        yield mode, lambda mode=mode: c.versions(mode, rnd, device)
    if seed % 12 == 7 and not c.quick:
        yield "pocl", lambda: c.versions(check.MODES[seed // 12 % 4], rnd, ["pocl"], 3)
    if seed % 16 == 5 and not c.quick:
        yield "sanitized", lambda: c.sanitized(p)


def fuzz_one(c, seed, totals):
    """None, or (program, finding, stage)."""
    p = gen.Gen(seed).program()
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
            elif name == "sanitized":
                f = check.first(c.sanitized(p))
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
    (at / "prog.sf").write_text(check.program_text(p))
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
        c = check.Checker(minifut, tmp, quick)
        s = seed
        while (not n or s < seed + n) and (not minutes or time.time() - start < minutes * 60):
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
    failed = sum(len(v) for k, v in totals.failures.items() if k[0] != "limit")
    for k, v in totals.failures.items():
        print(f"{len(v)} x {k[0]}: {k[1:]} (seeds {v[:6]})")
    print(f"{totals.programs} programs, {c.counts['versions']} versions, {c.counts['runs']} runs; {totals.slow} too long for "
          f"the oracle, {c.counts['timeouts']} timeouts, {c.counts['limits']} refused; {time.time() - start:.0f} s")
    print(f"{totals.programs - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
