#!/usr/bin/env python3
"""Failures of one of several ranks: tests/ranks/failures.py MINIFUT [--times N] [--only KIND...]. Each is tried N times (default 2), at
other moments, ranks and limits each time: all ranks end, with a code and a message, and without results."""
import os
import resource
import signal
import stat
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
from checks import check, need, summary  # noqa: E402
from mpi import MPICC, MPIRUN, Job, run  # noqa: E402

CASES = 44  # about, that are skipped where there is no MPI
RANKS = 3
PROGRAM = """
entry turns (n: i64) (k: i64): i64 =
  i64.sum (loop xs = iota n for i < k do let s = i64.sum xs in map (\\x -> (x + s + i) % 1000) xs)
entry picks [n] (is: [n]i64): [n]i64 = map (\\i -> is[i]) is
entry all_of (n: i64): [n]f64 = let xs = map f64.i64 (iota n) in map (\\i -> xs[(i * i) % n]) (iota n)
entry last_long (n: i64): i64 =
  i64.sum (map (\\i -> loop x = i for j < (if i == n - 1 then 1000000000000 else 1) do (x + j) * 3) (iota n))
"""
SHARED = [word for entry in ("turns", "picks", "all_of", "last_long") for word in ("--param", f"{entry}.suff_dist_0=1")]
FOREVER = "1000i64 1000000000000i64"
# What a wrapper does for one of the ranks, before it becomes the program.
WRAPPER = """#!/bin/sh
if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = "$VICTIM" ]; then %s; else %s; fi
exec "$@"
"""
KINDS = ("killed", "launcher_killed", "no_memory", "no_device_memory", "no_memory_to_go_on", "in_kernel", "time_limit", "input_file",
         "full_disk", "unlike", "without_others")


class Tests:
    def __init__(self, minifut, place, times):
        self.place, self.times, self.longest = place, times, 0
        self.program, self.other = place / "ends", place / "other"
        for program, text in (self.program, PROGRAM), (self.other, PROGRAM.replace("% 1000", "% 1001")):
            source = place / f"{program.name}.sf"
            source.write_text(text)
            built = run(minifut, "compile", "--mpi", "-o", program, source, CFLAGS="-O1")
            check(built.returncode == 0, built.stderr)

    def wrapper(self, does, others=":"):
        path = self.place / "wrapper"
        path.write_text(WRAPPER % (does, others))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def fails(self, what, words, *said, codes=(1,), meanwhile=None, **options):
        """A job ends with one of the codes (None: any but 0), one of the messages, once, and no results."""
        job = Job(words, **options)
        began = [time.monotonic()]
        if meanwhile:
            def act():
                meanwhile(job)
                began[0] = time.monotonic()
            other = threading.Thread(target=act)
            other.start()
        code, out, err, left = job.end()
        if meanwhile:
            other.join()
        self.longest = max(self.longest, time.monotonic() - began[0])
        ended = code is not None and code != 0 and (codes is None or code in codes)
        lines = [line for line in err.splitlines() if any(word in line for word in said)]
        check(ended and (not said or len(lines) == 1) and "i64" not in out and "f64" not in out and not left,
              f"{what}: code {code}, left {left}, {out[:300]!r}, {err}")

    def turn_of(self, turn, variants):
        """Each once in two turns, where there are few turns."""
        return variants if self.times > 2 else variants[turn % 2::2]

    def all_with(self, *args):
        return ["-n", RANKS, self.program, *args, *SHARED]

    # --- Ranks that are killed ---

    def killed(self, turn):
        """While it opens its device, computes, or waits; not before: mpirun of Open MPI 4.1 itself hangs now and then if a rank
        is killed while it connects."""
        for rank in 0, 1 + turn % (RANKS - 1):
            def kill(job, rank=rank):
                job.wait_for_all(RANKS, self.program)
                pid = job.wait_for(rank, self.program)
                time.sleep(0.1 * turn)
                if pid:
                    os.kill(pid, signal.SIGKILL)
            self.fails(f"rank {rank} killed", self.all_with("-e", "turns"), codes=None, meanwhile=kill, text=FOREVER)

    def launcher_killed(self, turn):
        def kill(job):
            job.wait_for(RANKS - 1, self.program)
            time.sleep(0.1 * turn)
            job.process.kill()
        self.fails("the launcher killed", self.all_with("-e", "turns"), codes=None, meanwhile=kill, text=FOREVER)

    # --- Memory ---

    def no_memory(self, turn):
        """From where MPI has started, or MPICH starts, which may say what it wants, to where results are gathered."""
        for rank in 0, RANKS - 1:
            limit = 20000 * 2 ** (turn % 4)
            wrap = self.wrapper(f"ulimit -d {limit}")
            self.fails(f"rank {rank} with {limit} KiB", ["-n", RANKS, wrap, self.program, "-n", "-e", "all_of", *SHARED], codes=None,
                       text="12000000i64", VICTIM=str(rank))

    def no_device_memory(self, turn):
        """Where the program asks for it: all of an array, of which there is room for a part."""
        rank = turn % RANKS
        wrap = self.wrapper("ulimit -d 200000")
        self.fails(f"rank {rank} without memory for an array", ["-n", RANKS, wrap, self.program, "-n", "-e", "all_of", *SHARED],
                   "Error: out of device memory", "Error: out of memory", text="30000000i64", VICTIM=str(rank))

    def no_memory_to_go_on(self, turn):
        """Where the runtime cannot do without: a line of commands."""
        commands = self.place / "commands"
        commands.write_text("free " + "x" * 250000000 + "\n")
        wrap = self.wrapper("ulimit -d 200000", f"exec < {commands}")
        self.fails("no memory for a command", ["-n", RANKS, wrap, self.program, "--server", *SHARED], "rank 1: out of memory", codes=None,
                   VICTIM="1")
        commands.unlink()

    # --- What the program itself finds ---

    def in_kernel(self, turn):
        is_ = [0] * 30
        is_[(turn * 13) % 30] = 99
        self.fails("an index in a kernel", self.all_with("-e", "picks"), "Index [99] out of bounds for array of shape [30].",
                   text="[" + ", ".join(f"{i}i64" for i in is_) + "]")

    def time_limit(self, turn):
        """A launch of one rank that does not end: the server says so, and ends."""
        source = self.place / "n"
        source.write_text("30i64")
        commands = f"restore {source} n i64\ntime_limit 300000\ncall last_long r n\nstore {self.place / 'r'} r\n"
        start = time.monotonic()
        code, out, err, left = Job(self.all_with("--server"), text=commands).end()
        self.longest = max(self.longest, time.monotonic() - start)
        check(code and not left and out.count("stopped: ") == 1 and "the time limit is 0.3 s" in out and not (self.place / "r").exists(),
              f"a time limit: {code}, {left}, {out}, {err}")

    # --- Files ---

    def input_file(self, turn):
        argument = "argument 1 (is: []i64): standard input"
        for content, said in self.turn_of(turn, (
                (b"[1i64, 2i64", f"{argument}:1:12"), (b"[1i64, true]", f"{argument}:1:8"), (b"", "got end of input"),
                (b"[1i64] 7", "data after the last argument"), (b"b\x02\x01 i64\x05\0\0\0\0\0\0\0\x01\0", argument))):
            path = self.place / "input"
            path.write_bytes(content)
            with open(path, "rb") as stdin:
                self.fails(f"the input {content}", self.all_with("-e", "picks"), said, stdin=stdin)
        if turn % 2:
            folder = os.open(self.place, os.O_RDONLY)
            self.fails("a folder as input", self.all_with("-e", "picks"), argument, stdin=folder)
            os.close(folder)

    def full_disk(self, turn):
        """Of rank 0: standard output, the file of -t, and what a server stores, which goes on."""
        self.fails("a full disk", ["-n", RANKS, "sh", "-c", 'exec "$@" > /dev/full', "sh", self.program, "-e", "all_of", "-b", *SHARED],
                   "cannot write the results: No space left on device", text="100000i64")
        self.fails("a full disk for times", self.all_with("-e", "all_of", "-n", "-t", "/dev/full"),
                   "cannot write /dev/full: No space left on device", text="100000i64")
        source = self.place / "n"
        source.write_text("5i64")
        stored = self.place / "stored"
        commands = f"restore {source} n i64\nstore /dev/full n\nstore {stored} n\ncall all_of r n\n"
        code, out, err, left = Job(self.all_with("--server"), text=commands).end()
        check(code == 0 and out.count("FAILURE") == 1 and out.count("No space left on device") == 1 and out.count("runtime: ") == 1 and
              stored.read_bytes()[-8:] == b"\5\0\0\0\0\0\0\0", f"a server's full disk: {code}, {out}, {err}")

    # --- Ranks that are not alike ---

    def unlike(self, turn):
        def two(first, *second):
            return ["-n", 1 + turn % 2, *first, ":", "-n", 1, *second]
        same = [self.program, "-e", "turns", *SHARED]
        last = 1 + turn % 2
        for what, words, said in self.turn_of(turn, (
                ("another program", two(same, self.other, *same[1:]), f"rank {last} has another program or other tuning parameters"),
                ("other parameters", two(same, *same, "--param", "turns.suff_dist_0=7"), f"rank {last} has another program or other tuning"),
                ("a general size", two(same, *same, "--default-group-size", "64"), f"rank {last} has another program or other tuning"),
                ("another entry", two(same, *same, "-e", "picks"), f"rank {last} has other options"),
                ("more runs", two(same, *same, "-r", "3"), f"rank {last} has other options"),
                ("a server", two(same, *same, "--server"), f"rank {last} has other options"),
                ("no device", two(same, *same, "-d", "none"), f"rank {last}: no device matches"),
                ("no such parameter", two(same, *same, "--param", "none=1"), f"rank {last}: "),
                ("wrong options", two(same, *same, "--nothing"), f"rank {last}: wrong options"))):
            self.fails(what, words, said, codes=(1, 2, 1 | 2), text="10i64 2i64")

    def without_others(self, turn):
        """Two of this MPI's processes that do not know of each other, as of another MPI's launcher."""
        for name in ("OMPI_COMM_WORLD", "PMI")[turn % 2:]:
            done = run(self.program, "-e", "turns", text="10i64 2i64", **{f"{name}_SIZE": "2", f"{name}_RANK": "0"})
            check(done.returncode == 1 and done.stdout == "" and "2 processes were started that do not know" in done.stderr, f"{name}: {done}")


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    minifut = Path(sys.argv[1]).resolve()
    times = int(sys.argv[sys.argv.index("--times") + 1]) if "--times" in sys.argv else 2
    only = sys.argv[sys.argv.index("--only") + 1:] if "--only" in sys.argv else []
    if need(MPICC, CASES) and need(MPIRUN, CASES):
        with tempfile.TemporaryDirectory() as place:
            tests = Tests(minifut, Path(place), times)
            for name in only or KINDS:
                for turn in range(times):
                    getattr(tests, name)(turn)
                print(f"{name}: {tests.longest:.1f} s at most", flush=True)
                tests.longest = 0
    sys.exit(summary())


main()
