#!/usr/bin/env python3
"""Tunes the paper's programs several times in a row, and runs all their data sets untuned and with each tuning that was
found: how long tuning takes, whether it finds the same again, and whether any of it is slower than untuned.

    suite.py prepare --binaries --modes untuned FOLDER
    tunings.py [-d DEVICE] [--data FOLDER] --prebuilt FOLDER [--rounds N] [--json FILE] [PROGRAM...]

Of each program: the seconds of the first tuning, with cold caches, and of the others, whose kernels are built; the
greatest regret that a report told of a training set; the tunings that differ, as numbers of the rounds that found them.
Of each data set, on which one server runs with these settings by turns: untuned, and tuned / untuned by each of these.
"again" is untuned as well, and so is what tunings take that set nothing: how far that is from 1.00 is noise. Processes of
one program differ by up to half, so that what several of them take cannot be compared."""
import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import suite
import turns

# What counts as slower than the slower of both untuned: the clock of programs is good for 3 us, the rest for so much.
SLOWER, CLOCK = 1.05, 3.0


def regret(report):
    """The greatest in per cent that a tuner's report tells."""
    return max((float(x) for x in re.findall(r"x +([\d.]+) %", report)), default=0.0)


def settings(path):
    """A tuning file without what it says of itself."""
    return "".join(line for line in path.read_text().splitlines(True) if not line.startswith("--"))


def tune_once(a, program, binary, folder, names):
    """(seconds, greatest regret, settings) of a tuning that knows of no other; RuntimeError with its message."""
    path = suite.tuning_file(a, program)
    for old in (path, path.with_name(path.name + ".log")):
        old.unlink(missing_ok=True)
    start = time.monotonic()
    told = suite.tune(a, program, binary, folder, names)
    seconds = time.monotonic() - start
    if "error" in told:
        raise RuntimeError(told["error"])
    return seconds, regret(told["report"]), settings(path)


def in_cold_caches(measure):
    """What it returns, where nothing is in the caches of kernels."""
    names = ("XDG_CACHE_HOME", "CUDA_CACHE_PATH")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory() as cold:
        os.environ.update(dict.fromkeys(names, cold))
        try:
            return measure()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


class Settings(turns.Fleet):
    """One program as one server, under settings {name: {parameter: value}} as under programs."""

    def __init__(self, binary, options, settings, limit):
        super().__init__({name: (binary, options) for name in settings}, limit)
        self.settings, self.one = settings, next(iter(settings))
        self.parameters = sorted({p for values in settings.values() for p in values})

    def server(self, name):
        server = super().server(self.one)
        for p in self.parameters:
            server.ask("set_tuning_param", p, str(self.settings[name].get(p, 0)))
        return server

    def drop(self, name):
        super().drop(self.one)


def settings_of(found):
    """Of the texts of tuning files, those that set something: {rounds that found it: {parameter: value}}; and untuned, twice."""
    made = {"untuned": {}, "again": {}}
    for text in filter(None, dict.fromkeys(found)):
        name = ",".join(str(k + 1) for k, t in enumerate(found) if t == text)
        made[name] = dict(line.split("=") for line in text.split())
    return made


def is_slower(tuned, untuned):
    return tuned > SLOWER * untuned and tuned > untuned + CLOCK


def row_of(name, times):
    """A data set's line, and the names of the tunings that are slower than untuned."""
    if any("error" in m for m in times.values()):
        return f"  {name:20} FAILED: {next(m['error'] for m in times.values() if 'error' in m)}", ["failed"]
    us = {k: median(m["runtimes"]) for k, m in times.items()}
    slower = [k for k in us if k not in ("untuned", "again") and is_slower(us[k], max(us["untuned"], us["again"]))]
    cells = "  ".join(f"{k}: {us[k] / us['untuned']:.2f}" for k in us if k != "untuned")
    return f"  {name:20} {us['untuned']:10.0f}   {cells}{'   <-- SLOWER' if slower else ''}", slower


def of_program(a, program, folder, names):
    """What is kept of a program; prints it."""
    binary = suite.build(a, program, "untuned", a.prebuilt)
    tunings = in_cold_caches(lambda: [tune_once(a, program, binary, folder, names) for _ in range(max(a.rounds, 1))])
    seconds = [t[0] for t in tunings]
    kept = {"program": program, "seconds": seconds, "regret": max(t[1] for t in tunings),
            "tunings": [t[2] for t in tunings], "datasets": {}, "slower": 0}
    print(f"{program}: {seconds[0]:.1f} s, then {' '.join(f'{s:.1f}' for s in seconds[1:])}; "
          f"regret at most {kept['regret']:.1f} %; {len(set(kept['tunings']))} tunings", flush=True)
    with Settings(binary, turns.device_options(a), settings_of(kept["tunings"]), a.limit) as fleet:
        for n in names:
            times = suite.measure(a, program, folder / f"{n}.in", fleet)
            line, slower = row_of(n, times)
            kept["datasets"][n] = times
            kept["slower"] += bool(slower)
            print(line, flush=True)
    return kept


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_options(p, runs=40, seconds=0.2, least=4)
    p.add_argument("--minifut", type=Path, default=suite.ROOT / "minifut")
    p.add_argument("--prebuilt", type=Path, required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--tune-limit", type=float, default=900)
    p.add_argument("--json", type=Path)
    p.add_argument("programs", nargs="*")
    a = suite.checked(p, p.parse_args())
    a.minifut, a.prebuilt = a.minifut.resolve(), a.prebuilt.resolve()
    (a.work / "bin").mkdir(parents=True, exist_ok=True)
    sets, bad = suite.all_data(a)
    kept = []
    for program, (folder, names) in sets.items():
        try:
            kept.append(of_program(a, program, folder, names))
            bad += kept[-1]["slower"]
        except (RuntimeError, OSError) as e:  # one program must not stop the rest
            bad += 1
            print(f"{program}: {str(e).strip()[-300:]}", flush=True)
        if a.json:
            a.json.write_text(json.dumps(kept))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
