#!/usr/bin/env python3
"""Time and peak memory of `minifut compile --emit=c` (no host C compiler) on every program of tests/programs,
examples and bench, and on generated ones: 2,000 lines, and nests of maps.

usage: bench/compile_time.py [MINIFUT] [PROGRAM...]

Memory below that of the Python that starts the compiler (some 20 MB) shows as that. Sorted by time, the worst last; what is over a limit is marked, and the exit code is then 1."""
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS, MEGABYTES = 0.5, 500  # limits for a program
SECONDS_GENERATED = 5  # for a generated one
RUNS = 3  # the best counts: other work on the machine is not the compiler's


def generated(folder):
    """The programs that the tests of the command line generate."""
    sys.path += [str(ROOT / "tests"), str(ROOT / "tests/cli")]
    from commands import long_program, nest_program
    texts = {"2000_lines": long_program(), "nest_of_8": nest_program(8, 1),
             "nest_of_5_with_siblings": nest_program(5, 3)}
    for name, text in texts.items():
        path = Path(folder) / f"{name}.sf"
        path.write_text(text)
        yield path


def programs():
    """Those that compile: no directive `-- error:`, an entry point."""
    for path in sorted(p for d in ("tests/programs", "examples", "bench") for p in (ROOT / d).rglob("*.sf")):
        text = path.read_text(errors="replace")
        if "\n-- error:" not in text and ("\nentry " in text or text.startswith("entry ") or "\nentry\n" in text):
            yield path


def measure(minifut, path):
    """(seconds of the processor, megabytes, exit code)"""
    best = (float("inf"), 0, 0)
    for _ in range(RUNS):
        null = os.open(os.devnull, os.O_RDWR)
        pid = os.posix_spawn(minifut, [minifut, "compile", "--emit=c", str(path)], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)])
        os.close(null)
        _, status, use = os.wait4(pid, 0)
        seconds = use.ru_utime + use.ru_stime
        best = min(best, (seconds, use.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)))
        if seconds > 1:
            break
    return best


def main():
    args = sys.argv[1:]
    minifut = str(Path(args[0] if args else ROOT / "minifut").resolve())
    over = 0
    with tempfile.TemporaryDirectory() as tmp:
        todo = [(p, SECONDS) for p in map(Path, args[1:])] or [(p, SECONDS) for p in programs()] + [
            (p, SECONDS_GENERATED) for p in generated(tmp)]
        start = time.monotonic()
        rows = sorted((*measure(minifut, p), str(p.resolve()).removeprefix(f"{ROOT}/"), limit) for p, limit in todo)
    for seconds, megabytes, code, name, limit in rows:
        marks = [m for m, bad in ((f"exit code {code}", code), (f"over {limit} s", seconds > limit),
                                  (f"over {MEGABYTES} MB", megabytes > MEGABYTES)) if bad]
        over += bool(marks)
        print(f"{seconds:7.3f} s {megabytes:7.1f} MB  {name}{'   <-- ' if marks else ''}{', '.join(marks)}")
    print(f"{len(rows)} programs in {time.monotonic() - start:.0f} s, {over} over a limit")
    sys.exit(over > 0)


if __name__ == "__main__":
    main()
