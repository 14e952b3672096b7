#!/usr/bin/env python3
"""Two commits on all data sets of the paper's programs, in one sitting: the programs of both run as servers side by
side and take turns. Checks every result; prints times, their ratio and its geometric mean.

    suite.py --minifut OLD_COMPILER prepare --binaries --modes untuned OLD      likewise NEW
    compare.py [-d DEVICE] [--data FOLDER] [--tuning FOLDER[,FOLDER]] [--json FILE] [--budget SECONDS] [--fleets N]
               OLD NEW [PROGRAM...]

--tuning: results of suite.py, whose thresholds the tuned programs take (two folders: of the old ones, of the new ones);
without it there are none. What is in the JSON file is kept, so that a second sitting measures the rest. The budget
does not count making data.
"""
import argparse
import json
import re
import sys
import time
from pathlib import Path

import ratios
import suite
import turns
from ratios import SIDES

# The value that stands for "never" in the tuner's report.
NEVER = 1 << 62


def thresholds(path):
    """Lines of a tuning file, from the tuner's report in a program's results."""
    report = json.loads(path.read_text()).get("tuning", {}).get("report", "")
    found = re.findall(r"^  (\S+\.\S+) +(\d+|never)  ", report, re.MULTILINE)
    return "".join(f"{name}={NEVER if value == 'never' else value}\n" for name, value in found)


def contenders(a, program):
    """{(side, mode): (binary, options)}; raises RuntimeError if one is not compiled."""
    made = {}
    for side, folder, tuning in zip(SIDES, a.folders, a.tuning):
        for mode in a.modes.split(","):
            options = turns.device_options(a)
            if mode == "tuned":
                if not tuning:
                    continue
                file = a.work / "bin" / f"{program}-{side}.tuning"
                file.write_text(thresholds(tuning / f"{program}.json"))
                options += ["--tuning", file]
            made[side, mode] = suite.build(a, program, mode, folder), options
    return made


def order(folder, names):
    """The large data sets first, the training sets last."""
    return sorted(names, key=lambda n: (n.startswith("train"), -(folder / f"{n}.in").stat().st_size))


def measure_in_fleets(a, program, folder, names, made):
    """(data set, times of all contenders) of each data set that there was time for: how fast a process launches may
    differ from one to the next, so the runs are shared by those of a.fleets fleets."""
    times = {}
    for k in range(a.fleets):
        with turns.Fleet(made, a.limit) as fleet:
            for n in names:
                if time.monotonic() <= a.end:
                    got = suite.measure(a, program, folder / f"{n}.in", fleet)
                    times[n] = turns.joined(times[n], got) if n in times else got
                if n in times and k + 1 == a.fleets:
                    yield n, times[n]


def compare_program(a, program, folder, names, rows):
    """Rows of all data sets; those that there was no time for, as text."""
    made = contenders(a, program)
    modes = sorted({mode for _, mode in made}, reverse=True)
    todo = [n for n in order(folder, names) if not all(rows.has(program, n, mode) for mode in modes)]
    done = set()
    for n, got in measure_in_fleets(a, program, folder, todo, made):
        done.add(n)
        for mode in modes:
            row = {"program": program, "dataset": n, "mode": mode} | {s: got[s, mode] for s in SIDES}
            rows.add(row)
            print(f"{program:14} {n:20} {mode:8}" + "".join(f"{c:>12}" for c in ratios.cells(row)), flush=True)
    return [f"{program}/{n}" for n in todo if n not in done]


def compare(a):
    (a.work / "bin").mkdir(parents=True, exist_ok=True)
    rows, left = ratios.Rows(a.json, again=a.again), []
    sets, bad = suite.all_data(a)
    a.end = time.monotonic() + a.budget
    # Matrix products are many and short: last.
    for program in sorted(sets, key=lambda p: p == "matmul"):
        try:
            left += compare_program(a, program, *sets[program], rows)
        except (RuntimeError, OSError) as e:  # one program must not stop the rest
            bad += 1
            print(f"{program}: {str(e).strip()[-300:]}", flush=True)
    print("\n" + ratios.table(rows.rows))
    if left:
        print(f"no time for {len(left)} data sets: {', '.join(left)}")
    return bad > 0 or bool(ratios.failures(rows.rows))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_options(p, runs=200, seconds=0.25, least=4)
    ratios.add_options(p)
    p.add_argument("--modes", default="untuned,tuned", help="comma-separated (default: %(default)s)")
    p.add_argument("--tuning", default="", metavar="FOLDER[,FOLDER]")
    p.add_argument("--fleets", type=int, default=1, help="processes of each program, one after the other; \"in "
                   "rounds\" then shows how they differ, best with 4 (default: %(default)s)")
    p.add_argument("folders", nargs=2, type=Path, metavar="FOLDER")
    p.add_argument("programs", nargs="*")
    a = suite.checked(p, p.parse_intermixed_args())
    a.folders = [folder.resolve() for folder in a.folders]
    tuning = [Path(t) for t in a.tuning.split(",") if t] or [None]
    a.tuning = (tuning * 2)[:2]
    return compare(a)


if __name__ == "__main__":
    sys.exit(main())
