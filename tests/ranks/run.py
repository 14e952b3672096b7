#!/usr/bin/env python3
"""Programs on several ranks, by MPI: tests/ranks/run.py MINIFUT [--all]. Each program of tests/ranks/ on 1 to 4 ranks, with what is
shared out, and not; the command line, and failures of one rank; minifut bench on several numbers of them."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
import checks  # noqa: E402
from checks import MPI, check, need, summary  # noqa: E402
from mpi import HERE, MPICC, MPIRUN, run  # noqa: E402

# Of tests/programs: what --all runs; what the suite does.
FOLDERS = ["modules", "scalars"]
SAMPLE = ["modules/parallel_*.sf", "scalars/*_reductions.sf"]
CASES = 80  # about, that are skipped where there is no MPI


def directives(minifut):
    """The programs' own tests, and a sample of tests/programs; with --all, all of some folders on 1 to 4 ranks."""
    own, programs = sorted(HERE.glob("*.sf")), HERE.parent / "programs"
    every, some, sample = own, [HERE / "parts.sf", HERE / "sizes.sf"], sorted(p for like in SAMPLE for p in programs.glob(like))
    if "--all" in sys.argv:
        every = some = own + [programs / folder for folder in FOLDERS]
        sample = []
    for ranks, tested in (1, some), (2, every), (3, every + sample), (4, some):
        # Three exchange through the hosts' memory, as on several machines, the others by windows of their devices'.
        done = run(minifut, "test", "-c", "--timeout", 300, "--ranks", ranks, *tested, limit=3600, MINIFUT_WINDOWS="0" if ranks == 3 else "2")
        sums = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.M)
        checks.passed += int(sums[1]) if sums else 0
        check(done.returncode == 0, f"on {ranks} ranks:\n{done.stdout}{done.stderr}")


def command_line(minifut, place):
    program = place / "parts"
    built = run(minifut, "compile", "--mpi", "-o", program, HERE / "parts.sf")
    check(built.returncode == 0, built.stderr)

    def ranks(n, *args, text, before=()):
        return run(MPIRUN, "-np", n, *before, program, *args, text=text)

    always = ("--param", "maps.suff_dist_0=1", "--param", "fails.suff_dist_0=1")
    for n in 1, 3:
        done = ranks(n, "-e", "maps", *always, text="[1i64, 2i64, 3i64, 4i64] 5i64")
        check(done.returncode == 0 and done.stdout == "[6i64, 7i64, 8i64, 9i64]\n30i64\n", f"{n} ranks: {done}")
    # Who distrusts the launcher's pipes has rank 0 open the files itself.
    given, got = place / "given", place / "got"
    given.write_text("[1i64, 2i64, 3i64, 4i64] 5i64")
    done = ranks(3, "-e", "maps", *always, text="", before=("sh", "-c", f'exec "$@" < {given} > {got}', "sh"))
    check(done.returncode == 0 and got.read_text() == "[6i64, 7i64, 8i64, 9i64]\n30i64\n", f"files: {done}")
    # A rank alone fails: one message, no result.
    done = ranks(3, "-e", "fails", *always, text="[0i64, 1i64, 2i64, 9i64]")
    check(done.returncode == 1 and done.stdout == "", f"a failure: {done}")
    check(done.stderr.count("Index [9] out of bounds for array of shape [4].") == 1, f"its message: {done.stderr}")
    check(re.search("^Error: Index", done.stderr, re.M), f"its message: {done.stderr}")
    # What is wrong for all is said once.
    for args, text, want in (("-e", "maps"), "[1i64", "standard input"), (("-e", "none"), "", "no entry point 'none'"), \
            (("--nothing",), "", "nothing"), (("-e", "maps", "--tuning", place / "none"), "[1i64] 1i64", "none"):
        done = ranks(3, *args, text=text)
        check(done.returncode != 0 and done.stdout == "" and done.stderr.count(want) >= 1, f"{args}: {done}")
        lines = [line for line in done.stderr.splitlines() if line.startswith(str(program)) and want in line]
        check(len(lines) <= 1, f"{args}: said more than once: {done.stderr}")


def library(minifut, place):
    """A library's context is that of all ranks, or of those of a communicator."""
    built = run(minifut, "compile", "--mpi", "--shared", "-o", place / "parts", "--force", HERE / "parts.sf")
    check(built.returncode == 0, built.stderr)
    built = run(MPICC, "-w", "-I", place, "-o", place / "client", HERE / "client.c", place / "parts.so")
    check(built.returncode == 0, built.stderr)
    for n in 2, 3:
        done = run(MPIRUN, "-np", n, place / "client", MINIFUT_DRIVER="native")
        check(done.returncode == 0 and done.stdout == "ok\n", f"a library on {n} ranks: {done}")


def bench(minifut, place):
    """Several numbers of ranks beside one another; what differs from NAME.out, or else from the first one, is wrong."""
    program = place / "sums.sf"
    program.write_text("entry main [n] (xs: [n]i64) = i64.sum (map (* 2) xs)\n")
    (place / "d").mkdir()
    for name in "ab":
        (place / "d" / f"{name}.in").write_text("[1i64, 2i64, 3i64]")
    done = run(minifut, "bench", "--ranks", "1,3", "--json", place / "b.json", program, place / "d")
    rows = [line.split() for line in done.stdout.splitlines()]
    check(done.returncode == 0 and rows[0] == "data set 1 rank 3 ranks speedup result".split(), f"bench: {done}")
    check([(r[0], r[-2:]) for r in rows[1:]] == [(name, ["ranks", "agree"]) for name in "ab"], f"bench: {done}")
    measured = json.loads((place / "b.json").read_text())["datasets"] if done.returncode == 0 else {}
    check([[m["ranks"] for m in measured.get(name, [])] for name in "ab"] == [[1, 3]] * 2, f"bench: {measured}")
    check(all(m["untuned"]["median_us"] >= 0 for ms in measured.values() for m in ms), f"bench: {measured}")
    check(all(("speedup" in m) == (m["ranks"] == 3) for ms in measured.values() for m in ms), f"bench: {measured}")
    (place / "d/b.out").write_text("11i64")
    done = run(minifut, "bench", "--ranks", "1,3", "--skip-compilation", program, place / "d")
    check(done.returncode == 1 and re.search(r"^b +WRONG +WRONG *$", done.stdout, re.M), f"bench, wrong: {done}")
    # An operator that is no good tells how often it was applied.
    program.write_text("entry main [n] (xs: [n]i64) = reduce (\\a b -> a + b + 1) 0 xs\n")
    (place / "t").write_text("main.suff_dist_0=1\n")
    done = run(minifut, "bench", "--ranks", "1,3", "--tuning", place / "t", program, place / "d")
    check(done.returncode == 1 and re.search(r"^a +[\d.]+ us +WRONG *$", done.stdout, re.M), f"bench, ranks differ: {done}")
    for wrong in "1,", "0,2", "x", "1,4097", ",".join(["1"] * 17):
        done = run(minifut, "bench", "--ranks", wrong, program, place / "d")
        check(done.returncode == 2 and f"--ranks {wrong}: " in done.stderr, f"bench --ranks {wrong}: {done}")
    done = run(minifut, "bench", "--ranks", "1,2", "--roofline", program, place / "d")
    check(done.returncode == 2 and "--roofline" in done.stderr, f"bench --roofline: {done}")


def binary(type, shape, letter, values):
    return b"b\2" + bytes([len(shape)]) + type.rjust(4).encode() + struct.pack(f"<{len(shape)}q", *shape) + \
        struct.pack(f"<{len(values)}{letter}", *values)


def large(minifut, place):
    """An argument that no device could hold, and results that rank 0 gets in pieces: of several pieces each."""
    program, rows, cols = place / "large", 300_000, 16
    built = run(minifut, "compile", "--mpi", "-o", program, HERE / "large.sf")
    check(built.returncode == 0, built.stderr)
    xss = [(i * 7919) % 1001 - 500 for i in range(rows * cols)]
    limit = len(xss) * 8 * 2 // 3
    given = place / "xss"
    given.write_bytes(binary("i64", (rows, cols), "q", xss))
    sums = [sum(xss[i:i + cols]) for i in range(0, len(xss), cols)]
    scanned, total = [], 0
    for x in sums:
        total += x
        scanned.append(total)
    want = binary("i64", (), "q", [total]) + binary("i64", (rows,), "q", sums) + binary("i64", (rows,), "q", scanned)

    def ranks(n, *args, stdin):
        with open(stdin, "rb") as f:
            return subprocess.run([MPIRUN, "-np", str(n), str(program), *args], stdin=f, capture_output=True, timeout=300,
                                  env={**os.environ, **MPI})

    for n in 2, 3:
        done = ranks(n, "-e", "rows", "-b", "--memory", str(limit), stdin=given)
        check(done.returncode == 0 and done.stdout == want, f"{n} ranks: {done.returncode} {done.stderr}")
    done = ranks(1, "-e", "rows", "-b", "--memory", str(limit), stdin=given)
    check(done.returncode == 1 and done.stdout == b"" and b"out of device memory" in done.stderr, f"one rank: {done.stderr}")
    # Needed whole by the entry, or because nothing is shared out: then there is no room.
    done = ranks(2, "-e", "rows", "-b", "--memory", str(limit), "--param", "rows.suff_dist_0=1000000000", stdin=given)
    check(done.returncode == 1 and done.stdout == b"" and done.stderr.count(b"out of device memory") == 1, f"whole: {done.stderr}")
    # Data that ends in the middle of a rank's rows.
    given.write_bytes(given.read_bytes()[:-12])
    for n in 1, 3:
        done = ranks(n, "-e", "rows", "-b", stdin=given)
        check(done.returncode == 1 and done.stdout == b"" and b"the data ends in the middle of an array" in done.stderr,
              f"{n} ranks, short data: {done}")
    # The same for a server, whose ranks read and write the files themselves.
    given.write_bytes(binary("i64", (rows, cols), "q", xss) + b"\n 5i64 " + binary("bool", (3,), "B", (0, 7, 255)))
    commands = f"restore {given} xss [][]i64 k i64 bs []bool\ncall rows s r t xss\nstore {place}/out s r t\nshape xss\n" \
        f"free xss\nstore {place}/bs k bs\nindex b bs 1\nstore {place}/b b\nrestore {place}/none x []i64\n"
    done = run(MPIRUN, "-np", 2, program, "--server", "--memory", limit, text=commands, limit=300)
    check(done.returncode == 0 and done.stdout.count("%%% FAILURE") == 1 and f"{rows}\n{cols}\n" in done.stdout, f"server: {done}")
    check((place / "out").read_bytes() == want, "what a server stores")
    check((place / "bs").read_bytes() == binary("i64", (), "q", [5]) + binary("bool", (3,), "B", (0, 1, 1)), "bools as they were")
    check((place / "b").read_bytes() == binary("bool", (), "B", [1]), "an element of what is in parts")


def variables(minifut, place):
    """What is in parts, or whole, may be an argument of either kind, and of both."""
    program = place / "large"
    (place / "given").write_text("[1i64, 2i64, 3i64, 4i64, 5i64]")
    commands = f"""restore {place}/given xs []i64
call later a0 a1 xs
call later b0 b1 a0
call same c0 c1 b0
call lengths d0 d1 d2 c0 c0 f
restore {place}/bools f []bool
call lengths d0 d1 d2 c0 c0 f
call same e0 e1 c0
copy g d1
set g b1 0
store {place}/all xs a0 b0 c0 d0 d1 d2 e0 g
"""
    (place / "bools").write_text("[true, false, true, true, false]")
    want = None
    for n in 1, 2, 3:
        for least in 1, 1000:
            always = [w for e in ("later", "same", "lengths") for k in range(2) for w in ("--param", f"{e}.suff_dist_{k}={least}")
                      if e == "lengths" or k == 0]
            done = run(MPIRUN, "-np", n, program, "--server", *always, text=commands)
            check(done.returncode == 0 and done.stdout.count("%%% FAILURE") == 1, f"{n} ranks: {done}")
            got = (place / "all").read_bytes()
            want = want or got
            check(got == want and len(got) > 300, f"{n} ranks, shared out from {least} on: what variables hold")


def without(minifut, place):
    """Nothing of MPI is in a program that is for one process."""
    done = run(minifut, "compile", "--emit=c", HERE / "parts.sf")
    check(done.returncode == 0 and "MPI_" not in done.stdout and "mpi.h" not in done.stdout, "MPI in a program without")


def main():
    minifut = Path(sys.argv[1]).resolve()
    if need(MPICC, CASES) and need(MPIRUN, CASES):
        with tempfile.TemporaryDirectory() as place:
            directives(minifut)
            command_line(minifut, Path(place))
            library(minifut, Path(place))
            bench(minifut, Path(place))
            large(minifut, Path(place))
            variables(minifut, Path(place))
            without(minifut, Path(place))
    sys.exit(summary())


main()
