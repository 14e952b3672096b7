#!/usr/bin/env python3
"""Programs on several ranks beside the same ones on one, their calls by turns.

    beside.py slower --prebuilt FOLDER --data FOLDER [PROGRAM...]      what is slower untuned on --ranks than on one
    beside.py settings --prebuilt FOLDER --data FOLDER --tuning FILE PROGRAM
                                                                      what thresholds of sharing out a tuning found, and the best

FOLDER/PROGRAM is the program (`compile --mpi`), FOLDER/PROGRAM/NAME.in its data sets (`bench/datasets.py`). `slower`: one rank by each of
--drivers, of which the faster one counts; all that is more than 3 % slower is listed last. `settings`: on the ranks, as tuned, and the same with
all of suff_dist at 1 (shared out) and out of reach, by turns in the same processes, as other processes' times differ by more than those of
settings: until it is certain whether the tuning's time is within 5 % of the best one's, or for --most rounds. Needs NumPy."""
import argparse
import math
import os
import stat
import sys
import tempfile
from pathlib import Path
from statistics import mean, median, stdev

sys.path.append(str(Path(__file__).resolve().parent.parent))
import turns  # noqa: E402
from server import Server, ServerError  # noqa: E402

SLOWER = 1.03
NEAR = 1.05
NEVER = 1 << 60
UNSET = 0
CALLS = 5  # of a setting in a round


def starter(folder, name, command):
    """A program that starts another one with words of its own before what it is given."""
    path = Path(folder) / name
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def thresholds(program):
    names = os.popen(f"{program} --print-params").read().split()
    return [n for n in (word.split("=")[0] for word in names) if ".suff_dist_" in n]


def measured(a, fleet, path):
    """Median microseconds of each program of the fleet on a data set; a text where it failed."""
    got = turns.measure(a, fleet, lambda s: s.load(a.entry, path), lambda _: None)
    return {n: median(t["runtimes"]) if "runtimes" in t else t["error"] for n, t in got.items()}


def all_measured(a, program, programs):
    """(data set, its times), each."""
    with turns.Fleet(programs, a.limit) as fleet:
        for path in sorted((a.data / program).glob("*.in")):
            yield path.stem, measured(a, fleet, path)


def slower(a, folder):
    worse = []
    for program in a.programs:
        binary = (a.prebuilt / program).resolve()
        programs = {f"one, {d}": (starter(folder, f"{program}-{d}", f"env MINIFUT_DRIVER={d} {binary}"), turns.device_options(a)) for d in a.drivers}
        programs["ranks"] = (starter(folder, f"{program}-ranks", f"mpirun -np {a.ranks} {a.mpirun} {binary}"), turns.device_options(a))
        for name, times in all_measured(a, program, programs):
            ones = [t for n, t in times.items() if n != "ranks" and not isinstance(t, str)]
            two = times["ranks"]
            ratio = two / min(ones) if ones and not isinstance(two, str) else math.nan
            print(f"{program} {name}: " + ", ".join(f"{n} {t if isinstance(t, str) else round(t)}" for n, t in times.items()) + f": {ratio:.3f}", flush=True)
            if not ratio <= SLOWER:
                worse.append(f"{program} {name} {ratio:.3f}")
    print(f"slower by more than {round(100 * SLOWER - 100)} %: {', '.join(worse) or 'none'}")


def in_turns(a, server, settings):
    """By setting, its times in each round: of a.least rounds at least, until the ratio of the first one to the best of the others is certain."""
    times = {name: [] for name in settings}
    while True:
        rounds = len(times[next(iter(times))])
        for name in list(settings) if rounds % 2 == 0 else reversed(list(settings)):
            for parameter, value in settings[name].items():
                server.ask("set_tuning_param", parameter, value)
            server.call()
            times[name].append(median(server.call() for _ in range(CALLS)))
        ratio, error = of_best(times)
        if rounds + 1 >= a.most or rounds + 1 >= a.least and abs(ratio - NEAR) > 2 * error:
            return times


def of_best(times):
    """The first setting's time in that of the best of the others, by the ratios of the rounds: their mean, and its standard error."""
    first, *others = times
    best = min(others, key=lambda name: median(times[name]))
    ratios = [t / b for t, b in zip(times[first], times[best])]
    return mean(ratios), stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.inf


def settings(a, folder):
    program = a.programs[0]
    binary = (a.prebuilt / program).resolve()
    start = starter(folder, program, f"mpirun -np {a.ranks} {a.mpirun} {binary}")
    names = thresholds(binary)
    tuned = dict(line.split("=", 1) for line in a.tuning.read_text().split() if "=" in line)
    ways = {"tuned": {n: tuned.get(n, UNSET) for n in names}, "shared": {n: 1 for n in names}, "alone": {n: NEVER for n in names}}
    worst = 0
    with Server(start, turns.device_options(a) + ["--tuning", str(a.tuning.resolve())], a.limit) as server:
        for path in sorted((a.data / program).glob("*.in")):
            try:
                server.load(a.entry, path)
                times = in_turns(a, server, ways)
            except ServerError as e:
                print(f"{program} {path.stem}: {e}", flush=True)
                continue
            ratio, error = of_best(times)
            worst = max(worst, ratio, 1)
            print(f"{program} {path.stem}: " + ", ".join(f"{n} {median(t):.1f}" for n, t in times.items()) + \
                  f": {ratio:.3f} +- {error:.3f} ({len(times['tuned'])} rounds)", flush=True)
    print(f"tuned / best, at worst: {worst:.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["slower", "settings"])
    p.add_argument("programs", nargs="*")
    p.add_argument("--prebuilt", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--tuning", type=Path)
    p.add_argument("--entry", default="main")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--mpirun", default="", help="more options of mpirun")
    p.add_argument("--drivers", nargs="*", default=["opencl", "cuda"])
    p.add_argument("--most", type=int, default=60, help="rounds of settings (default: %(default)s)")
    turns.add_options(p, runs=20, seconds=0.2, least=4)
    a = p.parse_intermixed_args()
    a.programs = a.programs or sorted(f.name for f in a.data.iterdir() if (a.prebuilt / f.name).exists())
    with tempfile.TemporaryDirectory() as folder:
        try:
            {"slower": slower, "settings": settings}[a.what](a, folder)
        except ServerError as e:
            sys.exit(str(e))


if __name__ == "__main__":
    main()
